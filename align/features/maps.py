"""What several groups make of one number an edge: its logarithm, its margins, its neighbours."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, chosen

LOWEST = -10.0

# The bits of sqrt(1/2): what is left of a number when its power of two is taken off begins there.
_HALF_ROOT = np.int32(0x3F3504F3)
_FRACTION = np.int32(23)

# What :func:`compete` makes of a map of scores.
COMPETITION = ("row_margin", "column_margin", "row_share", "column_share", "best")
_ROW_MARGIN, _COLUMN_MARGIN, _ROW_SHARE, _COLUMN_SHARE, _BEST = range(len(COMPETITION))


class EdgePosteriors(NamedTuple):
    """Posteriors of each edge, each float32, shape (E,), in [0, 1].

    Attributes
    ----------
    forward : ndarray
        p(target word k comes from source word j); sums to at most 1 over j.
    reverse : ndarray
        p(source word j comes from target word k); sums to at most 1 over k.
    joint : ndarray
        Their geometric mean.
    """

    forward: np.ndarray
    reverse: np.ndarray
    joint: np.ndarray

    @classmethod
    def of(cls, *, forward: np.ndarray, reverse: np.ndarray) -> EdgePosteriors:
        """Return posteriors of both directions with their geometric mean."""
        return cls(forward, reverse, np.sqrt(forward * reverse))


@cache
def competition_names(score: str) -> tuple[str, ...]:
    """Return the names of the five features of a score map."""
    return tuple(f"{score}_{suffix}" for suffix in COMPETITION)


@cache
def posterior_names(kind: str) -> tuple[str, ...]:
    """Return the names of the features of one kind of posteriors."""
    return (f"forward_{kind}", f"reverse_{kind}", kind, f"{kind}_log", *competition_names(kind))


def fill_posteriors(block: Block, found: EdgePosteriors, out: np.ndarray) -> None:
    """Write the posteriors both ways, their mean, the logarithm of their product, the mean's competition."""
    wanted = block.shared(chosen)
    for row, values in zip(out, found, strict=False):
        np.take(values, wanted.edges, out=row)
    scaled_log(out[2] * out[2], out[3])
    compete(found.joint, block.shapes, block.offsets, wanted, out[4:])


def scaled_log(values: np.ndarray, out: np.ndarray) -> None:
    """Write max(ln p, -10) / 10 + 1 of each p in [0, 1] (float32) to ``out``, exact to 2e-7.

    p = 2^e x with x between sqrt(1/2) and sqrt(2), so ln p = e ln 2 + ln x, and with s = (x - 1) / (x + 1)
    ln x = 2 (s + s^3 / 3 + s^5 / 5 + s^7 / 7 + ...), where abs(s) < 0.172. Unlike the library's logarithm
    this has no call and no branch (the compiler makes vector instructions of it), and is the same everywhere.
    """
    # The views are made here: in a kernel each takes the compiler a second.
    rest = np.empty(len(values), dtype=np.int32)
    _write_log(values, values.view(np.int32), rest, rest.view(np.float32), out)


@kernel(error_model="numpy")
def _write_log(values, bits, rest, fractions, out):  # type: ignore[no-untyped-def]
    """Write the logarithm of ``values``, whose bits ``bits`` are; ``fractions`` are the bits of ``rest``."""
    count = len(values)
    powers = np.empty(count, dtype=np.float32)
    for at in range(count):
        power = (bits[at] - _HALF_ROOT) >> _FRACTION
        rest[at] = bits[at] - np.int32(power << _FRACTION)
        powers[at] = np.float32(power)
    one, two, zero = np.float32(1.0), np.float32(2.0), np.float32(0.0)
    third, fifth, seventh = np.float32(1 / 3), np.float32(1 / 5), np.float32(1 / 7)
    tenth, ln2 = np.float32(-1.0 / LOWEST), np.float32(np.log(2.0))
    lowest = np.float32(np.exp(LOWEST))
    for at in range(count):
        s = (fractions[at] - one) / (fractions[at] + one)
        square = s * s
        ln = two * s * (one + square * (third + square * (fifth + square * seventh)))
        found = (powers[at] * ln2 + ln) * tenth + one
        out[at] = found if values[at] > lowest else zero


@kernel(error_model="numpy")
def compete(scores, shapes, offsets, wanted, out):  # type: ignore[no-untyped-def]
    """Write the five competition features of a score map: a score alone says little where rivals are unknown.

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
    wanted : Chosen
        The edges whose features are wanted; rivals are all.
    out : ndarray of float32, shape (5 or more, C)
        Written to, one row a feature.
    """
    widest, highest = 1, 1
    for i in range(len(shapes)):
        highest, widest = max(highest, shapes[i, 0]), max(widest, shapes[i, 1])
    # The best, the second best and the sum of each column and of each row.
    columns, rows = np.empty((3, widest), dtype=np.float32), np.empty((3, highest), dtype=np.float32)
    first, second, total = columns[0], columns[1], columns[2]
    none, zero, one = np.float32(-np.inf), np.float32(0.0), np.float32(1.0)
    token = 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        first[:m] = none
        second[:m] = none
        total[:m] = zero
        for j in range(n):
            row = scores[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            row_first, row_second, row_total = none, none, zero
            for k in range(m):
                second[k] = max(second[k], min(row[k], first[k]))
                first[k] = max(first[k], row[k])
                total[k] += max(row[k], zero)
            for k in range(m):
                row_second = max(row_second, min(row[k], row_first))
                row_first = max(row_first, row[k])
                row_total += max(row[k], zero)
            rows[0, j], rows[1, j], rows[2, j] = row_first, zero if m == 1 else row_second, row_total
        if n == 1:
            second[:m] = zero
        for j in range(n):
            row_first, row_second, row_total = rows[0, j], rows[1, j], rows[2, j]
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                k = wanted.targets[at]
                own = scores[offsets[i] + j * m + k]
                margin = own - (row_second if own == row_first else row_first)
                column_margin = own - (second[k] if own == first[k] else first[k])
                out[_ROW_MARGIN, at], out[_COLUMN_MARGIN, at] = margin, column_margin
                out[_ROW_SHARE, at] = max(own, zero) / row_total if row_total > zero else zero
                out[_COLUMN_SHARE, at] = max(own, zero) / total[k] if total[k] > zero else zero
                out[_BEST, at] = one if (margin > zero) & (column_margin > zero) else zero
            token += 1


@kernel(error_model="numpy")
def neighbours(shapes, offsets, scores, wanted, out):  # type: ignore[no-untyped-def]
    """Write the scores of (j-1, k-1) and (j+1, k+1), 0 beyond the sentence, and their geometric mean."""
    zero, token = np.float32(0.0), 0
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                k = wanted.targets[at]
                edge = offsets[i] + j * m + k
                before = scores[edge - m - 1] if j > 0 and k > 0 else zero
                after = scores[edge + m + 1] if j + 1 < n and k + 1 < m else zero
                out[0, at], out[1, at], out[2, at] = before, after, np.sqrt(before * after)
            token += 1
