"""Choosing the strength of regularisation and the cost of a missed link by cross-validation.

Each setting of a grid is learnt with once for each fold, from all other folds; the links it makes in the
pairs left out are counted over all folds together. Of the counts the alignment error rate follows as in
:mod:`align.evaluation.metrics`: sure links are the labels' sure ones, linking a free one costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from align.evaluation.metrics import COLUMNS, figures
from align.learning.heldout import Learner, held_out

# What the given values are multiplied by.
LAM_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
COST_FACTORS = (1.0, 1 / 3, 3.0)


class Setting(NamedTuple):
    """What is chosen: ``lam`` > 0, and the cost ``cost_fn`` >= 0 of a missed sure link."""

    lam: float
    cost_fn: float


class HeldOut(NamedTuple):
    """What a setting is worth on pairs left out.

    Attributes
    ----------
    setting : Setting
        The setting.
    aer : float
        Alignment error rate over all folds together, in [0, 1].
    links, sure, sure_matched, possible_matched : int
        What it follows from (:data:`align.evaluation.metrics.COLUMNS`).
    """

    setting: Setting
    aer: float
    links: int
    sure: int
    sure_matched: int
    possible_matched: int

    def as_dict(self) -> dict[str, float]:
        """Return the setting and the figures by name, for JSON."""
        return {**self.setting._asdict(), **dict(zip(self._fields[1:], self[1:], strict=True))}


def grid_around(lam: float, cost_fn: float) -> list[Setting]:
    """Return the settings that are tried: the given one times factors; each once."""
    settings = [Setting(lam * by, cost_fn * times) for times in COST_FACTORS for by in LAM_FACTORS]
    return list(dict.fromkeys(settings))


def with_setting(learner: Learner, setting: Setting) -> Learner:
    """Return a learner with other values."""
    solver = replace(learner.solver, lam=setting.lam)
    return replace(learner, solver=solver, cost_fn=setting.cost_fn)


def select(
    learner: Learner,
    grid: Sequence[Setting],
    parts: Sequence[np.ndarray],
    *,
    on_setting: Callable[[HeldOut], None] | None = None,
) -> tuple[Setting, list[HeldOut]]:
    """Choose the setting with the least error on pairs left out.

    Parameters
    ----------
    learner : Learner
        The pairs, and how they are learnt from but for the setting.
    grid : sequence of Setting
        At least one.
    parts : sequence of ndarray of int64
        Two folds or more, none empty (:func:`align.learning.heldout.folds`); pairs with sure links.
    on_setting : function, optional
        Called with each setting's figures.

    Returns
    -------
    Setting, list of HeldOut
        The choice: of equal errors that with the largest ``lam``, then the first of the grid; and the table,
        in the order of the grid.
    """
    table = []
    for setting in grid:
        counts = held_out(with_setting(learner, setting), parts).counts()
        row = dict(zip(COLUMNS, counts.tolist(), strict=True))
        row.pop("possible")
        table.append(HeldOut(setting, float(figures(counts[None])[0, 0]), **row))
        if on_setting is not None:
            on_setting(table[-1])
    # min takes the first of equals.
    return min(table, key=lambda each: (each.aer, -each.setting.lam)).setting, table
