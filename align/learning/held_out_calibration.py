"""The calibration of a model, fitted to links of labelled pairs that its weights were not learnt from.

Links of the pairs that weights were learnt from are right more often than others of the same score. Where
there are few pairs the links are therefore those that weights learnt from other pairs make.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from align.learning.calibration import Calibration, fit_calibration
from align.learning.cross_validation import Learner, folds, held_out

if TYPE_CHECKING:
    from align.features import Edges

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
    rare: tuple[np.ndarray, np.ndarray],
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
    rare : (ndarray of bool, ndarray of bool)
        Which words are rare (:func:`align.learning.calibration.rare_words`).
    """
    count = min(len(pairs), FEW_PAIRS)
    found = learner.links(weights, pairs[np.arange(count) * len(pairs) // max(count, 1)])
    if 2 <= len(pairs) <= FEW_PAIRS:
        parts = [
            pairs[fold]
            for fold in folds([texts[pair] for pair in pairs], _FOLDS, learner.solver.seed)
            if len(fold)
        ]
        if len(parts) > 1:
            solver = learner.solver
            quick = replace(
                solver,
                passes=min(solver.passes, _PASSES),
                tolerance=max(solver.tolerance, _TOLERANCE),
            )
            found = held_out(replace(learner, solver=quick), parts)
    return fit_calibration(
        found.scores, found.sure | found.free, _with_rare(learner.edges, found.edges, rare)
    )


def _with_rare(edges: Edges, linked: np.ndarray, rare: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return which of some edges have a rare word."""
    shapes = edges.shapes.astype(np.int64)
    starts = np.cumsum(shapes, axis=0) - shapes
    pairs = np.searchsorted(edges.offsets, linked, side="right") - 1
    j, k = np.divmod(linked - edges.offsets[pairs], shapes[pairs, 1])
    found: np.ndarray = rare[0][starts[pairs, 0] + j] | rare[1][starts[pairs, 1] + k]
    return found
