"""Primal, dual, gap and exact step of the structured SVM, shared by all Frank-Wolfe solvers.

    primal   P(w) = lam/2 |w|^2 + 1/n sum_i H_i(w)
    dual     D    = ell - lam/2 |w|^2,    w = sum_i w_i,  ell = sum_i ell_i,

where (w_i, ell_i) is a convex combination of vertices w_s = psi_i(y)/(lam n), ell_s = L_i(y)/n of block i.
With (w_s, ell_s) the sum of the maximising vertices of all blocks, 1/n sum_i H_i(w) = ell_s - lam <w, w_s>,
and the Frank-Wolfe gap is the duality gap (Lacoste-Julien, Jaggi, Schmidt, Pletscher 2013, "Block-coordinate
Frank-Wolfe optimization for structural SVMs", section 4):

    g(w) = lam <w - w_s, w> - ell + ell_s = P(w) - D >= P(w) - min P.

Where the last weights may not be negative, v = sum_i v_i takes the place of sum_i w_i, and w is its
projection: v with those last ones cut at 0. All of the above holds, for <v, w> = |w|^2.

Where weights w_0 are known that should be left only for a reason, lam/2 |w - w_0|^2 takes the place of
lam/2 |w|^2 in the primal. Then v = w_0 + sum_i v_i, and

    D = ell - lam/2 |w|^2 + lam/2 |w_0|^2,    g(w) = lam <w - w_0 - w_s, w> - ell + ell_s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import CompiledProblem
from align.problems.protocol import Problem, Summing

# Blocks whose vertices are summed by themselves, before the sums are added up. Rounding depends on it, so it
# is the same whoever sums: a piece is long enough to be worth sending to another machine (about 50 ms).
PIECE = 1024


class Value(NamedTuple):
    """What the certificate says of a pair (w, ell): ``gap = primal - dual >= 0``."""

    primal: float
    dual: float
    gap: float


class WeakDualityError(ValueError):
    """The primal is below the dual: the oracle, the polytope or a vertex is not that of the problem."""


class NotFiniteError(ValueError):
    """Primal, dual or gap is NaN or infinite: a cost or feature is too large, or lam too small or large."""


def batch_vertex(problem: Problem, w: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum over all blocks of the vertices that maximise H_i(w): one pass of the oracle.

    It is taken piece by piece, :data:`PIECE` blocks each, by the problem's own ``summing`` where it has one
    (:data:`align.problems.protocol.Summing`), and the pieces are added in their order.

    Parameters
    ----------
    problem : Problem
    w : ndarray of float64, shape (d,) or (r, d)
        One weight vector or several, each with a pass of its own.
    lam : float
        Regularisation, > 0.

    Returns
    -------
    w_s : ndarray of float64, shape (d,) or (r, d)
        sum_i psi_i(y*) / (lam n).
    ell_s : ndarray of float64, shape () or (r,)
        sum_i L_i(y*) / n.
    """
    summing: Summing = getattr(problem, "summing", None) or _each
    pieces = [range(start, min(start + PIECE, problem.n)) for start in range(0, problem.n, PIECE)]
    w_s, ell_s = np.zeros(w.shape), np.zeros(w.shape[:-1])
    for psi, loss in summing(problem, w, pieces):
        w_s += psi
        ell_s += loss
    return w_s / (lam * problem.n), ell_s / problem.n


