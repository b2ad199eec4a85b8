"""The max oracle by linear programming, the reference for assignment and flow, some hundred times slower.

The labellings of a pair are the integral points of a polytope whose constraint matrix is totally unimodular,
so the vertex that solves the program is a labelling; it is checked to be one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from align.core.errors import WorkError


def solve(
    theta: np.ndarray, source_costs: np.ndarray, target_costs: np.ndarray, *, max_fertility: int = 1
) -> np.ndarray:
    """Return a best set of links of one pair (HiGHS dual simplex).

    A word's links are a first one (free) and at most K - 1 further ones, each at its cost.

    Parameters
    ----------
    theta : ndarray of float64, shape (n, m)
        Weights, finite.
    source_costs, target_costs : ndarray of float64, shapes (n,) and (m,)
        Costs of further links, finite, >= 0; without effect where words have one link.
    max_fertility : int
        Links K that a word may have, >= 1.

    Returns
    -------
    ndarray of bool, shape (n, m)
        True where the edge is linked; never where its weight is <= 0.

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, or ``theta`` is not a matrix.
    WorkError
        If HiGHS fails, or its solution is not integral.
    """
    # Only the reference needs these: the library itself does without their import time.
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    theta = np.asarray(theta, dtype=np.float64)
    if theta.ndim != 2:
        raise ValueError(f"linear program: theta has {theta.ndim} dimensions; give a matrix (n, m)")
    if not np.isfinite(theta).all():
        raise ValueError("linear program: a weight is NaN or infinite; give finite weights")
    links = np.zeros(theta.shape, dtype=np.bool_)
    rows, columns = np.nonzero(theta > 0)
    if not len(rows):
        return links
    edges, words = len(rows), sum(theta.shape)
    # links of a word - its further links <= 1; the edges come first, then the words' further links, if any
    further = np.arange(words if max_fertility > 1 else 0)
    own = np.arange(edges)
    constraints: Any = csr_matrix(
        (
            np.concatenate([np.ones(2 * edges), -np.ones(len(further))]),
            (
                np.concatenate([rows, theta.shape[0] + columns, further]),
                np.concatenate([own, own, edges + further]),
            ),
        ),
        shape=(words, edges + len(further)),
    )
    costs = np.concatenate([source_costs, target_costs])[further]
    # the tolerances of HiGHS are absolute: weights are brought to the order of 1 first
    result = linprog(
        np.concatenate([-theta[rows, columns], costs]) / theta.max(),
        A_ub=constraints,
        b_ub=np.ones(words),
        bounds=[(0, 1)] * edges + [(0, max_fertility - 1)] * len(further),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0 or result.x is None:
        raise WorkError(f"linear program: HiGHS stopped with {result.message!r}; use the assignment")
    off = np.abs(result.x - np.round(result.x)).max()
    if off > 1e-7:
        raise WorkError(f"linear program: {off:.1e} away from integers; use the assignment")
    links[rows, columns] = result.x[:edges] > 0.5
    return links
