"""What a solver may know of a structured problem.

The structured SVM over blocks i = 1..n is

    min_w  lam/2 |w|^2 + 1/n sum_i H_i(w),    H_i(w) = max_y  L_i(y) - <w, psi_i(y)>,

with psi_i(y) = F_i (y_i - y), the features of the gold labelling y_i less those of y. A solver sees it
through the max oracle alone: the vertex (psi_i(y*), L_i(y*)) of a maximising y*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np


class Vertex(NamedTuple):
    """A labelling y of one block, as a solver sees it.

    Attributes
    ----------
    psi : ndarray of float64, shape (d,)
        F_i (y_i - y): features of the gold labelling less those of y.
    loss : float
        L_i(y) >= 0.
    """

    psi: np.ndarray
    loss: float


class Problem(Protocol):
    """A structured problem of ``n`` blocks in ``d`` dimensions.

    Kernels make the passes of a solver compiled ones (:mod:`align.problems.compiled`). An attribute
    ``summing`` (:data:`Summing`, or None) has sums over all blocks made on threads or on other machines; they
    are the same bits.

    ``oracles`` measures. Steps of one block ask ``oracle``, steps of several blocks at the same weights
    ``step_oracles`` where the problem has it (:func:`step_oracles`), else ``oracles``. So a problem whose
    steps may do with less than the maximum has an ``oracle`` and ``step_oracles`` of its own
    (:class:`align.problems.approximate.ApproximateProblem`). What such a problem keeps from step to step it
    takes anew in ``begin_run`` (:func:`begin_run`).
    """

    @property
    def n(self) -> int:
        """Number of blocks, >= 1."""
        ...

    @property
    def d(self) -> int:
        """Number of features, >= 1."""
        ...

    @property
    def nonnegative(self) -> int:
        """Weights from this one on may not be negative; ``d`` where all are free."""
        ...

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a vertex of block i that maximises loss - <w, psi>; w float64, shape (d,).

        Raises
        ------
        ValueError
            If a score under ``w`` is NaN or infinite.
        """
        ...

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,), float64, of the maximising vertices of ``block``, int64 (b,).

        ``w`` is one weight vector (d,) or several (r, d); with several the results are (r, b, d) and (r, b).
        Errors are those of :meth:`oracle`.
        """
        ...


Oracles: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def step_oracles(problem: Problem) -> Oracles | None:
    """Return a problem's own ``step_oracles(w, block)``, of the form of ``oracles`` for one w (d,), or None.

    They are asked in the order of the steps, by one thread.
    """
    return getattr(problem, "step_oracles", None)


def begin_run(problem: Problem, steps: int) -> None:
    """Tell a problem that has a ``begin_run(steps)`` that a run begins.

    ``steps`` is how many blocks the state that it goes on from has asked for so far, 0 for a new one. A run
    then depends on nothing that an earlier one has left in the problem.
    """
    begin = getattr(problem, "begin_run", None)
    if begin is not None:
        begin(steps)


class NoPolytopeError(ValueError):
    """A problem of this kind has a polytope, this one has not; the text says why, and what else to take."""


class Polytope(Protocol):
    """What the dual extragradient method needs of a problem: Z, the hull of the labellings of all blocks.

    A labelling of all blocks is a point of R^E, block after block or otherwise, in which features and losses
    are linear. With F (d, E), costs c and gold labellings y, all (E,), the hinges are a linear program,

        sum_i H_i(w) = max_(z in Z) <F' w + c, z - y>    for all w that are allowed,

    so that Z may also hold points that no such w prefers to the labellings. The maximum, its support
    function, is the oracle's. A projection is that point of Z that maximises <x, z> - h(z), with a function h
    on Z that is 1-strongly convex in the Euclidean norm: euclidean |z|^2 / 2, for which it is the point
    nearest to x, or entropic, some multiple of a negative entropy. :mod:`align.problems.polytopes` has parts.

    A problem offers it as its attribute ``polytope``, which may raise :class:`NoPolytopeError`.
    """

    @property
    def geometries(self) -> Sequence[str]:
        """The projections it has, of ``euclidean`` and ``entropic``."""
        ...

    @property
    def costs(self) -> np.ndarray:
        """Costs c, float64 (E,): L_i(y') = <c, y' - y> over the entries of block i."""
        ...

    @property
    def gold(self) -> np.ndarray:
        """The gold labellings y, float64 (E,), in Z."""
        ...

    @property
    def prices(self) -> int:
        """Numbers that a projection leaves for the next one to start from; 0 for none."""
        ...

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E,), of w float64 (d,)."""
        ...

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,), of z float64 (E,)."""
        ...

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d)."""
        ...

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return the gradient of h at the point to start from, float64 (E,): this is projected on it."""
        ...

    def radius(self, *, entropic: bool) -> float:
        """Return the largest divergence of a point of Z from the start, or more."""
        ...

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection z and a gradient of h at z (euclidean: z itself); all float64 (E,).

        ``prices``, float64 (``self.prices``,), may be used and changed; at first they are 0.

        Raises
        ------
        WorkError
            If it is not found.
        """
        ...


# ``summing(problem, w, pieces)`` yields, for each of some runs of blocks in their order, the sums over its
# blocks of psi* (of the shape of w, (d,) or (r, d)) and of L_i(y*):
# :func:`align.problems.objective.piece_sums`, done anywhere. It is told the problem so that it need not keep
# it: the problem would then refer to itself.
Summing: TypeAlias = Callable[[Problem, np.ndarray, Sequence[range]], Iterable[tuple[np.ndarray, np.ndarray]]]
