"""The links of scored edges, and what each of them is worth.

The score of a link is that of its edge less what it costs its two words: a word's strongest link is free,
each weaker one carries the cost of an extra link. So the scores of a pair's links sum to the value of its
labelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from align import fertility, matching
from align.kernels import kernel
from align.scoring import Scores, score_edges

if TYPE_CHECKING:
    from align.features import Edges


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
    extra = edges.extra if len(weights) > own else None
    costs = None if extra is None else extra.costs(weights[own:])
    return Scores(edges.shapes, edges.offsets, score_edges(edges.features, weights[:own]), costs)


def decode(scored: Scores, *, most: int = 1, bias: float = 0.0) -> Decoded:
    """Return the best links of each pair of a block.

    Parameters
    ----------
    scored : Scores
        Scores of the edges; where ``most`` > 1 the costs of the words too.
    most : int
        Links that a word may have, >= 1.
    bias : float
        Added to the score of every possible link, but not to the scores returned.
    """
    scores, shapes, offsets = scored.scores, scored.shapes, scored.offsets
    raised = scores + bias if bias else scores
    if most == 1:
        linked = np.flatnonzero(matching.solve(raised, shapes, offsets))
        return Decoded(scores, linked, np.zeros(len(linked)))
    if scored.costs is None:
        raise ValueError("decoding: several links a word, but no features of words")
    links = fertility.solve(raised, shapes, offsets, *scored.costs, most=most)
    linked, charges = np.flatnonzero(links), np.zeros(len(scores))
    _charge(scores, links, shapes, *scored.costs, charges)
    return Decoded(scores - charges, linked, charges[linked])


@kernel
def _charge(
    scores: np.ndarray,
    links: np.ndarray,
    shapes: np.ndarray,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    charges: np.ndarray,
) -> None:
    """Add to ``charges`` what links cost: all but the strongest of each word, the first of equals."""
    first, source, target = 0, 0, 0
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        for j in range(n):
            _charge_word(scores, links, first + j * m, 1, m, source_costs[source + j], charges)
        for k in range(m):
            _charge_word(scores, links, first + k, m, n, target_costs[target + k], charges)
        first += n * m
        source += n
        target += m


@kernel
def _charge_word(
    scores: np.ndarray, links: np.ndarray, start: int, step: int, count: int, cost: float, charges: np.ndarray
) -> None:
    best, edges = -1, 0
    for turn in range(count):
        edge = start + turn * step
        if links[edge]:
            edges += 1
            if best < 0 or scores[edge] > scores[best]:
                best = edge
    if edges > 1:
        for turn in range(count):
            edge = start + turn * step
            if links[edge] and edge != best:
                charges[edge] += cost
