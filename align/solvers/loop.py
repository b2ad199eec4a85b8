"""The training loop, common to all solvers: set-up, passes, measurements, when to stop, what to return."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from align.problems.objective import Value
from align.problems.protocol import Problem, begin_run
from align.solvers.fit import (
    CONVERGED,
    GAP,
    HELD_OUT,
    PASS_LIMIT,
    PATIENCE,
    TIME_LIMIT,
    EarlyStop,
    Fit,
    Progress,
    Row,
)
from align.solvers.options import at_least, check, option, positive
from align.solvers.state import State, fingerprint

UNMEASURED = Value(math.nan, math.nan, math.nan)

# How long a run goes on and how it is shared, not what its iterates are: they may change on resuming.
_FREE = frozenset(("passes", "tolerance", "time_limit", "gap_every", "seed", "jobs"))

# Told by whoever starts a run, not among the options that a user chooses a solver with.
_GIVEN = frozenset(("seed", "jobs"))

AnyState = TypeVar("AnyState", bound=State)


@dataclass(frozen=True, kw_only=True)
class Solver(ABC, Generic[AnyState]):
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    A solver is a subclass: its fields are its options (:mod:`align.solvers.options`), its methods what the
    loop calls.

    Parameters
    ----------
    lam : float
        Regularisation, > 0: the weight of |w - w_0|^2 / 2, w_0 the known weights, against the mean loss of a
        pair.
    passes : int
        At most so many passes over the labelled pairs, >= 1.
    tolerance : float
        Stop when the duality gap is at most this share of the primal objective, >= 0, below 1.
    time_limit : float, optional
        Stop after the pass in which so many seconds are over, > 0, one pass at least. The result then depends
        on the machine.
    gap_every : int
        Measure the duality gap every so many passes, >= 1, and at the end. Each time costs as many calls of
        the oracle as a pass, twice as many where an average of the iterates is kept.
    seed : int
        Of the order of the blocks, >= 0.
    jobs : int
        Threads, >= 1. They change no bit of the result.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """

    name: ClassVar[str]
    state_type: ClassVar[type[State]]
    # Links a word where nobody says; with several a pass of some solvers takes many times as long.
    usual_fertility: ClassVar[int] = 2
    # Whether it asks a max oracle for labellings; others see features and polytope themselves.
    needs_oracle: ClassVar[bool] = True

    lam: float = positive(0.01)
    passes: int = at_least(1, 50)
    # at w = 0 the gap is the primal: with 1 or more nothing would be learnt
    tolerance: float = option(1e-3, "0 or more, below 1", lambda value: 0 <= value < 1)
    time_limit: float | None = option(None, "seconds above 0", lambda value: value > 0)
    gap_every: int = at_least(1, 1)
    seed: int = at_least(0, 0)
    jobs: int = at_least(1, 1)

    def __post_init__(self) -> None:
        """Check the options."""
        for declared in fields(self):
            check(self.name, declared, getattr(self, declared.name))

    @property
    def max_fertility(self) -> int | None:
        """Links a word that it can learn at most; None: any number."""
        return None

    @classmethod
    def options(cls) -> dict[str, Field[Any]]:
        """Return the options a user may choose, by name."""
        return {declared.name: declared for declared in fields(cls) if declared.name not in _GIVEN}

    @classmethod
    def load(cls, path: Path) -> Any:
        """Read a state that its ``save`` wrote; a ValueError if the file is none of this solver."""
        return cls.state_type.load(path)

    def chosen(self) -> dict[str, Any]:
        """Return the options that have a value, by name: the record of a run."""
        values = {name: getattr(self, name) for name in self.options()}
        return {name: value for name, value in values.items() if value is not None}

    def refusal(self, problem: Problem) -> str:
        """Return why this solver cannot solve a problem, and what to do, in one line; empty where it can."""
        return ""

    @abstractmethod
    def start(self, problem: Problem, origin: np.ndarray) -> AnyState:
        """Return the state before the first pass; ValueError if the problem is none for this solver."""

    @abstractmethod
    def one_pass(self, problem: Problem, state: AnyState) -> None:
        """Move the state on by one pass."""

    @abstractmethod
    def measure(self, problem: Problem, state: AnyState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate and of the average, or ``UNMEASURED``."""

    @abstractmethod
    def weights(self, state: AnyState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate, or of the average, as a copy."""

    def run(
        self,
        problem: Problem,
        *,
        origin: np.ndarray | None = None,
        resume: AnyState | None = None,
        on_pass: Callable[[Progress], None] | None = None,
        early_stop: EarlyStop | None = None,
    ) -> Fit:
        """Take passes until the gap is small enough or a limit is reached.

        Returned is the last iterate or the average of the iterates, whichever has the smaller gap; where a
        limit ended the run after several passes, the one of the lowest primal of all that were measured. With
        an early stop it is the one of the lowest error, whatever ended the run; its status is then
        ``converged`` only where its own gap is small enough, not that of the last pass.

        Parameters
        ----------
        problem : Problem
            n blocks, d features. Passes are compiled where it has kernels (:mod:`align.problems.compiled`).
        origin : ndarray of float64, shape (d,), optional
            Weights w_0 that are left only as far as the pairs ask for it; those that may not be negative are
            not. Default: 0.
        resume : State, optional
            Go on from this state (it is used up); the iterates are those of the whole run, bit by bit.
        on_pass : function, optional
            Called with a :class:`~align.solvers.fit.Progress` after each pass.
        early_stop : EarlyStop, optional
            An error on data left out, of the iterate or the average, whichever has the smaller gap, after
            each pass that measures it, and how many passes may bring none that is lower.

        Raises
        ------
        ValueError
            If the problem or the origin does not fit, the state is of another problem or other options, or an
            early stop has no patience or an error that is no number; a
            :class:`~align.problems.objective.NotFiniteError` if the objective is NaN or infinite.
        """
        if early_stop is not None and early_stop.patience < 1:
            raise ValueError(f"{self.name}: early stop: patience {early_stop.patience}; give 1 or more")
        # what is not finite is found where the objective is measured
        with np.errstate(over="ignore", invalid="ignore"):
            return self._run(problem, origin, resume, on_pass, early_stop)

    def _run(
        self,
        problem: Problem,
        origin: np.ndarray | None,
        resume: AnyState | None,
        on_pass: Callable[[Progress], None] | None,
        early_stop: EarlyStop | None,
    ) -> Fit:
        if resume is None:
            state = self.start(problem, self._checked_origin(origin, problem))
            if on_pass is not None:  # it may save the state
                state.fingerprint = fingerprint(problem)
        else:
            self.check_state(resume, problem, origin)
            state = resume
            if early_stop is None:  # nothing is judged any more: the lowest primal counts, as ever
                state.errors.clear()
        begin_run(problem, state.passes * problem.n)
        began = time.perf_counter() - state.seconds

        def record(*, measured: bool) -> None:
            values = self.measure(problem, state) if measured else (UNMEASURED, UNMEASURED)
            state.seconds = time.perf_counter() - began
            state.history.append(Row(state.passes, state.oracle_calls, state.seconds, *values[0], *values[1]))
            if early_stop is None:
                self._keep_best(state)
            elif measured and state.passes:
                self._judge(state, early_stop)

        if not state.history:
            record(measured=True)
        while (stopped_by := self._stopped_by(state, early_stop)) is None:
            self.one_pass(problem, state)
            ends = state.passes >= self.passes or self._out_of_time(time.perf_counter() - began)
            record(measured=ends or state.passes % self.gap_every == 0)
            if on_pass is not None:
                on_pass(Progress(state.history[-1], self.passes, state))
        if math.isnan(state.history[-1].gap):  # a limit lowered on resuming, or time that ran out since
            state.history.pop()
            record(measured=True)
        averaged, value = state.history[-1].certified
        # of one pass the start would be no result at all
        if not state.errors and (stopped_by == GAP or state.passes == 1):
            weights = self.weights(state, averaged=averaged)
        else:
            weights, averaged, value = state.best.copy(), state.best_averaged, state.best_value
        errors = tuple((int(passes), error) for passes, error in state.errors)
        return Fit(
            weights,
            averaged,
            *value,
            self._status(stopped_by, value),
            stopped_by,
            *state.history[-1][:3],
            tuple(state.history),
            errors,
        )

    def _keep_best(self, state: AnyState) -> None:
        """Keep the weights of the lowest primal measured so far, of equal ones those of the smaller gap."""
        row = state.history[-1]
        for averaged, value in ((False, Value(*row[3:6])), (True, Value(*row[6:9]))):
            before = state.best_value
            if (value.primal, value.gap) < (before.primal, before.gap):  # never if it is NaN: not measured
                state.best = self.weights(state, averaged=averaged)
                state.best_averaged, state.best_value = averaged, value

    def _judge(self, state: AnyState, early_stop: EarlyStop) -> None:
        """Measure the error on data left out; keep the weights if none was lower so far."""
        averaged, value = state.history[-1].certified
        weights = self.weights(state, averaged=averaged)
        error = float(early_stop.error(weights))
        if math.isnan(error):
            raise ValueError(
                f"{self.name}: early stop: the error of pass {state.passes} is no number; give one for any "
                "weights"
            )
        if not state.errors or error < min(before for _, before in state.errors):
            state.best, state.best_averaged, state.best_value = weights, averaged, value
        state.errors.append([state.passes, error])

    def check_state(self, state: AnyState, problem: Problem, origin: np.ndarray | None = None) -> None:
        """Raise ValueError if a state is of another run than of this problem from this origin."""
        if not isinstance(state, State):
            raise ValueError(
                f"{self.name}: {type(state).__name__} is no state of it; give the state that on_pass was "
                "told (progress.state)"
            )
        state.check(self._made_for(problem), fingerprint(problem), self._checked_origin(origin, problem))

    def new_state(self, problem: Problem, origin: np.ndarray, **own: Any) -> AnyState:
        """Return the state at w = w_0, given the fields that are this solver's own."""
        made_for = self._made_for(problem)
        made: Any = self.state_type(
            made_for=made_for, origin=origin, w=origin.copy(), best=origin.copy(), history=[], **own
        )
        return cast(AnyState, made)

    def _made_for(self, problem: Problem) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _FREE}
        size = {"n": problem.n, "d": problem.d, "nonnegative": problem.nonnegative}
        return {"solver": self.name, **size, **own}

    def _checked_origin(self, origin: np.ndarray | None, problem: Problem) -> np.ndarray:
        """Return the weights to start from, float64, shape (d,), after a check; 0 if none are given."""
        if origin is None:
            return np.zeros(problem.d)
        origin = np.array(origin, dtype=np.float64)
        if origin.shape != (problem.d,) or not np.isfinite(origin).all():
            raise ValueError(
                f"{self.name}: the origin has shape {origin.shape}; give {problem.d} finite weights"
            )
        if (origin[problem.nonnegative :] < 0).any():
            raise ValueError(f"{self.name}: a weight of the origin is negative where none may be")
        return origin

    def _is_small(self, value: Value) -> bool:
        return value.gap <= self.tolerance * value.primal

    def _status(self, stopped_by: str, value: Value) -> str:
        """Return what the weights that are returned are, those of ``value``."""
        if stopped_by in (PASS_LIMIT, TIME_LIMIT):
            return stopped_by
        return CONVERGED if self._is_small(value) else HELD_OUT

    def _stopped_by(self, state: State, early_stop: EarlyStop | None) -> str | None:
        """Return why to stop, or None: the one place where that is decided."""
        _, value = state.history[-1].certified
        if self._is_small(value):
            return GAP
        if state.passes >= self.passes:
            return PASS_LIMIT
        if state.passes == 0:
            return None
        if early_stop is not None and state.errors and state.errors[-1][0] == state.passes:
            lowest = min(state.errors, key=lambda judged: judged[1])  # the first of equals
            if state.passes >= lowest[0] + early_stop.patience:
                return PATIENCE
        return TIME_LIMIT if self._out_of_time(state.seconds) else None

    def _out_of_time(self, seconds: float) -> bool:
        return self.time_limit is not None and seconds >= self.time_limit
