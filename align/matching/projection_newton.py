"""The semismooth Newton step of the projections onto matchings (:mod:`align.matching.projection_kernels`)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from align.core.kernels import kernel

Side: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]

# How often prices that meet 0 are held there and the step is found anew.
_HOLDS = 12
# Words whose entries are all 0 at present have no curvature of their own.
_LEAST_CURVATURE = 1e-2


@kernel
def newton_step(
    many: Side,
    u: np.ndarray,
    v: np.ndarray,
    entropic: bool,
    sums: tuple[np.ndarray, ...],
    work: tuple[np.ndarray, ...],
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
    sums: tuple[np.ndarray, ...],
    work: tuple[np.ndarray, ...],
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
