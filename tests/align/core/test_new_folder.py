"""Folders that have their name only when they are whole."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from align.core.files import new_folder, remove_unfinished
from tests.conftest import ROOT

KILLED = """
import os, pathlib, signal, sys
from align.core.files import new_folder
with new_folder(pathlib.Path(sys.argv[1])) as place:
    (place / "a").write_text("half", encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_has_its_name_when_it_is_whole(tmp_path):
    with new_folder(tmp_path / "deep" / "new") as place:
        (place / "inside").mkdir()
        (place / "inside" / "a").write_text("x", encoding="utf-8")
        assert not (tmp_path / "deep" / "new").exists()
    assert names(tmp_path / "deep") == ["new"]
    assert (tmp_path / "deep" / "new" / "inside" / "a").read_text(encoding="utf-8") == "x"


def test_what_fails_leaves_nothing_and_names_the_folder_asked_for(tmp_path):
    with pytest.raises(OSError, match="No space") as caught, new_folder(tmp_path / "new") as place:
        raise OSError(errno.ENOSPC, "No space left on device", str(place / "a"))
    assert caught.value.filename == str(tmp_path / "new" / "a")
    assert names(tmp_path) == []


def test_an_empty_folder_is_filled_where_it_is(tmp_path):
    (tmp_path / "empty").mkdir()
    before = os.stat(tmp_path / "empty").st_ino
    with new_folder(tmp_path / "empty") as place:
        (place / "a").write_text("x", encoding="utf-8")
    assert os.stat(tmp_path / "empty").st_ino == before
    assert names(tmp_path / "empty") == ["a"]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    (tmp_path / "new.other").mkdir()
    (tmp_path / "new[1].other").mkdir()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "new")], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = set(names(tmp_path)) - {"new.other", "new[1].other"}
    assert left.endswith(".unfinished")
    with new_folder(tmp_path / "new"):
        pass
    assert names(tmp_path) == ["new", "new.other", "new[1].other"]


def test_what_another_is_writing_stays(tmp_path):
    with new_folder(tmp_path / "new.1") as one:
        with new_folder(tmp_path / "new"):
            assert one.is_dir()
        remove_unfinished(tmp_path, "new")
        assert one.is_dir()
    assert names(tmp_path) == ["new", "new.1"]
