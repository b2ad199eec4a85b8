"""The solver at work in the stage train, from the checkpoint of a killed run where there is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError, WorkError
from align.problems.objective import NotFiniteError, WeakDualityError
from align.problems.protocol import Problem
from align.solvers import EarlyStop, Fit, Progress, Solver
from pipeline.work.stage import StageContext

CHECKPOINT = "checkpoint.npz"
# A gap that has not fallen after so many passes will not.
_PATIENCE = 10
_SECONDS_BETWEEN_LINES = 10.0


def solve(
    context: StageContext,
    problem: Problem,
    solver: Solver[Any],
    origin: np.ndarray | None,
    early_stop: EarlyStop | None = None,
) -> Fit:
    """Run the solver, from the checkpoint of a killed run where there is one of this run.

    Raises
    ------
    InputError
        If the objective is no finite number.
    WorkError
        If the solver refuses its data, or the duality gap does not fall.
    """
    path = context.folder / CHECKPOINT
    bar = context.progress(range(solver.passes), total=solver.passes, unit="passes")
    save, tell = _checkpoints(path), _teller(context)

    def on_pass(progress: Progress) -> None:
        save(progress)
        tell(progress)
        next(bar, None)

    try:
        state = None
        if path.exists():
            try:
                state = solver.load(path)
                solver.check_state(state, problem, origin)
                context.say(f"goes on after pass {state.passes}, where an earlier run stopped")
            except ValueError as error:
                state = None
                context.say(f"starts anew: {error}")
        fit = solver.run(problem, origin=origin, resume=state, on_pass=on_pass, early_stop=early_stop)
    except NotFiniteError as error:
        raise InputError(f"train: {error} (train.cost_fn, train.cost_fp, train.lam)") from None
    except WeakDualityError:  # of the problems that are trained here: a fault of the program
        raise
    except ValueError as error:  # the options are checked: it is the features
        raise WorkError(f"train: {error}; run featurize again with --force") from None
    _check_progress(fit)
    context.say(
        f"{solver.name} {fit.status} after {fit.passes} passes, {fit.oracle_calls} oracle calls, "
        f"{fit.seconds:.1f} s: {_describe(fit.primal, fit.gap)}"
    )
    if fit.errors:
        lowest = min(error for _, error in fit.errors)
        context.say(
            f"held-out AER {lowest:.4f} after pass {fit.best_pass}, the lowest of {len(fit.errors)}; "
            f"stopped by the {fit.stopped_by}"
        )
    if fit.shortfall:
        context.warn(f"{fit.shortfall}; raise train.passes, or train.tolerance ({solver.tolerance:g})")
    return fit


def _checkpoints(path: Path) -> Callable[[Progress], None]:
    """Return a function that saves the state, but never takes more than a tenth of the time."""
    ended = took = 0.0

    def save(progress: Progress) -> None:
        nonlocal ended, took
        began = time.perf_counter()
        if ended and began - ended < 9 * took:
            return
        progress.state.save(path)
        ended = time.perf_counter()
        took = ended - began

    return save


def _teller(context: StageContext) -> Callable[[Progress], None]:
    """Return a function that says where a long run stands."""
    last = time.perf_counter()

    def tell(progress: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            row = progress.row
            context.say(f"pass {row.passes} of {progress.passes}: {_describe(row.primal, row.gap)}")

    return tell


def _describe(primal: float, gap: float) -> str:
    share = f" ({gap / primal:.2%} of it)" if primal > 0 else ""
    return f"primal {primal:.6g}, duality gap {gap:.3g}{share}"


def _check_progress(fit: Fit) -> None:
    """Refuse weights that are no better than none.

    Raises
    ------
    WorkError
        If many passes have not brought the gap below that of w = 0.
    """
    gaps = [float(np.fmin(row.gap, row.average_gap)) for row in fit.history]  # an average may be none (NaN)
    if fit.status != "converged" and fit.passes >= _PATIENCE and not min(gaps[1:]) < gaps[0]:
        raise WorkError(
            f"train: the duality gap did not fall in {fit.passes} passes ({gaps[0]:.4g} at the start, "
            f"{fit.gap:.4g} at the end); raise train.lam or train.passes"
        )
