"""What several groups make of one number an edge: its logarithm, its margins, its neighbours."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block

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
    out[0], out[1], out[2] = found
    scaled_log(found.joint * found.joint, out[3])
    compete(found.joint, block.shapes, block.offsets, out[4:])


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
def compete(scores, shapes, offsets, out):  # type: ignore[no-untyped-def]
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
    out : ndarray of float32, shape (5 or more, E)
        Written to, one row a feature.
    """
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
            row_first, row_second, row_total = none, none, zero
            for k in range(m):
                second[k] = max(second[k], min(row[k], first[k]))
                first[k] = max(first[k], row[k])
                total[k] += max(row[k], zero)
            for k in range(m):
                row_second = max(row_second, min(row[k], row_first))
                row_first = max(row_first, row[k])
                row_total += max(row[k], zero)
            if m == 1:
                row_second = zero
            margins, shares = out[_ROW_MARGIN, start:stop], out[_ROW_SHARE, start:stop]
            for k in range(m):
                margins[k] = row[k] - (row_second if row[k] == row_first else row_first)
            for k in range(m):
                shares[k] = max(row[k], zero) / row_total if row_total > zero else zero
        if n == 1:
            second[:m] = zero
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            row = scores[start:stop]
            margins, shares = out[_COLUMN_MARGIN, start:stop], out[_COLUMN_SHARE, start:stop]
            for k in range(m):
                margins[k] = row[k] - (second[k] if row[k] == first[k] else first[k])
            for k in range(m):
                shares[k] = max(row[k], zero) / total[k] if total[k] > zero else zero
    row_margins, column_margins, best = out[_ROW_MARGIN], out[_COLUMN_MARGIN], out[_BEST]
    for edge in range(len(scores)):
        best[edge] = one if (row_margins[edge] > zero) & (column_margins[edge] > zero) else zero


@kernel(error_model="numpy")
def neighbours(shapes, offsets, scores, out):  # type: ignore[no-untyped-def]
    """Write the scores of (j-1, k-1) and (j+1, k+1), 0 beyond the sentence, and their geometric mean."""
    zero = np.float32(0.0)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            start, stop = offsets[i] + j * m, offsets[i] + (j + 1) * m
            before, after, both = out[0, start:stop], out[1, start:stop], out[2, start:stop]
            before[:] = zero
            after[:] = zero
            if j > 0:
                above = scores[start - m : start]
                for k in range(1, m):
                    before[k] = above[k - 1]
            if j + 1 < n:
                below = scores[stop : stop + m]
                for k in range(1, m):
                    after[k - 1] = below[k]
            for k in range(m):
                both[k] = np.sqrt(before[k] * after[k])
