"""The links of scored edges, and what each of them is worth.

The score of a link is that of its edge less what it costs its two words: a word's strongest link is free,
each weaker one carries the cost of an extra link. So the scores of a pair's links sum to the value of its
labelling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features import Edges
from align.features.scoring import Scores, score_edges
from align.matching import assignment, fertility


class Decoded(NamedTuple):
    """The links of a block of pairs.

    Attributes
    ----------
    scores : ndarray of float64, shape (E,)
        Scores of all edges; those of linked ones less ``charges``.
    linked : ndarray of int64, shape (L,)
        The edges that are linked, ascending.
    charges : ndarray of float64, shape (L,)
        What each link costs its two words, >= 0.
    """

    scores: np.ndarray
    linked: np.ndarray
    charges: np.ndarray


def score(edges: Edges, weights: np.ndarray) -> Scores:
    """Return the scores of edges, and what words pay for more than one link.

    Parameters
    ----------
    edges : Edges
        Features of the edges, and of the words where there are any.
    weights : ndarray of float64, shape (d,)
        Weights of the features of edges, then of those of words. Those of edges alone where words have one
        link, whatever is known of them: there are no costs then.
    """
    own = edges.features.shape[1]
    words = edges.word_features if len(weights) > own else None
    costs = None if words is None else words.costs(weights[own:])
    return Scores(edges.shapes, edges.offsets, score_edges(edges.features, weights[:own]), costs)


def decode(scored: Scores, *, max_fertility: int = 1, bias: float = 0.0) -> Decoded:
    """Return the best links of each pair of a block.

    Parameters
    ----------
    scored : Scores
        Scores of the edges; where ``max_fertility`` > 1 the costs of the words too.
    max_fertility : int
        Links that a word may have, >= 1.
    bias : float
        Added to the score of every possible link, but not to the scores returned.
    """
    scores, shapes, offsets = scored.scores, scored.shapes, scored.offsets
    raised = scores + bias if bias else scores
    if max_fertility == 1:
        linked = np.flatnonzero(assignment.solve(raised, shapes, offsets))
        return Decoded(scores, linked, np.zeros(len(linked)))
    if scored.costs is None:
        raise ValueError("decoding: several links a word, but no features of words")
    links = fertility.solve(raised, shapes, offsets, *scored.costs, max_fertility=max_fertility)
    linked = np.flatnonzero(links)
    charges = np.zeros(len(linked))
    _charge(scores, linked, shapes, *scored.costs, charges)
    left = scores.copy()
    left[linked] -= charges
    return Decoded(left, linked, charges)


def places(scored: Scores, linked: np.ndarray) -> np.ndarray:
    """Return the pair of each linked edge, its source and its target word.

    Parameters
    ----------
    scored : Scores
        Scores of the edges of N pairs.
    linked : ndarray of int64, shape (L,)
        Edges, ascending.

    Returns
    -------
    ndarray of int64, shape (3, L)
        Pairs from 0; words counted over all pairs.
    """
    found = np.empty((3, len(linked)), dtype=np.int64)
    _place(linked, scored.shapes, found)
    return found


@kernel
def _place(linked: np.ndarray, shapes: np.ndarray, found: np.ndarray) -> None:
    at, first, source, target = 0, 0, 0, 0
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        while at < len(linked) and linked[at] < first + n * m:
            j = (linked[at] - first) // m
            found[0, at], found[1, at] = i, source + j
            found[2, at] = target + linked[at] - first - j * m
            at += 1
        first += n * m
        source += n
        target += m


@kernel
def _charge(
    scores: np.ndarray,
    linked: np.ndarray,
    shapes: np.ndarray,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    charges: np.ndarray,
) -> None:
    """Add to ``charges`` what links cost: all but the strongest of each word, the first of equals."""
    words = 1
    for i in range(len(shapes)):
        words = max(words, shapes[i, 0], shapes[i, 1])
    best, links = np.empty((2, words), dtype=np.int64), np.empty((2, words), dtype=np.int64)
    at, first, source, target = 0, 0, 0, 0
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        links[0, :n] = 0
        links[1, :m] = 0
        stop = at
        while stop < len(linked) and linked[stop] < first + n * m:
            j = (linked[stop] - first) // m
            k = linked[stop] - first - j * m
            for side in range(2):
                word = j if side == 0 else k
                if links[side, word] == 0 or scores[linked[stop]] > scores[linked[best[side, word]]]:
                    best[side, word] = stop
                links[side, word] += 1
            stop += 1
        for link in range(at, stop):
            j = (linked[link] - first) // m
            k = linked[link] - first - j * m
            if links[0, j] > 1 and best[0, j] != link:
                charges[link] += source_costs[source + j]
            if links[1, k] > 1 and best[1, k] != link:
                charges[link] += target_costs[target + k]
        at = stop
        first += n * m
        source += n
        target += m
