"""Matchings in which consecutive links earn a bonus: quadratic assignment, with a certificate.

Where source words j, j + 1 are linked to target words k, k + 1, the two links earn more than each by itself
([1]_, section 3.2). For a pair of n source and m target words with weights theta and bonuses b >= 0 the task
is

    max  sum_jk theta_jk y_jk + sum_jk b_jk y_jk y_(j+1)(k+1)    over matchings y.

It is NP-hard in general; what is found here comes with a bound on the maximum. With z_jk <= y_jk and
z_jk <= y_(j+1)(k+1) for the product it is a linear program once fractions are allowed (:func:`relaxation`).
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
from align.core.kernels import kernel
from align.matching import assignment
from align.matching.assignment import checked_block, largest

# The step length is halved after so many steps in a row that did not lower the bound.
_PATIENCE = 5

# Rounds of the local search: each goes once through all moves.
_ROUNDS = 20

# A move has to gain more than rounding may.
_LEAST = 1e-12


class Solution(NamedTuple):
    """Links of the N pairs of a block, and how good they are."""

    links: np.ndarray  # bool, shape (E,): a matching of each pair
    values: np.ndarray  # float64, shape (N,): their values, >= 0
    bounds: np.ndarray  # float64, shape (N,): what no matching of the pair exceeds, >= ``values``


class Relaxed(NamedTuple):
    """A solution of the linear program of one pair."""

    links: np.ndarray  # float64, shape (n, m), in [0, 1]
    value: float  # the maximum of the program, no less than that of any matching
    integral: bool  # whether the links are a matching, which then is a best one


class _Pair(NamedTuple):
    """What is solved: weights and bonuses of the edges of n x m words, row by row."""

    theta: np.ndarray
    bonus: np.ndarray
    n: int
    m: int


class _Work(NamedTuple):
    """Working memory."""

    reals: np.ndarray  # (3, E): the first edge's part of each bonus, adjusted weights, the local search's
    found: np.ndarray  # bool, (2, E): matchings by the last two
    matching: assignment.Work
    targets: np.ndarray  # (3, n): target of each source word, or -1: the best, the one found last, one tried


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

    Parameters
    ----------
    theta, shapes, offsets
        Weights of the edges, and the pairs they belong to, as of :func:`align.matching.assignment.solve`.
    bonus : ndarray of float64, shape (E,)
        b_jk, finite, >= 0: what is earned if both (j, k) and (j + 1, k + 1) are linked; those of last words
        are not read.
    steps : int
        At worth so many matchings a pair for the bound, >= 1.
    tolerance : float
        Stop where bound - value <= tolerance * (1 + bound), >= 0.

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, a bonus is so or negative, the arrays do not fit each other, or an
        option is out of its range.
    """
    if steps < 1 or not tolerance >= 0:
        raise ValueError(f"quadratic: {steps} steps, tolerance {tolerance}; give 1 or more, and 0 or more")
    theta, shapes, offsets = checked_block("quadratic", theta, shapes, offsets)
    bonus, _, _ = checked_block("quadratic", bonus, shapes, offsets)
    if not len(theta) == len(bonus) == offsets[-1]:
        raise ValueError(f"quadratic: {len(theta)} weights and {len(bonus)} bonuses of {offsets[-1]} edges")
    if bonus.min(initial=0) < 0:
        raise ValueError("quadratic: a bonus is negative; give finite ones >= 0")
    links, values, bounds = np.zeros(len(theta), dtype=np.bool_), *np.empty((2, len(shapes)))
    _solve_block(theta, bonus, shapes, offsets, int(steps), float(tolerance), links, values, bounds)
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
    """Solve the linear program of one pair by HiGHS.

    Parameters
    ----------
    theta : ndarray of float64, shape (n, m)
        Weights, finite.
    bonus : ndarray of float64, shape (n, m)
        Bonuses, finite, >= 0.
    integral : bool
        Whether fractions are forbidden: the quadratic assignment itself, by branch and bound.

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
    if not np.isfinite([theta, bonus]).all() or bonus.min(initial=0) < 0:
        raise ValueError("quadratic: a weight or bonus is NaN or infinite, or a bonus negative; give others")
    links = np.zeros(theta.shape)
    # An edge that is worth nothing with both its bonuses can be left out of any solution.
    worth = theta.copy()
    worth[:-1, :-1] += bonus[:-1, :-1]
    worth[1:, 1:] += bonus[:-1, :-1]
    rows, columns = np.nonzero(worth > 0)
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
    scale = worth.max()  # the tolerances of HiGHS are absolute: weights are brought to the order of 1 first
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


@kernel
def _solve_block(
    theta: np.ndarray,
    bonus: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    steps: int,
    tolerance: float,
    links: np.ndarray,
    values: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Solve every pair of a block into ``links`` (E,), ``values`` and ``bounds`` (N,)."""
    size, edges = largest(shapes)
    reals, found = np.empty((3, edges)), np.empty((2, edges), dtype=np.bool_)
    targets = np.empty((3, size), dtype=np.int64)
    work = _Work(reals, found, assignment.scratch(shapes), targets)
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        first, last = offsets[i], offsets[i + 1]
        pair = _Pair(theta[first:last], bonus[first:last], n, m)
        values[i], bounds[i] = _solve_pair(pair, steps, tolerance, work)
        for j in range(n):
            if targets[0, j] >= 0:
                links[first + j * m + targets[0, j]] = True


