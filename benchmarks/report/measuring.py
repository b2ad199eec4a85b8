"""A solver on a problem, measured: the median of three runs, error rates on the way, and its memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from align.solvers import Progress, Solver
from benchmarks.repeats import Spread
from benchmarks.solvers import Run, Task, first_at, solve, solver_of

# Runs of which the median is told; of one that a limit ended there is one.
ROUNDS = 3

# Gaps relative to the primal that tables tell.
LEVELS = (1e-1, 1e-2, 1e-3)
TARGET = 1e-2

# All that is kept lies there after so many passes.
_PASSES_OF_MEMORY = 1


@dataclass(frozen=True)
class Measured:
    """What a solver did on a problem."""

    name: str
    task: Task
    run: Run  # of the median seconds
    seconds: Spread | None  # CPU seconds to TARGET, of all rounds; None: not reached
    errors: list[tuple[int, float]]  # error rates after some passes, in [0, 1]

    @property
    def share(self) -> float:
        """The smallest gap relative to the primal."""
        return min(point.gap / point.primal if point.primal > 0 else 0.0 for point in self.run.points)

    @property
    def reached(self) -> Any:
        """The first point with a gap of TARGET, or None."""
        return first_at(self.run.points, TARGET)


@dataclass(frozen=True)
class Limits:
    """How long a run may take."""

    passes: int
    seconds: float
    rounds: int = ROUNDS
    seed: int = 0


def measured(
    task: Task, name: str, limits: Limits, error: Callable[[np.ndarray], float] | None = None
) -> Measured:
    """Run a solver, or a variant, in several rounds; the error is taken of the first."""
    weights: list[tuple[int, np.ndarray]] = []

    def look(solver: Solver[Any], progress: Progress) -> None:
        row = progress.row
        if _is_shown(row.passes):
            weights.append((row.passes, solver.weights(progress.state, averaged=row.certified[0])))

    options: dict[str, Any] = {"passes": limits.passes, "seconds": limits.seconds, "tolerance": LEVELS[-1]}
    runs = [solve(task, name, **options, seed=limits.seed, look=None if error is None else look)]
    while first_at(runs[0].points, TARGET) is not None and len(runs) < limits.rounds:
        if runs[0].fit.status == "time-limit":
            break
        runs.append(solve(task, name, **options, seed=limits.seed))
    points = [first_at(run.points, TARGET) for run in runs]
    seconds = [point.cpu_seconds for point in points if point is not None]
    if not seconds:
        return Measured(name, task, runs[0], None, _judged(weights, error))
    middle = sorted(range(len(runs)), key=lambda at: seconds[at])[len(runs) // 2]
    return Measured(name, task, runs[middle], Spread.of(seconds), _judged(weights, error))


def _judged(
    weights: list[tuple[int, np.ndarray]], error: Callable[[np.ndarray], float] | None
) -> list[tuple[int, float]]:
    return [] if error is None else [(passes, error(own)) for passes, own in weights]


def _is_shown(passes: int) -> bool:
    """Tell whether a pass is drawn: 1 to 10, then about twelve for each power of ten."""
    return passes <= 10 or passes % 10 ** (len(str(passes)) - 1) == 0


def memory(task: Task, name: str, *, seed: int = 0) -> tuple[int, int]:
    """Return the bytes that a few passes take at most beside the problem, and those of the solver's state.

    What Python and NumPy allocate is counted, not what the system gives the process: memory that was freed
    before and is used again would hide a solver's own. Scratch arrays of compiled kernels are not seen.
    """
    state = 0

    def look(progress: Progress) -> None:
        nonlocal state
        values = vars(progress.state).values()
        state = sum(value.nbytes for value in values if isinstance(value, np.ndarray))

    solver = replace(solver_of(name, task.lam, seed), passes=_PASSES_OF_MEMORY, tolerance=0.0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        solver.run(task.problem, on_pass=look)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return most - before, state
