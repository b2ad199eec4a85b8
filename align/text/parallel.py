r"""One long sentence pair to several shorter ones, in parallel.

The sentences of both sides are matched by their lengths [1]_: with l_1, l_2 the characters of two groups of
sentences and c the ratio of the whole texts' lengths,

    delta = (l_2 - c l_1) / sqrt(s^2 (l_1 + l_2 / c) / 2),    cost = -log P(group) - log P(|delta| or more),

and the cheapest sequence of groups (one to one, one to none, two to one, two to two) is found by dynamic
programming. Neighbouring groups are then put together as long as they stay short: the fewer cuts, the
fewer wrong ones. (nltk's ``gale_church`` returns links, without the groups of one to none, and fills the
whole table of n times m groups; here it is a band.)

References
----------
.. [1] W. A. Gale and K. W. Church, "A Program for Aligning Sentences in Bilingual Corpora", Computational
   Linguistics 19(1), 1993; the probabilities of the groups are those of its table 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

# Variance of the length of a translation, per character of the original.
_VARIANCE = 6.8

# Sentences of the source and of the target in a group, and the cost of each kind.
_GROUPS = [
    (take, -math.log(probability))
    for take, probability in (
        ((1, 1), 0.89),
        ((1, 0), 0.0099),
        ((0, 1), 0.0099),
        ((2, 1), 0.089),
        ((1, 2), 0.089),
        ((2, 2), 0.011),
    )
]

# Sentences that the search may stray from the straight line (twice that where the counts differ by as much):
# texts of thousands of sentences would take the square of their number else.
_STRAY = 25

_CLAUSE_ENDS = frozenset(".!?;:,…。！？；：，、؟؛،।") | {"--", "–", "—", ")", "...", "”", "»"}


class Part(NamedTuple):
    """A part of a sentence pair: tokens ``start`` to ``stop`` of each side; a side may be empty."""

    source: tuple[int, int]
    target: tuple[int, int]


class LongSide(NamedTuple):
    """One side of a long pair: its surface tokens, and where each of its sentences ends."""

    tokens: Sequence[str]
    weights: Sequence[int]  # analysis tokens of each: the length of a part is their sum
    sentences: Sequence[int]  # index of the token after the last of each sentence, ascending


def split_pair(source: LongSide, target: LongSide, *, limit: int) -> list[Part]:
    """Split a pair to parallel parts, none longer than the limit where that can be.

    Parameters
    ----------
    source, target : LongSide
        The two sides.
    limit : int
        Analysis tokens that a part may have on either side, >= 1.

    Returns
    -------
    list of Part
        Parts in order that cover the pair. A part over the limit could not be split further; one with an
        empty side has no counterpart.
    """
    sides, parts = (source, target), []
    for part in _parts(sides, (source.sentences, target.sentences), (0, 0), limit):
        if _longest(sides, part) <= limit:
            parts.append(part)
        else:
            clauses = _clauses(source, part.source), _clauses(target, part.target)
            parts += _parts(sides, clauses, (part.source[0], part.target[0]), limit)
    return parts


def _parts(
    sides: tuple[LongSide, LongSide],
    ends: tuple[Sequence[int], Sequence[int]],
    start: tuple[int, int],
    limit: int,
) -> list[Part]:
    """Match the segments from a place on and put neighbours together up to the limit."""
    sizes = _sizes(sides[0].tokens, start[0], ends[0]), _sizes(sides[1].tokens, start[1], ends[1])
    parts: list[Part] = []
    i = j = 0
    for taken in match(*sizes):
        i, j = i + taken[0], j + taken[1]
        stop = ends[0][i - 1] if i else start[0], ends[1][j - 1] if j else start[1]
        if parts:
            joined = Part((parts[-1].source[0], stop[0]), (parts[-1].target[0], stop[1]))
            if _longest(sides, joined) <= limit:
                parts[-1] = joined
                continue
            start = parts[-1].source[1], parts[-1].target[1]
        parts.append(Part((start[0], stop[0]), (start[1], stop[1])))
    return parts


def _longest(sides: tuple[LongSide, LongSide], part: Part) -> int:
    """Return the analysis tokens of the longer side of a part."""
    return max(sum(side.weights[slice(*span)]) for side, span in zip(sides, part, strict=True))


def _sizes(tokens: Sequence[str], start: int, ends: Sequence[int]) -> list[int]:
    """Return the characters of each segment, the spaces between its tokens counted."""
    sizes = []
    for end in ends:
        sizes.append(sum(len(token) + 1 for token in tokens[start:end]))
        start = end
    return sizes


def _clauses(side: LongSide, span: tuple[int, int]) -> list[int]:
    """Return the ends of the clauses of a part: after punctuation marks."""
    ends = {place + 1 for place in range(*span) if side.tokens[place] in _CLAUSE_ENDS}
    # Marks in a row end one clause; the last ends with the part.
    return sorted({end for end in ends if end + 1 not in ends} | ({span[1]} if span[1] > span[0] else set()))


def match(source: Sequence[int], target: Sequence[int]) -> list[tuple[int, int]]:
    """Match two sequences of sentences by their lengths.

    Parameters
    ----------
    source, target : sequence of int
        Characters of each sentence, >= 1.

    Returns
    -------
    list of (int, int)
        How many sentences of the source and of the target each group takes, in order.
    """
    n, m = len(source), len(target)
    totals = [0, *accumulate(source)], [0, *accumulate(target)]
    ratio = totals[1][-1] / totals[0][-1] if totals[0][-1] and totals[1][-1] else 1.0
    slope = m / n if n else 0.0
    stray = _STRAY + min(_STRAY, abs(n - m))
    best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {(0, 0): (0.0, (0, 0))}
    for i in range(n + 1):
        middle = int(i * slope)
        low, high = (max(0, middle - stray), min(m, middle + stray)) if n else (0, m)
        for j in range(low, high + 1):
            choices = []
            for (take_source, take_target), cost in _GROUPS:
                before = best.get((i - take_source, j - take_target))
                if before is not None and (i, j) != (0, 0):
                    lengths = (
                        totals[0][i] - totals[0][i - take_source],
                        totals[1][j] - totals[1][j - take_target],
                    )
                    total = before[0] + cost + _cost(*lengths, ratio)
                    choices.append((total, (take_source, take_target)))
            if choices:
                best[i, j] = min(choices)
    groups = []
    place = (n, m)
    while place != (0, 0):
        take = best[place][1]
        groups.append(take)
        place = (place[0] - take[0], place[1] - take[1])
    return groups[::-1]


def _cost(source: int, target: int, ratio: float) -> float:
    """Return -log of the probability that a translation strays so far in length, or farther."""
    mean = (source + target / ratio) / 2
    delta = abs(target - source * ratio) / math.sqrt(mean * _VARIANCE) if mean else 0.0
    # Beyond about 38 standard deviations the probability is 0 in floating point.
    return -math.log(max(math.erfc(delta / math.sqrt(2)), 1e-300))
