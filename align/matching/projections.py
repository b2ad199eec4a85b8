"""Projections onto the matching polytope, by Euclidean distance and by relative entropy.

The matching polytope of a pair of n source and m target words is the convex hull of its matchings,

    Z = {z >= 0, row sums <= 1, column sums <= 1},    z of shape (n, m).

The Euclidean projection of a is the quadratic matching flow of [1]_, section 4; that by relative entropy
minimises sum_jk z_jk (log z_jk - a_jk) - z_jk, where a are logarithms: the I-projection of exp(a), for which
[2]_ prove that scaling with Dykstra's correction converges. Both are z_jk = phi(a_jk - u_j - v_k) with prices
u, v >= 0 of the words that minimise the dual

    Phi(a - u - v) + sum_j u_j + sum_k v_k,    Phi' = phi,

phi(x) = max(0, x) for the Euclidean one, exp(x) for that by negative entropy. A round gives first one side,
then the other, the prices that are best given the other side's (for exp: Dykstra's corrected scaling), which
always leads to the minimum but slowly; then a semismooth Newton step on all prices that are not held at 0 is
taken if it brings the minimum nearer. Its system is reduced to the words of the side with fewer words. No row
or column is off by more than about 1e-11 in the end.

References
----------
.. [1] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006.
.. [2] H. H. Bauschke and A. S. Lewis, "Dykstra's algorithm with Bregman projections: a convergence proof",
   Optimization 48, 2000.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from align.core.errors import WorkError
from align.core.kernels import Arrays, kernel
from align.matching import assignment
from align.matching.assignment import checked_block

Work: TypeAlias = tuple[Any, ...]
Side: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

# Entries that are 0 at any prices (Euclidean), or below 1e-26 at any (entropy), are left out.
_LEAST, _LEAST_LOGARITHM = 0.0, -60.0
# Rounds that even hard problems hardly come near, and times that a step is made four times shorter.
_ROUNDS = 200
_SHORTENINGS = 6
# A step is taken if the largest error of a sum falls by this factor, and a balancing round skipped after it.
_LESS = 0.75
# After the last round this error is accepted.
_ENOUGH = 1e-7
# How often prices that meet 0 are held there and the step is found anew.
_HOLDS = 12
# Words whose entries are all 0 at present have no curvature of their own.
_LEAST_CURVATURE = 1e-2


def onto_matchings(
    a: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, *, entropic: bool = False
) -> np.ndarray:
    """Return the projections of points onto the matching polytopes of a block of pairs.

    Parameters
    ----------
    a : ndarray of float64, shape (E,)
        Points, finite; that of pair i is ``a[offsets[i]:offsets[i + 1]]``, row by row. With ``entropic``
        logarithms of positive points: minus infinity stands for 0, and those below -60 are taken for 0.
    shapes : ndarray of int32, shape (N, 2)
        Words (n_i, m_i) of each pair, >= 0.
    offsets : ndarray of int64, shape (N + 1,)
        ``offsets[i + 1] - offsets[i] == n_i * m_i``.
    entropic : bool
        Whether points are measured by relative entropy instead of Euclidean distance.

    Returns
    -------
    ndarray of float64, shape (E,)
        In [0, 1]; row and column sums <= 1 + 1e-10.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, or the arrays do not fit each other.
    WorkError
        If a projection is not found.
    """
    a, shapes, offsets = checked_block(
        "projections", a, shapes, offsets, least=-np.inf if entropic else np.nan
    )
    z = np.empty(len(a))
    failed = _project_block(a, shapes, offsets, entropic, z)
    if failed >= 0:
        raise WorkError(f"projections: pair {failed} was not solved; scale its entries down")
    return z


@kernel
def _project_block(
    a: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, entropic: bool, z: np.ndarray
) -> int:
    """Project every pair into ``z``; returns the first pair that was not solved, or -1."""
    work, prices = scratch(shapes), np.empty(0)
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        first, last = offsets[pair], offsets[pair + 1]
        if not project_pair(a[first:last], n, m, entropic, False, prices, z[first:last], work):
            return pair
    return -1


@kernel
def scratch(shapes: np.ndarray) -> Work:
    """Return working memory for :func:`project_pair`, enough for every pair of ``shapes`` (N, 2)."""
    size, edges = 0, 0
    for pair in range(len(shapes)):
        size = max(size, shapes[pair, 0], shapes[pair, 1])
        edges = max(edges, shapes[pair, 0] * shapes[pair, 1])
    few = np.empty(size + 1, dtype=np.int64), np.empty(edges, dtype=np.int64), np.empty(edges)
    many = np.empty(size + 1, dtype=np.int64), np.empty(edges, dtype=np.int64), np.empty(edges)
    links = np.empty(edges, dtype=np.bool_)
    system = np.empty((size, size)), np.empty(edges), np.empty((2, size), dtype=np.bool_)
    return few, many, np.empty((14, size)), system, assignment.scratch(shapes), links


@kernel
def project_pair(
    a: np.ndarray,
    n: int,
    m: int,
    entropic: bool,
    warm: bool,
    prices: np.ndarray,
    z: np.ndarray,
    work: Work,
) -> bool:
    """Project one pair: ``a`` (n * m,) row by row, ``z`` (n * m,) is overwritten; False if it fails.

    What it then leaves is in the polytope, but not the projection. With ``entropic``, ``a`` holds logarithms.
    The prices are left in ``work[2]``: of the shorter side in its row 0, of the longer side (of the target
    where both are as long) in row 1. ``prices`` holds those of the longer side or is empty: with ``warm`` it
    is the start, and what is found is left there. Without, the start is the prices of the assignment
    problem with weights ``a``: near the solution where ``a`` is so far outside that it is all but a matching.
    """
    few, many, reals, system, matching, links = work
    turned = n > m
    least = _LEAST_LOGARITHM if entropic else _LEAST
    scale = _gather(a, n, m, least, turned, few, many)
    short, long = (m, n) if turned else (n, m)
    u, v = reals[0][:short], reals[1][:long]
    if warm and len(prices) > 0:
        v[:] = prices[:long]
    elif scale > 1.0:
        for edge in range(n * m):
            z[edge] = max(a[edge], least)
        assignment.solve_pair(z, n, m, links[: n * m], matching)
        v[:] = np.maximum(matching.reals[1][:long], 0.0)
    else:
        v[:] = 0.0
    solved = _minimise(
        few, many, u, v, entropic, (1e-10 if entropic else 1e-11) + 4e-16 * scale, reals, system
    )
    if len(prices) > 0:
        prices[:long] = v
    z[:] = 0.0
    starts, words, values = few
    for j in range(short):
        for e in range(starts[j], starts[j + 1]):
            k = words[e]
            z[k * m + j if turned else j * m + k] = _entry(values[e] - u[j] - v[k], entropic)
    if not solved:
        _shrink(z, n, m)
    return solved


@kernel
def _shrink(z: np.ndarray, n: int, m: int) -> None:
    """Divide by the largest row or column sum where that is above 1."""
    largest = 1.0
    for j in range(n):
        largest = max(largest, z[j * m : j * m + m].sum())
    for k in range(m):
        largest = max(largest, z[k::m].sum())
    z /= largest


@kernel
def _gather(a: np.ndarray, n: int, m: int, least: float, turned: bool, few: Side, many: Side) -> float:
    """List the entries above ``least`` by the words of each side; return the largest of them and 0."""
    (rows, columns) = (many, few) if turned else (few, many)
    starts, words, values = rows
    top, count = 0.0, 0
    column_starts = columns[0]
    column_starts[: m + 1] = 0
    for j in range(n):
        starts[j] = count
        for k in range(m):
            value = a[j * m + k]
            if value > least:
                words[count], values[count] = k, value
                count += 1
                column_starts[k + 1] += 1
                top = max(top, value)
    starts[n] = count
    for k in range(m):
        column_starts[k + 1] += column_starts[k]
    for j in range(n):
        for e in range(starts[j], starts[j + 1]):
            at = column_starts[words[e]]
            columns[1][at], columns[2][at] = j, values[e]
            column_starts[words[e]] += 1
    for k in range(m, 0, -1):
        column_starts[k] = column_starts[k - 1]
    column_starts[0] = 0
    return top


@kernel
def _minimise(
    few: Side,
    many: Side,
    u: np.ndarray,
    v: np.ndarray,
    entropic: bool,
    tolerance: float,
    reals: np.ndarray,
    system: Arrays,
) -> bool:
    """Fill u and v with the best prices, starting from v; False if a sum stays off by more than allowed."""
    short, long = len(u), len(v)
    step_u, step_v = reals[2][:short], reals[3][:long]
    next_u, next_v = reals[4][:short], reals[5][:long]
    sums = reals[6][:short], reals[7][:long], reals[8][:short], reals[9][:long]
    others = reals[10][:short], reals[11][:long], reals[12][:short], reals[13][:long]
    off, value, balance, daring = np.inf, np.inf, True, False
    for _ in range(_ROUNDS):
        if balance:
            _best_prices(few, u, v, entropic)
            _best_prices(many, v, u, entropic)
            off, value = _measure(few, many, u, v, entropic, sums)
        if off <= tolerance:
            return True
        _newton_step(many, u, v, entropic, sums, system, step_u, step_v)
        share, balance = 1.0, True
        for shortening in range(_SHORTENINGS):
            rise = _stepped(u, step_u, share, next_u) + _stepped(v, step_v, share, next_v)
            off_next, value_next = _measure(few, many, next_u, next_v, entropic, others)
            # values differ by less than their rounding near the minimum: there the sums decide; and where no
            # step is better, for the curve between bounds is narrow, every other time a whole one is taken
            better = off_next <= _LESS * off or value_next + rise < value - 1e-10
            if better or (shortening == 0 and daring):
                daring = False
                balance = better and off_next > _LESS * off
                u[:], v[:] = next_u, next_v
                sums, others = others, sums
                off, value = off_next, value_next
                break
            share *= 0.25
        else:
            daring = True
    return off <= _ENOUGH


@kernel
def _stepped(prices: np.ndarray, steps: np.ndarray, share: float, after: np.ndarray) -> float:
    """Fill prices after a share of the step, none below 0; return by how much they rise in sum."""
    rise = 0.0
    for j in range(len(prices)):
        after[j] = max(0.0, prices[j] + share * steps[j])
        rise += after[j] - prices[j]
    return rise


@kernel
def _entry(x: float, entropic: bool) -> float:
    """Return phi(x)."""
    if entropic:
        return np.exp(x)
    return max(0.0, x)


@kernel(error_model="numpy")
def _best_prices(side: Side, own: np.ndarray, other: np.ndarray, entropic: bool) -> None:
    """Give each word of a side the least price >= 0 at which its entries add up to 1 at most."""
    starts, words, values = side
    for j in range(len(own)):
        first, last = starts[j], starts[j + 1]
        top = -np.inf
        for e in range(first, last):
            top = max(top, values[e] - other[words[e]])
        if entropic:
            total = 0.0
            for e in range(first, last):
                total += np.exp(values[e] - other[words[e]] - top)
            own[j] = max(0.0, top + np.log(total)) if first < last else 0.0
            continue
        # Newton's method from the left on a convex, piecewise linear function: it ends at the root exactly
        price, before = max(0.0, top - 1.0), 0
        while True:
            total, count = 0.0, 0
            for e in range(first, last):
                x = values[e] - other[words[e]] - price
                if x > 0.0:
                    total += x
                    count += 1
            if count == before or total <= 1.0:
                break
            price, before = price + (total - 1.0) / count, count
        own[j] = price


@kernel
def _measure(
    few: Side, many: Side, u: np.ndarray, v: np.ndarray, entropic: bool, sums: Arrays
) -> tuple[float, float]:
    """Fill sums and curvatures of each word's entries; return how far a sum is off, and the sum of Phi."""
    sum_u, sum_v, curve_u, curve_v = sums
    starts, words, values = few
    sum_v[:], curve_v[:] = 0.0, 0.0
    value = 0.0
    for j in range(len(u)):
        total, curve = 0.0, 0.0
        for e in range(starts[j], starts[j + 1]):
            k = words[e]
            x = values[e] - u[j] - v[k]
            if entropic:
                x = np.exp(x)
                total += x
                sum_v[k] += x
            elif x > 0.0:
                total += x
                curve += 1.0
                sum_v[k] += x
                curve_v[k] += 1.0
                value += 0.5 * x * x
        sum_u[j], curve_u[j] = total, curve
        if entropic:
            value += total
            curve_u[j] = total
    if entropic:
        curve_v[:] = sum_v
    off = 0.0
    for prices, totals in ((u, sum_u), (v, sum_v)):
        for j in range(len(prices)):
            over = totals[j] - 1.0
            off = max(off, over if prices[j] == 0.0 else abs(over))
    return off, value


