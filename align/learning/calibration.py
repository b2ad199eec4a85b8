"""From the score of a link to its confidence: the probability that it is right.

    confidence(x) = 1 / (1 + exp(-(a x + b + c r + d ln(1 + n) + e max(x - 1, 0)))),
    a > 0,  c <= 0,  d >= 0,  e >= 0,

where n is how often the rarer of the two words was seen, and r is 1 if that is at most once, so that the
statistics know nothing of it or only what this very pair told them; from the margin of training on, 1, scores
may say more. The parameters have the largest likelihood of the right and wrong links that are made in
labelled pairs. So that few examples, or none that are wrong, do not give certainty, they are fitted to the
targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0 [1]_; c, d and e are taken to be normally
distributed about 0 with variance 1 before anything is seen.

All this is of links in translations. Where the score S of the whole pair says that it may be none, its links
are trusted less (:func:`of_translation`).

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

# The ridge of (a, b) keeps the system solvable where scores of one value leave the slope open; that of the
# others is their prior.
_RIDGE, _PRIOR = 1e-6, 1.0
# The signs of c, d and e.
_SIGNS = np.array([-1.0, 1.0, 1.0])
_LEAST_SLOPE = 1e-3

# The score at which a pair is as likely a translation as not: a few in a hundred translations have less, and
# most pairs that are none.
_DOUBTFUL = 0.1


class Calibration(NamedTuple):
    """What leads from scores to confidences."""

    slope: float  # a > 0
    level: float  # b
    rare: float = 0.0  # c <= 0
    often: float = 0.0  # d >= 0
    steeper: float = 0.0  # e >= 0


UNFITTED = Calibration(1.0, 0.0)


def word_counts(corpus: Corpus, vocabularies: tuple[Vocabulary, Vocabulary]) -> tuple[np.ndarray, np.ndarray]:
    """Return how often the words of each side were seen, 0 for unknown ones: int64, pair after pair."""
    source, target = vocabularies
    return _counts(np.asarray(corpus.source.ids), source), _counts(np.asarray(corpus.target.ids), target)


def rare_words(corpus: Corpus, vocabularies: tuple[Vocabulary, Vocabulary]) -> tuple[np.ndarray, np.ndarray]:
    """Return which words of each side are not in the vocabulary or were seen once: bool, pair after pair."""
    source, target = word_counts(corpus, vocabularies)
    return source <= RARE, target <= RARE


def fit_calibration(scores: np.ndarray, correct: np.ndarray, seen: np.ndarray | None = None) -> Calibration:
    """Fit (a, b, c, d, e) to scored links.

    Parameters
    ----------
    scores : ndarray of float64, shape (L,)
        Scores of links, finite.
    correct : ndarray of bool, shape (L,)
        Whether each link is right.
    seen : ndarray of int, shape (L,), optional
        How often the rarer word of each link was seen. Default: nothing is known of that.

    Returns
    -------
    Calibration
        With a >= 0.001, c <= 0, d >= 0 and e >= 0: neither a higher score nor a more frequent word gives a
        lower confidence. (1, 0, 0, 0, 0) without links.
    """
    if len(scores) == 0:
        return UNFITTED
    right = int(correct.sum())
    wanted = np.where(correct, (right + 1) / (right + 2), 1 / (len(scores) - right + 2))
    ones, own = np.ones((len(scores), 1)), scores.astype(np.float64)
    more = _more_columns(scores, np.zeros(len(scores)) if seen is None else seen)
    (a, b), others = _fit_signed(np.hstack([own[:, None], ones]), more, wanted)
    if a < _LEAST_SLOPE:
        # The slope stays at its least; what else is known holds all the same.
        a = _LEAST_SLOPE
        (b,), others = _fit_signed(ones, more, wanted, a * own)
    return Calibration(a, b, *others.tolist())


def confidence(
    scores: np.ndarray, calibration: tuple[float, ...], seen: np.ndarray | None = None
) -> np.ndarray:
    """Return the confidence of scored links, float64 in [0, 1], same shape as the scores.

    Parameters
    ----------
    scores : ndarray of float
        Scores of links.
    calibration : tuple of float
        (a, b, c, d, e), or fewer, where the others are 0.
    seen : ndarray of int, same shape, optional
        How often the rarer word of each link was seen. Default: c and d have no effect.
    """
    fitted, scores = Calibration(*calibration), np.asarray(scores, dtype=np.float64)
    more = _more_columns(scores, np.zeros(scores.shape) if seen is None else seen)
    others = np.array(fitted[2:])
    if seen is None:
        others[:2] = 0.0
    return logistic(fitted.slope * scores + fitted.level + more @ others)


def of_translation(scores: np.ndarray) -> np.ndarray:
    """Return how probable it is that pairs with these scores, in [0, 1], are translations, float64."""
    return scores**4 / (scores**4 + _DOUBTFUL**4)


def logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _counts(ids: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    seen = np.zeros(len(ids), dtype=np.int64)
    known = ids < len(vocabulary)
    seen[known] = vocabulary.counts[ids[known]]
    return seen


def _more_columns(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return what c, d and e are multiplied with, float64, shape (L, 3)."""
    return np.stack([np.asarray(seen) <= RARE, np.log1p(seen), np.maximum(scores - 1.0, 0.0)], axis=-1)


def _fit_signed(
    columns: np.ndarray, more: np.ndarray, wanted: np.ndarray, given: np.ndarray | float = 0.0
) -> tuple[list[float], np.ndarray]:
    """Return the parameters of some columns, and (c, d, e), 0 where one would have a sign it cannot have."""
    chosen = np.ptp(more, axis=0) > 0
    while True:
        found = np.array(_fit(np.hstack([columns, more[:, chosen]]), wanted, columns.shape[1], given))
        first, rest = found[: columns.shape[1]], found[columns.shape[1] :]
        fits = rest * _SIGNS[chosen] >= 0
        if fits.all():
            others = np.zeros(len(_SIGNS))
            others[chosen] = rest
            return first.tolist(), others
        chosen[chosen] = fits


def _fit(columns: np.ndarray, wanted: np.ndarray, free: int, given: np.ndarray | float) -> list[float]:
    """Return the parameters, one a column, of the least cross entropy plus ridge.

    The first ``free`` have next to no prior; ``given`` is what is added to all, of no parameter.
    """
    from scipy.optimize import minimize  # takes half a second to load, and only training fits

    ridge = np.full(columns.shape[1], _PRIOR)
    ridge[:free] = _RIDGE

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        x = columns @ parameters + given
        value = (np.logaddexp(0.0, x) - wanted * x).sum() + 0.5 * (ridge * parameters) @ parameters
        return float(value), columns.T @ (logistic(x) - wanted) + ridge * parameters

    def curvature(parameters: np.ndarray) -> np.ndarray:
        right = logistic(columns @ parameters + given)
        return (columns * (right * (1 - right))[:, None]).T @ columns + np.diag(ridge)

    start = np.zeros(columns.shape[1])
    found = minimize(loss, start, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-8})
    parameters: list[float] = found.x.tolist()
    return parameters
