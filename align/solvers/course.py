"""The course of a run, common to all solvers: passes, measurements, when to stop, what to return."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from align.problems.objective import Value, evaluate, projection
from align.problems.protocol import Problem
from align.solvers.fit import CONVERGED, PASS_LIMIT, TIME_LIMIT, Fit, Progress, Resumable, Row
from align.solvers.state import State

UNMEASURED = Value(math.nan, math.nan, math.nan)


class Standing(Resumable, Protocol):
    """What the state of any solver tells of where its run stands."""

    passes: int
    oracle_calls: int
    seconds: float
    history: list[Row]


Kept = TypeVar("Kept", bound=State)
Stood = TypeVar("Stood", bound=Standing)
Task = TypeVar("Task", bound=Problem)


def follow(
    problem: Problem,
    state: Kept,
    one_pass: Callable[[Problem, Kept], None],
    measure: Callable[[Problem, Kept], tuple[Value, Value]],
    average: Callable[[Kept], np.ndarray] | None = None,
    *,
    passes: int,
    tolerance: float,
    time_limit: float | None,
    gap_every: int,
    on_pass: Callable[[Progress], None] | None,
) -> Fit:
    """Take passes until the gap is small enough or a limit is reached.

    Parameters
    ----------
    problem : Problem
    state : State
        Where to begin; changed in place.
    one_pass : function
        Moves the state on by one pass.
    measure : function
        Returns primal, dual and gap of the iterate and of the average, which is ``UNMEASURED`` where none is
        kept.
    average : function, optional
        Returns the average of the iterates' v, for a solver that keeps one.
    passes, tolerance, time_limit, gap_every, on_pass
        As of :func:`align.solvers.block.bcfw`.
    """

    def weights(state: Kept, averaged: bool) -> np.ndarray:
        v = average(state) if averaged and average is not None else state.v
        return projection(v, state.nonnegative)

    return run_course(
        problem,
        state,
        one_pass,
        measure,
        weights,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
        on_pass=on_pass,
    )


def run_course(
    problem: Task,
    state: Stood,
    one_pass: Callable[[Task, Stood], None],
    measure: Callable[[Task, Stood], tuple[Value, Value]],
    weights: Callable[[Stood, bool], np.ndarray],
    *,
    passes: int,
    tolerance: float,
    time_limit: float | None,
    gap_every: int,
    on_pass: Callable[[Progress], None] | None,
) -> Fit:
    """Take passes as :func:`follow` does, for a state of any kind.

    ``weights(state, averaged)`` returns the weights of the iterate, or of the average, as a copy.
    """
    began = time.perf_counter() - state.seconds

    def record(*, measured: bool) -> None:
        values = measure(problem, state) if measured else (UNMEASURED, UNMEASURED)
        state.seconds = time.perf_counter() - began
        state.history.append(Row(state.passes, state.oracle_calls, state.seconds, *values[0], *values[1]))

    if not state.history:
        record(measured=True)
    while (status := _status(state, passes, tolerance, time_limit)) is None:
        one_pass(problem, state)
        ends = state.passes >= passes or _out_of_time(time.perf_counter() - began, time_limit)
        record(measured=ends or state.passes % gap_every == 0)
        if on_pass is not None:
            on_pass(Progress(state.history[-1], passes, state))
    if math.isnan(state.history[-1].gap):  # a limit lowered on resuming, or time that ran out since
        state.history.pop()
        record(measured=True)
    averaged, value = _better(state.history[-1])
    return Fit(
        weights=weights(state, averaged),
        averaged=averaged,
        primal=value.primal,
        dual=value.dual,
        gap=value.gap,
        status=status,
        passes=state.passes,
        oracle_calls=state.oracle_calls,
        seconds=state.seconds,
        history=tuple(state.history),
    )


def measure_iterate(problem: Problem, state: State) -> tuple[Value, Value]:
    """Return primal, dual and gap of the iterate, by one pass of the oracle; there is no average."""
    (value,) = evaluate(problem, state.w[None], state.ells[:1], state.options["lam"], origin=state.origin)
    state.oracle_calls += problem.n
    return value, UNMEASURED


def checked_origin(name: str, origin: np.ndarray | None, problem: Problem) -> np.ndarray:
    """Return the weights to start from, float64, shape (d,), after a check; 0 if none are given."""
    if origin is None:
        return np.zeros(problem.d)
    origin = np.array(origin, dtype=np.float64)
    if origin.shape != (problem.d,) or not np.isfinite(origin).all():
        raise ValueError(f"{name}: the origin has shape {origin.shape}; give {problem.d} finite weights")
    if (origin[problem.nonnegative :] < 0).any():
        raise ValueError(f"{name}: a weight of the origin is negative where none may be")
    return origin


def check_options(
    name: str,
    *more: tuple[bool, str],
    lam: float,
    passes: int,
    tolerance: float,
    time_limit: float | None,
    gap_every: int,
) -> None:
    """Refuse options out of range: those of every solver, then ``more`` as (whether it fits, message)."""
    for fits, what in (
        (0 < lam < math.inf, f"lam is {lam}; give a number above 0"),
        (passes >= 1, f"passes is {passes}; give at least 1"),
        (0 <= tolerance < math.inf, f"tolerance is {tolerance}; give 0 or more"),
        (time_limit is None or time_limit > 0, f"time_limit is {time_limit}; give seconds above 0, or None"),
        (gap_every >= 1, f"gap_every is {gap_every}; give at least 1"),
        *more,
    ):
        if not fits:
            raise ValueError(f"{name}: {what}")


def _better(row: Row) -> tuple[bool, Value]:
    """Return whether the average has the smaller gap, and the values of the one that has."""
    if row.average_gap < row.gap:
        return True, Value(row.average_primal, row.average_dual, row.average_gap)
    return False, Value(row.primal, row.dual, row.gap)


def _status(state: Standing, passes: int, tolerance: float, time_limit: float | None) -> str | None:
    _, value = _better(state.history[-1])
    if value.gap <= tolerance * value.primal:
        return CONVERGED
    if state.passes >= passes:
        return PASS_LIMIT
    return TIME_LIMIT if _out_of_time(state.seconds, time_limit) else None


def _out_of_time(seconds: float, time_limit: float | None) -> bool:
    return time_limit is not None and seconds >= time_limit
