"""Solvers of the structured SVM: plain functions over a problem, one result type.

:data:`SOLVERS` names them; a solver is called as ``solver.run(problem, lam=..., ...)`` and returns a
:class:`~align.solvers.fit.Fit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from align.solvers.block import BlockState, bcfw
from align.solvers.block_away import AtomState, block_away
from align.solvers.extragradient import extragradient
from align.solvers.extragradient_state import State as ExtragradientState
from align.solvers.fit import Fit, Progress, Row
from align.solvers.frank_wolfe import BatchState, fw
from align.solvers.minibatch import minibatch
from align.solvers.state import State

__all__ = [
    "SOLVERS", "AtomState", "BatchState", "BlockState", "Fit", "Progress", "Row", "Solver", "State", "bcfw",
    "block_away", "extragradient", "fw", "links_a_word", "minibatch", "most_passes",
]  # fmt: skip


class Solver(NamedTuple):
    """A named solver.

    Attributes
    ----------
    run : function
        ``run(problem, *, lam, passes, tolerance, time_limit, seed, origin, resume, on_pass) -> Fit``.
    load : function
        Reads back a state that its ``save`` wrote, for ``resume``.
    meaning : str
        One line for people.
    threads : bool
        Whether ``run`` also takes ``jobs``, the number of threads to share the work; it changes no result.
    max_fertility : int, optional
        Links a word that it can learn at most; None: any number.
    projects : bool
        Whether it projects onto the matching polytopes, where others ask an oracle for a labelling. It then
        takes ``ball``, and a :class:`~align.problems.matching.MatchingProblem` only.
    """

    run: Callable[..., Fit]
    load: Callable[[Path], Any]
    meaning: str
    threads: bool = False
    max_fertility: int | None = None
    projects: bool = False


SOLVERS = {
    "bcfw": Solver(bcfw, BlockState.load, "block-coordinate Frank-Wolfe, exact steps, cached vertices"),
    "fw": Solver(fw, BatchState.load, "batch Frank-Wolfe: one exact step a pass"),
    "bcfw-away": Solver(
        partial(block_away, pairwise=False), AtomState.load, "block-coordinate Frank-Wolfe with away steps"
    ),
    "bcfw-pairwise": Solver(
        partial(block_away, pairwise=True), AtomState.load, "block-coordinate Frank-Wolfe with pairwise steps"
    ),
    "minibatch": Solver(
        minibatch, BlockState.load, "bcfw with the oracles of a minibatch in parallel", threads=True
    ),
    "extragradient": Solver(
        extragradient,
        ExtragradientState.load,
        "dual extragradient, Euclidean projections; one link a word",
        max_fertility=1,
        projects=True,
    ),
    "extragradient-kl": Solver(
        partial(extragradient, geometry="kl"),
        ExtragradientState.load,
        "dual extragradient, projections by relative entropy; one link a word",
        max_fertility=1,
        projects=True,
    ),
}

# Links that a word may have where nobody says.
_LINKS_A_WORD = 2


def links_a_word(solver: str, fertility: int | None) -> int:
    """Return the links a word may have: ``fertility``, else 2, or fewer where the solver learns no more."""
    if fertility is not None:
        return fertility
    most = SOLVERS[solver].max_fertility if solver in SOLVERS else None
    return _LINKS_A_WORD if most is None else min(most, _LINKS_A_WORD)


def most_passes(solver: str, passes: int | None) -> int:
    """Return at most how many passes are made: ``passes``, else what the solver's own signature says."""
    if passes is not None:
        return passes
    found: int = inspect.signature(SOLVERS[solver].run).parameters["passes"].default
    return found
