"""Matchings in which consecutive links earn a bonus: quadratic assignment, with a certificate.

Where source words j, j + 1 are linked to target words k, k + 1, the two links earn more than each by itself
([1]_, section 3.2). For a pair of n source and m target words with weights theta and bonuses b >= 0 the task
is

    max  sum_jk theta_jk y_jk + sum_jk b_jk y_jk y_(j+1)(k+1)    over matchings y.

It is NP-hard in general; what is found here comes with a bound on the maximum. With z_jk <= y_jk and
z_jk <= y_(j+1)(k+1) for the product it is a linear programme once fractions are allowed (:func:`relaxation`).
Its dual gives a part s_jk in [0, b_jk] of each bonus to the first edge and the rest to the second,

    B(s) = max  sum_jk (theta_jk + s_jk + b_(j-1)(k-1) - s_(j-1)(k-1)) y_jk    over matchings y,

a plain matching problem: B(s) is no less than the maximum for any s, and the smallest B(s) is the value of
the relaxation. :func:`solve` lowers B by subgradient steps of Polyak's length ([2]_). Each matching met on
the way is a solution too; what is better than all before is improved by local search. Where value and bound
meet, it is a maximum.

References
----------
.. [1] S. Lacoste-Julien, B. Taskar, D. Klein and M. I. Jordan, "Word alignment via quadratic assignment",
   NAACL 2006.
.. [2] B. T. Polyak, "Minimization of unsmooth functionals", USSR Computational Mathematics and Mathematical
   Physics 9(3), 1969.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from align.core.errors import WorkError
from align.matching.quadratic_kernels import solve_block


class Solution(NamedTuple):
    """Links of the N pairs of a block, and how good they are.

    Attributes
    ----------
    links : ndarray of bool, shape (E,)
        A matching of each pair.
    values : ndarray of float64, shape (N,)
        Their values, >= 0.
    bounds : ndarray of float64, shape (N,)
        What no matching of the pair exceeds, >= ``values``.
    """

    links: np.ndarray
    values: np.ndarray
    bounds: np.ndarray


class Relaxed(NamedTuple):
    """A solution of the linear programme of one pair.

    Attributes
    ----------
    links : ndarray of float64, shape (n, m)
        In [0, 1].
    value : float
        The maximum of the programme, no less than that of any matching.
    integral : bool
        Whether the links are a matching, which then is a best one.
    """

    links: np.ndarray
    value: float
    integral: bool


def solve(
    theta: np.ndarray,
    bonus: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    *,
    steps: int = 100,
    tolerance: float = 1e-9,
) -> Solution:
    """Return good links of each pair of a block, and bounds that say how good.

    Equal input gives equal output. The work runs outside the interpreter lock.

    Parameters
    ----------
    theta : ndarray of float64, shape (E,)
        Weights of the edges, finite; those of pair i are ``theta[offsets[i]:offsets[i + 1]]``, row by row.
    bonus : ndarray of float64, shape (E,)
        b_jk, finite, >= 0: what is earned if both (j, k) and (j + 1, k + 1) are linked; those of last words
        are not read.
    shapes : ndarray of int32, shape (N, 2)
        Words (n_i, m_i) of each pair, >= 0.
    offsets : ndarray of int64, shape (N + 1,)
        ``offsets[i + 1] - offsets[i] == n_i * m_i``.
    steps : int
        At most so many matchings a pair for the bound, >= 1.
    tolerance : float
        Stop where bound - value <= tolerance * (1 + bound), >= 0.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, a bonus is so or negative, the arrays do not fit each other, or an
        option is out of its range.
    """
    theta, bonus = (np.array(values, dtype=np.float64) for values in (theta, bonus))
    shapes = np.ascontiguousarray(shapes, dtype=np.int32)
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    if steps < 1 or not tolerance >= 0:
        raise ValueError(f"quadratic: {steps} steps, tolerance {tolerance}; give 1 or more, and 0 or more")
    if theta.ndim != 1 or theta.shape != bonus.shape or shapes.ndim != 2 or shapes.shape[1] != 2:
        raise ValueError(
            f"quadratic: theta {theta.shape}, bonus {bonus.shape} and shapes {shapes.shape} do not fit; "
            "give (E,), (E,) and (N, 2)"
        )
    sizes = shapes.prod(axis=1, dtype=np.int64)
    if shapes.min(initial=0) < 0 or not np.array_equal(offsets, [0, *np.cumsum(sizes)]):
        raise ValueError("quadratic: offsets and shapes do not fit; give n * m edges a pair")
    if offsets[-1] != len(theta):
        raise ValueError(f"quadratic: {len(theta)} weights of {offsets[-1]} edges; give one an edge")
    _check(theta, bonus)
    links, values, bounds = np.zeros(len(theta), dtype=np.bool_), *np.empty((2, len(shapes)))
    solve_block(theta, bonus, shapes, offsets, int(steps), float(tolerance), links, values, bounds)
    return Solution(links, values, bounds)


def total(theta: np.ndarray, bonus: np.ndarray, links: np.ndarray) -> float:
    """Return the value of the links of one pair; arrays of shape (n, m), links bool or in [0, 1]."""
    return float((theta * links).sum() + (bonus * consecutive(links)).sum())


def consecutive(links: np.ndarray) -> np.ndarray:
    """Return z_jk, how far both (j, k) and (j + 1, k + 1) are linked; ``links`` (n, m) bool or in [0, 1]."""
    found = np.zeros(links.shape)
    found[:-1, :-1] = np.minimum(links[:-1, :-1], links[1:, 1:])
    return found


def relaxation(theta: np.ndarray, bonus: np.ndarray, *, integral: bool = False) -> Relaxed:
    """Solve the linear programme of one pair by HiGHS.

    Parameters
    ----------
    theta : ndarray of float64, shape (n, m)
        Weights, finite.
    bonus : ndarray of float64, shape (n, m)
        Bonuses, finite, >= 0.
    integral : bool
        Whether fractions are forbidden: the quadratic assignment itself, by branch and bound.

    Returns
    -------
    Relaxed

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, or a bonus is so or negative.
    WorkError
        If HiGHS fails.
    """
    # Nothing else needs these: the library does without their import time.
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    theta, bonus = np.asarray(theta, dtype=np.float64), np.asarray(bonus, dtype=np.float64)
    if theta.ndim != 2 or theta.shape != bonus.shape:
        raise ValueError(f"quadratic: theta {theta.shape} and bonus {bonus.shape}; give two of (n, m)")
    _check(theta, bonus)
    links = np.zeros(theta.shape)
    # An edge that is worth nothing with both its bonuses can be left out of any solution.
    most = theta.copy()
    most[:-1, :-1] += bonus[:-1, :-1]
    most[1:, 1:] += bonus[:-1, :-1]
    rows, columns = np.nonzero(most > 0)
    if not len(rows):
        return Relaxed(links, 0.0, True)
    (n, _), edges = theta.shape, len(rows)
    number = np.full(theta.shape, -1)
    number[rows, columns] = np.arange(edges)
    first, second = number[:-1, :-1], number[1:, 1:]
    paid = (first >= 0) & (second >= 0) & (bonus[:-1, :-1] > 0)
    first, second, gains = first[paid], second[paid], bonus[:-1, :-1][paid]
    products, place = edges + np.arange(len(gains)), sum(theta.shape) + np.arange(len(gains))
    own, ones = np.arange(edges), np.ones(len(gains))
    constraints: Any = csr_matrix(
        (
            np.concatenate([np.ones(2 * edges), ones, -ones, ones, -ones]),
            (
                np.concatenate([rows, n + columns, place, place, place + len(gains), place + len(gains)]),
                np.concatenate([own, own, products, first, products, second]),
            ),
        ),
        shape=(sum(theta.shape) + 2 * len(gains), edges + len(gains)),
    )
    scale = most.max()  # the tolerances of HiGHS are absolute: weights are brought to the order of 1 first
    result = milp(
        -np.concatenate([theta[rows, columns], gains]) / scale,
        constraints=LinearConstraint(
            constraints, -np.inf, np.concatenate([np.ones(sum(theta.shape)), np.zeros(2 * len(gains))])
        ),
        bounds=Bounds(0, 1),
        integrality=np.full(edges + len(gains), int(integral)),
        options={"mip_rel_gap": 0.0},
    )
    if result.status != 0 or result.x is None:
        raise WorkError(f"quadratic: HiGHS stopped with {result.message!r}; use the subgradient solver")
    found = np.clip(result.x[:edges], 0.0, 1.0)
    near = bool(np.abs(found - np.round(found)).max() < 1e-6)
    links[rows, columns] = np.round(found) if near else found
    return Relaxed(links, max(total(theta, bonus, links), 0.0), near)


def _check(theta: np.ndarray, bonus: np.ndarray) -> None:
    if not np.isfinite(theta).all():
        raise ValueError("quadratic: a weight is NaN or infinite; give finite weights")
    if not (np.isfinite(bonus).all() and (bonus >= 0).all()):
        raise ValueError("quadratic: a bonus is NaN, infinite or negative; give finite ones >= 0")