@kernel
def _solve_pair(pair: _Pair, steps: int, tolerance: float, work: _Work) -> tuple[float, float]:
    """Leave the target of each source word, or -1, in ``work.targets[0]``; return (value, bound)."""
    _, bonus, n, m = pair
    reals, found, matching, targets = work
    split, adjusted, linked = reals[0, : n * m], reals[1, : n * m], found[0, : n * m]
    best, bound, scale, waited = 0.0, np.inf, 1.0, 0
    targets[0, :n] = -1
    # start with half of each bonus at the first of its two edges; there is none without a second
    split[:] = 0.5 * bonus
    split.reshape(n, m)[-1:, :] = 0.0
    split.reshape(n, m)[:, -1:] = 0.0
    for _ in range(steps):
        _adjust(pair, split, adjusted)
        assignment.solve_pair(adjusted, n, m, linked, matching)
        upper = 0.0
        for edge in range(n * m):
            if linked[edge]:
                upper += adjusted[edge]
        waited = 0 if upper < bound else waited + 1
        bound = min(bound, upper)
        _targets_of(linked, n, m, targets[1])
        value = _value(pair, targets[1])
        slack = tolerance * (1.0 + abs(bound))
        if value > best + _LEAST:
            best = value
            targets[0, :n] = targets[1, :n]
            if bound - best > slack:
                best = _improve(pair, best, work)
        if bound - best <= slack:
            break
        if waited == _PATIENCE:
            scale, waited = 0.5 * scale, 0
        if not _descend(pair, linked, scale * (upper - best), split):
            break
    return best, max(bound, best)


@kernel
def _adjust(pair: _Pair, split: np.ndarray, adjusted: np.ndarray) -> None:
    """Fill ``adjusted`` with the weights and each edge's parts of its two bonuses."""
    theta, bonus, n, m = pair
    adjusted[:] = theta + split
    rest = (bonus - split).reshape(n, m)
    if n > 0 and m > 0:
        adjusted.reshape(n, m)[1:, 1:] += rest[:-1, :-1]


@kernel
def _descend(pair: _Pair, linked: np.ndarray, excess: float, split: np.ndarray) -> bool:
    """Move ``split`` by a step of Polyak's length against the subgradient; False where this is 0.

    The subgradient of a bonus is y_jk - y_(j+1)(k+1); what would leave [0, bonus] does not count.
    """
    _, bonus, n, m = pair
    square = 0.0
    for j in range(n - 1):
        for k in range(m - 1):
            edge = j * m + k
            if linked[edge] != linked[edge + m + 1]:
                room = split[edge] if linked[edge] else bonus[edge] - split[edge]
                square += 1.0 if room > 0.0 else 0.0
    if square == 0.0:
        return False
    length = excess / square
    for j in range(n - 1):
        for k in range(m - 1):
            edge = j * m + k
            if linked[edge] and not linked[edge + m + 1]:
                split[edge] = max(split[edge] - length, 0.0)
            elif linked[edge + m + 1] and not linked[edge]:
                split[edge] = min(split[edge] + length, bonus[edge])
    return True