@kernel
def _newton_step(
    many: Side,
    u: np.ndarray,
    v: np.ndarray,
    entropic: bool,
    sums: Arrays,
    work: Arrays,
    step_u: np.ndarray,
    step_v: np.ndarray,
) -> None:
    """Fill the Newton step of all prices, of which none may fall below 0.

    Prices at 0 that do not want to rise stay; where the step leads others below 0, these fall to 0 and the
    step of the rest is found anew.
    """
    curves, held = work[1], work[2]
    sum_u, sum_v = sums[0], sums[1]
    starts, words, values = many
    held_u, held_v = held[0], held[1]
    for j in range(len(u)):
        held_u[j] = u[j] == 0.0 and sum_u[j] <= 1.0
    for k in range(len(v)):
        held_v[k] = v[k] == 0.0 and sum_v[k] <= 1.0
        for e in range(starts[k], starts[k + 1]):
            curves[e] = _curvature(values[e] - u[words[e]] - v[k], entropic)
    for _ in range(_HOLDS):
        _reduced_step(many, u, v, sums, work, step_u, step_v)
        # only those that meet 0 first: the others may not, once these stay
        first = 1.0
        for prices, steps in ((u, step_u), (v, step_v)):
            for j in range(len(prices)):
                if prices[j] + first * steps[j] < 0.0:
                    first = prices[j] / -steps[j]
        if first == 1.0:
            return
        for prices, steps, holds in ((u, step_u, held_u), (v, step_v, held_v)):
            for j in range(len(prices)):
                if not holds[j] and prices[j] + min(1.0, 2.0 * first + 1e-12) * steps[j] < 0.0:
                    holds[j] = True


