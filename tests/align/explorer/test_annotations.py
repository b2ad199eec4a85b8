"""Corrections: the journal, what a kill leaves of it, the gold files, undo and redo."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from align.core.errors import InputError, WorkError
from align.explorer import annotations as module
from align.explorer.annotations import (
    NOTHING,
    Annotations,
    State,
    Subject,
    annotators_of,
    edited,
    read_annotations,
)
from align.links import Link, read_file
from tests.conftest import ROOT

HOUSE = Subject("corpus", 7, ["the", "house"], ["la", "maison"])
DOG = Subject("own", 1, ["red", "dog"], ["chien", "rouge"])


@pytest.fixture
def opened():
    """Return a function that opens corrections; all are closed in the end."""
    found = []

    def open_one(folder, name="ann", **options):
        found.append(Annotations(folder, name, **options))
        return found[-1]

    yield open_one
    for each in found:
        each.close()


def test_cells_become_sure_possible_or_none():
    links = [[0, 0, 1], [1, 1, 1]]
    changes = [(0, 0, "possible"), (1, 1, "none"), (1, 0, "sure"), (5, 5, "none")]
    assert edited(links, changes) == [[0, 0, 0], [1, 0, 1]]
    assert links == [[0, 0, 1], [1, 1, 1]]


def test_what_is_said_is_there_again(tmp_path, opened):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1], [1, 1, 0]], True))
    first.change(DOG, State([[0, 1, 1]]))
    first.close()
    again = opened(tmp_path)
    assert again.state(HOUSE.key) == State([[0, 0, 1], [1, 1, 0]], True)
    assert again.state(DOG.key) == State([[0, 1, 1]])
    # A pair that was pasted is known by its tokens alone, one of a file by its number, too.
    assert Subject("own", 9, DOG.source, DOG.target).key == DOG.key
    assert Subject("gold", 7, HOUSE.source, HOUSE.target).key == HOUSE.key
    assert Subject("corpus", 8, HOUSE.source, HOUSE.target).key != HOUSE.key


def test_undo_and_redo_go_through_the_whole_history_also_later(tmp_path, opened):
    first = opened(tmp_path)
    states = [State([[0, 0, 1]]), State([[0, 0, 1], [1, 1, 1]]), State([[0, 0, 1], [1, 1, 1]], True)]
    for state in states:
        first.change(HOUSE, state)
    first.change(DOG, State([]))
    assert first.undo() == DOG.key
    assert first.state(DOG.key) == NOTHING
    assert first.undo() == HOUSE.key
    assert first.state(HOUSE.key) == states[1]
    first.close()
    again = opened(tmp_path)
    assert (again.undo_count, again.redo_count) == (2, 2)
    assert again.redo() == HOUSE.key
    assert again.state(HOUSE.key) == states[2]
    assert [again.undo() for _ in range(4)] == [HOUSE.key] * 3 + [None]
    assert again.state(HOUSE.key) == NOTHING
    again.redo()
    again.change(DOG, State([[1, 0, 1]]))
    assert again.redo() is None
    assert again.undo_count == 2


def test_gold_files_are_what_others_read(tmp_path, opened):
    first = opened(tmp_path)
    first.change(DOG, State([[1, 0, 1], [0, 1, 0]]))
    first.change(HOUSE, State([[0, 0, 1], [1, 1, 1]]))
    first.close()
    (house, dog) = read_file(tmp_path / "ann.jsonl", format="jsonl")
    assert (house.source, house.target) == (HOUSE.source, HOUSE.target)
    assert dog.links == [Link(0, 1, False), Link(1, 0, True)]
    assert (tmp_path / "ann.align").read_text() == "0-0 1-1\n1-0 0p1\n"
    assert (tmp_path / "ann.source").read_text() == "the house\nred dog\n"
    assert (tmp_path / "ann.target").read_text() == "la maison\nchien rouge\n"


def test_gold_files_follow_by_themselves(tmp_path, opened):
    opened(tmp_path).change(HOUSE, State([[0, 0, 1]]))
    until = time.monotonic() + 30
    while not (tmp_path / "ann.target").is_file() and time.monotonic() < until:
        time.sleep(0.01)
    assert (tmp_path / "ann.align").read_text() == "0-0\n"


def test_what_was_taken_back_just_before_a_kill_leaves_the_gold_files(tmp_path, opened):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1]]))
    first.close()
    journal = tmp_path / "ann.journal.jsonl"
    done = json.loads(journal.read_text(encoding="utf-8"))
    undone = done | {"entry": "undo", "before": done["after"], "after": None}
    with journal.open("a", encoding="utf-8") as file:  # as a server does it that is killed right after
        file.write(json.dumps(undone) + "\n")
    assert (tmp_path / "ann.align").read_text() == "0-0\n"
    opened(tmp_path)
    until = time.monotonic() + 30
    while (tmp_path / "ann.target").read_text() and time.monotonic() < until:
        time.sleep(0.01)
    assert [(tmp_path / f"ann.{end}").read_text() for end in ("jsonl", "align", "target")] == [""] * 3


def test_nothing_is_written_of_nothing(tmp_path, opened):
    first = opened(tmp_path / "new" / "folder")
    assert annotators_of(tmp_path / "new" / "folder") == []
    first.close()
    assert list((tmp_path / "new" / "folder").iterdir()) == []
    again = opened(tmp_path / "new" / "folder")
    again.change(HOUSE, State([]))
    again.undo()
    again.close()  # what was taken back was said
    assert annotators_of(tmp_path / "new" / "folder") == ["ann"]


def test_a_lock_that_was_taken_away_while_it_was_opened_holds_nobody_off(tmp_path, opened, monkeypatch):
    """Whoever locks a file that has no name any more would not be seen by the next one."""
    first = opened(tmp_path)
    lock = os.open

    def slow(path, *given):
        descriptor = lock(path, *given)
        if str(path).endswith(".lock"):
            first.close()
        return descriptor

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", slow)
        with pytest.raises(InputError, match="another server keeps the corrections of ann there"):
            Annotations(tmp_path, "ann")
    opened(tmp_path)
    with pytest.raises(InputError, match="another server keeps the corrections of ann there"):
        Annotations(tmp_path, "ann")


@pytest.mark.parametrize("cut", [1, 2, 40, 100])
def test_a_line_that_was_cut_off_is_dropped_and_told(tmp_path, opened, cut):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1]]))
    first.change(DOG, State([[0, 1, 1]]))
    first.close()
    journal = tmp_path / "ann.journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-cut])
    notes = []
    again = opened(tmp_path, on_note=notes.append)
    assert again.state(HOUSE.key) == State([[0, 0, 1]])
    if cut == 1:  # only its end is missing
        assert again.state(DOG.key) == State([[0, 1, 1]])
        assert notes == []
        assert journal.read_bytes() == whole
    else:
        assert again.state(DOG.key) == NOTHING
        assert notes == [f"{journal}:2: the last line was cut off when the server was killed; it is dropped"]
    again.change(DOG, State([[1, 0, 1]]))
    again.close()
    assert opened(tmp_path).state(DOG.key) == State([[1, 0, 1]])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"edit"', b'"other"'),
        (b"[[0,0,1]]", b"[[0,9,1]]"),
        (b"[[0,0,1]]", b"[[0,-1,1]]"),
        (b"[[0,0,1]]", b"[[0,true,1]]"),
        (b"[[0,0,1]]", b"[[0,0,7]]"),
        (b"[[0,0,1]]", b"7"),
        (b'"corpus"', b'"/etc"'),
        (b'"the"', b'"\\ud800"'),
        (b'"the"', b"5"),
        (b'"number":7', b'"number":true'),
        (b'{"entry"', b"entry"),
        (b"maison", b"\xff\xfe"),
    ],
)
def test_a_damaged_journal_is_told_by_its_line(tmp_path, opened, old, new):
    first = opened(tmp_path)
    for subject in (DOG, HOUSE, DOG):
        first.change(subject, State([[0, 0, 1]] if first.state(subject.key) == NOTHING else []))
    first.close()
    journal = tmp_path / "ann.journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    assert old in lines[1]
    lines[1] = lines[1].replace(old, new)
    journal.write_bytes(b"\n".join(lines))
    told = r"ann.journal.jsonl:2: no change of links; mend the line, or move the journal away"
    with pytest.raises(InputError, match=told):
        Annotations(tmp_path, "ann")
    # It was not left locked.
    journal.unlink()
    assert opened(tmp_path).all() == []


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "é", "x" * 41, "a.b", "-x"])
def test_what_is_no_name_of_an_annotator(tmp_path, name):
    with pytest.raises(
        InputError, match="no name; give at most 40 letters, digits, - and _, not beginning with -"
    ):
        Annotations(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_two_servers_cannot_keep_the_same_corrections(tmp_path, opened):
    first = opened(tmp_path)
    told = "another server keeps the corrections of ann there; end it, or give another --annotator or --save"
    with pytest.raises(InputError, match=told):
        Annotations(tmp_path, "ann")
    opened(tmp_path, "other").change(HOUSE, State([]))
    first.close()
    opened(tmp_path).change(DOG, State([]))
    assert annotators_of(tmp_path) == ["ann", "other"]
    assert annotators_of(None) == annotators_of(tmp_path / "none") == []


def test_others_are_read_without_their_lock_and_nothing_of_theirs_is_changed(tmp_path, opened):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1]]))
    journal = tmp_path / "ann.journal.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"entry":')  # what another server is writing at this moment
    assert read_annotations(tmp_path, "ann") == [(HOUSE, State([[0, 0, 1]]))]
    assert journal.read_bytes().endswith(b'{"entry":')


def test_a_folder_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a file, not a folder; give another with --save"):
        Annotations(tmp_path / "file", "ann")
    with pytest.raises(InputError, match=r"cannot be written to \(.*\); give another folder with --save"):
        Annotations(tmp_path / "file" / "below", "ann")


def test_what_cannot_be_written_has_not_been_said(tmp_path, opened, monkeypatch):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1]]))
    before = (tmp_path / "ann.journal.jsonl").read_bytes()
    whole = os.write

    def full(descriptor, data):
        if len(data) > 100:
            return whole(descriptor, data[:50])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        patched.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(
            WorkError, match="cannot be kept: the disk is full; free space, then make it again"
        ):
            first.change(DOG, State([[0, 1, 1]]))
    assert first.state(DOG.key) == NOTHING
    assert (first.undo_count, (tmp_path / "ann.journal.jsonl").read_bytes()) == (1, before)
    first.change(DOG, State([]))
    assert first.undo_count == 2


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_said_after_the_end_is_refused(tmp_path, kept):
    first = Annotations(tmp_path if kept else None, "ann")
    first.change(HOUSE, State([[0, 0, 1]]))
    first.close()
    told = "ann: the correction is not kept, for the server is ending; start it again, then make it again"
    for late in (lambda: first.change(DOG, State([[0, 1, 1]])), first.undo):
        with pytest.raises(WorkError, match=told):
            late()
    assert first.all() == [(HOUSE, State([[0, 0, 1]]))]


def test_the_end_waits_for_what_is_being_written(tmp_path, opened, monkeypatch):
    first = opened(tmp_path)
    sync, ends = os.fsync, []

    def slow(descriptor):
        if not ends:  # else it is of the gold files
            ends.append(threading.Thread(target=first.close))
            ends[0].start()
            ends[0].join(0.1)
        sync(descriptor)  # an OSError where it was closed meanwhile

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", slow)
        first.change(HOUSE, State([[0, 0, 1]]))
        ends[0].join()
    assert opened(tmp_path).state(HOUSE.key) == State([[0, 0, 1]])


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), ValueError("odd")])
def test_gold_files_that_are_old_in_the_end_are_told_of(tmp_path, opened, monkeypatch, fault):
    notes = []
    first = opened(tmp_path, on_note=notes.append)

    def broken(*given, **options):
        raise fault

    monkeypatch.setattr(module, "new_output", broken)
    first.change(HOUSE, State([[0, 0, 1]]))
    first.close()
    why = "No space left on device" if isinstance(fault, OSError) else "ValueError: odd"
    assert notes == [
        f"the gold files of ann are not up to date ({tmp_path}: {why}); the journal is: start "
        "the server again when that is mended"
    ]


def test_tokens_with_spaces_leave_the_columns_in_their_places(tmp_path, opened):
    first = opened(tmp_path)
    odd = ["a b", "c\td", "e\rf", "g\u2028h", "i\x85", "\x1cj\nk", "l\u00a0m"]
    first.change(Subject("own", 1, odd, ["d"]), State([[1, 0, 1]]))
    first.close()
    text = (tmp_path / "ann.source").read_text(encoding="utf-8")
    assert text.splitlines() == [text[:-1]]
    assert text[:-1].split(" ") == [re.sub(r"\s", "\u00a0", token) for token in odd]
    (pair,) = read_file(tmp_path / "ann.jsonl", format="jsonl")
    assert pair.source == odd


# Writes changes as fast as it can, and tells the number of each when it is kept.
WRITER = """
import sys
from pathlib import Path
from align.explorer.annotations import Annotations, State, Subject
kept = Annotations(Path(sys.argv[1]), "ann")
start = len(kept.all())
for number in range(start, start + 100_000):
    kept.change(Subject("corpus", number + 1, ["a", "b"] * 50, ["c"]), State([[number % 100, 0, 1]]))
    print(number + 1, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 30])
