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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import pass_over, vertex, workspace
from align.problems.objective import exact_step
from align.problems.protocol import Problem
from align.solvers.block_order import BLOCK_ORDERS, gap_tree, next_block, renew
from align.solvers.dual import DualSolver, DualState, planned
from align.solvers.options import at_least, one_of, option

# As those of the cache of align.solvers.block; these steps go further, so more of them pay.
_KNOWN_SHARE, _KNOWN_PASSES = 0.1, 100


class Settings(NamedTuple):
    """What a step depends on: the first weight that may not be negative, lam, and the kind of step."""

    nonnegative: int
    lam: float
    pairwise: bool


class Iterates(NamedTuple):
    """The arrays of :class:`AtomState` that a step changes."""

    v: np.ndarray
    w: np.ndarray
    ells: np.ndarray
    w_blocks: np.ndarray
    ell_blocks: np.ndarray


class Atoms(NamedTuple):
    """The atoms of :class:`AtomState`."""

    w_atoms: np.ndarray
    ell_atoms: np.ndarray
    alphas: np.ndarray
    stamps: np.ndarray


@dataclass(kw_only=True)
class AtomState(DualState):
    """The state of :class:`AwaySteps`.

    Attributes
    ----------
    w_blocks, ell_blocks : ndarray of float64, shapes (n, d) and (n,)
        w_i and ell_i.
    w_atoms, ell_atoms : ndarray of float64, shapes (n, room, d) and (n, room)
        Vertices (w_s, ell_s) that the oracle gave for each block; the first is gold.
    alphas : ndarray of float64, shape (n, room)
        Their weights, which add up to 1 for each block.
    stamps : ndarray of int64, shape (n, room)
        When each of them was used last; 0: the place is free.
    gaps : ndarray of float64, shape (n,)
        The block gaps that the oracle met last.
    """

    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    w_atoms: np.ndarray
    ell_atoms: np.ndarray
    alphas: np.ndarray
    stamps: np.ndarray
    gaps: np.ndarray

    @property
    def iterates(self) -> Iterates:
        """Return the arrays that a step changes."""
        return Iterates(self.v, self.w, self.ells, self.w_blocks, self.ell_blocks)

    @property
    def atoms(self) -> Atoms:
        """Return the atoms."""
        return Atoms(self.w_atoms, self.ell_atoms, self.alphas, self.stamps)

    def make_room(self) -> None:
        """Give every block half as many places again."""
        more = (self.alphas.shape[1] + 1) // 2
        for name in Atoms._fields:
            old = getattr(self, name)
            added = np.zeros((len(old), more, *old.shape[2:]), dtype=old.dtype)
            setattr(self, name, np.concatenate([old, added], axis=1))


