"""What every solver returns and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

CONVERGED, PASS_LIMIT, TIME_LIMIT = "converged", "pass-limit", "time-limit"


class Row(NamedTuple):
    """Where a run stands after one pass; NaN where nothing was measured.

    Attributes
    ----------
    passes : int
        Passes made; 0 is the start, w = 0.
    oracle_calls : int
        Calls of the max oracle so far, those that measure the gap among them.
    seconds : float
        Wall time so far, over all runs if resumed.
    primal, dual, gap : float
        Of the last iterate.
    average_primal, average_dual, average_gap : float
        Of the weighted average of the iterates.
    """

    passes: int
    oracle_calls: int
    seconds: float
    primal: float
    dual: float
    gap: float
    average_primal: float
    average_dual: float
    average_gap: float


@dataclass(frozen=True)
class Progress:
    """What a solver tells ``on_pass`` after each pass.

    Attributes
    ----------
    row : Row
        Where it stands.
    passes : int
        The limit of passes.
    state : State
        All that is needed to go on from here; it changes once ``on_pass`` returns, so save it or let it be.
    """

    row: Row
    passes: int
    state: Any


@dataclass(frozen=True)
class Fit:
    """The result of a solver.

    Attributes
    ----------
    weights : ndarray of float64, shape (d,)
        The weights to predict with.
    averaged : bool
        Whether they are the average of the iterates or the last of them.
    primal, dual, gap : float
        Of these weights; ``gap = primal - dual`` bounds how far the primal is from its minimum.
    status : str
        Why it stopped: ``converged``, ``pass-limit`` or ``time-limit``.
    passes : int
        Passes over the blocks.
    oracle_calls : int
        Calls of the max oracle, those that measure the gap among them.
    seconds : float
        Wall time.
    history : tuple of Row
        One row a pass, the start included.
    """

    weights: np.ndarray
    averaged: bool
    primal: float
    dual: float
    gap: float
    status: str
    passes: int
    oracle_calls: int
    seconds: float
    history: tuple[Row, ...]
