"""Links made in the background: what a fault does to them."""

import sqlite3

import pytest

from align.explorer.linking import Linker
from align.explorer.store import NewPair, Store
from align.model.aligner import Aligner
from tests.align import toy


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "desk.sqlite")
    store.add_run("toy", "model")
    store.add_pairs([NewPair("corpus", line, ["the", "dog"], ["le", "chien"]) for line in (1, 2)])
    yield store
    store.close()


def linked(store):
    with store.reading() as connection:
        return [pair for (pair,) in connection.execute("SELECT pair FROM links ORDER BY pair")]


def test_a_run_that_could_not_be_linked_is_told_of_and_tried_again(store, tmp_path, monkeypatch):
    faults, put = [], store.put_links
    linker = Linker(store, on_fault=faults.append)
    tries = []

    def full(run, rows):
        tries.append(run)
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(store, "put_links", full)
    toy.toy_model().save(tmp_path / "toy")
    aligner = Aligner.load(tmp_path / "toy")
    linker.add(0, aligner)
    linker.start()
    linker.wait()
    assert linker.trouble == (
        "toy: not all pairs could be linked (OperationalError: database or disk is full); it is tried again "
        "every 30 seconds: free space where a disk is full, else start the server again"
    )
    assert (tries, len(faults), linked(store)) == ([0], 1, [])
    # A pair that is looked at needs its model all the same.
    assert linker.aligner(0) is aligner
    monkeypatch.setattr(store, "put_links", put)
    linker.link_now(0, 2)
    assert linked(store) == [2]
    linker._resting[0] = 0.0  # as when the pause is over
    linker.wake()
    linker.wait()
    linker.close()
    assert (linked(store), linker.trouble) == ([1, 2], "")
