"""Where two texts of different numbers of lines stop being parallel.

Lines that translate each other have lengths in a steady ratio. From a missing line on, each line stands
beside its neighbour's translation. With r_i the log ratio of the lengths of pair i, m their median and D
the difference of the counts, a line missing at k leaves the pairs (i, i) before k and (i + D, i) after it:

    k = argmin  sum_{i < k} (r(i, i) - m)^2  +  sum_{i >= k} (r(i + D, i) - m)^2

For texts too long to keep every length, k is where the scatter of r rises: the maximum of the
cumulated-sum statistic | S_k - (k / n) S_n | / sqrt(k (n - k) / n) over blocks of lines [1]_.

References
----------
.. [1] E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954.
"""

from __future__ import annotations

from array import array

import numpy as np

# Lengths of so many pairs are kept; beyond, two sums for each block of lines.
CAPACITY = 1 << 16
BLOCK = 64

# A few bytes are added to each length so that empty and one-word lines do not rule the sums; squared
# distances above the cap all mean "not parallel".
FLOOR, CAP = 10.0, 4.0

# In blocks, the scatter after the place must be at least so many times the scatter before it.
JUMP = 1.5


class LengthTrace:
    """The lengths of the pairs of two files, kept in a quarter of a byte a line."""

    def __init__(self) -> None:
        self._sources, self._targets = array("d"), array("d")
        self._sums: list[np.ndarray] = []  # each (2, blocks): sums of r and of r^2

    def add(self, source: int, target: int) -> None:
        """Take in the lengths, in bytes, of the next two lines."""
        self._sources.append(source)
        self._targets.append(target)
        if len(self._sources) == CAPACITY:
            ratios = _ratios(self._sources, self._targets).reshape(-1, BLOCK)
            self._sums.append(np.stack([ratios.sum(axis=1), np.square(ratios).sum(axis=1)]))
            self._sources, self._targets = array("d"), array("d")

    def suspicion(self, difference: int) -> int | None:
        """Return the line from which the pairs seem shifted.

        Parameters
        ----------
        difference : int
            Lines of the source less lines of the target, not 0.

        Returns
        -------
        int or None
            1-based line; None where no place stands out (the surplus may be at the end).
        """
        if self._sums:
            return _scatter_rise(np.concatenate(self._sums, axis=1))
        return _best_shift(np.array(self._sources), np.array(self._targets), difference)


def _ratios(sources: array[float] | np.ndarray, targets: array[float] | np.ndarray) -> np.ndarray:
    return np.log((np.asarray(sources) + FLOOR) / (np.asarray(targets) + FLOOR))


def _best_shift(sources: np.ndarray, targets: np.ndarray, difference: int) -> int | None:
    if difference < 0:
        sources, targets, difference = targets, sources, -difference
    n = len(sources) - difference
    if n < 4:
        return None
    straight, shifted = _ratios(sources[:n], targets[:n]), _ratios(sources[difference:], targets[:n])
    middle = np.median(straight)
    gain = np.minimum(np.square(straight - middle), CAP) - np.minimum(np.square(shifted - middle), CAP)
    totals = np.concatenate([[0.0], np.cumsum(gain)])
    k = int(np.argmin(totals))
    # The last few pairs fit by chance.
    return k + 1 if k < n - 2 and totals[-1] - totals[k] > CAP / 4 else None


def _scatter_rise(sums: np.ndarray) -> int | None:
    n = sums.shape[1]
    middle = sums[0].sum() / (n * BLOCK)
    scatter = sums[1] - 2 * middle * sums[0] + BLOCK * middle**2
    totals = np.cumsum(scatter)
    k = np.arange(1, n)
    best = int(np.argmax((k / n * totals[-1] - totals[:-1]) / np.sqrt(k * (n - k) / n))) + 1
    return best * BLOCK + 1 if scatter[best:].mean() > JUMP * scatter[:best].mean() else None
