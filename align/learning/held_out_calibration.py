"""The calibration of a model, fitted to links of labelled pairs that its weights were not learnt from.

Links of the pairs that weights were learnt from are right more often than others of the same score. Where
there are few pairs the links are therefore those that weights learnt from other pairs make.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from align.learning.calibration import Calibration, fit_calibration
from align.learning.cross_validation import Learner, folds, held_out
from align.matching.decoding import places

# With more pairs than these the weights fit those they were learnt from no better than others; and so many,
# evenly spread, are enough for a confidence.
FEW_PAIRS = 1000
_FOLDS = 5
# The weights of a fold need not be exact.
_PASSES, _TOLERANCE = 10, 1e-2


def calibrate(
    learner: Learner,
    weights: np.ndarray,
    *,
    pairs: np.ndarray,
    texts: Sequence[Hashable],
    seen: tuple[np.ndarray, np.ndarray],
) -> Calibration:
    """Fit the calibration of a model on labelled pairs: to be called when its weights are known.

    Up to :data:`FEW_PAIRS` pairs are parted into five folds, and the links of each are those of weights that
    the other folds gave. With more, links that the model itself makes in so many of them are taken. A link
    that is not sure counts as right too.

    Parameters
    ----------
    learner : Learner
        N labelled pairs, and how the weights were learnt from them.
    weights : ndarray of float64, shape (d,)
        The model's weights.
    pairs : ndarray of int64, shape (n,)
        Those of the N pairs that were learnt from.
    texts : sequence
        What tells the N pairs apart (:func:`align.learning.cross_validation.texts_of`): equal pairs fall into
        one fold.
    seen : (ndarray of int64, ndarray of int64)
        How often the words were seen (:func:`align.learning.calibration.word_counts`).
    """
    count = min(len(pairs), FEW_PAIRS)
    found = learner.links(weights, pairs[np.arange(count) * len(pairs) // max(count, 1)])
    if 2 <= len(pairs) <= FEW_PAIRS:
        solver = learner.solver
        parts = [
            pairs[fold] for fold in folds([texts[pair] for pair in pairs], _FOLDS, solver.seed) if len(fold)
        ]
        if len(parts) > 1:
            passes, tolerance = min(solver.passes, _PASSES), max(solver.tolerance, _TOLERANCE)
            quick = replace(solver, passes=passes, tolerance=tolerance)
            found = held_out(replace(learner, solver=quick), parts)
    _, source, target = places(learner.edges, found.edges)
    rarer = np.minimum(seen[0][source], seen[1][target])
    return fit_calibration(found.scores, found.sure | found.free, rarer)
