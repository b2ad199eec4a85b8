"""Block-coordinate Frank-Wolfe for the structured SVM, with a cache of vertices.

    max over alpha in a product of simplices of  D = ell - lam/2 |w|^2,    w = sum_i w_i,  ell = sum_i ell_i

by one block i at a time ([1]_, Algorithm 4): its max oracle gives the vertex (w_s, ell_s), and (w_i, ell_i)
moves towards it by the step gamma that is best for the dual. The last few vertices of each block are kept;
after a pass of the oracle the blocks move on towards the best of these, as long as it pays ([2]_, [3]_). Such
a step costs a few inner products, and far fewer passes of the oracle are needed. The duality gap, measured by
a full pass of the oracle, certifies the result. Weights that may not be negative are cut at 0 in w, not in
its parts, and weights w_0 to start from are added to their sum (:mod:`align.objective`).

Kept are w_i, ell_i and the cached vertices, float64: 8 n (d + 1) (1 + cache) bytes, 107 MB for 20,000 pairs,
60 features and 10 vertices a pair.

References
----------
.. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
.. [2] N. Shah, V. Kolmogorov and C. H. Lampert, "A multi-plane block-coordinate Frank-Wolfe algorithm for
   training structural SVMs with a costly max-oracle", CVPR 2015. https://arxiv.org/abs/1408.6804
.. [3] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and S. Lacoste-Julien, "Minding the gaps for block
   Frank-Wolfe optimization of structured SVMs", ICML 2016. https://arxiv.org/abs/1605.09346
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from align.compiled import is_compiled, vertex, workspace
from align.kernels import kernel
from align.objective import Value, evaluate, exact_step, projection
from align.oracle import Arrays
from align.problem import Problem
from align.solvers.fit import CONVERGED, PASS_LIMIT, TIME_LIMIT, Fit, Progress, Row
from align.solvers.state import State

# In which order a pass takes the n blocks.
SAMPLINGS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "permutation": lambda generator, n: generator.permutation(n),
    "uniform": lambda generator, n: generator.integers(n, size=n),
    "cyclic": lambda generator, n: np.arange(n),
}
# After a pass of the oracle, passes over the cached vertices until the block gaps met on the way add up to
# less than this share of those met by the oracle, but no more passes than that.
_CACHE_SHARE, _CACHE_PASSES = 0.3, 50
_UNMEASURED = Value(math.nan, math.nan, math.nan)


def bcfw(
    problem: Problem,
    *,
    lam: float = 0.01,
    passes: int = 50,
    tolerance: float = 1e-3,
    seed: int = 0,
    sampling: str = "permutation",
    averaging: bool = True,
    cache: int = 10,
    time_limit: float | None = None,
    gap_every: int = 1,
    origin: np.ndarray | None = None,
    resume: State | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    Returned is the last iterate or the weighted average of the iterates, whichever has the smaller gap when
    the run stops; ``averaged`` of the result says which.

    Parameters
    ----------
    problem : Problem
        n blocks, d features. Where it has kernels (:mod:`align.compiled`) a whole pass is one compiled call.
    lam : float
        Regularisation, > 0.
    passes : int
        At most so many passes of the oracle over the blocks, >= 1.
    tolerance : float
        Stop when gap <= tolerance * primal, >= 0.
    seed : int
        Seed of the order of the blocks, >= 0.
    sampling : str
        ``permutation`` (each block once a pass), ``uniform`` (with replacement) or ``cyclic``.
    averaging : bool
        Whether the weighted average is kept, measured and may be returned.
    cache : int
        Vertices kept for each block, >= 0; with 0 this is Algorithm 4 as published.
    time_limit : float, optional
        Stop after the pass in which so many seconds are over, > 0.
    gap_every : int
        Measure the gap every so many passes, >= 1, and at the end. Each time costs as many calls of the
        oracle as one pass, two with averaging.
    origin : ndarray of float64, shape (d,), optional
        Weights w_0 that are left only as far as the pairs ask for it; those that may not be negative are not.
        Default: 0.
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
    _check(lam, passes, tolerance, sampling, cache, time_limit, gap_every)
    options = {"lam": lam, "sampling": sampling, "averaging": averaging, "cache": cache}
    origin = np.zeros(problem.d) if origin is None else _checked_origin(origin, problem)
    state = State.start(problem, origin, seed=seed, **options) if resume is None else resume
    state.check(problem, origin, **options)
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
    if math.isnan(state.history[-1].gap):  # a limit lowered on resuming, or time that ran out since
        state.history.pop()
        record(measured=True)
    return _fit(state, status)


def _checked_origin(origin: np.ndarray, problem: Problem) -> np.ndarray:
    origin = np.array(origin, dtype=np.float64)
    if origin.shape != (problem.d,) or not np.isfinite(origin).all():
        raise ValueError(f"bcfw: the origin has shape {origin.shape}; give {problem.d} finite weights")
    if (origin[problem.nonnegative :] < 0).any():
        raise ValueError("bcfw: a weight of the origin is negative where none may be")
    return origin


def _check(
    lam: float,
    passes: int,
    tolerance: float,
    sampling: str,
    cache: int,
    time_limit: float | None,
    gap_every: int,
) -> None:
    for fits, what in (
        (0 < lam < math.inf, f"lam is {lam}; give a number above 0"),
        (passes >= 1, f"passes is {passes}; give at least 1"),
        (0 <= tolerance < math.inf, f"tolerance is {tolerance}; give 0 or more"),
        (sampling in SAMPLINGS, f"sampling is {sampling!r}; give one of {', '.join(SAMPLINGS)}"),
        (cache >= 0, f"cache is {cache}; give 0 or more"),
        (time_limit is None or time_limit > 0, f"time_limit is {time_limit}; give seconds above 0, or None"),
        (gap_every >= 1, f"gap_every is {gap_every}; give at least 1"),
    ):
        if not fits:
            raise ValueError(f"bcfw: {what}")


def _one_pass(problem: Problem, state: State) -> None:
    """Take n steps of the oracle, then as many of the cache as pay."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order = SAMPLINGS[state.options["sampling"]](generator, problem.n).astype(np.int64)
    state.generator = dict(generator.bit_generator.state)
    lam, averaging = state.options["lam"], state.options["averaging"]
    taken, stamp = state.passes * problem.n, 1 + (state.passes + 1) * (_CACHE_PASSES + 1)
    if is_compiled(problem):
        met = _compiled_pass(
            problem.data,
            problem.nonnegative,
            order,
            taken,
            stamp,
            lam,
            averaging,
            state.iterates,
            state.vertices,
        )
    else:
        met = 0.0
        for step, i in enumerate(order.tolist(), taken):
            psi, loss, _ = problem.oracle(state.w, i)
            inner = float(state.w @ psi)
            assert loss - inner >= -1e-9 * (1.0 + abs(loss) + abs(inner)), f"oracle of block {i}: H_i(w) < 0"
            met += _step(
                i, psi, loss, problem.nonnegative, step, stamp, lam, averaging, state.iterates, state.vertices
            )
    _cached_passes(
        order, _CACHE_SHARE * met, problem.nonnegative, stamp + 1, lam, state.iterates, state.vertices
    )
    # summed anew from the blocks, so that rounding of many small steps cannot build up
    state.v[:] = state.origin + state.w_blocks.sum(axis=0)
    state.w[:] = projection(state.v, problem.nonnegative)
    state.ells[0] = state.ell_blocks.sum()
    state.passes += 1
    state.oracle_calls += problem.n


