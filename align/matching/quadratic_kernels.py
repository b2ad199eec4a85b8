"""Matchings with a bonus for consecutive links: the kernels of :mod:`align.matching.quadratic`."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from align.core.kernels import kernel
from align.matching import assignment as matching

Arrays: TypeAlias = tuple[np.ndarray, ...]

# The step length is halved after so many steps in a row that did not lower the bound.
_PATIENCE = 5

# Rounds of the local search: each goes once through all moves.
_ROUNDS = 20

# A move has to gain more than rounding may.
_LEAST = 1e-12


@kernel
def solve_block(
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
    edges, size = 0, 0
    for pair in range(len(shapes)):
        edges = max(edges, shapes[pair, 0] * shapes[pair, 1])
        size = max(size, shapes[pair, 0], shapes[pair, 1])
    reals, found = np.empty((3, edges)), np.empty((2, edges), dtype=np.bool_)
    prices, wholes = matching.scratch(shapes)
    targets = np.empty((3, size), dtype=np.int64)
    work = (reals, found, prices, wholes, targets)
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        first, last = offsets[pair], offsets[pair + 1]
        values[pair], bounds[pair] = _solve_pair(
            theta[first:last], bonus[first:last], n, m, steps, tolerance, work
        )
        for j in range(n):
            if targets[0, j] >= 0:
                links[first + j * m + targets[0, j]] = True


@kernel
def _solve_pair(
    theta: np.ndarray, bonus: np.ndarray, n: int, m: int, steps: int, tolerance: float, work: Arrays
) -> tuple[float, float]:
    """Leave the target of each source word, or -1, in ``work[4][0]``; return (value, bound)."""
    reals, found, prices, wholes, targets = work
    split, adjusted, linked = reals[0, : n * m], reals[1, : n * m], found[0, : n * m]
    best, bound, scale, waited = 0.0, np.inf, 1.0, 0
    targets[0, :n] = -1
    _halve(bonus, n, m, split)
    for _ in range(steps):
        _adjust(theta, bonus, split, n, m, adjusted)
        matching.solve_pair(adjusted, n, m, linked, prices, wholes)
        upper = 0.0
        for edge in range(n * m):
            if linked[edge]:
                upper += adjusted[edge]
        waited = 0 if upper < bound else waited + 1
        bound = min(bound, upper)
        _targets_of(linked, n, m, targets[1])
        value = _value(theta, bonus, n, m, targets[1])
        slack = tolerance * (1.0 + abs(bound))
        if value > best + _LEAST:
            best = value
            targets[0, :n] = targets[1, :n]
            if bound - best > slack:
                best = _improve(theta, bonus, n, m, best, work)
        if bound - best <= slack:
            break
        if waited == _PATIENCE:
            scale, waited = 0.5 * scale, 0
        if not _descend(linked, bonus, n, m, scale * (upper - best), split):
            break
    return best, max(bound, best)


@kernel
def _halve(bonus: np.ndarray, n: int, m: int, split: np.ndarray) -> None:
    """Start with half of each bonus at the first of its two edges; there is none without a second."""
    split[:] = 0.0
    for j in range(n - 1):
        for k in range(m - 1):
            split[j * m + k] = 0.5 * bonus[j * m + k]


@kernel
def _adjust(
    theta: np.ndarray, bonus: np.ndarray, split: np.ndarray, n: int, m: int, adjusted: np.ndarray
) -> None:
    """Fill ``adjusted`` with the weights and each edge's parts of its two bonuses."""
    for edge in range(n * m):
        adjusted[edge] = theta[edge] + split[edge]
    for j in range(n - 1):
        for k in range(m - 1):
            edge = j * m + k
            adjusted[edge + m + 1] += bonus[edge] - split[edge]


@kernel
def _descend(linked: np.ndarray, bonus: np.ndarray, n: int, m: int, excess: float, split: np.ndarray) -> bool:
    """Move ``split`` by a step of Polyak's length against the subgradient; False where this is 0.

    The subgradient of a bonus is y_jk - y_(j+1)(k+1); what would leave [0, bonus] does not count.
    """
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
def _value(theta: np.ndarray, bonus: np.ndarray, n: int, m: int, targets: np.ndarray) -> float:
    total = 0.0
    for j in range(n):
        k = targets[j]
        if k >= 0:
            total += theta[j * m + k]
            if j + 1 < n and targets[j + 1] == k + 1:
                total += bonus[j * m + k]
    return total


@kernel
def _improve(theta: np.ndarray, bonus: np.ndarray, n: int, m: int, best: float, work: Arrays) -> float:
    """Improve ``targets[0]`` by local search; return its value.

    Moves: the best matching when each bonus is given for granted where its other edge is linked; a link put
    in the place of those of its two words, or taken out; the targets of two words exchanged; a run of
    consecutive links moved by one word of either side.
    """
    targets = work[4]
    current, trial = targets[0], targets[2]
    trial[:n] = current[:n]
    for _ in range(_ROUNDS):
        before = best
        best = _linearised(theta, bonus, n, m, best, work)
        for j in range(n):
            for k in range(m):
                edge = j * m + k
                most = theta[edge] + bonus[edge]
                if j > 0 and k > 0:
                    most += bonus[edge - m - 1]
                if current[j] == k:
                    trial[j] = -1
                    best = _keep(theta, bonus, n, m, best, current, trial)
                elif most > 0.0:
                    _put(trial, n, j, k)
                    best = _keep(theta, bonus, n, m, best, current, trial)
        for j in range(n):
            for other in range(j):
                if current[j] >= 0 and current[other] >= 0:
                    trial[j], trial[other] = current[other], current[j]
                    best = _keep(theta, bonus, n, m, best, current, trial)
        best = _move_runs(theta, bonus, n, m, best, current, trial)
        if best <= before:
            break
    return best


@kernel
def _linearised(theta: np.ndarray, bonus: np.ndarray, n: int, m: int, best: float, work: Arrays) -> float:
    reals, found, prices, wholes, targets = work
    current, trial, weights, linked = targets[0], targets[2], reals[2, : n * m], found[1, : n * m]
    weights[:] = theta
    for j in range(n):
        k = current[j]
        if k >= 0 and j + 1 < n and k + 1 < m:
            weights[(j + 1) * m + k + 1] += bonus[j * m + k]
        if k > 0 and j > 0:
            weights[(j - 1) * m + k - 1] += bonus[(j - 1) * m + k - 1]
    matching.solve_pair(weights, n, m, linked, prices, wholes)
    _targets_of(linked, n, m, trial)
    return _keep(theta, bonus, n, m, best, current, trial)


@kernel
def _move_runs(
    theta: np.ndarray,
    bonus: np.ndarray,
    n: int,
    m: int,
    best: float,
    current: np.ndarray,
    trial: np.ndarray,
) -> float:
    first = 0
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
                    best = _keep(theta, bonus, n, m, best, current, trial)
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
def _keep(
    theta: np.ndarray,
    bonus: np.ndarray,
    n: int,
    m: int,
    best: float,
    current: np.ndarray,
    trial: np.ndarray,
) -> float:
    """Take ``trial`` if it is better than ``current``, whose value is ``best``; they are equal afterwards."""
    value = _value(theta, bonus, n, m, trial)
    if value > best + _LEAST:
        current[:n] = trial[:n]
        return value
    trial[:n] = current[:n]
    return best
