"""Solvers of the structured SVM: plain functions over a problem, one result type.

:data:`SOLVERS` names them; a solver is called as ``solver.run(problem, lam=..., ...)`` and returns a
:class:`~align.solvers.fit.Fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from align.solvers.block import bcfw
from align.solvers.extragradient import extragradient
from align.solvers.extragradient_state import State as ExtragradientState
from align.solvers.fit import Fit, Progress, Row
from align.solvers.state import State

__all__ = ["SOLVERS", "Fit", "Progress", "Row", "Solver", "State", "bcfw", "extragradient"]


class Solver(NamedTuple):
    """A named solver.

    Attributes
    ----------
    run : function
        ``run(problem, *, lam, passes, tolerance, seed, resume, on_pass) -> Fit``.
    load : function
        Reads back a state that its ``save`` wrote, for ``resume``.
    meaning : str
        One line for people.
    most : int, optional
        Links a word that it can learn at most; None: any number.
    ball : bool
        Whether it takes ``ball``.
    """

    run: Callable[..., Fit]
    load: Callable[[Path], Any]
    meaning: str
    most: int | None = None
    ball: bool = False


SOLVERS = {
    "bcfw": Solver(bcfw, State.load, "block-coordinate Frank-Wolfe, exact steps, cached vertices"),
    "extragradient": Solver(
        extragradient,
        ExtragradientState.load,
        "dual extragradient, Euclidean projections; one link a word",
        most=1,
        ball=True,
    ),
    "extragradient-kl": Solver(
        partial(extragradient, geometry="kl"),
        ExtragradientState.load,
        "dual extragradient, projections by relative entropy; one link a word",
        most=1,
        ball=True,
    ),
}
