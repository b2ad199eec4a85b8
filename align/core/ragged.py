"""Rows of different lengths in one array: row i is ``values[offsets[i]:offsets[i + 1]]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

# The sides of a bitext, in the order that everything goes by.
SIDES = ("source", "target")


def offsets_of(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    """Return where rows of the given lengths begin and the last one ends, int64, shape (N + 1,)."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def edge_offsets(shapes: np.ndarray) -> np.ndarray:
    """Return where the edges of each pair begin, int64, shape (N + 1,), given shapes (N, 2)."""
    return offsets_of(shapes[:, 0].astype(np.int64) * shapes[:, 1])


def word_offsets(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the source and the target words of each pair begin, int64, shapes (N + 1,)."""
    return offsets_of(shapes[:, 0]), offsets_of(shapes[:, 1])


def rows_at(offsets: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets of chosen rows laid one after the other, and the places of their values.

    Parameters
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        Where the rows begin.
    chosen : ndarray of int, shape (n,)
        Rows, in any order.

    Returns
    -------
    offsets, places : ndarray of int64, shapes (n + 1,) and (sum of lengths,)
    """
    return spans_at(offsets[:-1][chosen], offsets[1:][chosen])


def spans_at(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`rows_at` does for rows told by where each starts and stops, int64, shapes (n,)."""
    lengths = stops - starts
    offsets = offsets_of(lengths)
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def runs_of(offsets: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield runs ``(start, stop)`` of rows with at most ``most`` values each, or of a single longer row."""
    start = 0
    while start < len(offsets) - 1:
        stop = int(np.searchsorted(offsets, offsets[start] + most, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def read_only(values: np.ndarray, dtype: type | None = None) -> np.ndarray:
    """Return a contiguous view (a copy only if it must be) that cannot be written to.

    To the compiler arrays in memory and arrays mapped from disk are then of one type: one compilation.
    """
    view = np.ascontiguousarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view
