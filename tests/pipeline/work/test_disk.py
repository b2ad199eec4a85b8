"""Room on the disk and small files written whole."""

import json
import os
import sys

import pytest

from align.core.errors import WorkError
from pipeline.work import disk
from pipeline.work.disk import check_space, show_bytes, sync_folder, sync_tree, write_json


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (999_999, "999999 bytes"), (1_000_000, "1.0 MB"), (1_400_000_000, "1.4 GB")],
)
def test_sizes_for_people(size, shown):
    assert show_bytes(size) == shown


def test_room_is_asked_for_with_a_margin(tmp_path, monkeypatch):
    usage = disk.shutil.disk_usage(tmp_path)._replace(free=disk.MARGIN + 100)
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: usage)
    check_space(tmp_path, 100, "x")
    with pytest.raises(
        WorkError, match=r"x: needs 101 bytes but .* has 67\.1 MB free; free space, or give another"
    ):
        check_space(tmp_path, 101, "x")


def test_a_json_file_is_the_old_one_or_the_new_one(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": "é"})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "é"}
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]
    sync_folder(tmp_path)


def test_a_tree_is_flushed_to_its_last_file(tmp_path, monkeypatch):
    (tmp_path / "in" / "side").mkdir(parents=True)
    for name in ("a", "in/b", "in/side/c"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    flushed = []
    fsync = os.fsync

    def watched(descriptor):
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    if sys.platform != "linux":
        pytest.skip("file names of descriptors are told by Linux")
    monkeypatch.setattr(os, "fsync", watched)
    sync_tree(tmp_path)
    names = ["", "a", "in", "in/b", "in/side", "in/side/c"]
    assert sorted(flushed) == sorted(str(tmp_path / name).rstrip("/") for name in names)
    assert (tmp_path / "a").read_text(encoding="utf-8") == "a"
