"""Projections onto the matching polytope, by Euclidean distance and by relative entropy.

The matching polytope of a pair of n source and m target words is the convex hull of its matchings,

    Z = {z >= 0, row sums <= 1, column sums <= 1},    z of shape (n, m).

The Euclidean projection of a is the quadratic matching flow of [1]_; that by relative entropy
minimises sum_jk z_jk (log z_jk - a_jk) - z_jk, where a are logarithms: the I-projection of exp(a), for which
[2]_ prove that scaling with Dykstra's correction converges. Both are z_jk = phi(a_jk - u_j - v_k) with prices
u, v >= 0 of the words that minimise the dual

    Phi(a - u - v) + sum_j u_j + sum_k v_k,    Phi' = phi,

phi(x) = max(0, x) for the Euclidean one, exp(x) for that by negative entropy. A round gives first one side,
then the other, the prices that are best given the other side's (for exp: Dykstra's corrected scaling), which
always leads to the minimum but slowly; then a semismooth Newton step on all prices that are not held at 0 is
taken if it brings the minimum nearer. Its system is reduced to the words of the side with fewer words. No row
or column is off by more than about 1e-11 in the end, by 1e-7 where rounds run out; what is above 1 is then
divided away.

References
----------
.. [1] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006.
.. [2] H. H. Bauschke and A. S. Lewis, "Dykstra's algorithm with Bregman projections: a convergence proof",
   Optimization 48, 2000.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from align.core.errors import WorkError
from align.core.kernels import Arrays, kernel
from align.matching import assignment
from align.matching.assignment import checked_block

# Entries that may be above 0, word by word of one side: where those of each word start, the words of the
# other side, and the values.
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
        Points, finite. With ``entropic`` logarithms of positive points: minus infinity stands for 0, and
        those below -60 are taken for 0.
    shapes, offsets
        The pairs they belong to, as of :func:`align.matching.assignment.solve`.
    entropic : bool
        Whether points are measured by relative entropy instead of Euclidean distance.

    Returns
    -------
    ndarray of float64, shape (E,)
        In [0, 1]; row and column sums <= 1, up to rounding.

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
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        own = slice(offsets[pair], offsets[pair + 1])
        if not project_pair(a[own], n, m, entropic, np.empty(0), z[own])[0]:
            return pair
    return -1


@kernel
def project_pair(
    a: np.ndarray, n: int, m: int, entropic: bool, start: np.ndarray, z: np.ndarray
) -> tuple[bool, np.ndarray, np.ndarray]:
    """Project one pair: ``a`` (n * m,) row by row, ``z`` (n * m,) is overwritten.

    With ``entropic``, ``a`` holds logarithms. Returned are whether this succeeds (if not, ``z`` is in the
    polytope, but not the projection), and the prices of the shorter side and of the longer side (of the
    target where both are as long). ``start`` holds prices of the longer side to start from; where it is
    empty, they are those of the assignment problem with weights ``a``: near the solution where ``a`` is so
    far outside that it is all but a matching.
    """
    turned, least = n > m, _LEAST_LOGARITHM if entropic else _LEAST
    points = a.reshape(n, m)
    rows, columns = _entries(points, least), _entries(points.T, least)
    few, many = (columns, rows) if turned else (rows, columns)
    starts, words, values = few
    scale, v = 0.0, np.zeros(max(n, m))
    for e in range(starts[-1]):
        scale = max(scale, values[e])
    if len(start) > 0:
        v[:] = start
    elif scale > 1.0:
        work, links = assignment.scratch(np.array([[n, m]])), np.empty(n * m, dtype=np.bool_)
        assignment.solve_pair(np.maximum(a, least), n, m, links, work)
        v[:] = np.maximum(work.reals[1], 0.0)
    solved, u, v = _minimise(few, many, v, entropic, (1e-10 if entropic else 1e-11) + 4e-16 * scale)
    z[:] = 0.0
    for j in range(len(u)):
        for e in range(starts[j], starts[j + 1]):
            k = words[e]
            z[k * m + j if turned else j * m + k] = _entry(values[e] - u[j] - v[k], entropic)
    _shrink(z, n, m)  # a dual value is a lower bound only for points of the polytope
    return solved, u, v


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
def _entries(a: np.ndarray, least: float) -> Side:
    """List the entries of a matrix that are above ``least``, row by row."""
    n, m = a.shape
    starts, words, values = np.zeros(n + 1, dtype=np.int64), np.empty(n * m, dtype=np.int64), np.empty(n * m)
    count = 0
    for j in range(n):
        for k in range(m):
            if a[j, k] > least:
                words[count], values[count] = k, a[j, k]
                count += 1
        starts[j + 1] = count
    return starts, words, values


@kernel
def _minimise(
    few: Side, many: Side, v: np.ndarray, entropic: bool, tolerance: float
) -> tuple[bool, np.ndarray, np.ndarray]:
    """Return the best prices u and v, starting from v, and whether every sum is as near as allowed."""
    u = np.empty(len(few[0]) - 1)
    off, value, balance, daring = np.inf, np.inf, True, False
    for _ in range(_ROUNDS):
        if balance:
            _best_prices(few, u, v, entropic)
            _best_prices(many, v, u, entropic)
            off, value, sums = _measure(few, u, v, entropic)
        if off <= tolerance:
            return True, u, v
        step_u, step_v = _newton_step(many, u, v, entropic, sums)
        share, balance = 1.0, True
        for shortening in range(_SHORTENINGS):
            next_u, next_v = np.maximum(0.0, u + share * step_u), np.maximum(0.0, v + share * step_v)
            off_next, value_next, sums_next = _measure(few, next_u, next_v, entropic)
            rise = _rise(u, next_u) + _rise(v, next_v)
            # values differ by less than their rounding near the minimum: there the sums decide; and where no
            # step is better, for the curve between bounds is narrow, every other time a whole one is taken
            better = off_next <= _LESS * off or value_next + rise < value - 1e-10
            if better or (shortening == 0 and daring):
                daring = False
                balance = better and off_next > _LESS * off
                u, v, sums = next_u, next_v, sums_next
                off, value = off_next, value_next
                break
            share *= 0.25
        else:
            daring = True
    return off <= _ENOUGH, u, v


@kernel
def _rise(before: np.ndarray, after: np.ndarray) -> float:
    """Return by how much prices rise in sum."""
    rise = 0.0
    for j in range(len(before)):
        rise += after[j] - before[j]
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
def _measure(few: Side, u: np.ndarray, v: np.ndarray, entropic: bool) -> tuple[float, float, Arrays]:
    """Return how far a sum is off, the sum of Phi, and sums and curvatures of the entries of each word."""
    sum_u, sum_v, curve_u, curve_v = np.empty(len(u)), np.zeros(len(v)), np.empty(len(u)), np.zeros(len(v))
    starts, words, values = few
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
    return off, value, (sum_u, sum_v, curve_u, curve_v)


@kernel
def _newton_step(
    many: Side, u: np.ndarray, v: np.ndarray, entropic: bool, sums: Arrays
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Newton step of all prices, of which none may fall below 0.

    Prices at 0 that do not want to rise stay; where the step leads others below 0, these fall to 0 and the
    step of the rest is found anew.
    """
    sum_u, sum_v, _, _ = sums
    starts, words, values = many
    curves = np.empty(len(values))
    held_u, held_v = np.empty(len(u), dtype=np.bool_), np.empty(len(v), dtype=np.bool_)
    for j in range(len(u)):
        held_u[j] = u[j] == 0.0 and sum_u[j] <= 1.0
    for k in range(len(v)):
        held_v[k] = v[k] == 0.0 and sum_v[k] <= 1.0
        for e in range(starts[k], starts[k + 1]):
            curves[e] = _curvature(values[e] - u[words[e]] - v[k], entropic)
    for _ in range(_HOLDS):
        step_u, step_v = _reduced_step(many, u, v, sums, curves, held_u, held_v)
        # only those that meet 0 first: the others may not, once these stay
        first = 1.0
        for prices, steps in ((u, step_u), (v, step_v)):
            for j in range(len(prices)):
                if prices[j] + first * steps[j] < 0.0:
                    first = prices[j] / -steps[j]
        if first == 1.0:
            break
        for prices, steps, holds in ((u, step_u, held_u), (v, step_v, held_v)):
            for j in range(len(prices)):
                if not holds[j] and prices[j] + min(1.0, 2.0 * first + 1e-12) * steps[j] < 0.0:
                    holds[j] = True
    return step_u, step_v


@kernel
def _reduced_step(
    many: Side,
    u: np.ndarray,
    v: np.ndarray,
    sums: Arrays,
    curves: np.ndarray,
    held_u: np.ndarray,
    held_v: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Newton step of prices that are not held; those that are fall to 0."""
    sum_u, sum_v, curve_u, curve_v = sums
    starts, words, _ = many
    short = len(u)
    system, step_u, step_v = np.zeros((short, short)), np.empty(short), np.empty(len(v))
    for j in range(short):
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
    solve_semidefinite(system, step_u)
    for k in range(len(v)):
        if held_v[k]:
            continue
        for e in range(starts[k], starts[k + 1]):
            if not held_u[words[e]]:
                step_v[k] -= curves[e] * step_u[words[e]]
        step_v[k] /= max(curve_v[k], _LEAST_CURVATURE)
    return step_u, step_v


@kernel
def _curvature(x: float, entropic: bool) -> float:
    """Return phi'(x)."""
    if entropic:
        return np.exp(x) if x > -34.5 else 0.0
    return 1.0 if x > 0.0 else 0.0


@kernel
def solve_semidefinite(system: np.ndarray, x: np.ndarray) -> None:
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
