"""Solvers of the structured SVM: one class each, whose fields are its options.

:data:`SOLVERS` names them. ``SOLVERS["bcfw"](lam=0.1, cache=0).run(problem)`` returns a
:class:`~align.solvers.fit.Fit`. A solver with options of its own is a module and a row here.
"""

from __future__ import annotations

from typing import Any

from align.solvers.block import BlockFrankWolfe
from align.solvers.block_away import AwaySteps, PairwiseSteps
from align.solvers.extragradient import EntropicExtragradient, Extragradient
from align.solvers.fit import EarlyStop, Fit, Progress, Row
from align.solvers.frank_wolfe import BatchFrankWolfe
from align.solvers.loop import Solver
from align.solvers.minibatch import Minibatch
from align.solvers.options import OptionError
from align.solvers.subgradient import Subgradient

__all__ = ["SOLVERS", "EarlyStop", "Fit", "OptionError", "Progress", "Row", "Solver", "links_a_word"]

SOLVERS: dict[str, type[Solver[Any]]] = {
    solver.name: solver
    for solver in (
        BlockFrankWolfe,
        BatchFrankWolfe,
        AwaySteps,
        PairwiseSteps,
        Minibatch,
        Subgradient,
        Extragradient,
        EntropicExtragradient,
    )
}


def links_a_word(solver: str, fertility: int | None) -> int:
    """Return the links a word may have: ``fertility``, else 2, or 1 where the solver projects."""
    if fertility is not None:
        return fertility
    return SOLVERS.get(solver, Solver).usual_fertility