def _measure(problem: Problem, state: State) -> tuple[Value, Value]:
    """Return primal, dual and gap of the iterate and of the average."""
    averaging = state.options["averaging"]
    with_average = averaging and state.passes > 0  # at the start they are the same
    average = projection(state.v_average, problem.nonnegative)
    weights = np.stack([state.w, average] if with_average else [state.w])
    values = evaluate(problem, weights, state.ells, state.options["lam"], origin=state.origin)
    state.oracle_calls += len(values) * problem.n
    if not with_average:
        values.append(values[0] if averaging else _UNMEASURED)
    return values[0], values[1]


def _better(row: Row) -> tuple[bool, Value]:
    """Return whether the average has the smaller gap, and the values of the one that has."""
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
        weights=projection(state.v_average if averaged else state.v, state.nonnegative),
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


@kernel
def _compiled_pass(
    data: Arrays,
    nonnegative: int,
    order: np.ndarray,
    taken: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Take one step of the oracle for each block of ``order``; returns the sum of the block gaps met."""
    work = workspace(data)
    w = iterates[1]
    psi, met = np.empty(len(w)), 0.0
    for place in range(len(order)):
        i = order[place]
        loss = vertex(data, w, i, psi, work)
        met += _step(i, psi, loss, nonnegative, taken + place, stamp, lam, averaging, iterates, vertices)
    return met


@kernel
def _step(
    i: int,
    psi: np.ndarray,
    loss: float,
    nonnegative: int,
    k: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Move block i towards the oracle's vertex: iteration k of Algorithm 4; returns the block's gap."""
    v, w, v_average, ells, w_blocks, ell_blocks = iterates
    n = len(ell_blocks)
    # step 4: the vertex
    w_s, ell_s = psi / (lam * n), loss / n
    # step 5: exact line search
    gamma, gap = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
    # steps 6 and 7: the block, and the sums over the blocks
    _move(i, w_s, ell_s, gamma, nonnegative, iterates)
    _remember(w_s, ell_s, stamp, vertices[0][i], vertices[1][i], vertices[2][i])
    if averaging:
        keep, add = k / (k + 2.0), 2.0 / (k + 2.0)
        for j in range(len(w)):
            v_average[j] = keep * v_average[j] + add * v[j]
        ells[1] = keep * ells[1] + add * ells[0]
    return max(gap, 0.0)


@kernel
def _cached_passes(
    order: np.ndarray,
    target: float,
    nonnegative: int,
    stamp: int,
    lam: float,
    iterates: Arrays,
    vertices: Arrays,
) -> None:
    """Pass over the cached vertices until the block gaps met in a pass add up to ``target`` at most."""
    _, w, _, _, w_blocks, ell_blocks = iterates
    w_cache, ell_cache, stamps = vertices
    if ell_cache.shape[1] == 0:
        return
    for turn in range(_CACHE_PASSES):
        met = 0.0
        for i in order:
            at = _best_cached(w, lam, w_cache[i], ell_cache[i], stamps[i])
            w_s, ell_s = w_cache[i, at], ell_cache[i, at]
            gamma, gap = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
            if gap > 0.0:
                _move(i, w_s, ell_s, gamma, nonnegative, iterates)
                stamps[i, at] = stamp + turn
                met += gap
        if met <= target:
            return


@kernel
def _move(i: int, w_s: np.ndarray, ell_s: float, gamma: float, nonnegative: int, iterates: Arrays) -> None:
    """Move block i by ``gamma`` towards (w_s, ell_s), and the sums over the blocks with it."""
    v, w, _, ells, w_blocks, ell_blocks = iterates
    for j in range(len(w)):
        before = w_blocks[i, j]
        w_blocks[i, j] = (1.0 - gamma) * before + gamma * w_s[j]
        v[j] += w_blocks[i, j] - before
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)
    before = ell_blocks[i]
    ell_blocks[i] = (1.0 - gamma) * before + gamma * ell_s
    ells[0] += ell_blocks[i] - before


