"""Solvers of the structured SVM: plain functions over a problem, one result type.

:data:`SOLVERS` names them; a solver is called as ``solver.run(problem, lam=..., ...)`` and returns a
:class:`~align.solvers.fit.Fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from align.solvers.block import BlockState, bcfw
from align.solvers.fit import Fit, Progress, Row
from align.solvers.state import State

__all__ = ["SOLVERS", "BlockState", "Fit", "Progress", "Row", "Solver", "State", "bcfw"]


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
    """

    run: Callable[..., Fit]
    load: Callable[[Path], Any]
    meaning: str
    threads: bool = False


SOLVERS = {
    "bcfw": Solver(bcfw, BlockState.load, "block-coordinate Frank-Wolfe, exact steps, cached vertices"),
}
