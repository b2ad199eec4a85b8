"""What is told of a figure that was measured in several rounds: median, smallest, largest; ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """The median of some figures, the smallest and the largest of them."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one figure."""
        return cls(float(np.median(values)), float(min(values)), float(max(values)))

    def text(self, decimals: int = 1) -> str:
        """Return ``2.0 (1.9-2.4)``; the median alone where all are the same as written."""
        median, least, most = (f"{value:.{decimals}f}" for value in (self.median, self.least, self.most))
        return median if least == most else f"{median} ({least}-{most})"


def ratios(values: Sequence[float | None], others: Sequence[float | None]) -> list[float]:
    """Return value / other of each round that has both; rounds in which one failed are left out.

    Parameters
    ----------
    values, others : sequence of float or None
        By round.
    """
    return [
        value / other
        for value, other in zip(values, others, strict=True)
        if value is not None and other is not None and other > 0
    ]


def turn(names: Sequence[str], number: int) -> list[str]:
    """Return the names in the order of a round, counted from 0: every other one is backwards."""
    return list(names) if number % 2 == 0 else list(reversed(names))
