"""What every solver returns and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from align.problems.objective import Value

# What a result is: within the tolerance, the best met where a limit ended the run, or the lowest in error.
CONVERGED, PASS_LIMIT, TIME_LIMIT, HELD_OUT = "converged", "pass-limit", "time-limit", "held-out"
# What ended the run, where it was no limit: the gap of its last pass, or the patience of an early stop.
GAP, PATIENCE = "gap", "patience"


class EarlyStop(NamedTuple):
    """What ends a run before it has converged, and which weights it then returns."""

    error: Callable[[np.ndarray], float]  # of weights (d,), on data left out; the lower the better, no NaN
    patience: int  # so many passes without a lower error end the run, >= 1


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

    @property
    def certified(self) -> tuple[bool, Value]:
        """Whether the average has the smaller gap, and primal, dual and gap of the one that has."""
        if not math.isnan(self.average_gap) and not self.gap <= self.average_gap:  # one may be unmeasured
            return True, Value(self.average_primal, self.average_dual, self.average_gap)
        return False, Value(self.primal, self.dual, self.gap)


def history_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of ``history.csv``, a line a row under their names; what was not measured is empty."""
    yield ",".join(Row._fields) + "\n"
    for row in rows:
        yield ",".join("" if math.isnan(value) else repr(value) for value in row) + "\n"


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
    # ``converged``: the gap is within the tolerance. ``pass-limit``, ``time-limit``: that ended the run.
    # ``held-out``: the weights are those of an early stop, and their gap is not within the tolerance.
    status: str
    # What ended the run: ``gap`` (that of the last pass is within the tolerance), ``pass-limit``,
    # ``time-limit`` or ``patience`` (of the early stop).
    stopped_by: str
    passes: int
    oracle_calls: int
    seconds: float
    history: tuple[Row, ...]  # one after each pass, the start included
    # Of a run with an early stop: pass and error of each pass that was judged; the first of the lowest
    # errors is that of the weights.
    errors: tuple[tuple[int, float], ...] = ()

    @property
    def best_pass(self) -> int:
        """The pass with the lowest error, the first of several; of a run without an early stop its last."""
        return min(self.errors, key=lambda judged: judged[1])[0] if self.errors else self.passes

    @property
    def certificate(self) -> dict[str, Any]:
        """What a model keeps of how its weights were found, as JSON values."""
        kept = ("status", "primal", "dual", "gap", "averaged", "passes", "oracle_calls")
        early = ("stopped_by", "best_pass") if self.errors else ()
        return {name: getattr(self, name) for name in (*kept, *early)}

    def __repr__(self) -> str:
        """Return what fits a line."""
        share = f" ({self.gap / self.primal:.2%} of it)" if self.primal > 0 else ""
        early = f", weights of pass {self.best_pass}, stopped by the {self.stopped_by}" if self.errors else ""
        return (
            f"Fit({self.status} after {self.passes} passes{early}, {self.oracle_calls} oracle calls, "
            f"{self.seconds:.1f} s: primal {self.primal:.6g}, duality gap {self.gap:.3g}{share})"
        )

    @property
    def shortfall(self) -> str:
        """What to tell of a run that a limit ended, one line; empty where it ended by itself.

        An early stop that ends by the gap or by its patience has no shortfall: its weights are not meant to
        be near the minimum, and ``status`` does not say that they are.
        """
        if self.status in (CONVERGED, HELD_OUT):
            return ""
        share = f", {self.gap / self.primal:.2%} of it" if self.primal > 0 else ""
        which = (
            f"the primal of pass {self.best_pass}, the lowest in error" if self.errors else "the best primal"
        )
        return (
            f"not converged: stopped by the {self.status} after {self.passes} passes, with {which}, "
            f"{self.primal:.6g}, which is at most {self.gap:.3g} above the minimum{share}"
        )
