"""How far an edge's score stands out among those of the same source word and of the same target word.

A score alone says little: 0.2 is a sure link where all rivals have 0.01. For each score map that a group
competes with, five features are made.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel

SUFFIXES = ("row_margin", "column_margin", "row_share", "column_share", "best")


def names(score: str) -> tuple[str, ...]:
    """Return the names of the five features of a score map."""
    return tuple(f"{score}_{suffix}" for suffix in SUFFIXES)


def compete(scores: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Write the five competition features of a score map.

    * ``row_margin`` = score - best score of the same source word with another target word (0 where there
      is no other), ``column_margin`` likewise for the target word;
    * ``row_share`` = score / sum of the source word's positive scores, ``column_share`` likewise; 0 for
      scores below 0;
    * ``best`` = 1 where both margins are above 0.

    Parameters
    ----------
    scores : ndarray of float32, shape (E,)
        Scores in [-1, 1].
    shapes : ndarray of int32, shape (N, 2)
        Numbers of words.
    offsets : ndarray of int64, shape (N + 1,)
        First edge of each pair, from 0.
    out : ndarray of float32, shape (5 or more, E)
        Written to, one row a feature.
    """
    write_margins(scores, shapes, offsets, out)


@kernel(error_model="numpy")
def write_margins(scores, shapes, offsets, out):  # type: ignore[no-untyped-def]
    """Write what :func:`compete` says."""
    # Loops over one row of a pair with one result each: the compiler makes vector instructions of them.
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    first = np.empty(widest, dtype=np.float32)
    second = np.empty(widest, dtype=np.float32)
    total = np.empty(widest, dtype=np.float32)
    none, zero, one = np.float32(-np.inf), np.float32(0.0), np.float32(1.0)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first[:m] = none
        second[:m] = none
        total[:m] = zero
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row = scores[start:stop]
            for k in range(m):
                second[k] = max(second[k], min(row[k], first[k]))
                first[k] = max(first[k], row[k])
                total[k] += max(row[k], zero)
            row_first, row_second, row_total = none, none, zero
            for k in range(m):
                row_second = max(row_second, min(row[k], row_first))
                row_first = max(row_first, row[k])
                row_total += max(row[k], zero)
            if m == 1:
                row_second = zero
            margins, shares = out[0, start:stop], out[2, start:stop]
            for k in range(m):
                margins[k] = row[k] - (row_second if row[k] == row_first else row_first)
            for k in range(m):
                shares[k] = max(row[k], zero) / row_total if row_total > zero else zero
        if n == 1:
            second[:m] = zero
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row = scores[start:stop]
            margins, shares = out[1, start:stop], out[3, start:stop]
            for k in range(m):
                margins[k] = row[k] - (second[k] if row[k] == first[k] else first[k])
            for k in range(m):
                shares[k] = max(row[k], zero) / total[k] if total[k] > zero else zero
    row_margins, column_margins, best = out[0], out[1], out[4]
    for edge in range(len(scores)):
        best[edge] = one if (row_margins[edge] > zero) & (column_margins[edge] > zero) else zero
