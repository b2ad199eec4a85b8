"""Block-coordinate Frank-Wolfe for the structured SVM.

    max over alpha in a product of simplices of  D = ell - lam/2 |w|^2,    w = sum_i w_i,  ell = sum_i ell_i

by one block i at a time ([1]_, Algorithm 4): its max oracle gives the vertex (w_s, ell_s), and (w_i, ell_i)
moves towards it by the step gamma that is best for the dual. Kept are w_i (n, d) and ell_i (n,), float64:
8 n (d + 1) bytes, 10 MB for 20,000 pairs and 60 features. The duality gap, measured by a full pass of the
oracle, certifies the result.

References
----------
.. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
"""

from __future__ import annotations

import json
import math
import os
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from align.objective import Value, evaluate, exact_step
from align.problem import Arrays, MatchingProblem, Problem, matching_vertex, workspace
from align.solvers.fit import CONVERGED, PASS_LIMIT, TIME_LIMIT, Fit, Progress, Row

# In which order a pass takes the n blocks.
SAMPLINGS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "permutation": lambda generator, n: generator.permutation(n),
    "uniform": lambda generator, n: generator.integers(n, size=n),
    "cyclic": lambda generator, n: np.arange(n),
}


def bcfw(
    problem: Problem,
    *,
    lam: float = 0.01,
    passes: int = 50,
    tolerance: float = 1e-3,
    seed: int = 0,
    sampling: str = "permutation",
    averaging: bool = True,
    time_limit: float | None = None,
    gap_every: int = 1,
    resume: State | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w|^2 + 1/n sum_i H_i(w).

    The weighted average of the iterates often has the smaller primal, the last iterate in the end the smaller
    gap. Returned is the one whose gap is smaller when the run stops; ``averaged`` of the result says which.

    Parameters
    ----------
    problem : Problem
        n blocks, d features. For a :class:`~align.problem.MatchingProblem` a whole pass is one compiled call.
    lam : float
        Regularisation, > 0.
    passes : int
        At most so many passes over the blocks, >= 1.
    tolerance : float
        Stop when gap <= tolerance * primal, >= 0.
    seed : int
        Seed of the order of the blocks, >= 0.
    sampling : str
        ``permutation`` (each block once a pass), ``uniform`` (with replacement) or ``cyclic``.
    averaging : bool
        Whether the weighted average is kept, measured and may be returned.
    time_limit : float, optional
        Stop after the pass in which so many seconds are over, > 0.
    gap_every : int
        Measure the gap every so many passes, >= 1, and at the end. Each time costs as much as one pass, two
        with averaging.
    resume : State, optional
        Go on from this state (it is used up); the iterates are those of the uninterrupted run, bit by bit.
    on_pass : function, optional
        Called with a :class:`~align.solvers.fit.Progress` after each pass.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If an option is out of its range, or the state belongs to another problem or other options.
    """
    _check(lam, passes, tolerance, sampling, time_limit, gap_every)
    state = resume or State.start(problem, lam=lam, seed=seed, sampling=sampling, averaging=averaging)
    state.check(problem, lam=lam, sampling=sampling, averaging=averaging)
    began = time.perf_counter() - state.seconds

    def record(*, measured: bool) -> None:
        values = _measure(problem, state) if measured else (_UNMEASURED, _UNMEASURED)
        state.seconds = time.perf_counter() - began
        state.history.append(Row(state.passes, state.oracle_calls, state.seconds, *values[0], *values[1]))

    if not state.history:
        record(measured=True)
    while (status := _status(state, passes, tolerance, time_limit)) is None:
        _one_pass(problem, state)
        ends = state.passes >= passes or _out_of_time(time.perf_counter() - began, time_limit)
        record(measured=ends or state.passes % gap_every == 0)
        if on_pass is not None:
            on_pass(Progress(state.history[-1], passes, state))
    if math.isnan(state.history[-1].gap):  # a limit lowered on resuming, or time that ran out while measuring
        state.history.pop()
        record(measured=True)
    return _fit(state, status)


@dataclass
class State:
    """All that block-coordinate Frank-Wolfe keeps between two passes.

    Attributes
    ----------
    lam, sampling, averaging
        The options it was made with.
    generator : dict
        State of the random generator.
    w : ndarray of float64, shape (d,)
        The iterate, the sum of ``w_blocks``.
    w_average : ndarray of float64, shape (d,)
        Its weighted average: of iterate k = 0, 1, ... with weight in proportion to k + 1.
    ells : ndarray of float64, shape (2,)
        ell of the iterate and of the average.
    w_blocks : ndarray of float64, shape (n, d)
    ell_blocks : ndarray of float64, shape (n,)
    passes, oracle_calls : int
    seconds : float
    history : list of Row
    """

    lam: float
    sampling: str
    averaging: bool
    generator: dict[str, Any]
    w: np.ndarray
    w_average: np.ndarray
    ells: np.ndarray
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    passes: int
    oracle_calls: int
    seconds: float
    history: list[Row]

    @classmethod
    def start(cls, problem: Problem, *, lam: float, seed: int, sampling: str, averaging: bool) -> State:
        """Return the start: w = 0, all mass on the gold labellings."""
        n, d = problem.n, problem.d
        return cls(
            lam=lam,
            sampling=sampling,
            averaging=averaging,
            generator=dict(np.random.default_rng(seed).bit_generator.state),
            w=np.zeros(d),
            w_average=np.zeros(d),
            ells=np.zeros(2),
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            passes=0,
            oracle_calls=0,
            seconds=0.0,
            history=[],
        )

    def check(self, problem: Problem, *, lam: float, sampling: str, averaging: bool) -> None:
        """Raise ValueError if the state was made for another problem's size or with other options."""
        mine = (*self.w_blocks.shape, self.lam, self.sampling, self.averaging)
        asked = (problem.n, problem.d, lam, sampling, averaging)
        if mine != asked:
            raise ValueError(
                f"bcfw: the state has n, d, lam, sampling, averaging = {mine}, asked are {asked}; start anew"
            )

    def save(self, path: Path) -> None:
        """Write the state to one file, which appears whole or not at all."""
        record = {name: getattr(self, name) for name in _PLAIN}
        temporary = path.with_name(path.name + ".part")
        with open(temporary, "wb") as out:
            np.savez(
                out,
                record=np.array(json.dumps(record)),
                **{name: getattr(self, name) for name in _ARRAYS},
            )
        os.replace(temporary, path)

    @classmethod
    def load(cls, path: Path) -> State:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            If the file is no such state.
        """
        try:
            # opened here: numpy would leave a broken file open
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in _ARRAYS}
                record = json.loads(str(saved["record"]))
            record["history"] = [Row(*row) for row in record["history"]]
            return cls(**arrays, **record)
        except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: no saved state of bcfw ({error}); remove it") from None


_ARRAYS = ("w", "w_average", "ells", "w_blocks", "ell_blocks")
_PLAIN = ("lam", "sampling", "averaging", "generator", "passes", "oracle_calls", "seconds", "history")
_UNMEASURED = Value(math.nan, math.nan, math.nan)


def _check(
    lam: float, passes: int, tolerance: float, sampling: str, time_limit: float | None, gap_every: int
) -> None:
    for fits, what in (
        (0 < lam < math.inf, f"lam is {lam}; give a number above 0"),
        (passes >= 1, f"passes is {passes}; give at least 1"),
        (0 <= tolerance < math.inf, f"tolerance is {tolerance}; give 0 or more"),
        (sampling in SAMPLINGS, f"sampling is {sampling!r}; give one of {', '.join(SAMPLINGS)}"),
        (time_limit is None or time_limit > 0, f"time_limit is {time_limit}; give seconds above 0, or None"),
        (gap_every >= 1, f"gap_every is {gap_every}; give at least 1"),
    ):
        if not fits:
            raise ValueError(f"bcfw: {what}")


def _one_pass(problem: Problem, state: State) -> None:
    """Take n steps; counts them."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order = SAMPLINGS[state.sampling](generator, problem.n).astype(np.int64)
    state.generator = dict(generator.bit_generator.state)
    taken = state.passes * problem.n
    iterates = (state.w, state.w_average, state.ells, state.w_blocks, state.ell_blocks)
    if isinstance(problem, MatchingProblem):
        _matching_pass(problem.data, order, taken, state.lam, state.averaging, iterates)
    else:
        for step, i in enumerate(order.tolist(), taken):
            psi, loss, _ = problem.oracle(state.w, i)
            inner = float(state.w @ psi)
            assert loss - inner >= -1e-9 * (1.0 + abs(loss) + abs(inner)), f"oracle of block {i}: H_i(w) < 0"
            _step(i, psi, loss, step, state.lam, state.averaging, iterates)
    # summed anew from the blocks, so that rounding of many small steps cannot build up
    state.w[:] = state.w_blocks.sum(axis=0)
    state.ells[0] = state.ell_blocks.sum()
    state.passes += 1
    state.oracle_calls += problem.n


def _measure(problem: Problem, state: State) -> tuple[Value, Value]:
    """Return primal, dual and gap of the iterate and of the average."""
    with_average = state.averaging and state.passes > 0  # at the start they are the same
    weights = np.stack([state.w, state.w_average] if with_average else [state.w])
    values = evaluate(problem, weights, state.ells, state.lam)
    state.oracle_calls += len(values) * problem.n
    if not with_average:
        values.append(values[0] if state.averaging else _UNMEASURED)
    return values[0], values[1]


def _better(row: Row) -> tuple[bool, Value]:
    """Return the one of last iterate and average whose gap is smaller, and whether it is the average."""
    if row.average_gap < row.gap:
        return True, Value(row.average_primal, row.average_dual, row.average_gap)
    return False, Value(row.primal, row.dual, row.gap)


def _status(state: State, passes: int, tolerance: float, time_limit: float | None) -> str | None:
    _, value = _better(state.history[-1])
    if value.gap <= tolerance * value.primal:
        return CONVERGED
    if state.passes >= passes:
        return PASS_LIMIT
    return TIME_LIMIT if _out_of_time(state.seconds, time_limit) else None


def _out_of_time(seconds: float, time_limit: float | None) -> bool:
    return time_limit is not None and seconds >= time_limit


def _fit(state: State, status: str) -> Fit:
    averaged, value = _better(state.history[-1])
    return Fit(
        weights=(state.w_average if averaged else state.w).copy(),
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


@njit(cache=True, nogil=True)
def _step(
    i: int, psi: np.ndarray, loss: float, k: int, lam: float, averaging: bool, iterates: Arrays
) -> None:
    """Move block i towards its vertex, in place: iteration k of Algorithm 4."""
    w, w_average, ells, w_blocks, ell_blocks = iterates
    n = len(ell_blocks)
    # step 4: the vertex of the block
    w_s, ell_s = psi / (lam * n), loss / n
    # step 5: exact line search
    gamma, _ = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
    # steps 6 and 7: the block, and the sums over all blocks by what it changed
    for j in range(len(w)):
        before = w_blocks[i, j]
        w_blocks[i, j] = (1.0 - gamma) * before + gamma * w_s[j]
        w[j] += w_blocks[i, j] - before
    before = ell_blocks[i]
    ell_blocks[i] = (1.0 - gamma) * before + gamma * ell_s
    ells[0] += ell_blocks[i] - before
    if averaging:
        for j in range(len(w)):
            w_average[j] = k / (k + 2.0) * w_average[j] + 2.0 / (k + 2.0) * w[j]
        ells[1] = k / (k + 2.0) * ells[1] + 2.0 / (k + 2.0) * ells[0]


@njit(cache=True, nogil=True)
def _matching_pass(
    data: Arrays, order: np.ndarray, taken: int, lam: float, averaging: bool, iterates: Arrays
) -> None:
    """Take one step for each pair of ``order``, in place; ``taken`` steps were taken before."""
    work = workspace(data)
    w = iterates[0]
    psi = np.empty(len(w))
    for place in range(len(order)):
        loss = matching_vertex(data, w, order[place], psi, work)
        _step(order[place], psi, loss, taken + place, lam, averaging, iterates)
