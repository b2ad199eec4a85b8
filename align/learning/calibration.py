"""From the score of a link to its confidence: the probability that it is right.

    confidence(x) = 1 / (1 + exp(-(a x + b + c r))),    a > 0,  c <= 0,

where r is 1 if one of the two words is rare: not in the vocabulary, or seen once, so that the statistics know
nothing of it or only what this very pair told them. (a, b, c) have the largest likelihood of the right and
wrong links that are made in labelled pairs. So that few examples, or none that are wrong, do not give
certainty, they are fitted to the targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0 [1]_; c is
taken to be normally distributed about 0 with variance 1 before anything is seen.

Where the links to fit it to come from: :mod:`align.learning.held_out_calibration`.

References
----------
.. [1] Platt 1999, "Probabilistic outputs for support vector machines", section 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from align.data.corpus import Corpus
    from align.data.vocabulary import Vocabulary

# Words seen so often, or less, are rare.
RARE = 1

# The ridge of (a, b) keeps the system solvable where scores of one value leave the slope open; that of c is
# its prior.
_RIDGE = np.array([1e-6, 1e-6, 1.0])
_LEAST_SLOPE = 1e-3


class Calibration(NamedTuple):
    """What leads from scores to confidences."""

    slope: float  # a > 0
    level: float  # b
    rare: float = 0.0  # c <= 0


UNFITTED = Calibration(1.0, 0.0)


def rare_words(corpus: Corpus, vocabularies: tuple[Vocabulary, Vocabulary]) -> tuple[np.ndarray, np.ndarray]:
    """Return which words of each side are not in the vocabulary or were seen once: bool, pair after pair."""
    source, target = vocabularies
    return _rare(np.asarray(corpus.source.ids), source), _rare(np.asarray(corpus.target.ids), target)


def fit_calibration(scores: np.ndarray, correct: np.ndarray, rare: np.ndarray | None = None) -> Calibration:
    """Fit (a, b, c) to scored links.

    Parameters
    ----------
    scores : ndarray of float64, shape (L,)
        Scores of links, finite.
    correct : ndarray of bool, shape (L,)
        Whether each link is right.
    rare : ndarray of bool, shape (L,), optional
        Whether each link has a rare word. Default: none has.

    Returns
    -------
    Calibration
        With a >= 0.001 and c <= 0: neither a higher score nor a more frequent word gives a lower confidence.
        (1, 0, 0) without links.
    """
    if len(scores) == 0:
        return UNFITTED
    right = int(correct.sum())
    wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(scores) - right + 2))
    columns = np.stack([scores.astype(np.float64), np.ones(len(scores))], axis=1)
    if rare is not None and rare.any() and not rare.all():
        a, b, c = _fit(np.hstack([columns, rare[:, None].astype(np.float64)]), wanted)
        if a >= _LEAST_SLOPE and c < 0:
            return Calibration(a, b, c)
    a, b = _fit(columns, wanted)
    if a < _LEAST_SLOPE:
        share = wanted.mean()
        return Calibration(_LEAST_SLOPE, float(np.log(share / (1 - share)) - _LEAST_SLOPE * scores.mean()))
    return Calibration(a, b)


def confidence(
    scores: np.ndarray, calibration: tuple[float, ...], rare: np.ndarray | None = None
) -> np.ndarray:
    """Return the confidence of scored links, float64 in [0, 1], same shape as the scores.

    Parameters
    ----------
    scores : ndarray of float
        Scores of links.
    calibration : tuple of float
        (a, b, c), or (a, b) for c = 0.
    rare : ndarray of bool, same shape, optional
        Whether each link has a rare word. Default: none has.
    """
    fitted = Calibration(*calibration)
    x = fitted.slope * np.asarray(scores, dtype=np.float64) + fitted.level
    return logistic(x if rare is None else x + fitted.rare * np.asarray(rare, dtype=np.float64))


def logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _rare(ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    seen = np.zeros(len(ids), dtype=np.int64)
    known = ids < len(vocabulary)
    seen[known] = vocabulary.counts[ids[known]]
    return seen <= RARE


def _fit(columns: np.ndarray, wanted: np.ndarray) -> list[float]:
    """Return the parameters, one a column, of the least cross entropy plus ridge."""
    from scipy.optimize import minimize  # takes half a second to load, and only training fits

    ridge = _RIDGE[: columns.shape[1]]

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        x = columns @ parameters
        value = (np.logaddexp(0.0, x) - wanted * x).sum() + 0.5 * (ridge * parameters) @ parameters
        return float(value), columns.T @ (logistic(x) - wanted) + ridge * parameters

    def curvature(parameters: np.ndarray) -> np.ndarray:
        right = logistic(columns @ parameters)
        return (columns * (right * (1 - right))[:, None]).T @ columns + np.diag(ridge)

    start = np.zeros(columns.shape[1])
    found = minimize(loss, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-8})
    parameters: list[float] = found.x.tolist()
    return parameters
