"""How a cost grows with the number of pairs: cost = a n^b, and cost = c + a n^b with what every run costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Exponents that are tried for the cost with a constant.
_EXPONENTS = np.linspace(0.3, 2.5, 441)

# A fit with a constant stands on so many sizes at least, and its exponent moves by no more than this when any
# one size is left out.
_SIZES, _MOVES = 4, 0.15


@dataclass(frozen=True)
class Power:
    """cost(n) = constant + factor * n ** exponent."""

    factor: float
    exponent: float
    constant: float = 0.0

    def at(self, size: float) -> float:
        """Return the cost of so many pairs."""
        return self.constant + self.factor * float(size) ** self.exponent


def fit(sizes: Sequence[float], costs: Sequence[float]) -> Power | None:
    """Fit cost = a n^b by least squares on logarithms.

    Parameters
    ----------
    sizes, costs : sequence of float
        Of the same length; a size may occur several times. Costs of 0 or less are left out.

    Returns
    -------
    Power or None
        None where fewer than two different sizes are left.
    """
    n, cost = _positive(sizes, costs)
    if len(np.unique(n)) < 2:
        return None
    slope, level = np.polyfit(np.log(n), np.log(cost), 1)
    return Power(float(np.exp(level)), float(slope))


def fit_with_constant(sizes: Sequence[float], costs: Sequence[float]) -> Power | None:
    """Fit cost = c + a n^b, c >= 0, a > 0, by least squares of relative errors, where the fit is stable.

    Parameters
    ----------
    sizes, costs : sequence of float
        As for :func:`fit`.

    Returns
    -------
    Power or None
        None where there are fewer than four sizes, the best exponent is at an end of the range tried
        (0.3 to 2.5), or it moves by more than 0.15 when one of the sizes is left out.
    """
    n, cost = _positive(sizes, costs)
    kinds = np.unique(n)
    if len(kinds) < _SIZES:
        return None
    found = _best(n, cost)
    others = [_best(n[n != kind], cost[n != kind]) for kind in kinds]
    if found is None or any(other is None for other in others):
        return None
    moved = max(abs(other.exponent - found.exponent) for other in others if other is not None)
    return found if moved <= _MOVES else None


def last_line(sizes: Sequence[float], costs: Sequence[float]) -> Power | None:
    """Return the straight line through the median costs of the two largest sizes, None where it falls."""
    n, cost = _positive(sizes, costs)
    kinds = np.unique(n)[-2:].tolist()
    if len(kinds) < 2:
        return None
    before, last = (float(np.median(cost[n == kind])) for kind in kinds)
    slope = (last - before) / (kinds[1] - kinds[0])
    return Power(slope, 1.0, last - slope * kinds[1]) if slope > 0 else None


def _best(n: np.ndarray, cost: np.ndarray) -> Power | None:
    best, least = None, np.inf
    for place, exponent in enumerate(_EXPONENTS.tolist()):
        columns = np.stack([1 / cost, n**exponent / cost], axis=1)
        (constant, factor), _, rank, _ = np.linalg.lstsq(columns, np.ones(len(n)), rcond=None)
        if constant < 0 or rank < 2:
            constant = 0.0
            factor = columns[:, 1].sum() / (columns[:, 1] ** 2).sum()
        error = float(((constant * columns[:, 0] + factor * columns[:, 1] - 1) ** 2).sum())
        if factor > 0 and error < least:
            least, best = error, (place, Power(float(factor), float(exponent), float(constant)))
    if best is None or best[0] in (0, len(_EXPONENTS) - 1):
        return None
    return best[1]


def _positive(sizes: Sequence[float], costs: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    n, cost = np.asarray(sizes, dtype=float), np.asarray(costs, dtype=float)
    kept = (n > 0) & (cost > 0)
    return n[kept], cost[kept]
