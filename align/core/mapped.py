"""Tables that stay on the disk: memory-mapped arrays whose pages are given back once they were read.

The system keeps what was read of a mapped file, and counts it to the process, until it wants the memory for
something else; a table of which each block of text needs some rows is soon resident as a whole. Here rows are
taken a piece of the table at a time, and the pages of the piece are given back. They stay in the system's
cache of files, from which they come again in a microsecond for 64 KB.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence

import numpy as np

# Bytes of a table that are read before its pages are given back.
PIECE = 1 << 20

# So few rows are read without giving anything back: for one sentence pair it would cost more than it saves.
_FEW = 512


def give_pages_back(*arrays: np.ndarray) -> None:
    """Give back the memory of arrays that are mapped from files; no value changes, and others are left.

    Parameters
    ----------
    *arrays : ndarray
        Any; what is not a read-only array from a file is left alone.
    """
    for array in arrays:
        mapping = _mapping(array)
        if mapping is not None and hasattr(mapping, "madvise"):  # not on every system
            mapping.madvise(mmap.MADV_DONTNEED)


def take_rows(table: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return some rows of a table, ``table[chosen]``, and keep no others in memory.

    Parameters
    ----------
    table : ndarray, shape (V, ...)
        Mapped or not.
    chosen : ndarray of int, shape (n,)
        Row indices, as a rule ascending.

    Returns
    -------
    ndarray, shape (n, ...)
    """
    if len(chosen) <= _FEW or _mapping(table) is None:
        found: np.ndarray = table[chosen]
        return found
    rows = np.empty((len(chosen), *table.shape[1:]), dtype=table.dtype)
    size = max(1, PIECE // (table.itemsize * max(1, int(np.prod(table.shape[1:])))))
    for start, stop in _runs(chosen // size):
        rows[start:stop] = table[chosen[start:stop]]
        give_pages_back(table)
    return rows


def in_pieces(
    chosen: np.ndarray, starts: np.ndarray, tables: Sequence[np.ndarray]
) -> Iterator[tuple[int, int]]:
    """Part rows of different lengths into runs, and give the pages of the tables back after each.

    Parameters
    ----------
    chosen : ndarray of int, shape (n,)
        Rows, ascending.
    starts : ndarray of int64, shape (V + 1,)
        Row v is the entries ``starts[v]`` to ``starts[v + 1]`` of each table.
    tables : sequence of ndarray
        Mapped or not.

    Yields
    ------
    (int, int)
        Runs of ``chosen``, one after the other; a single one where no table is mapped or the rows are few.
    """
    mapped = [table for table in tables if _mapping(table) is not None]
    if len(chosen) <= _FEW or not mapped:
        yield 0, len(chosen)
        return
    size = max(1, PIECE // sum(table.itemsize for table in mapped))
    for run in _runs(starts[chosen] // size):
        yield run
        give_pages_back(*mapped)


def _runs(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the runs of equal values, (start, stop) each."""
    if len(values) == 0:
        return
    ends = [*(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    yield from zip([0, *ends[:-1]], ends, strict=True)


def _mapping(array: np.ndarray) -> mmap.mmap | None:
    """Return the mapping an array lies in, None where it does not or could be written to.

    A writable mapping may be private: what was written there would be lost with its pages.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) else None
