"""The links of scored edges, and what each of them is worth.

The score of a link is that of its edge less what it costs its two words: a word's strongest link is free,
each weaker one carries the cost of an extra link. So the scores of a pair's links sum to the value of its
labelling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.ragged import word_offsets
from align.features import Edges
from align.features.scoring import UNSCORED, Scores, score_edges
from align.matching import assignment, fertility


class Decoded(NamedTuple):
    """The links of a block of pairs."""

    linked: np.ndarray  # int64, shape (L,): the edges that are linked, ascending
    scores: np.ndarray  # float64, shape (L,): their scores less ``charges``
    charges: np.ndarray  # float64, shape (L,): what each link costs its two words, >= 0


def score(edges: Edges, weights: np.ndarray) -> Scores:
    """Return the scores of the likely edges, and what words pay for more than one link.

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
    scores = score_edges(edges.features, weights[:own])
    if edges.likely is not None:
        scores[~edges.likely] = UNSCORED
    return Scores(edges.shapes, edges.offsets, scores, costs)


def decode(scored: Scores, *, max_fertility: int = 1, bias: float = 0.0) -> Decoded:
    """Return the best links of each pair of a block.

    Parameters
    ----------
    scored : Scores
        Scores of the edges; where ``max_fertility`` > 1 the costs of the words too.
    max_fertility : int
        Links that a word may have, >= 1.
    bias : float
        Added to the score of every edge, but not to the scores returned. Edges that are not likely have none
        and stay without a link; where it is above 0, give the scores of all.
    """
    scores, shapes, offsets = scored.scores, scored.shapes, scored.offsets
    raised = scores + bias if bias else scores
    if max_fertility == 1:
        linked = np.flatnonzero(assignment.solve(raised, shapes, offsets))
        return Decoded(linked, scores[linked], np.zeros(len(linked)))
    if scored.costs is None:
        raise ValueError("decoding: several links a word, but no features of words")
    links = fertility.solve(raised, shapes, offsets, *scored.costs, max_fertility=max_fertility)
    linked = np.flatnonzero(links)
    charges = _charges(scored, linked)
    return Decoded(linked, scores[linked] - charges, charges)


def places(edges: Edges | Scores, linked: np.ndarray) -> np.ndarray:
    """Return pair, source and target word of some edges, ``linked`` int64 (L,), as int64 of shape (3, L).

    Pairs count from 0; words count over all pairs.
    """
    pairs = np.searchsorted(edges.offsets, linked, side="right") - 1
    j, k = np.divmod(linked - edges.offsets[pairs], edges.shapes[pairs, 1])
    source, target = word_offsets(edges.shapes)
    return np.stack([pairs, source[pairs] + j, target[pairs] + k])


def _charges(scored: Scores, linked: np.ndarray) -> np.ndarray:
    """Return what links cost: all but the strongest of each word, the first of equals."""
    assert scored.costs is not None
    charges, scores = np.zeros(len(linked)), scored.scores[linked]
    for words, costs in zip(places(scored, linked)[1:], scored.costs, strict=True):
        best, strongest = np.full(len(costs), -np.inf), np.zeros(len(costs), dtype=np.int64)
        np.maximum.at(best, words, scores)
        reached = np.flatnonzero(scores == best[words])[::-1]
        strongest[words[reached]] = reached  # of equals the first, which is written last
        weaker = np.ones(len(linked), dtype=bool)
        weaker[strongest[words]] = False
        charges[weaker] += costs[words[weaker]]
    return charges
