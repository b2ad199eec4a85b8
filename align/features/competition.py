"""How far an edge's score stands out among those of the same source word and of the same target word.

A score alone says little: 0.2 is a sure link where all rivals have 0.01. For each score map that a group
competes with, five features are made.
"""

from __future__ import annotations

import numpy as np

from align.kernels import kernel

SUFFIXES = ("row_margin", "column_margin", "row_share", "column_share", "best")


def names(score: str) -> tuple[str, ...]:
    """Return the names of the five features of a score map."""
    return tuple(f"{score}_{suffix}" for suffix in SUFFIXES)


def compete(
    scores: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, features: np.ndarray, column: int
) -> None:
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
        First edge of each pair.
    features : ndarray of float32, shape (offsets[-1] - offsets[0], d)
        Rows of these pairs' edges; written to in columns ``column`` to ``column + 5``.
    column : int
        The first column.
    """
    _compete(scores, shapes, offsets, features, column)


@kernel(error_model="numpy")
def _compete(scores, shapes, offsets, features, column):  # type: ignore[no-untyped-def]
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    first = np.empty(widest, dtype=np.float32)
    second = np.empty(widest, dtype=np.float32)
    total = np.empty(widest, dtype=np.float32)
    none = np.float32(-np.inf)
    zero = np.float32(0.0)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        start = offsets[i]
        for k in range(m):
            first[k], second[k], total[k] = none, none, zero
        for j in range(n):
            row_first, row_second, row_total = none, none, zero
            for k in range(m):
                score = scores[start + j * m + k]
                row_second = max(row_second, min(score, row_first))
                row_first = max(row_first, score)
                second[k] = max(second[k], min(score, first[k]))
                first[k] = max(first[k], score)
                row_total += max(score, zero)
                total[k] += max(score, zero)
            if m == 1:
                row_second = zero
            for k in range(m):
                edge = start + j * m + k
                score = scores[edge]
                rival = row_second if score == row_first else row_first
                out = features[edge - offsets[0]]
                out[column] = score - rival
                out[column + 2] = max(score, zero) / row_total if row_total > zero else zero
        if n == 1:
            for k in range(m):
                second[k] = zero
        for j in range(n):
            for k in range(m):
                edge = start + j * m + k
                score = scores[edge]
                rival = second[k] if score == first[k] else first[k]
                margin = score - rival
                out = features[edge - offsets[0]]
                out[column + 1] = margin
                out[column + 3] = max(score, zero) / total[k] if total[k] > zero else zero
                both = margin > zero and out[column] > zero
                out[column + 4] = np.float32(1.0) if both else zero
