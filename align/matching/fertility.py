"""The max oracle of words with several links: each link after a word's first costs something.

For a pair of n source and m target words with weights theta (n, m), costs s_j, t_k >= 0 and at most K links
a word the task is, over y in {0, 1}^(n x m) with row and column sums (degrees) a_j, b_k <= K,

    max  sum_jk theta_jk y_jk - sum_j s_j max(0, a_j - 1) - sum_k t_k max(0, b_k - 1)

([1]_, section 3.1). It is a flow from source to target words through edges of capacity one; what a word pays
is convex in its links, so the optimum of the linear programme is integral (:func:`lp`, the reference).

:func:`solve` lets the source words enter one after the other, and the links of each, by the cheapest path of
reduced costs u_j + v_k - theta_jk (unlinked edges, >= 0) and theta_jk - u_j - v_k (linked ones, >= 0) to a
word that takes or drops a link: the algorithm of :mod:`align.matching.assignment` with the prices

    u_j = 0 without a link,  in [0, s_j] with one,  s_j with 2 to K - 1,  >= s_j with K,

and v_k, t_k likewise. Dropping a link never costs, so edges with theta <= 0 are left out from the start.

References
----------
.. [1] S. Lacoste-Julien, B. Taskar, D. Klein and M. I. Jordan, "Word alignment via quadratic assignment",
   NAACL 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from align.core.errors import WorkError
from align.core.kernels import kernel
from align.matching.assignment import block_arrays, writeable
from align.matching.fertility_kernels import scratch, solve_pair

# Outcomes of the block kernel other than "all solved": which check the input failed.
_SOLVED, _MISFIT, _NOT_FINITE, _BAD_COST = 0, 1, 2, 3


def solve(
    theta: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    *,
    most: int,
) -> np.ndarray:
    """Return a best set of links of each pair of a block.

    Only edges with a weight above 0 are ever linked. Ties are broken by a fixed scanning order: equal input
    gives equal output. The work runs outside the interpreter lock.

    Parameters
    ----------
    theta : ndarray of float64, shape (E,)
        Weights of the edges, finite; those of pair i are ``theta[offsets[i]:offsets[i + 1]]``, row by row.
    shapes : ndarray of int32, shape (N, 2)
        Words (n_i, m_i) of each pair, >= 0.
    offsets : ndarray of int64, shape (N + 1,)
        ``offsets[i + 1] - offsets[i] == n_i * m_i``.
    source_costs, target_costs : ndarray of float64, shapes (sum n_i,) and (sum m_i,)
        What each link of a word after its first costs, >= 0, pair after pair.
    most : int
        Links that a word may have, K >= 1.

    Returns
    -------
    ndarray of bool, shape (E,)
        True where the edge is linked.

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, a cost is NaN or below 0, or the arrays do not fit each other.
    """
    if most < 1:
        raise ValueError(f"fertility: {most} links a word; give 1 or more")
    theta, shapes, offsets = block_arrays("fertility", theta, shapes, offsets)
    source_costs, target_costs = writeable(source_costs), writeable(target_costs)
    words = shapes.sum(axis=0, dtype=np.int64)
    if source_costs.shape != (words[0],) or target_costs.shape != (words[1],):
        raise ValueError(
            f"fertility: costs {source_costs.shape} and {target_costs.shape} of {words[0]} and {words[1]} "
            "words; give one a word"
        )
    links = np.zeros(len(theta), dtype=np.bool_)
    outcome, pair = _solve_block(theta, shapes, offsets, source_costs, target_costs, int(most), links)
    if outcome == _MISFIT:
        raise ValueError(
            f"fertility: the offsets of pair {pair} do not fit its shape; give n * m edges a pair"
        )
    if outcome == _NOT_FINITE:
        raise ValueError(f"fertility: pair {pair} has a weight that is NaN or infinite; give finite weights")
    if outcome == _BAD_COST:
        raise ValueError(f"fertility: pair {pair} has a cost that is NaN or below 0; give costs >= 0")
    return links


def total(theta: np.ndarray, source_costs: np.ndarray, target_costs: np.ndarray, links: np.ndarray) -> float:
    """Return the value of the links of one pair, bool (n, m): their weights less what extra links cost."""
    extra_source = np.maximum(links.sum(axis=1) - 1, 0)
    extra_target = np.maximum(links.sum(axis=0) - 1, 0)
    costs = extra_source @ source_costs + extra_target @ target_costs
    return float(theta[links].sum() - costs)


def lp(theta: np.ndarray, source_costs: np.ndarray, target_costs: np.ndarray, *, most: int) -> np.ndarray:
    """Return a best set of links of one pair by linear programming (HiGHS dual simplex).

    The reference for :func:`solve`. A word's links are first (at most 1, free) and further ones
    (at most K - 1, each at its cost).

    Parameters
    ----------
    theta : ndarray of float64, shape (n, m)
        Weights, finite.
    source_costs, target_costs : ndarray of float64, shapes (n,) and (m,)
        Costs of further links, finite, >= 0.
    most : int
        Links that a word may have, >= 1.

    Returns
    -------
    ndarray of bool, shape (n, m)
        True where the edge is linked; never where its weight is <= 0.

    Raises
    ------
    WorkError
        If HiGHS fails, or its solution is not integral.
    """
    # Only the reference needs these: the library itself does without their import time.
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    links = np.zeros(theta.shape, dtype=np.bool_)
    rows, columns = np.nonzero(theta > 0)
    if not len(rows):
        return links
    n, edges, words = theta.shape[0], np.arange(len(rows)), np.arange(sum(theta.shape))
    # links of a word - its further links <= 1; the edges come first, then the words' further links
    constraints: Any = csr_matrix(
        (
            np.concatenate([np.ones(2 * len(rows)), -np.ones(len(words))]),
            (
                np.concatenate([rows, n + columns, words]),
                np.concatenate([edges, edges, len(rows) + words]),
            ),
        ),
        shape=(len(words), len(rows) + len(words)),
    )
    scale = theta.max()  # the tolerances of HiGHS are absolute: weights are brought to the order of 1 first
    result = linprog(
        np.concatenate([-theta[rows, columns], source_costs, target_costs]) / scale,
        A_ub=constraints,
        b_ub=np.ones(len(words)),
        bounds=[(0, 1)] * len(rows) + [(0, most - 1)] * len(words),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0 or result.x is None:
        raise WorkError(f"lp: HiGHS stopped with {result.message!r}; use the flow solver")
    off = np.abs(result.x - np.round(result.x)).max()
    if off > 1e-7:
        raise WorkError(f"lp: the solution is {off:.1e} away from integers; use the flow solver")
    links[rows, columns] = result.x[: len(rows)] > 0.5
    return links


@kernel
def _solve_block(
    theta: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    most: int,
    links: np.ndarray,
) -> tuple[int, int]:
    """Solve every pair into ``links``; returns (outcome, index of the pair at fault or -1)."""
    work = scratch(shapes)
    source, target = 0, 0
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        first, last = offsets[pair], offsets[pair + 1]
        if n < 0 or m < 0 or first < 0 or last > len(theta) or last - first != n * m:
            return _MISFIT, pair
        for edge in range(first, last):
            if not np.isfinite(theta[edge]):
                return _NOT_FINITE, pair
        s, t = source_costs[source : source + n], target_costs[target : target + m]
        for costs in (s, t):
            for cost in costs:
                if not cost >= 0.0:
                    return _BAD_COST, pair
        solve_pair(theta[first:last], n, m, s, t, most, links[first:last], work)
        source += n
        target += m
    return _SOLVED, -1
