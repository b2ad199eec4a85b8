"""Scores of edges: the inner product of their features and the weights, summed in one fixed order.

An edge's score depends on its own features alone, bit by bit, whatever else is in the block, and is the same
whether the features lie by edge or by feature: a library's matrix product would not promise that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only

# The score of an edge that is not likely: far below that of any link.
UNSCORED = -1e9

# Sums of so many edges stay in the processor's nearest cache while feature after feature is added.
_EDGES_A_RUN = 2048


@dataclass(frozen=True)
class Scores:
    """The scores of the edges of N pairs.

    Attributes
    ----------
    shapes, offsets : ndarray
        As in :class:`align.features.Edges`.
    scores : ndarray of float64, shape (E,)
        The score of each edge; :data:`UNSCORED` (-1e9) of one that cannot be linked, because nothing speaks
        for it (:func:`align.features.groups.likely_edges`).
    costs : tuple of ndarray of float64, optional
        What each source and each target word pays for every link after its first, >= 0, pair after pair.
    """

    shapes: np.ndarray
    offsets: np.ndarray
    scores: np.ndarray
    costs: tuple[np.ndarray, np.ndarray] | None = None


def score_edges(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return <w, x> of each edge, float64, shape (E,).

    Parameters
    ----------
    features : ndarray of float32, shape (E, d)
        Features; they may lie on disk (memory-mapped).
    weights : ndarray of float64, shape (d,)
        Weights.

    Raises
    ------
    ValueError
        If there is not one weight a feature.
    """
    if weights.shape != features.shape[1:]:
        raise ValueError(f"scoring: weights {weights.shape} of features {features.shape}; give one a column")
    scores = np.empty(len(features))
    _score(read_only(features, np.float32), np.ascontiguousarray(weights, dtype=np.float64), scores)
    return scores


@kernel
def _score(features, weights, scores):  # type: ignore[no-untyped-def]
    for edge in range(len(features)):
        row = features[edge]
        total = 0.0
        for c in range(len(weights)):
            total += weights[c] * row[c]
        scores[edge] = total


@kernel
def add_rows(features, scale, weights, scores):  # type: ignore[no-untyped-def]
    """Add the share of some features, which lie one after the other, to the scores of edges.

    Parameters
    ----------
    features : ndarray of float32, shape (d, E)
        A row for each feature.
    scale : float32
        What they are multiplied by first.
    weights : ndarray of float64, shape (d,)
        Weights of these features.
    scores : ndarray of float64, shape (E,)
        Added to, feature after feature.
    """
    whole = len(weights) - len(weights) % 4
    for start in range(0, len(scores), _EDGES_A_RUN):
        sums = scores[start : start + _EDGES_A_RUN]
        for c in range(0, whole, 4):
            # Four at a time, in the same order: the sums are then seldom fetched and put back.
            w_a, w_b, w_c, w_d = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
            first, second = features[c][start:], features[c + 1][start:]
            third, fourth = features[c + 2][start:], features[c + 3][start:]
            for edge in range(len(sums)):
                total = sums[edge] + w_a * (first[edge] * scale)
                total = total + w_b * (second[edge] * scale)
                total = total + w_c * (third[edge] * scale)
                sums[edge] = total + w_d * (fourth[edge] * scale)
        for c in range(whole, len(weights)):
            row, weight = features[c][start:], weights[c]
            for edge in range(len(sums)):
                sums[edge] += weight * (row[edge] * scale)