def test_a_kill_loses_nothing_that_was_told_to_be_kept(tmp_path, opened, after):
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as writer:
            told = [int(writer.stdout.readline()) for _ in range(after)]
            writer.send_signal(signal.SIGKILL)
            told += [int(line) for line in writer.stdout]
    kept = opened(tmp_path)
    said = {subject.number: state for subject, state in kept.all()}
    assert set(said) >= set(range(1, max(told) + 1))
    assert len(said) <= max(told) + 1  # the one that was written but not told
    assert all(state == State([[(number - 1) % 100, 0, 1]]) for number, state in said.items())
    kept.close()
    pairs = read_file(tmp_path / "ann.jsonl", format="jsonl")
    assert [pair.links for pair in pairs] == [[Link((number - 1) % 100, 0)] for number in sorted(said)]
    assert not [path for path in tmp_path.iterdir() if len(path.name) > 30]


def test_a_journal_is_a_line_a_change(tmp_path, opened):
    first = opened(tmp_path)
    first.change(HOUSE, State([[0, 0, 1]]))
    first.undo()
    entries = [json.loads(line) for line in (tmp_path / "ann.journal.jsonl").read_text().split("\n")[:-1]]
    assert entries[0] == {
        "entry": "edit",
        "pair": {"source": HOUSE.source, "target": HOUSE.target},
        "number": 7,
        "kind": "corpus",
        "before": None,
        "after": [[0, 0, 1]],
        "was_done": False,
        "done": False,
    }
    assert (entries[1]["entry"], entries[1]["before"], entries[1]["after"]) == ("undo", [[0, 0, 1]], None)
