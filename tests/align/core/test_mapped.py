"""Mapped tables: what is taken of them is right, and what was read does not stay in memory."""

import re
import sys

import numpy as np
import pytest

from align.core import mapped
from align.core.arrays import load_array, save_array
from align.core.mapped import give_pages_back, in_pieces, take_rows

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux what is in memory")


@pytest.fixture
def table(tmp_path):
    """Return a table of 12 MB, mapped from a file, its pages not in memory."""
    path = tmp_path / "table.npy"
    save_array(path, np.random.default_rng(0).normal(size=(50_000, 60)).astype(np.float32))
    return load_array(path, mapped=True)


def resident(name="table.npy"):
    """Return the bytes of mapped files of this name that are in the memory of this process."""
    total, ours = 0, False
    with open("/proc/self/smaps", encoding="utf-8") as lines:
        for line in lines:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                ours = line.rstrip("\n").endswith(name)
            elif ours and line.startswith("Rss:"):
                total += int(line.split()[1]) * 1024
    return total


@linux
def test_pages_are_given_back_and_come_again(table):
    first = float(table.sum(dtype=np.float64))
    assert resident() > 11e6
    give_pages_back(np.zeros(3), table[10:20])
    assert resident() < 1e6
    assert float(table.sum(dtype=np.float64)) == first


def test_what_was_written_is_kept(tmp_path):
    path = tmp_path / "table.npy"
    save_array(path, np.zeros(100_000))
    for mode in ("c", "r+"):
        writable = np.memmap(path, np.float64, mode, 128, (100_000,))
        writable[:] = 1.0
        view = writable[:]
        view.flags.writeable = False
        give_pages_back(writable, view)
        assert writable.min() == 1.0


@pytest.mark.parametrize("count", [0, 1, mapped._FEW, mapped._FEW + 1, 20_000])
def test_rows_are_those_of_the_table(table, count):
    generator = np.random.default_rng(count)
    for chosen in (
        np.sort(generator.choice(len(table), count, replace=False)),
        generator.integers(0, len(table), count),
    ):
        for given in (table, np.array(table)):
            found = take_rows(given, chosen)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, table[chosen])
            assert found.flags.writeable


def test_rows_that_are_wider_than_a_piece(table, monkeypatch):
    monkeypatch.setattr(mapped, "PIECE", 100)
    chosen = np.arange(0, 50_000, 50)
    np.testing.assert_array_equal(take_rows(table, chosen), table[chosen])


@linux
def test_taking_rows_holds_a_piece_at_most(table, monkeypatch):
    most = 0
    give_back = mapped.give_pages_back

    def watched(*arrays):
        nonlocal most
        most = max(most, resident())
        give_back(*arrays)

    monkeypatch.setattr(mapped, "give_pages_back", watched)
    take_rows(table, np.arange(0, 50_000, 10))
    # The system brings what lies beside as well, 64 KB to 2 MB at a time.
    assert 0 < most < 6e6
    assert resident() < 1e6


def test_runs_are_all_rows_once_and_in_order(table):
    starts = np.arange(0, 3_000_001, 60)
    entries = table.reshape(-1)
    chosen = np.arange(3, 50_000, 7)
    found = list(in_pieces(chosen, starts, (entries, np.zeros(3_000_000))))
    assert [at for start, stop in found for at in range(start, stop)] == list(range(len(chosen)))
    assert len(found) == 12  # 12 MB, 1 MB each


def test_one_run_where_it_does_not_matter(table):
    starts = np.arange(0, 3_000_001, 60)
    entries = table.reshape(-1)
    assert list(in_pieces(np.arange(10), starts, (entries,))) == [(0, 10)]
    assert list(in_pieces(np.arange(0), starts, (entries,))) == [(0, 0)]
    assert list(in_pieces(np.arange(50_000), starts, (np.array(entries),))) == [(0, 50_000)]
