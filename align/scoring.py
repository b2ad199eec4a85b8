"""Scores of edges: the inner product of their features and the weights, summed in one fixed order."""

from __future__ import annotations

import numpy as np

from align.kernels import kernel


def score_edges(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return <w, x> of each edge, float64, shape (E,).

    Parameters
    ----------
    features : ndarray of float32, shape (E, d)
        Features; they may lie on disk (memory-mapped).
    weights : ndarray of float64, shape (d,)
        Weights.

    Notes
    -----
    An edge's score depends on its own features alone, bit by bit, whatever else is in the block: a library's
    matrix product would not promise that.
    """
    view = np.ascontiguousarray(features, dtype=np.float32).view()
    view.flags.writeable = False
    scores = np.empty(len(features))
    _score(view, np.ascontiguousarray(weights, dtype=np.float64), scores)
    return scores


@kernel
def _score(features, weights, scores):  # type: ignore[no-untyped-def]
    d = features.shape[1]
    whole = d - d % 4
    for edge in range(len(features)):
        row = features[edge]
        # Four running sums: one alone would make each addition wait for the one before.
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for c in range(0, whole, 4):
            first += weights[c] * row[c]
            second += weights[c + 1] * row[c + 1]
            third += weights[c + 2] * row[c + 2]
            fourth += weights[c + 3] * row[c + 3]
        for c in range(whole, d):
            first += weights[c] * row[c]
        scores[edge] = (first + second) + (third + fourth)
