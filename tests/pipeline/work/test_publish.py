"""Files and folders appear whole or not at all."""

import json
import os
import sys

import pytest

from pipeline.work.publish import new_folder, sync_folder, sync_tree, write_json


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    with new_folder(tmp_path / "0") as aside:
        (aside / "a").write_bytes(b"a")
        assert not (tmp_path / "0").exists()
    with pytest.raises(OSError, match="full"), new_folder(tmp_path / "1") as aside:
        raise OSError("full")
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


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