def piece_sums(problem: Problem, w: np.ndarray, piece: range) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of psi*, like w, and of L_i(y*) over some blocks in their order; w (d,) or (r, d)."""
    psi, loss = problem.oracles(w, np.arange(piece.start, piece.stop, dtype=np.int64))
    return psi.sum(axis=-2), loss.sum(axis=-1)


def threaded(problem: Problem, jobs: int) -> Summing | None:
    """Return what sums the pieces of a problem on threads, >= 1; None where threads are of no use.

    They are where the oracle is compiled, and there are several pieces.
    """
    if jobs == 1 or problem.n <= PIECE or not isinstance(problem, CompiledProblem):
        return None

    def summing(
        problem: Problem, w: np.ndarray, pieces: Sequence[range]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        with ThreadPoolExecutor(min(jobs, len(pieces))) as threads:
            yield from threads.map(partial(piece_sums, problem, w), pieces)

    return summing


def _each(
    problem: Problem, w: np.ndarray, pieces: Sequence[range]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return map(partial(piece_sums, problem, w), pieces)


def dual(w: np.ndarray, ell: float, lam: float, *, origin: np.ndarray | None = None) -> float:
    """Return D = ell - lam/2 |w|^2 + lam/2 |w_0|^2; ``origin`` w_0 is 0 if not given."""
    start = 0.0 if origin is None else float(origin @ origin)
    return ell - 0.5 * lam * (float(w @ w) - start)


def value(
    w: np.ndarray,
    ell: float,
    w_s: np.ndarray,
    ell_s: float,
    lam: float,
    *,
    origin: np.ndarray | None = None,
) -> Value:
    """Return primal, dual and gap of (w, ell), given the batch vertex at w and ``origin`` w_0, or 0.

    Where rounding makes the gap negative it is 0.

    Raises
    ------
    NotFiniteError, WeakDualityError
        As of :func:`certified`.
    """
    lower = dual(w, ell, lam, origin=origin)
    moved = w if origin is None else w - origin
    gap = lam * float((moved - w_s) @ w) - ell + ell_s
    primal = lower + gap
    # what rounds is the terms, which may be far greater than their sum
    terms = abs(primal) + abs(ell) + abs(ell_s) + lam * float(np.abs(moved - w_s) @ np.abs(w))
    return certified(primal, lower, gap, terms)


def certified(primal: float, lower: float, gap: float, terms: float) -> Value:
    """Return primal, dual and gap after a check; ``terms`` is the size of what was added up for them.

    Raises
    ------
    NotFiniteError
        If one of them is NaN or infinite.
    WeakDualityError
        If the gap is negative by more than rounding.
    """
    if not (math.isfinite(primal) and math.isfinite(lower) and math.isfinite(gap)):
        raise NotFiniteError(
            f"the objective is no finite number (primal {primal:g}, duality gap {gap:g}); lower the costs of "
            "links or scale the features to about 1, or choose lam nearer to 0.01"
        )
    if gap < -1e-9 * (1.0 + terms):
        raise WeakDualityError(
            f"weak duality is broken: gap {gap:.3g}, primal {primal:g}, dual {lower:g}: the oracle does not "
            "find the maximum, or it and the polytope are of different labellings; compare oracle(w, i) with "
            "a list of all labellings of a small block"
        )
    return Value(max(primal, lower), lower, max(gap, 0.0))


def evaluate(
    problem: Problem,
    weights: np.ndarray,
    ells: np.ndarray,
    lam: float,
    *,
    origin: np.ndarray | None = None,
) -> list[Value]:
    """Return primal, dual and gap of each (w, ell) of ``weights`` (r, d) and ``ells`` (r,)."""
    w_s, ell_s = batch_vertex(problem, weights, lam)
    return [
        value(weights[r], float(ells[r]), w_s[r], float(ell_s[r]), lam, origin=origin)
        for r in range(len(weights))
    ]


def projection(v: np.ndarray, nonnegative: int) -> np.ndarray:
    """Return v with the entries from ``nonnegative`` on, along the last axis, cut at 0; a copy."""
    w = v.copy()
    np.maximum(w[..., nonnegative:], 0.0, out=w[..., nonnegative:])
    return w


@kernel
def exact_step(
    w: np.ndarray,
    w_from: np.ndarray,
    ell_from: float,
    w_to: np.ndarray,
    ell_to: float,
    lam: float,
    gamma_max: float,
) -> tuple[float, float]:
    """Return the step that maximises the dual from (w_from, ell_from) towards (w_to, ell_to), and the gap.

    gap = lam <w_from - w_to, w> - ell_from + ell_to;  gamma = gap / (lam |w_from - w_to|^2), clipped to
    [0, gamma_max].
    All arrays float64, shape (d,). A Frank-Wolfe step of block i goes from (w_i, ell_i) to its vertex.

    With w the projection of v, w_from and w_to parts of v: |w|^2 / 2 has the gradient w in v, which is no
    further apart at two v than these are, so that D(v + gamma (w_to - w_from)) >= D(v) + gamma gap - lam/2
    gamma^2 |w_to - w_from|^2, with equality without projection. gamma maximises this: the dual never falls.
    """
    gap, square = 0.0, 0.0
    for k in range(len(w)):
        difference = w_from[k] - w_to[k]
        gap += difference * w[k]
        square += difference * difference
    gap = lam * gap - ell_from + ell_to
    if gap <= 0.0:
        return 0.0, gap
    if gap >= gamma_max * lam * square:  # also when only ell differs: square is 0
        return gamma_max, gap
    return gap / (lam * square), gap
