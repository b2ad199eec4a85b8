"""Block-coordinate Frank-Wolfe with away and pairwise steps.

A block's part of the dual is a convex combination of vertices, its atoms, whose weights are kept: then a
step may also take weight from the worst atom. An *away step* moves away from it, a *pairwise step* moves its
weight to the best one; a step that uses all its weight drops it ([1]_ for blocks, [2]_ for one domain). Near
the optimum, where steps towards vertices zig-zag, these go on at a linear rate.

An atom of weight 0 stays known until its place is needed, so that between two passes of the oracle the blocks
can move on over the atoms they know, as long as it pays, as those of :func:`~align.solvers.block.bcfw` do
over their cache. A block with a weight on all its places makes the room of all blocks larger by half.

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

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from align.core.kernels import Arrays, kernel
from align.problems.compiled import CompiledProblem, vertex, workspace
from align.problems.protocol import Problem
from align.solvers.away_kernels import (
    KNOWN_PASSES,
    KNOWN_SHARE,
    has_room,
    insert,
    known_passes,
    settle,
    step_towards,
)
from align.solvers.block import checked_vertex
from align.solvers.block_order import SAMPLINGS, gap_tree, next_block, plan, renew
from align.solvers.course import check_options, checked_origin, follow, measure_iterate
from align.solvers.fit import Fit, Progress
from align.solvers.state import State


@dataclass(kw_only=True)
class AtomState(State):
    """The state of :func:`block_away`.

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

    @classmethod
    def start(cls, problem: Problem, origin: np.ndarray, *, seed: int, **options: Any) -> Self:
        """Return the start: w = w_0, all mass on the gold labellings; ``options`` as in the attribute."""
        n, d, room = problem.n, problem.d, options["room"]
        first = np.arange(room) == 0  # the vertex of the gold labelling is (0, 0)
        return cls.new(
            problem,
            origin,
            seed,
            options,
            w_blocks=np.zeros((n, d)),
            ell_blocks=np.zeros(n),
            w_atoms=np.zeros((n, room, d)),
            ell_atoms=np.zeros((n, room)),
            alphas=np.tile(first.astype(np.float64), (n, 1)),
            stamps=np.tile(first.astype(np.int64), (n, 1)),
            gaps=np.zeros(n),
        )

    @property
    def iterates(self) -> Arrays:
        """Return the arrays that a step changes, in the order the kernels take them."""
        return self.v, self.w, self.ells, self.w_blocks, self.ell_blocks

    @property
    def atoms(self) -> Arrays:
        """Return the atoms' arrays, in the order the kernels take them."""
        return self.w_atoms, self.ell_atoms, self.alphas, self.stamps

    def make_room(self) -> None:
        """Give every block half as many places again."""
        more = (self.alphas.shape[1] + 1) // 2
        for name in ("w_atoms", "ell_atoms", "alphas", "stamps"):
            old = getattr(self, name)
            added = np.zeros((len(old), more, *old.shape[2:]), dtype=old.dtype)
            setattr(self, name, np.concatenate([old, added], axis=1))


