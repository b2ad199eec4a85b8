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


# ``summing(problem, w, pieces)`` yields, for each of some runs of blocks in their order, the sums over its
# blocks of psi* (of the shape of w, (d,) or (r, d)) and of L_i(y*):
# :func:`align.problems.objective.piece_sums`, done anywhere. It is told the problem so that it need not keep
# it: the problem would then refer to itself.
Summing: TypeAlias = Callable[[Problem, np.ndarray, Sequence[range]], Iterable[tuple[np.ndarray, np.ndarray]]]
