"""The best matching of a pair in which a link is forbidden, or forced: what the best one won against.

Both are asked of the oracle itself. A forbidden edge gets weight 0, and such edges are never linked. A forced
one gets so much that no other links are worth leaving it out: with K links a word it costs at most one link
of each of its two words, and what an extra link of both costs, so

    M = 1 + 2 max(theta, 0) + s_j + t_k - theta_jk

added to its weight is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from align.matching import assignment, fertility

Costs = tuple[np.ndarray, np.ndarray]


class Matching(NamedTuple):
    """The links of one pair, and what they are worth together."""

    links: np.ndarray  # bool, shape (n, m)
    value: float  # their weights, less what words pay for links after their first


def best(theta: np.ndarray, costs: Costs | None = None, *, max_fertility: int = 1) -> Matching:
    """Return a best matching of one pair.

    Parameters
    ----------
    theta : ndarray of float64, shape (n, m)
        Weights of the edges, finite.
    costs : (ndarray, ndarray) of float64, shapes (n,) and (m,), optional
        What each link of a source, and of a target, word after its first costs, >= 0; needed where words may
        have several links.
    max_fertility : int
        Links that a word may have, >= 1.
    """
    return _solved(theta, theta, costs, max_fertility)


def best_without(
    theta: np.ndarray,
    edges: Iterable[tuple[int, int]],
    costs: Costs | None = None,
    *,
    max_fertility: int = 1,
) -> Matching:
    """Return a best matching that has none of some edges (source, target); the rest as in :func:`best`."""
    raised = np.array(theta, dtype=np.float64)
    for edge in edges:
        raised[edge] = 0.0
    return _solved(theta, raised, costs, max_fertility)


def best_with(
    theta: np.ndarray,
    edges: Iterable[tuple[int, int]],
    costs: Costs | None = None,
    *,
    max_fertility: int = 1,
) -> Matching:
    """Return a best matching that has at least one of some edges (source, target), whatever it is worth.

    Raises
    ------
    ValueError
        If no edge is given.
    """
    found = []
    for j, k in edges:
        raised = np.array(theta, dtype=np.float64)
        extra = 0.0 if costs is None else float(costs[0][j] + costs[1][k])
        raised[j, k] = 1.0 + 2.0 * max(float(raised.max()), 0.0) + extra
        found.append(_solved(theta, raised, costs, max_fertility))
    if not found:
        raise ValueError("rivals: no edge that could be forced; give at least one")
    return max(found, key=lambda matching: matching.value)


def _solved(theta: np.ndarray, raised: np.ndarray, costs: Costs | None, max_fertility: int) -> Matching:
    """Solve for the raised weights; the value is that of the weights as they are."""
    n, m = theta.shape
    shapes, offsets = np.array([[n, m]], dtype=np.int32), np.array([0, n * m], dtype=np.int64)
    if max_fertility == 1:
        links = assignment.solve(raised.ravel(), shapes, offsets).reshape(n, m)
        return Matching(links, float(theta[links].sum()))
    if costs is None:
        raise ValueError("rivals: several links a word, but no costs of words; give both sides'")
    links = fertility.solve(raised.ravel(), shapes, offsets, *costs, max_fertility=max_fertility)
    links = links.reshape(n, m)
    return Matching(links, fertility.total(theta, *costs, links))