def block_away(
    problem: Problem,
    *,
    lam: float = 0.01,
    passes: int = 50,
    tolerance: float = 1e-3,
    seed: int = 0,
    pairwise: bool = False,
    sampling: str = "permutation",
    room: int = 10,
    known: bool = True,
    time_limit: float | None = None,
    gap_every: int = 1,
    origin: np.ndarray | None = None,
    resume: AtomState | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    Parameters
    ----------
    problem : Problem
        n blocks, d features. With compiled kernels (:mod:`align.problems.compiled`) a whole pass is one call.
    pairwise : bool
        Whether weight moves from the worst atom to the best, instead of towards the best or away from the
        worst.
    sampling : str
        As of :func:`~align.solvers.block.bcfw`.
    room : int
        Atoms each block has room for at the start, >= 2.
    known : bool
        Whether the blocks move on over the atoms they know after a pass of the oracle.
    lam, passes, tolerance, seed, time_limit, gap_every, origin, resume, on_pass
        As of :func:`~align.solvers.block.bcfw`.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If an option is out of its range, or the state belongs to another problem or other options.
    """
    name = "bcfw-pairwise" if pairwise else "bcfw-away"
    check_options(
        name,
        (sampling in SAMPLINGS, f"sampling is {sampling!r}; give one of {', '.join(SAMPLINGS)}"),
        (room >= 2, f"room is {room}; give at least 2"),
        lam=lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
    )
    options = {"solver": name, "lam": lam, "sampling": sampling, "room": room, "known": known}
    origin = checked_origin(name, origin, problem)
    state = AtomState.start(problem, origin, seed=seed, **options) if resume is None else resume
    state.check(problem, origin, **options)
    return follow(
        problem,
        state,
        partial(_one_pass, pairwise=pairwise),
        measure_iterate,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
        on_pass=on_pass,
    )


def _one_pass(problem: Problem, state: AtomState, *, pairwise: bool) -> None:
    """Take n steps of the oracle, then as many over the known atoms as pay."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order, chances = plan(state.options["sampling"], generator, state.passes, problem.n)
    state.generator = dict(generator.bit_generator.state)
    lam, stamp = state.options["lam"], 1 + (state.passes + 1) * (KNOWN_PASSES + 1)
    tree, place, met = gap_tree(state.gaps), 0, 0.0
    while place < problem.n:
        reached, more = _steps(problem, state, order, chances, tree, place, stamp, pairwise)
        met += more
        if reached < problem.n:
            state.make_room()
        place = reached
    state.gaps[:] = tree[len(tree) // 2 :][: problem.n]
    if state.options["known"]:
        known_passes(
            order,
            KNOWN_SHARE * met,
            stamp + 1,
            pairwise,
            problem.nonnegative,
            lam,
            state.iterates,
            state.atoms,
        )
    settle(state.origin, problem.nonnegative, state.iterates, state.atoms)
    state.passes += 1
    state.oracle_calls += problem.n


def _steps(
    problem: Problem,
    state: AtomState,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    place: int,
    stamp: int,
    pairwise: bool,
) -> tuple[int, float]:
    """Take the steps of a pass from ``place`` on; returns where there is no room, or n, and the gaps met."""
    lam, nonnegative, iterates, atoms = (
        state.options["lam"],
        problem.nonnegative,
        state.iterates,
        state.atoms,
    )
    if isinstance(problem, CompiledProblem):
        reached, met = _compiled_steps(
            problem.data, nonnegative, order, chances, tree, place, stamp, lam, pairwise, iterates, atoms
        )
        return int(reached), float(met)
    met = 0.0
    for at in range(place, problem.n):
        i = next_block(at, order, chances, tree)
        if not has_room(i, atoms):
            return at, met
        psi, loss = checked_vertex(problem, state.w, i)
        s = insert(i, psi / (lam * problem.n), loss / problem.n, stamp, atoms)
        gap = step_towards(i, s, pairwise, nonnegative, lam, iterates, atoms)
        renew(tree, i, gap)
        met += gap
    return problem.n, met


@kernel
def _compiled_steps(
    data: Any,
    nonnegative: int,
    order: np.ndarray,
    chances: np.ndarray,
    tree: np.ndarray,
    place: int,
    stamp: int,
    lam: float,
    pairwise: bool,
    iterates: Arrays,
    atoms: Arrays,
) -> tuple[int, float]:
    """Take the steps of :func:`_steps` in one call."""
    work = workspace(data)
    w, n, met = iterates[1], len(order), 0.0
    psi = np.empty(len(w))
    for at in range(place, n):
        i = next_block(at, order, chances, tree)
        if not has_room(i, atoms):
            return at, met
        loss = vertex(data, w, i, psi, work)
        s = insert(i, psi / (lam * n), loss / n, stamp, atoms)
        gap = step_towards(i, s, pairwise, nonnegative, lam, iterates, atoms)
        renew(tree, i, gap)
        met += gap
    return n, met