@kernel
def _targets_of(linked: np.ndarray, n: int, m: int, targets: np.ndarray) -> None:
    for j in range(n):
        targets[j] = -1
        for k in range(m):
            if linked[j * m + k]:
                targets[j] = k


@kernel
def _value(pair: _Pair, targets: np.ndarray) -> float:
    theta, bonus, n, m = pair
    total = 0.0
    for j in range(n):
        k = targets[j]
        if k >= 0:
            total += theta[j * m + k]
            if j + 1 < n and targets[j + 1] == k + 1:
                total += bonus[j * m + k]
    return total


@kernel
def _improve(pair: _Pair, best: float, work: _Work) -> float:
    """Improve ``targets[0]`` by local search; return its value.

    Moves: the best matching when each bonus is given for granted where its other edge is linked; a link put
    in the place of those of its two words, or taken out; the targets of two words exchanged; a run of
    consecutive links moved by one word of either side.
    """
    theta, bonus, n, m = pair
    current, trial = work.targets[0], work.targets[2]
    trial[:n] = current[:n]
    for _ in range(_ROUNDS):
        before = best
        best = _linearised(pair, best, work)
        for j in range(n):
            for k in range(m):
                edge = j * m + k
                worth = theta[edge] + bonus[edge]
                if j > 0 and k > 0:
                    worth += bonus[edge - m - 1]
                if current[j] == k:
                    trial[j] = -1
                    best = _keep(pair, best, current, trial)
                elif worth > 0.0:
                    _put(trial, n, j, k)
                    best = _keep(pair, best, current, trial)
        for j in range(n):
            for other in range(j):
                if current[j] >= 0 and current[other] >= 0:
                    trial[j], trial[other] = current[other], current[j]
                    best = _keep(pair, best, current, trial)
        best = _move_runs(pair, best, current, trial)
        if best <= before:
            break
    return best


@kernel
def _linearised(pair: _Pair, best: float, work: _Work) -> float:
    theta, bonus, n, m = pair
    reals, found, matching, targets = work
    current, trial, weights, linked = targets[0], targets[2], reals[2, : n * m], found[1, : n * m]
    weights[:] = theta
    for j in range(n):
        k = current[j]
        if k >= 0 and j + 1 < n and k + 1 < m:
            weights[(j + 1) * m + k + 1] += bonus[j * m + k]
        if k > 0 and j > 0:
            weights[(j - 1) * m + k - 1] += bonus[(j - 1) * m + k - 1]
    assignment.solve_pair(weights, n, m, linked, matching)
    _targets_of(linked, n, m, trial)
    return _keep(pair, best, current, trial)


@kernel
def _move_runs(pair: _Pair, best: float, current: np.ndarray, trial: np.ndarray) -> float:
    n, m, first = pair.n, pair.m, 0
    while first < n:
        last = first
        while current[first] >= 0 and last + 1 < n and current[last + 1] == current[last] + 1:
            last += 1
        if current[first] >= 0:
            for source, target in ((0, -1), (0, 1), (-1, 0), (1, 0)):
                start, end = current[first], current[last]
                fits = first + source >= 0 and last + source < n and start + target >= 0 and end + target < m
                # A move that was kept has changed the run: the rest of its moves wait for the next round.
                if fits and end - start == last - first and start >= 0:
                    for j in range(first, last + 1):
                        trial[j] = -1
                    for step in range(last - first + 1):
                        _put(trial, n, first + source + step, start + target + step)
                    best = _keep(pair, best, current, trial)
        first = last + 1
    return best


@kernel
def _put(targets: np.ndarray, n: int, j: int, k: int) -> None:
    """Link j and k, which lose the links they have."""
    for other in range(n):
        if targets[other] == k:
            targets[other] = -1
    targets[j] = k


@kernel
def _keep(pair: _Pair, best: float, current: np.ndarray, trial: np.ndarray) -> float:
    """Take ``trial`` if it is better than ``current``, whose value is ``best``; they are equal afterwards."""
    n, value = pair.n, _value(pair, trial)
    if value > best + _LEAST:
        current[:n] = trial[:n]
        return value
    trial[:n] = current[:n]
    return best
