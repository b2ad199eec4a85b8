"""Block-coordinate Frank-Wolfe for the structured SVM, with a cache of vertices.

    max over alpha in a product of simplices of  D = ell - lam/2 |w|^2,    w = sum_i w_i,  ell = sum_i ell_i

by one block i at a time ([1]_, Algorithm 4): its max oracle gives the vertex (w_s, ell_s), and (w_i, ell_i)
moves towards it by the step gamma that is best for the dual. The last few vertices of each block are kept;
after a pass of the oracle the blocks move on towards the best of these, as long as it pays ([2]_, [3]_). Such
a step costs a few inner products, and far fewer passes of the oracle are needed. The duality gap, measured by
a full pass of the oracle, certifies the result. Weights that may not be negative are cut at 0 in w, not in
its parts, and weights w_0 to start from are added to their sum (:mod:`align.problems.objective`).

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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from align.core.kernels import Arrays, kernel
from align.problems.compiled import CompiledProblem, vertex, workspace
from align.problems.objective import Value, evaluate, projection
from align.problems.protocol import Problem
from align.solvers.block_kernels import CACHE_PASSES, CACHE_SHARE, cached_passes, step
from align.solvers.block_order import SAMPLINGS, gap_tree, next_block, plan, renew
from align.solvers.course import UNMEASURED, check_options, checked_origin, follow
from align.solvers.fit import Fit, Progress
from align.solvers.state import State


@dataclass(kw_only=True)
class BlockState(State):
    """The state of :func:`bcfw` and of :func:`~align.solvers.minibatch.minibatch`.

    Attributes
    ----------
    v_average : ndarray of float64, shape (d,)
        Average of v over the oracle's steps k = 0, 1, ..., with weight in proportion to k + 1.
    w_blocks, ell_blocks : ndarray of float64, shapes (n, d) and (n,)
        w_i and ell_i.
    w_cache, ell_cache : ndarray of float64, shapes (n, cache, d) and (n, cache)
        Vertices (w_s, ell_s) that the oracle gave for each block.
    stamps : ndarray of int64, shape (n, cache)
        When each of them was used last; 0: the place is free.
    gaps : ndarray of float64, shape (n,)
        The block gaps that the oracle met last.
    """

    v_average: np.ndarray
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    w_cache: np.ndarray
    ell_cache: np.ndarray
    stamps: np.ndarray
    gaps: np.ndarray

    @classmethod
    def start(cls, problem: Problem, origin: np.ndarray, *, seed: int, **options: Any) -> Self:
        """Return the start: w = w_0, all mass on the gold labellings; ``options`` as in the attribute."""
        n, d, cache = problem.n, problem.d, options["cache"]
        stamps = np.zeros((n, cache), dtype=np.int64)
        stamps[:, :1] = 1  # the vertex of the gold labelling is (0, 0)
        return cls.new(
            problem,
            origin,
            seed,
            options,
            v_average=origin.copy(),
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            w_cache=np.zeros((n, cache, d)),
            ell_cache=np.zeros((n, cache)),
            stamps=stamps,
            gaps=np.zeros(n),
        )

    @property
    def iterates(self) -> Arrays:
        """Return the arrays that a step changes, in the order the kernels take them."""
        return self.v, self.w, self.v_average, self.ells, self.w_blocks, self.ell_blocks

    @property
    def vertices(self) -> Arrays:
        """Return the cache's arrays, in the order the kernels take them."""
        return self.w_cache, self.ell_cache, self.stamps


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
    resume: BlockState | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    Returned is the last iterate or the weighted average of the iterates, whichever has the smaller gap when
    the run stops; ``averaged`` of the result says which.

    Parameters
    ----------
    problem : Problem
        n blocks, d features. Where it has kernels (:mod:`align.problems.compiled`) a whole pass is one
        compiled call.
    lam : float
        Regularisation, > 0.
    passes : int
        At most so many passes of the oracle over the blocks, >= 1.
    tolerance : float
        Stop when gap <= tolerance * primal, >= 0.
    seed : int
        Seed of the order of the blocks, >= 0.
    sampling : str
        ``permutation`` (each block once a pass), ``uniform`` (with replacement), ``cyclic`` or ``gaps`` (in
        proportion to the block gaps met last, :mod:`align.solvers.block_order`).
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
    resume : BlockState, optional
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
    check_options(
        "bcfw",
        (sampling in SAMPLINGS, f"sampling is {sampling!r}; give one of {', '.join(SAMPLINGS)}"),
        (cache >= 0, f"cache is {cache}; give 0 or more"),
        lam=lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
    )
    options = {"solver": "bcfw", "lam": lam, "sampling": sampling, "averaging": averaging, "cache": cache}
    origin = checked_origin("bcfw", origin, problem)
    state = BlockState.start(problem, origin, seed=seed, **options) if resume is None else resume
    state.check(problem, origin, **options)
    return follow(
        problem,
        state,
        _one_pass,
        measure,
        average_of,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
        on_pass=on_pass,
    )