@dataclass(frozen=True, kw_only=True)
class AwaySteps(DualSolver[AtomState]):
    """Block-coordinate Frank-Wolfe with away steps.

    Parameters
    ----------
    room : int
        Vertices each pair has room for at the start, >= 2; room is made where more are needed.
    known : bool
        Whether the pairs move on over the vertices they know after each pass of the oracle.
    """

    name = "bcfw-away"
    state_type = AtomState
    # Whether weight moves from the worst atom to the best, not towards the best or away from the worst.
    pairwise: ClassVar[bool] = False

    block_order: str = one_of(*BLOCK_ORDERS, "gaps")
    room: int = at_least(2, 10)
    known: bool = option(True, "true or false", lambda value: isinstance(value, bool))

    def start(self, problem: Problem, origin: np.ndarray) -> AtomState:
        """Return the start: all mass on the gold labellings."""
        n, d = problem.n, problem.d
        first = np.arange(self.room) == 0  # the vertex of the gold labelling is (0, 0)
        return self.new_dual_state(
            problem,
            origin,
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            w_atoms=np.zeros((n, self.room, d)),
            ell_atoms=np.zeros((n, self.room)),
            alphas=np.tile(first.astype(np.float64), (n, 1)),
            stamps=np.tile(first.astype(np.int64), (n, 1)),
            gaps=np.zeros(n),
        )

    def one_pass(self, problem: Problem, state: AtomState) -> None:
        """Take n steps of the oracle, then as many over the known atoms as pay."""
        order, chances = planned(state, self.block_order, problem.n)
        stamp = 1 + (state.passes + 1) * (_KNOWN_PASSES + 1)
        settings = Settings(problem.nonnegative, self.lam, self.pairwise)
        oracle_steps, data = pass_over(problem, _oracle_steps)
        tree, place, met = gap_tree(state.gaps), 0, 0.0
        while place < problem.n:
            place, more = oracle_steps(
                data, order, chances, tree, place, stamp, settings, state.iterates, state.atoms
            )
            met += more
            if place < problem.n:
                state.make_room()
        state.gaps[:] = tree[len(tree) // 2 :][: problem.n]
        if self.known:
            _known_passes(order, _KNOWN_SHARE * met, stamp + 1, settings, state.iterates, state.atoms)
        _settle(state.origin, problem.nonnegative, state.iterates, state.atoms)
        state.passes += 1
        state.oracle_calls += problem.n


@dataclass(frozen=True, kw_only=True)
class PairwiseSteps(AwaySteps):
    """Block-coordinate Frank-Wolfe with pairwise steps."""

    name = "bcfw-pairwise"
    pairwise = True


@kernel
def _oracle_steps(
    data: Any,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    place: int,
    stamp: int,
    settings: Settings,
    iterates: Iterates,
    atoms: Atoms,
) -> tuple[int, float]:
    """Take the steps of a pass from ``place`` on; returns where there is no room, or n, and the gaps met."""
    work = workspace(data)
    w, n, met = iterates.w, len(order), 0.0
    psi = np.empty(len(w))
    for at in range(place, n):
        i = next_block(at, order, chances, tree)
        if not has_room(i, atoms):
            return at, met
        loss = vertex(data, w, i, psi, work)
        s = insert(i, psi / (settings.lam * n), loss / n, stamp, atoms)
        gap = step_towards(i, s, settings, iterates, atoms)
        renew(tree, i, gap)
        met += gap
    return n, met


@kernel
def has_room(i: int, atoms: Atoms) -> bool:
    """Return whether a place of block i is free, or its atom without weight."""
    alphas = atoms.alphas
    return bool(alphas[i].min() == 0.0)


@kernel
def insert(i: int, w_s: np.ndarray, ell_s: float, stamp: int, atoms: Atoms) -> int:
    """Return the place of an atom of block i: where it is, or that of the atom of weight 0 unused longest."""
    w_atoms, ell_atoms, alphas, stamps = atoms
    at, oldest = -1, 0
    for place in range(alphas.shape[1]):
        known = stamps[i, place] > 0 and ell_atoms[i, place] == ell_s
        for j in range(len(w_s)):
            known = known and w_atoms[i, place, j] == w_s[j]
        if known:
            stamps[i, place] = stamp
            return place
        if alphas[i, place] == 0.0 and (at < 0 or stamps[i, place] < oldest):
            at, oldest = place, stamps[i, place]
    w_atoms[i, at] = w_s
    ell_atoms[i, at] = ell_s
    stamps[i, at] = stamp
    return at


@kernel
def step_towards(i: int, s: int, settings: Settings, iterates: Iterates, atoms: Atoms) -> float:
    """Move block i, given the place ``s`` of its best atom; returns the block's gap, >= 0.

    The worst atom v is that of least ell_v - lam <w, w_v> among those with a weight. A pairwise step moves
    weight from v to s, at most all it has. Else the step is towards s, by 1 at most, or, where that is
    steeper and v is not alone, away from v, by alpha_v / (1 - alpha_v) at most, at which v is dropped.
    """
    w_atoms, ell_atoms, alphas, _ = atoms
    _, w, _, w_blocks, ell_blocks = iterates
    lam, nonnegative = settings.lam, settings.nonnegative
    v, worst, active = s, np.inf, 0
    for place in range(alphas.shape[1]):
        if alphas[i, place] > 0.0:
            active += 1
            value = _value(w, lam, w_atoms[i, place], ell_atoms[i, place])
            if value < worst:
                v, worst = place, value
    mean = _value(w, lam, w_blocks[i], ell_blocks[i])
    gap = _value(w, lam, w_atoms[i, s], ell_atoms[i, s]) - mean
    w_s, ell_s, w_v, ell_v, alpha = (
        w_atoms[i, s],
        ell_atoms[i, s],
        w_atoms[i, v],
        ell_atoms[i, v],
        alphas[i, v],
    )
    if settings.pairwise:
        if s != v:
            gamma, _ = exact_step(w, w_v, ell_v, w_s, ell_s, lam, alpha)
            alphas[i, s] += gamma
            alphas[i, v] = alpha - gamma if gamma < alpha else 0.0
            _shift(i, w_v, ell_v, w_s, ell_s, gamma, nonnegative, iterates)
    elif active > 1 and mean - worst > gap:
        largest = alpha / (1.0 - alpha)
        gamma, _ = exact_step(w, w_v, ell_v, w_blocks[i], ell_blocks[i], lam, largest)
        for place in range(alphas.shape[1]):
            alphas[i, place] *= 1.0 + gamma
        alphas[i, v] = alphas[i, v] - gamma if gamma < largest else 0.0
        _shift(i, w_v, ell_v, w_blocks[i], ell_blocks[i], gamma, nonnegative, iterates)
    else:
        gamma, _ = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
        for place in range(alphas.shape[1]):
            alphas[i, place] *= 1.0 - gamma
        alphas[i, s] += gamma
        _shift(i, w_blocks[i], ell_blocks[i], w_s, ell_s, gamma, nonnegative, iterates)
    return max(gap, 0.0)


@kernel
def _known_passes(
    order: np.ndarray, target: float, stamp: int, settings: Settings, iterates: Iterates, atoms: Atoms
) -> None:
    """Pass over the known atoms until the block gaps met in a pass add up to ``target`` at most."""
    w, stamps = iterates.w, atoms.stamps
    for turn in range(_KNOWN_PASSES):
        met = 0.0
        for i in order:
            at, best = -1, -np.inf
            for place in range(stamps.shape[1]):
                if stamps[i, place] > 0:
                    value = _value(w, settings.lam, atoms.w_atoms[i, place], atoms.ell_atoms[i, place])
                    if value > best:
                        at, best = place, value
            met += step_towards(i, at, settings, iterates, atoms)
            stamps[i, at] = stamp + turn
        if met <= target:
            return


@kernel
def _settle(origin: np.ndarray, nonnegative: int, iterates: Iterates, atoms: Atoms) -> None:
    """Sum everything up anew from the atoms, so that rounding of many small steps cannot build up."""
    w_atoms, ell_atoms, alphas, _ = atoms
    v, w, ells, w_blocks, ell_blocks = iterates
    v[:] = origin
    ells[:] = 0.0
    for i in range(len(alphas)):
        total = alphas[i].sum()
        w_blocks[i] = 0.0
        ell_blocks[i] = 0.0
        for place in range(alphas.shape[1]):
            if alphas[i, place] > 0.0:
                alphas[i, place] /= total
                ell_blocks[i] += alphas[i, place] * ell_atoms[i, place]
                for j in range(len(v)):
                    w_blocks[i, j] += alphas[i, place] * w_atoms[i, place, j]
        ells[0] += ell_blocks[i]
        for j in range(len(v)):
            v[j] += w_blocks[i, j]
    for j in range(len(v)):
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)


@kernel
def _value(w: np.ndarray, lam: float, w_a: np.ndarray, ell_a: float) -> float:
    """Return ell_a - lam <w, w_a>: the slope of the dual towards a point of a block, up to a constant."""
    inner = 0.0
    for j in range(len(w)):
        inner += w[j] * w_a[j]
    return ell_a - lam * inner


@kernel
def _shift(
    i: int,
    w_from: np.ndarray,
    ell_from: float,
    w_to: np.ndarray,
    ell_to: float,
    gamma: float,
    nonnegative: int,
    iterates: Iterates,
) -> None:
    """Add gamma ((w_to, ell_to) - (w_from, ell_from)) to block i and the sums; one may be block i."""
    v, w, ells, w_blocks, ell_blocks = iterates
    for j in range(len(w)):
        change = gamma * (w_to[j] - w_from[j])
        w_blocks[i, j] += change
        v[j] += change
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)
    change = gamma * (ell_to - ell_from)
    ell_blocks[i] += change
    ells[0] += change
