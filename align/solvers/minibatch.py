"""Block-coordinate Frank-Wolfe with the oracles of many blocks at once, in parallel threads.

The blocks of a minibatch ask their oracles at the same w, which threads can do side by side; then the blocks
move: each by its own exact step, one after the other (``blocks``), or all by one step that is best along
their joint direction (``joint``). Either way the dual never falls, and the result does not depend on the
number of threads. In all else it is :func:`~align.solvers.block.bcfw`, its cache of vertices included.

References
----------
.. [1] Y.-X. Wang, V. Sadhanala, W. Dai, W. Neiswanger, S. Sra and E. P. Xing, "Parallel and distributed
   block-coordinate Frank-Wolfe algorithms", ICML 2016. https://proceedings.mlr.press/v48/wangd16.html
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from align.core.kernels import Arrays, kernel
from align.problems.objective import exact_step
from align.problems.protocol import Problem
from align.solvers.block import BlockState, average_of, close_pass, measure, stamp_of
from align.solvers.block_kernels import average, move, remember, step
from align.solvers.block_order import ORDERS
from align.solvers.course import check_options, checked_origin, follow
from align.solvers.fit import Fit, Progress

STEPS = ("blocks", "joint")


def minibatch(
    problem: Problem,
    *,
    lam: float = 0.01,
    passes: int = 50,
    tolerance: float = 1e-3,
    seed: int = 0,
    batch: int = 32,
    step: str = "blocks",
    sampling: str = "permutation",
    averaging: bool = True,
    cache: int = 10,
    jobs: int = 1,
    time_limit: float | None = None,
    gap_every: int = 1,
    origin: np.ndarray | None = None,
    resume: BlockState | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    Parameters
    ----------
    problem : Problem
        n blocks, d features; its ``oracles`` is called from several threads at a time.
    batch : int
        Blocks that ask their oracles at the same w, >= 1. With 1 and ``blocks`` this is ``bcfw``.
    step : str
        ``blocks`` or ``joint``.
    sampling : str
        ``permutation``, ``uniform`` or ``cyclic``: a pass is cut into minibatches.
    jobs : int
        Threads, >= 1. They change no bit of the result.
    lam, passes, tolerance, seed, averaging, cache, time_limit, gap_every, origin, resume, on_pass
        As of :func:`~align.solvers.block.bcfw`.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If an option is out of its range, or the state belongs to another problem or other options.
    """
    check_options(
        "minibatch",
        (batch >= 1, f"batch is {batch}; give at least 1"),
        (step in STEPS, f"step is {step!r}; give one of {', '.join(STEPS)}"),
        (sampling in ORDERS, f"sampling is {sampling!r}; give one of {', '.join(ORDERS)}"),
        (cache >= 0, f"cache is {cache}; give 0 or more"),
        (jobs >= 1, f"jobs is {jobs}; give at least 1"),
        lam=lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
    )
    options = {
        "solver": "minibatch", "lam": lam, "batch": batch, "step": step, "sampling": sampling,
        "averaging": averaging, "cache": cache,
    }  # fmt: skip
    origin = checked_origin("minibatch", origin, problem)
    state = BlockState.start(problem, origin, seed=seed, **options) if resume is None else resume
    state.check(problem, origin, **options)
    with ThreadPoolExecutor(jobs) as threads:
        return follow(
            problem,
            state,
            partial(_one_pass, threads=threads, jobs=jobs),
            measure,
            average_of,
            passes=passes,
            tolerance=tolerance,
            time_limit=time_limit,
            gap_every=gap_every,
            on_pass=on_pass,
        )


def _one_pass(problem: Problem, state: BlockState, *, threads: ThreadPoolExecutor, jobs: int) -> None:
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order = ORDERS[state.options["sampling"]](generator, problem.n).astype(np.int64)
    state.generator = dict(generator.bit_generator.state)
    size, stamp, met = state.options["batch"], stamp_of(state.passes), 0.0
    take = _joint_step if state.options["step"] == "joint" else _block_steps
    for start in range(0, problem.n, size):
        blocks = order[start : start + size]
        parts = [part for part in np.array_split(blocks, jobs) if len(part)]
        # threads only pay where there is something to share
        found = list((threads.map if len(parts) > 1 else map)(partial(problem.oracles, state.w), parts))
        met += take(
            blocks,
            np.concatenate([psi for psi, _ in found]),
            np.concatenate([loss for _, loss in found]),
            problem.nonnegative,
            state.passes * problem.n + start,
            stamp,
            state.options["lam"],
            state.options["averaging"],
            state.iterates,
            state.vertices,
        )
    close_pass(state, order, met)


@kernel
def _block_steps(
    blocks: np.ndarray,
    psi: np.ndarray,
    loss: np.ndarray,
    nonnegative: int,
    taken: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Move each block towards its vertex, psi (b, d) and loss (b,); returns the sum of the gaps met."""
    met = 0.0
    for place in range(len(blocks)):
        met += step(
            blocks[place],
            psi[place],
            loss[place],
            nonnegative,
            taken + place,
            stamp,
            lam,
            averaging,
            iterates,
            vertices,
        )
    return met


@kernel
def _joint_step(
    blocks: np.ndarray,
    psi: np.ndarray,
    loss: np.ndarray,
    nonnegative: int,
    taken: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Move all blocks by one step; returns their gap. A block drawn twice counts once."""
    _, w, _, _, w_blocks, ell_blocks = iterates
    n = len(ell_blocks)
    w_from, w_to, ell_from, ell_to = np.zeros(len(w)), np.zeros(len(w)), 0.0, 0.0
    chosen = np.zeros(n, dtype=np.bool_)
    first = np.zeros(len(blocks), dtype=np.bool_)
    for place in range(len(blocks)):
        i = blocks[place]
        first[place] = not chosen[i]
        if first[place]:
            chosen[i] = True
            w_from += w_blocks[i]
            ell_from += ell_blocks[i]
            w_to += psi[place] / (lam * n)
            ell_to += loss[place] / n
    gamma, gap = exact_step(w, w_from, ell_from, w_to, ell_to, lam, 1.0)
    for place in range(len(blocks)):
        i = blocks[place]
        w_s, ell_s = psi[place] / (lam * n), loss[place] / n
        if first[place]:
            move(i, w_s, ell_s, gamma, nonnegative, iterates)
        remember(w_s, ell_s, stamp, vertices[0][i], vertices[1][i], vertices[2][i])
        if averaging:
            average(taken + place, iterates)
    return max(gap, 0.0)
