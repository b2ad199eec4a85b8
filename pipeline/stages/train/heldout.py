"""What the stage train learns from pairs left out: the strength of regularisation, and the calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from align.core.errors import InputError
from align.evaluation.metrics import figures
from align.features import Resources
from align.learning.calibration import Calibration, word_counts
from align.learning.cross_validation import (
    HeldOut,
    Learner,
    Setting,
    folds,
    grid_around,
    select,
    texts_of,
    with_setting,
)
from align.learning.held_out_calibration import calibrate
from pipeline.stages.featurize import labelled_pairs
from pipeline.work.stage import StageContext

# Of so many parts of the labelled pairs one tells when to stop.
_PARTS = 5


def choose(
    context: StageContext, learner: Learner, usable: np.ndarray, count: int
) -> tuple[Learner, dict[str, Any]]:
    """Choose lam and cost_fn by cross-validation with so many folds; say so in one line.

    Parameters
    ----------
    context : StageContext
        Of the stage train.
    learner : Learner
        All labelled pairs, and how they are learnt from with the given lam and cost_fn.
    usable : ndarray of int64
        The pairs with sure links.
    count : int
        Folds, >= 2.

    Returns
    -------
    Learner, dict
        The learner with the chosen values, and what training.json tells: the given ones, and of every setting
        the figures on pairs left out.

    Raises
    ------
    InputError
        If there are fewer different pairs than folds.
    """
    texts = texts_of(labelled_pairs(context.inputs["preprocess"], context.inputs["label"]))
    own = [texts[pair] for pair in usable]
    different = len(set(own))
    if different < count:
        raise InputError(
            f"train.folds: {count} folds but {different} different labelled pairs; give {different} or less, "
            "or 0 for none"
        )
    given = Setting(learner.solver.lam, learner.cost_fn)
    grid = grid_around(*given)
    bar = context.progress(range(len(grid)), total=len(grid), unit="settings")

    def tell(_: HeldOut) -> None:
        next(bar, None)

    chosen, table = select(
        learner, grid, [usable[fold] for fold in folds(own, count, context.seed)], on_setting=tell
    )
    error = {row.setting: row.aer for row in table}
    context.say(
        f"{count} folds, {len(grid)} settings: lam {chosen.lam:g} and cost_fn {chosen.cost_fn:g} chosen, "
        f"held-out AER {error[chosen]:.4f} (given {given.lam:g} and {given.cost_fn:g}: {error[given]:.4f})"
    )
    facts = {
        "given": given._asdict(),
        "held_out": [row.as_dict() for row in table],
    }
    return with_setting(learner, chosen), facts


class LeftOut(NamedTuple):
    """Labelled pairs parted into those that are learnt from and those that tell when to stop."""

    learnt: np.ndarray  # int64, ascending
    judged: np.ndarray


def leave_out(context: StageContext, usable: np.ndarray) -> LeftOut:
    """Leave a fifth of the labelled pairs out, by the seed; equal pairs stay together.

    Raises
    ------
    InputError
        If there are too few different pairs.
    """
    texts = texts_of(labelled_pairs(context.inputs["preprocess"], context.inputs["label"]))
    own = [texts[pair] for pair in usable]
    different = len(set(own))
    if different < _PARTS:
        raise InputError(
            f"train.stop_on: aer leaves out a fifth of the labelled pairs, {different} different ones are "
            f"too few; label {_PARTS} or more, or set train.stop_on=gap"
        )
    judged, *others = folds(own, _PARTS, context.seed)
    return LeftOut(usable[np.sort(np.concatenate(others))], usable[judged])


def error_on(learner: Learner, pairs: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return what gives the alignment error rate of weights on some pairs, by their labels, in [0, 1]."""

    def error(weights: np.ndarray) -> float:
        return float(figures(learner.links(weights, pairs).counts()[None])[0, 0])

    return error


def calibration_of(
    context: StageContext,
    learner: Learner,
    usable: np.ndarray,
    weights: np.ndarray,
    resources: Resources,
) -> Calibration:
    """Return the calibration of weights that were learnt from the pairs ``usable``."""
    corpus = labelled_pairs(context.inputs["preprocess"], context.inputs["label"])
    return calibrate(
        learner,
        weights,
        pairs=usable,
        texts=texts_of(corpus),
        seen=word_counts(corpus, (resources.source_vocabulary, resources.target_vocabulary)),
    )
