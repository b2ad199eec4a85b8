"""Problems with a compiled oracle: a solver's compiled pass then serves every one of them.

Such a problem keeps what its oracle reads in a named tuple of arrays, its attribute ``data``, and registers
two kernels for the type of that tuple (:func:`register`). Kernels of solvers call :func:`workspace` and
:func:`vertex`, which stand for those of whatever problem they are compiled for; nothing is looked up while
they run. Over any other problem the same code runs interpreted (:func:`pass_over`), to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload as _numba_overload

from align.core.kernels import kernel
from align.problems.protocol import Problem, Summing, Vertex

# The decorator is made at run time.
_overload: Any = _numba_overload

_KERNELS: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def register(data: type, *, workspace: Callable[..., Any], vertex: Callable[..., Any]) -> None:
    """Tell which kernels read a type of data.

    Parameters
    ----------
    data : type
        A class of named tuples of arrays.
    workspace : kernel
        ``workspace(data)`` returns working memory for ``vertex``, of any type.
    vertex : kernel
        ``vertex(data, w, i, psi, work)`` fills ``psi``, float64 (d,), with that of a vertex of block i that
        maximises loss - <w, psi>, and returns its loss, a float. It raises where that maximum is negative.
    """
    _KERNELS[data] = workspace, vertex


class CompiledProblem:
    """The oracle of a problem whose ``data`` has registered kernels; subclasses set the attributes.

    Attributes
    ----------
    n, d, nonnegative, summing
        As of :class:`align.problems.protocol.Problem`.
    data : named tuple of arrays
        What the kernels read.
    """

    n: int
    d: int
    nonnegative: int
    data: Any
    summing: Summing | None = None

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a maximising vertex of block i, as of :class:`~align.problems.protocol.Problem`."""
        psi, loss = self.oracles(w, np.array([i]))
        return Vertex(psi[0], float(loss[0]))

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi and loss of maximising vertices, as of :class:`~align.problems.protocol.Problem`.

        With several weight vectors a block's features are read from memory once. One compiled call outside
        the interpreter lock: threads may share the work.
        """
        weights = np.atleast_2d(w)
        psi, loss = np.empty((len(weights), len(block), self.d)), np.empty((len(weights), len(block)))
        _solve_block(self.data, weights, block, psi, loss)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])


def pass_over(problem: Problem, one_pass: Callable[..., Any]) -> tuple[Callable[..., Any], Any]:
    """Return what makes a solver's pass over a problem, and what to call it with as its ``data``.

    That is the kernel and the problem's data, or where the problem has no kernels, the same code interpreted
    and the problem itself.
    """
    if isinstance(problem, CompiledProblem):
        return one_pass, problem.data
    return getattr(one_pass, "py_func", one_pass), problem


def workspace(data: Any) -> Any:
    """Return working memory for :func:`vertex`; ``data`` as of :func:`pass_over`."""
    return _KERNELS[type(data)][0](data) if type(data) in _KERNELS else None


def vertex(data: Any, w: np.ndarray, i: int, psi: np.ndarray, work: Any) -> float:
    """Fill ``psi`` with the maximising vertex of block i, return its loss, as of :func:`register`."""
    if type(data) in _KERNELS:
        return float(_KERNELS[type(data)][1](data, w, i, psi, work))
    psi[:], loss = data.oracle(w, i)
    inner = float(w @ psi)
    if loss - inner < -1e-9 * (1.0 + abs(loss) + abs(inner)):  # gold reaches 0
        raise ValueError(
            f"oracle of block {i}: loss - <w, psi> is {loss - inner:.3g}, below the 0 of gold; let it choose "
            "among all labellings, gold's too, and the best by loss and score"
        )
    return float(loss)


# Not strict: the compiler would compare annotations as well.
@_overload(workspace, strict=False)
def _workspace(data: Any) -> Any:
    found = _kernels_of(data)[0]
    return lambda data: found(data)


@_overload(vertex, strict=False)
def _vertex(data: Any, w: Any, i: Any, psi: Any, work: Any) -> Any:
    found = _kernels_of(data)[1]
    return lambda data, w, i, psi, work: found(data, w, i, psi, work)


def _kernels_of(data: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the kernels for what the compiler knows of a named tuple."""
    return _KERNELS[data.instance_class]


@kernel
def _solve_block(
    data: Any, weights: np.ndarray, block: np.ndarray, psi: np.ndarray, loss: np.ndarray
) -> None:
    """Fill ``psi`` (r, b, d) and ``loss`` (r, b) with the vertices of the blocks ``block`` (b,)."""
    work = workspace(data)
    for place in range(len(block)):
        for r in range(len(weights)):
            loss[r, place] = vertex(data, weights[r], block[place], psi[r, place], work)
