"""Block-coordinate Frank-Wolfe for the structured SVM, with a cache of vertices.

One block i of the dual (:mod:`align.solvers.dual`) at a time ([1]_, Algorithm 4): its max oracle gives the
vertex (w_s, ell_s), and (w_i, ell_i) moves towards it by the step gamma that is best for the dual. The last
few vertices of each block are kept; after a pass of the oracle the blocks move on towards the best of these,
as long as it pays ([2]_, [3]_). Such a step costs a few inner products, and far fewer passes of the oracle
are needed. The duality gap, measured by a full pass of the oracle, certifies the result.

Kept are w_i, ell_i and the cached vertices, float64: 8 n (d + 3) (1 + cache) bytes, 111 MB for 20,000 pairs,
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

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import pass_over, vertex, workspace
from align.problems.objective import Value, evaluate, exact_step, projection
from align.problems.protocol import Problem
from align.solvers.block_order import BLOCK_ORDERS, gap_tree, next_block, renew
from align.solvers.dual import DualSolver, DualState, planned
from align.solvers.loop import UNMEASURED
from align.solvers.options import at_least, flag, one_of

# After a pass of the oracle, passes over the cached vertices until the block gaps met on the way add up to
# less than this share of those met by the oracle, but no more passes than that.
_CACHE_SHARE, _CACHE_PASSES = 0.3, 50


class Blocks(NamedTuple):
    """What a step reads and changes: lam, and of the same names the fields of :class:`BlockState`."""

    lam: float
    nonnegative: int
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    v: np.ndarray
    w: np.ndarray
    ells: np.ndarray
    v_average: np.ndarray
    stamps: np.ndarray
    alphas: np.ndarray
    w_known: np.ndarray
    ell_known: np.ndarray


@dataclass(kw_only=True)
class BlockState(DualState):
    """The state of the block-coordinate solvers.

    Attributes
    ----------
    v_average : ndarray of float64, shape (d,) or (0,)
        Average of v over the oracle's steps k = 0, 1, ..., with weights in proportion to k + 1, where kept.
    w_blocks, ell_blocks : ndarray of float64, shapes (n, d) and (n,)
        w_i and ell_i.
    w_known, ell_known : ndarray of float64, shapes (n, room, d) and (n, room)
        Vertices (w_s, ell_s) that the oracle gave for each block; the first is gold.
    stamps : ndarray of int64, shape (n, room)
        When each of them was used last; 0: the place is free.
    alphas : ndarray of float64, shape (n, room)
        Their weights in (w_i, ell_i), which add up to 1 for each block; all 0 where they are not kept.
    gaps : ndarray of float64, shape (n,)
        The block gaps that the oracle met last.
    """

    v_average: np.ndarray
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    w_known: np.ndarray
    ell_known: np.ndarray
    stamps: np.ndarray
    alphas: np.ndarray
    gaps: np.ndarray

    def blocks(self, lam: float) -> Blocks:
        """Return what a step reads and changes."""
        return Blocks(lam, *(getattr(self, name) for name in Blocks._fields[1:]))


@dataclass(frozen=True, kw_only=True)
class BlockSolver(DualSolver[BlockState]):
    """A solver that moves one block at a time.

    Parameters
    ----------
    block_order : str
        Of a pass: permutation (each pair once), uniform (drawn with replacement), cyclic (as they come), or
        gaps (drawn in proportion to how far each pair was from its best when last met); minibatch does
        without the last, subgradient without uniform, too.
    """

    state_type = BlockState

    block_order: str = one_of(*BLOCK_ORDERS, "gaps")

    def new_block_state(
        self,
        problem: Problem,
        origin: np.ndarray,
        room: int,
        *,
        averaging: bool = False,
        weighted: bool = False,
    ) -> BlockState:
        """Return the start: all mass on the gold labellings, whose vertex is (0, 0)."""
        n, d = problem.n, problem.d
        gold = np.tile(np.arange(room) == 0, (n, 1))
        return self.new_dual_state(
            problem,
            origin,
            v_average=origin.copy() if averaging else np.zeros(0),
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            w_known=np.zeros((n, room, d)),
            ell_known=np.zeros((n, room)),
            stamps=gold.astype(np.int64),
            alphas=gold * float(weighted),
            gaps=np.zeros(n),
        )


@dataclass(frozen=True, kw_only=True)
class BlockFrankWolfe(BlockSolver):
    """Block-coordinate Frank-Wolfe, exact steps, cached vertices.

    Parameters
    ----------
    averaging : bool
        Whether the weighted average of the iterates is kept, measured and may be the result. Weights that may
        not be negative are cut at 0 in the average, not before.
    cache : int
        Vertices kept for each pair, >= 0; with 0 bcfw is the algorithm as published.
    """

    name = "bcfw"

    averaging: bool = flag(True)
    cache: int = at_least(0, 10)

    def start(self, problem: Problem, origin: np.ndarray) -> BlockState:
        """Return the start: all mass on the gold labellings."""
        return self.new_block_state(problem, origin, self.cache, averaging=self.averaging)

    def one_pass(self, problem: Problem, state: BlockState) -> None:
        """Take n steps of the oracle, then as many of the cache as pay."""
        order, chances = planned(state, self.block_order, problem.n)
        tree, blocks = gap_tree(state.gaps), state.blocks(self.lam)
        oracle_pass, data = pass_over(problem, _oracle_pass)
        taken, stamp = state.passes * problem.n, stamp_of(state.passes)
        met = oracle_pass(data, order, chances, tree, taken, stamp, blocks)
        state.gaps[:] = tree[len(tree) // 2 :][: problem.n]
        close_pass(state, order, met, blocks)

    def measure(self, problem: Problem, state: BlockState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate and of the average."""
        with_average = self.averaging and state.passes > 0  # at the start they are the same
        weights = [state.w, self.weights(state, averaged=True)] if with_average else [state.w]
        values = evaluate(problem, np.stack(weights), state.ells, self.lam, origin=state.origin)
        state.oracle_calls += len(values) * problem.n
        if not with_average:
            values.append(values[0] if self.averaging else UNMEASURED)
        return values[0], values[1]

    def weights(self, state: BlockState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate or of the average."""
        return projection(state.v_average if averaged else state.v, state.nonnegative)


def stamp_of(passes: int) -> int:
    """Return the time of the pass after ``passes`` passes; its passes over the cache follow at 1, 2, ..."""
    return 1 + (passes + 1) * (_CACHE_PASSES + 1)


def close_pass(state: BlockState, order: np.ndarray, met: float, blocks: Blocks) -> None:
    """Take the steps of the cache over the blocks of ``order``, sum up the blocks and count the pass."""
    _cached_passes(order, _CACHE_SHARE * met, stamp_of(state.passes) + 1, blocks)
    # summed anew from the blocks, so that rounding of many small steps cannot build up
    state.v[:] = state.origin + state.w_blocks.sum(axis=0)
    state.w[:] = projection(state.v, state.nonnegative)
    state.ells[0] = state.ell_blocks.sum()
    state.passes += 1
    state.oracle_calls += len(state.ell_blocks)


@kernel
def _oracle_pass(
    data: Any,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    taken: int,
    stamp: int,
    blocks: Blocks,
) -> float:
    """Take one step of the oracle for each block of the pass; returns the sum of the block gaps met."""
    work = workspace(data)
    psi, met = np.empty(len(blocks.w)), 0.0
    for place in range(len(order)):
        i = next_block(place, order, chances, tree)
        loss = vertex(data, blocks.w, i, psi, work)
        gap = step(i, psi, loss, taken + place, stamp, blocks)
        renew(tree, i, gap)
        met += gap
    return met


@kernel
def step(i: int, psi: np.ndarray, loss: float, k: int, stamp: int, blocks: Blocks) -> float:
    """Move block i towards the oracle's vertex: iteration k of Algorithm 4; returns the block's gap."""
    n, lam = len(blocks.ell_blocks), blocks.lam
    # step 4: the vertex
    w_s, ell_s = psi / (lam * n), loss / n
    # step 5: exact line search
    gamma, gap = exact_step(blocks.w, blocks.w_blocks[i], blocks.ell_blocks[i], w_s, ell_s, lam, 1.0)
    # steps 6 and 7: the block, and the sums over the blocks
    move(i, w_s, ell_s, gamma, blocks)
    remember(i, w_s, ell_s, stamp, blocks)
    average(k, blocks)
    return max(gap, 0.0)


@kernel
def _cached_passes(order: np.ndarray, target: float, stamp: int, blocks: Blocks) -> None:
    """Pass over the cached vertices until the block gaps met in a pass add up to ``target`` at most."""
    w, lam = blocks.w, blocks.lam
    if blocks.stamps.shape[1] == 0:
        return
    for turn in range(_CACHE_PASSES):
        met = 0.0
        for i in order:
            at = _best_cached(i, blocks)
            w_s, ell_s = blocks.w_known[i, at], blocks.ell_known[i, at]
            gamma, gap = exact_step(w, blocks.w_blocks[i], blocks.ell_blocks[i], w_s, ell_s, lam, 1.0)
            if gap > 0.0:
                move(i, w_s, ell_s, gamma, blocks)
                blocks.stamps[i, at] = stamp + turn
                met += gap
        if met <= target:
            return


@kernel
def move(i: int, w_s: np.ndarray, ell_s: float, gamma: float, blocks: Blocks) -> None:
    """Move block i by ``gamma`` towards (w_s, ell_s), and the sums over the blocks with it."""
    v, w, w_i, ell_blocks = blocks.v, blocks.w, blocks.w_blocks[i], blocks.ell_blocks
    for j in range(len(w)):
        before = w_i[j]
        w_i[j] = (1.0 - gamma) * before + gamma * w_s[j]
        v[j] += w_i[j] - before
        w[j] = v[j] if j < blocks.nonnegative else max(v[j], 0.0)
    before = ell_blocks[i]
    ell_blocks[i] = (1.0 - gamma) * before + gamma * ell_s
    blocks.ells[0] += ell_blocks[i] - before


@kernel
def remember(i: int, w_s: np.ndarray, ell_s: float, stamp: int, blocks: Blocks) -> int:
    """Return the place of a vertex of block i: where it is, or the one without weight unused for longest.

    -1 if there is none.
    """
    w_known, ell_known = blocks.w_known[i], blocks.ell_known[i]
    stamps, alphas = blocks.stamps[i], blocks.alphas[i]
    at = -1
    for place in range(len(stamps)):
        known = stamps[place] > 0 and ell_known[place] == ell_s
        for j in range(len(w_s)):
            known = known and w_known[place, j] == w_s[j]
        if known:
            stamps[place] = stamp
            return place
        if alphas[place] == 0.0 and (at < 0 or stamps[place] < stamps[at]):
            at = place
    if at >= 0:
        w_known[at], ell_known[at], stamps[at] = w_s, ell_s, stamp
    return at


@kernel
def _best_cached(i: int, blocks: Blocks) -> int:
    """Return the place of the cached vertex of block i that maximises ell_s - lam <w, w_s>."""
    w, lam, w_known, stamps = blocks.w, blocks.lam, blocks.w_known[i], blocks.stamps[i]
    best, at = -np.inf, 0
    for place in range(len(stamps)):
        if stamps[place] > 0:
            value = blocks.ell_known[i, place]
            for j in range(len(w)):
                value -= lam * w[j] * w_known[place, j]
            if value > best:
                best, at = value, place
    return at


@kernel
def average(k: int, blocks: Blocks) -> None:
    """Take the iterate after step k = 0, 1, ... into the weighted average, if there is one."""
    v, v_average, ells = blocks.v, blocks.v_average, blocks.ells
    if len(v_average) == 0:
        return
    keep, add = k / (k + 2.0), 2.0 / (k + 2.0)
    for j in range(len(v_average)):
        v_average[j] = keep * v_average[j] + add * v[j]
    ells[1] = keep * ells[1] + add * ells[0]
