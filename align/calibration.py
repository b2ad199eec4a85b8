"""From the score of a link to its confidence: the probability that it is right.

    confidence(x) = 1 / (1 + exp(-(a x + b))),    a > 0,

with (a, b) of the largest likelihood of the right and wrong links that a model makes in labelled pairs. So
that few examples, or none that are wrong, do not give certainty, they are fitted to the targets
(N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0 [1]_.

References
----------
.. [1] Platt 1999, "Probabilistic outputs for support vector machines", section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.decoding import decode, score

if TYPE_CHECKING:
    from align.features import Edges
    from align.labels import Labels

UNFITTED = (1.0, 0.0)
_LEAST_SLOPE = 1e-3
_STEPS = 100


def calibrate(edges: Edges, labels: Labels, weights: np.ndarray, *, most: int = 1) -> tuple[float, float]:
    """Fit the calibration of a model on labelled pairs: to be called when its weights are known.

    Parameters
    ----------
    edges : Edges
        Features of the pairs.
    labels : Labels
        Their links; a link that is not sure counts as right too.
    weights : ndarray of float64, shape (d,)
        The model's weights.
    most : int
        Links that a word may have, >= 1.

    Returns
    -------
    (float, float)
        (a, b), for ``Model.calibration``.
    """
    scores, linked, _ = decode(score(edges, weights), most=most)
    gold, free = labels.dense(edges.shapes)
    return fit_calibration(scores[linked], (gold | free)[linked])


def fit_calibration(scores: np.ndarray, correct: np.ndarray) -> tuple[float, float]:
    """Fit (a, b) to scored links by Newton's method.

    Parameters
    ----------
    scores : ndarray of float64, shape (L,)
        Scores of links, finite.
    correct : ndarray of bool, shape (L,)
        Whether each link is right.

    Returns
    -------
    (float, float)
        (a, b) with a >= 0.001: a higher score never gives a lower confidence. (1, 0) without links.
    """
    if len(scores) == 0:
        return UNFITTED
    right = int(correct.sum())
    wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(scores) - right + 2))
    # Scores of one value leave the slope open; the small ridge then keeps the system solvable.
    columns = np.stack([scores.astype(np.float64), np.ones(len(scores))], axis=1)
    ridge = 1e-6 * np.eye(2)
    parameters = np.zeros(2)
    loss = _loss(columns, wanted, parameters)
    for _ in range(_STEPS):
        guessed = logistic(columns @ parameters)
        gradient = columns.T @ (guessed - wanted) + ridge @ parameters
        curvature = (columns * (guessed * (1 - guessed))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-10 and _loss(columns, wanted, parameters - size * step) > loss:
            size /= 2
        parameters = parameters - size * step
        previous, loss = loss, _loss(columns, wanted, parameters)
        if previous - loss <= 1e-12 * (1 + abs(loss)):
            break
    if parameters[0] < _LEAST_SLOPE:
        share = wanted.mean()
        level = np.log(share / (1 - share)) - _LEAST_SLOPE * scores.mean()
        return _LEAST_SLOPE, float(level)
    return float(parameters[0]), float(parameters[1])


def confidence(scores: np.ndarray, calibration: tuple[float, float]) -> np.ndarray:
    """Return the confidence of scored links, float64 in [0, 1], same shape as the scores."""
    a, b = calibration
    return logistic(a * np.asarray(scores, dtype=np.float64) + b)


def logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _loss(columns: np.ndarray, wanted: np.ndarray, parameters: np.ndarray) -> float:
    """Return the cross entropy plus the ridge, the function that is minimised."""
    x = columns @ parameters
    cross = np.logaddexp(0.0, x) - wanted * x
    return float(cross.sum() + 0.5e-6 * parameters @ parameters)