@kernel
def _reduced_step(
    many: Side,
    u: np.ndarray,
    v: np.ndarray,
    sums: Arrays,
    work: Arrays,
    step_u: np.ndarray,
    step_v: np.ndarray,
) -> None:
    """Fill the Newton step of prices that are not held; those that are fall to 0."""
    sum_u, sum_v, curve_u, curve_v = sums
    system, curves, held = work
    starts, words, _ = many
    held_u, held_v = held[0], held[1]
    short = len(u)
    for j in range(short):
        system[j, :j] = 0.0
        system[j, j] = max(curve_u[j], _LEAST_CURVATURE)
        step_u[j] = -u[j] if held_u[j] else sum_u[j] - 1.0
    for k in range(len(v)):
        step_v[k] = -v[k] if held_v[k] else sum_v[k] - 1.0
        for e in range(starts[k], starts[k + 1]):
            j = words[e]
            if held_v[k] and not held_u[j]:
                step_u[j] -= curves[e] * step_v[k]
            elif held_u[j] and not held_v[k]:
                step_v[k] -= curves[e] * -u[j]
        if held_v[k]:
            continue
        curve = max(curve_v[k], _LEAST_CURVATURE)
        for e in range(starts[k], starts[k + 1]):
            j, here = words[e], curves[e] / curve
            if here == 0.0 or held_u[j]:
                continue
            step_u[j] -= here * step_v[k]
            for f in range(starts[k], e + 1):  # words ascend: the lower triangle
                if curves[f] != 0.0:
                    system[j, words[f]] -= here * curves[f]
    for j in range(short):
        if held_u[j]:
            system[j, :j] = 0.0
            system[j + 1 : short, j] = 0.0
            system[j, j] = 1.0
    _solve(system, step_u)
    for k in range(len(v)):
        if held_v[k]:
            continue
        for e in range(starts[k], starts[k + 1]):
            if not held_u[words[e]]:
                step_v[k] -= curves[e] * step_u[words[e]]
        step_v[k] /= max(curve_v[k], _LEAST_CURVATURE)