def _one_pass(problem: Problem, state: BlockState) -> None:
    """Take n steps of the oracle, then as many of the cache as pay."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order, chances = plan(state.options["sampling"], generator, state.passes, problem.n)
    state.generator = dict(generator.bit_generator.state)
    lam, averaging = state.options["lam"], state.options["averaging"]
    taken, stamp = state.passes * problem.n, stamp_of(state.passes)
    tree = gap_tree(state.gaps)
    if isinstance(problem, CompiledProblem):
        met = _compiled_pass(
            problem.data,
            problem.nonnegative,
            order,
            chances,
            tree,
            taken,
            stamp,
            lam,
            averaging,
            state.iterates,
            state.vertices,
        )
    else:
        met = 0.0
        for place in range(problem.n):
            i = next_block(place, order, chances, tree)
            psi, loss = checked_vertex(problem, state.w, i)
            gap = step(
                i,
                psi,
                loss,
                problem.nonnegative,
                taken + place,
                stamp,
                lam,
                averaging,
                state.iterates,
                state.vertices,
            )
            renew(tree, i, gap)
            met += gap
    state.gaps[:] = tree[len(tree) // 2 :][: problem.n]
    close_pass(state, order, met)


def stamp_of(passes: int) -> int:
    """Return the time of the pass after ``passes`` passes; its passes over the cache follow at 1, 2, ..."""
    return 1 + (passes + 1) * (CACHE_PASSES + 1)


def checked_vertex(problem: Problem, w: np.ndarray, i: int) -> tuple[np.ndarray, float]:
    """Return psi and loss of the oracle's vertex of block i; gold reaches 0, so H_i(w) >= 0."""
    psi, loss = problem.oracle(w, i)
    inner = float(w @ psi)
    assert loss - inner >= -1e-9 * (1.0 + abs(loss) + abs(inner)), f"oracle of block {i}: H_i(w) < 0"
    return psi, loss


def close_pass(state: BlockState, order: np.ndarray, met: float) -> None:
    """Take the steps of the cache over the blocks ``order``, sum up the blocks and count the pass."""
    cached_passes(
        order,
        CACHE_SHARE * met,
        state.nonnegative,
        stamp_of(state.passes) + 1,
        state.options["lam"],
        state.iterates,
        state.vertices,
    )
    # summed anew from the blocks, so that rounding of many small steps cannot build up
    state.v[:] = state.origin + state.w_blocks.sum(axis=0)
    state.w[:] = projection(state.v, state.nonnegative)
    state.ells[0] = state.ell_blocks.sum()
    state.passes += 1
    state.oracle_calls += state.n


def measure(problem: Problem, state: BlockState) -> tuple[Value, Value]:
    """Return primal, dual and gap of the iterate and of the average."""
    averaging = state.options["averaging"]
    with_average = averaging and state.passes > 0  # at the start they are the same
    average = projection(state.v_average, problem.nonnegative)
    weights = np.stack([state.w, average] if with_average else [state.w])
    values = evaluate(problem, weights, state.ells, state.options["lam"], origin=state.origin)
    state.oracle_calls += len(values) * problem.n
    if not with_average:
        values.append(values[0] if averaging else UNMEASURED)
    return values[0], values[1]


def average_of(state: BlockState) -> np.ndarray:
    """Return the average of the iterates' v."""
    return state.v_average


@kernel
def _compiled_pass(
    data: Arrays,
    nonnegative: int,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    taken: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Take one step of the oracle for each block of the pass; returns the sum of the block gaps met."""
    work = workspace(data)
    w = iterates[1]
    psi, met = np.empty(len(w)), 0.0
    for place in range(len(order)):
        i = next_block(place, order, chances, tree)
        loss = vertex(data, w, i, psi, work)
        gap = step(i, psi, loss, nonnegative, taken + place, stamp, lam, averaging, iterates, vertices)
        renew(tree, i, gap)
        met += gap
    return met