@kernel
def _remember(
    w_s: np.ndarray,
    ell_s: float,
    stamp: int,
    w_cache: np.ndarray,
    ell_cache: np.ndarray,
    stamps: np.ndarray,
) -> None:
    """Put a vertex into its block's cache, in the place of the one unused for longest."""
    if len(stamps) == 0:
        return
    at = 0
    for place in range(len(stamps)):
        known = stamps[place] > 0 and ell_cache[place] == ell_s
        for j in range(len(w_s)):
            known = known and w_cache[place, j] == w_s[j]
        if known:
            stamps[place] = stamp
            return
        if stamps[place] < stamps[at]:
            at = place
    for j in range(len(w_s)):
        w_cache[at, j] = w_s[j]
    ell_cache[at] = ell_s
    stamps[at] = stamp


@kernel
def _best_cached(
    w: np.ndarray, lam: float, w_cache: np.ndarray, ell_cache: np.ndarray, stamps: np.ndarray
) -> int:
    """Return the place of the cached vertex that maximises ell_s - lam <w, w_s>."""
    best, at = -np.inf, 0
    for place in range(len(stamps)):
        if stamps[place] > 0:
            value = ell_cache[place]
            for j in range(len(w)):
                value -= lam * w[j] * w_cache[place, j]
            if value > best:
                best, at = value, place
    return at