@kernel
def _curvature(x: float, entropic: bool) -> float:
    """Return phi'(x)."""
    if entropic:
        return np.exp(x) if x > -34.5 else 0.0
    return 1.0 if x > 0.0 else 0.0


@kernel
def _solve(system: np.ndarray, x: np.ndarray) -> None:
    """Solve a positive semidefinite system, given by its lower triangle, in place (L D L').

    Prices of words that are linked with each other alone can move together and change nothing: the system is
    then singular, and one of them stays where it is.
    """
    size = len(x)
    for j in range(size):
        pivot = system[j, j]
        if pivot <= 1e-13:
            system[j, j] = 0.0
            for i in range(j + 1, size):
                system[i, j] = 0.0
            continue
        for i in range(j + 1, size):
            if system[i, j] != 0.0:
                factor = system[i, j] / pivot
                for k in range(j + 1, i + 1):
                    system[i, k] -= factor * system[k, j]
        for i in range(j + 1, size):
            system[i, j] /= pivot
    for j in range(size):
        if system[j, j] == 0.0:
            x[j] = 0.0
        for i in range(j):
            if system[i, i] != 0.0:
                x[j] -= system[j, i] * x[i]
        if system[j, j] == 0.0:
            x[j] = 0.0
    for j in range(size):
        if system[j, j] != 0.0:
            x[j] /= system[j, j]
    for j in range(size - 1, -1, -1):
        for i in range(j + 1, size):
            x[j] -= system[i, j] * x[i]
