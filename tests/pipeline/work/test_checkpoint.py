"""A piece is there whole or not at all, also when a power cut took what had not come to the disk."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.work import checkpoint
from pipeline.work.checkpoint import RECORD, drop_damaged, is_whole, load, new_checkpoint, save

CONTENT = {"a.npy": b"first" * 100, "below/b.npy": b"second"}


@pytest.fixture
def piece(tmp_path):
    with new_checkpoint(tmp_path / "0") as aside:
        for name, data in CONTENT.items():
            (aside / name).parent.mkdir(exist_ok=True)
            (aside / name).write_bytes(data)
        assert not (tmp_path / "0").exists()
    return tmp_path / "0"


def test_a_whole_piece_is_known_as_such(piece):
    assert is_whole(piece)
    assert {name: (piece / name).read_bytes() for name in CONTENT} == CONTENT
    assert [path.name for path in piece.parent.iterdir()] == ["0"]


@pytest.mark.parametrize("name", [*CONTENT, RECORD])
@pytest.mark.parametrize("fault", ["short", "empty", "zeros", "changed", "missing"])
def test_whatever_is_damaged_is_found(piece, name, fault):
    whole = (piece / name).read_bytes()
    faults = {
        "short": whole[:-2],
        "empty": b"",
        "zeros": bytes(len(whole)),
        "changed": bytes([whole[0] ^ 1]) + whole[1:],
    }
    if fault == "missing":
        (piece / name).unlink()
    else:
        (piece / name).write_bytes(faults[fault])
    assert not is_whole(piece)
    with new_checkpoint(piece.parent / "1") as aside:
        (aside / "c").write_bytes(b"c")
    (piece.parent / "2.0123456789abcdef").mkdir()
    assert drop_damaged([piece.parent, piece.parent / "none"]) == 1
    assert [path.name for path in piece.parent.iterdir()] == ["1"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"sums": {}}\t00000000\n'])
def test_an_odd_record_is_none(piece, text):
    (piece / RECORD).write_text(text, encoding="utf-8")
    assert not is_whole(piece)


def test_a_piece_of_other_data_is_none(tmp_path):
    with new_checkpoint(tmp_path / "0", made_from="these") as aside:
        (aside / "a").write_bytes(b"a")
    assert is_whole(tmp_path / "0", made_from="these")
    assert not is_whole(tmp_path / "0", made_from="those")
    assert drop_damaged([tmp_path], made_from="those") == 1


def test_a_record_gives_back_its_values(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "state").mkdir()
    record = tmp_path / "state" / "record"
    assert load(record, made_from="these") is None
    values = {"counts": np.arange(3), "mean": np.float64(0.1), "word": "é"}
    save(record, values, [tmp_path / "a"], made_from="these")
    assert load(record, made_from="these") == {"counts": [0, 1, 2], "mean": 0.1, "word": "é"}
    assert load(record, made_from="those") is None
    (tmp_path / "a").write_bytes(b"b")
    assert load(record, made_from="these") is None


@pytest.mark.skipif(sys.platform != "linux", reason="file names of descriptors are told by Linux")
def test_all_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Files are flushed, then the record that says so, then the name of the whole."""
    flushed, fsync = [], os.fsync

    def watched(descriptor):
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        flushed.append(path.name.partition(".")[0])
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    (tmp_path / "place").mkdir()
    with new_checkpoint(tmp_path / "place" / "7") as aside:
        (aside / "a").write_bytes(b"a")
    assert flushed == ["a", "7", "checkpoint", "7", "place"]


def test_what_another_process_made_stays(piece):
    with new_checkpoint(piece) as aside:
        (aside / "c").write_bytes(b"c")
    assert is_whole(piece)
    assert not (piece / "c").exists()
    assert [path.name for path in piece.parent.iterdir()] == ["0"]


def test_what_another_machine_made_is_waited_for(tmp_path, monkeypatch):
    looked = []

    def look(*folders):
        looked.append(folders)
        if len(looked) == 3:
            (tmp_path / "chains" / "0-1").mkdir(parents=True)

    monkeypatch.setattr(checkpoint, "look_again", look)
    monkeypatch.setattr(checkpoint.time, "sleep", lambda seconds: None)
    (tmp_path / "0").mkdir()
    checkpoint.wait_for([tmp_path / "0", tmp_path / "chains" / "0-1"])
    assert looked == [(tmp_path, tmp_path / "chains")] * 3
    checkpoint.wait_for([tmp_path / "never"], seconds=0.0)
    assert len(looked) == 3


def test_a_piece_that_fails_leaves_nothing(tmp_path):
    def fail():
        with new_checkpoint(tmp_path / "0") as aside:
            (aside / "a").write_bytes(b"a")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert not list(tmp_path.iterdir())
