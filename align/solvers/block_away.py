"""Block-coordinate Frank-Wolfe with away and pairwise steps.

A block's part of the dual is a convex combination of vertices, its atoms, whose weights are kept: then a
step may also take weight from the worst atom. An *away step* moves away from it, a *pairwise step* moves its
weight to the best one; a step that uses all its weight drops it ([1]_ for blocks, [2]_ for one domain). Near
the optimum, where steps towards vertices zig-zag, these go on at a linear rate.

An atom of weight 0 stays known until its place is needed, so that between two passes of the oracle the blocks
can move on over the atoms they know, as long as it pays, as those of :mod:`align.solvers.block` do over their
cache. A block with a weight on all its places makes the room of all blocks larger by half.

Kept are w_i, ell_i and the atoms, float64: 8 n (d + 3) (1 + room) bytes, 111 MB for 20,000 pairs, 60 features
and 10 atoms a pair.

References
----------
.. [1] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and S. Lacoste-Julien, "Minding the gaps for block
   Frank-Wolfe optimization of structured SVMs", ICML 2016. https://arxiv.org/abs/1605.09346
.. [2] S. Lacoste-Julien and M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization
   variants", NIPS 2015. https://arxiv.org/abs/1511.05932
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import pass_over, vertex, workspace
from align.problems.objective import exact_step
from align.problems.protocol import Problem
from align.solvers.block import Blocks, BlockSolver, BlockState, remember
from align.solvers.block_order import gap_tree, next_block, renew
from align.solvers.dual import planned
from align.solvers.options import at_least, flag

# As those of the cache of align.solvers.block; these steps go further, so more of them pay.
_KNOWN_SHARE, _KNOWN_PASSES = 0.1, 100


@dataclass(frozen=True, kw_only=True)
class AwaySteps(BlockSolver):
    """Block-coordinate Frank-Wolfe with away steps.

    Parameters
    ----------
    room : int
        Vertices each pair has room for at the start, >= 2; room is made where more are needed.
    known : bool
        Whether the pairs move on over the vertices they know after each pass of the oracle.
    """

    name = "bcfw-away"
    # Whether weight moves from the worst atom to the best, not towards the best or away from the worst.
    pairwise: ClassVar[bool] = False

    room: int = at_least(2, 10)
    known: bool = flag(True)

    def start(self, problem: Problem, origin: np.ndarray) -> BlockState:
        """Return the start: all mass on the gold labellings."""
        return self.new_block_state(problem, origin, self.room, weighted=True)

    def one_pass(self, problem: Problem, state: BlockState) -> None:
        """Take n steps of the oracle, then as many over the known atoms as pay."""
        order, chances = planned(state, self.block_order, problem.n)
        stamp = 1 + (state.passes + 1) * (_KNOWN_PASSES + 1)
        oracle_steps, data = pass_over(problem, _oracle_steps)
        tree, place, met, blocks = gap_tree(state.gaps), 0, 0.0, state.blocks(self.lam)
        while True:
            place, more = oracle_steps(data, order, chances, tree, place, stamp, blocks, self.pairwise)
            met += more
            if place == problem.n:
                break
            _make_room(state)
            blocks = state.blocks(self.lam)
        state.gaps[:] = tree[len(tree) // 2 :][: problem.n]
        if self.known:
            _known_passes(order, _KNOWN_SHARE * met, stamp + 1, blocks, self.pairwise)
        _settle(state.origin, blocks)
        state.passes += 1
        state.oracle_calls += problem.n


@dataclass(frozen=True, kw_only=True)
class PairwiseSteps(AwaySteps):
    """Block-coordinate Frank-Wolfe with pairwise steps."""

    name = "bcfw-pairwise"
    pairwise = True


def _make_room(state: BlockState) -> None:
    """Give every block half as many places for vertices again."""
    for name in ("w_known", "ell_known", "stamps", "alphas"):
        old = getattr(state, name)
        added = np.zeros((len(old), (old.shape[1] + 1) // 2, *old.shape[2:]), dtype=old.dtype)
        setattr(state, name, np.concatenate([old, added], axis=1))


@kernel
def _oracle_steps(
    data: Any,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    start: int,
    stamp: int,
    blocks: Blocks,
    pairwise: bool,
) -> tuple[int, float]:
    """Take the steps of a pass from ``start`` on; returns where there is no room, or n, and the gaps met."""
    work, w, n, met = workspace(data), blocks.w, len(order), 0.0
    psi = np.empty(len(w))
    for place in range(start, n):
        i = next_block(place, order, chances, tree)
        if blocks.alphas[i].min() > 0.0:
            return place, met
        loss = vertex(data, w, i, psi, work)
        s = remember(i, psi / (blocks.lam * n), loss / n, stamp, blocks)
        gap = step_towards(i, s, blocks, pairwise)
        renew(tree, i, gap)
        met += gap
    return n, met


@kernel
def step_towards(i: int, s: int, blocks: Blocks, pairwise: bool) -> float:
    """Move block i, given the place ``s`` of its best atom; returns the block's gap, >= 0.

    The worst atom v is that of least ell_v - lam <w, w_v> among those with a weight. A pairwise step moves
    weight from v to s, at most all it has. Else the step is towards s, by 1 at most, or, where that is
    steeper and v is not alone, away from v, by alpha_v / (1 - alpha_v) at most, at which v is dropped. The
    rest 1 - alpha_v is summed over the other atoms: beside long vertices it may be too small to show in
    alpha_v, which is then 1, and still be what moves w.
    """
    w, lam, w_i, ell_i = blocks.w, blocks.lam, blocks.w_blocks[i], blocks.ell_blocks[i]
    w_known, ell_known, alphas = blocks.w_known[i], blocks.ell_known[i], blocks.alphas[i]
    v, worst, active = s, np.inf, 0
    for place in range(len(alphas)):
        if alphas[place] > 0.0:
            active += 1
            value = _value(w, lam, w_known[place], ell_known[place])
            if value < worst:
                v, worst = place, value
    w_s, ell_s, w_v, ell_v, alpha = w_known[s], ell_known[s], w_known[v], ell_known[v], alphas[v]
    mean = _value(w, lam, w_i, ell_i)
    gap = _value(w, lam, w_s, ell_s) - mean
    if pairwise:
        if s != v:
            gamma, _ = exact_step(w, w_v, ell_v, w_s, ell_s, lam, alpha)
            alphas[s] += gamma
            alphas[v] = alpha - gamma if gamma < alpha else 0.0
            _shift(i, w_v, ell_v, w_s, ell_s, gamma, blocks)
        return max(gap, 0.0)
    rest = _rest(alphas, v)
    largest = alpha / rest if active > 1 else np.inf
    if largest < np.inf and mean - worst > gap:
        gamma, _ = exact_step(w, w_v, ell_v, w_i, ell_i, lam, largest)
        for place in range(len(alphas)):
            alphas[place] *= 1.0 + gamma
        alphas[v] = max(alpha - gamma * rest, 0.0) if gamma < largest else 0.0
        _shift(i, w_v, ell_v, w_i, ell_i, gamma, blocks)
    else:
        gamma, _ = exact_step(w, w_i, ell_i, w_s, ell_s, lam, 1.0)
        for place in range(len(alphas)):
            alphas[place] *= 1.0 - gamma
        alphas[s] += gamma
        _shift(i, w_i, ell_i, w_s, ell_s, gamma, blocks)
    return max(gap, 0.0)


@kernel
def _rest(alphas: np.ndarray, v: int) -> float:
    """Return the sum of all weights but that of place ``v``."""
    rest = 0.0
    for place in range(len(alphas)):
        if place != v:
            rest += alphas[place]
    return rest


@kernel
def _known_passes(order: np.ndarray, target: float, stamp: int, blocks: Blocks, pairwise: bool) -> None:
    """Pass over the known atoms until the block gaps met in a pass add up to ``target`` at most."""
    w, lam, stamps, w_known, ell_known = blocks.w, blocks.lam, blocks.stamps, blocks.w_known, blocks.ell_known
    for turn in range(_KNOWN_PASSES):
        met = 0.0
        for i in order:
            at, best = -1, -np.inf
            for place in range(stamps.shape[1]):
                if stamps[i, place] > 0:
                    value = _value(w, lam, w_known[i, place], ell_known[i, place])
                    if value > best:
                        at, best = place, value
            met += step_towards(i, at, blocks, pairwise)
            stamps[i, at] = stamp + turn
        if met <= target:
            return


@kernel
def _settle(origin: np.ndarray, blocks: Blocks) -> None:
    """Sum everything up anew from the atoms, so that rounding of many small steps cannot build up."""
    v, w, alphas, ell_blocks = blocks.v, blocks.w, blocks.alphas, blocks.ell_blocks
    v[:] = origin
    blocks.ells[:] = 0.0
    for i in range(len(alphas)):
        total, w_i = alphas[i].sum(), blocks.w_blocks[i]
        w_i[:] = 0.0
        ell_blocks[i] = 0.0
        for place in range(alphas.shape[1]):
            if alphas[i, place] > 0.0:
                alphas[i, place] /= total
                ell_blocks[i] += alphas[i, place] * blocks.ell_known[i, place]
                for j in range(len(v)):
                    w_i[j] += alphas[i, place] * blocks.w_known[i, place, j]
        blocks.ells[0] += ell_blocks[i]
        for j in range(len(v)):
            v[j] += w_i[j]
    for j in range(len(v)):
        w[j] = v[j] if j < blocks.nonnegative else max(v[j], 0.0)


@kernel
def _value(w: np.ndarray, lam: float, w_a: np.ndarray, ell_a: float) -> float:
    """Return ell_a - lam <w, w_a>: the slope of the dual towards a point of a block, up to a constant."""
    inner = 0.0
    for j in range(len(w)):
        inner += w[j] * w_a[j]
    return ell_a - lam * inner


@kernel
def _shift(
    i: int, w_from: np.ndarray, ell_from: float, w_to: np.ndarray, ell_to: float, gamma: float, blocks: Blocks
) -> None:
    """Add gamma ((w_to, ell_to) - (w_from, ell_from)) to block i and the sums; one may be block i."""
    v, w, w_i = blocks.v, blocks.w, blocks.w_blocks[i]
    for j in range(len(w)):
        change = gamma * (w_to[j] - w_from[j])
        w_i[j] += change
        v[j] += change
        w[j] = v[j] if j < blocks.nonnegative else max(v[j], 0.0)
    change = gamma * (ell_to - ell_from)
    blocks.ell_blocks[i] += change
    blocks.ells[0] += change
