"""What every solver returns and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

CONVERGED, PASS_LIMIT, TIME_LIMIT = "converged", "pass-limit", "time-limit"


class Row(NamedTuple):
    """Where a run stands after some passes, 0 at the start; NaN where nothing was measured."""

    passes: int
    oracle_calls: int  # so far, those that measure the gap among them
    seconds: float  # of wall time so far, over all runs if resumed
    primal: float  # these three of the last iterate
    dual: float
    gap: float
    average_primal: float  # and these of the weighted average of the iterates
    average_dual: float
    average_gap: float


class Progress(NamedTuple):
    """What a solver tells ``on_pass`` after each pass."""

    row: Row
    passes: int  # at most
    state: Any  # all that is needed to go on from here; it changes once ``on_pass`` returns

    def __repr__(self) -> str:
        """Return what fits a line: the state holds all vertices that are kept."""
        return f"Progress({self.row}, passes={self.passes}, state={type(self.state).__name__})"


@dataclass(frozen=True)
class Fit:
    """The result of a solver; ``gap = primal - dual`` bounds how far the primal is from its minimum."""

    weights: np.ndarray  # to predict with, float64, shape (d,)
    averaged: bool  # whether they are an average of the iterates, else one of them
    primal: float
    dual: float
    gap: float
    status: str  # why it stopped: ``converged``, ``pass-limit`` or ``time-limit``
    passes: int
    oracle_calls: int
    seconds: float
    history: tuple[Row, ...]  # one after each pass, the start included

    @property
    def shortfall(self) -> str:
        """What to tell of a run that did not converge, one line; empty where it did."""
        if self.status == CONVERGED:
            return ""
        share = f", {self.gap / self.primal:.2%} of it" if self.primal > 0 else ""
        return (
            f"not converged: stopped by the {self.status} after {self.passes} passes, with the best primal, "
            f"{self.primal:.6g}, which is at most {self.gap:.3g} above the minimum{share}"
        )
