"""Counts of any number of pairs in memory that does not grow, ready for the bootstrap.

The bootstrap of :mod:`align.evaluation.metrics` draws pairs. Of very many pairs it can draw groups of them:
pair i goes to group i mod G, so that a group holds pairs from all over the corpus, and the spread of sums of
resampled groups is that of sums of resampled pairs but for a share of about 1 / sqrt(2 G), 2 in a hundred
here. Up to G pairs each has a group to itself, and nothing is different at all.
"""

from __future__ import annotations

import numpy as np

GROUPS = 1000


class Grouped:
    """Sums of the counts of pairs that come block by block.

    Parameters
    ----------
    columns : int
        Counts a pair.
    """

    def __init__(self, columns: int) -> None:
        self._sums = np.zeros((GROUPS, columns), dtype=np.int64)
        self.pairs = 0

    def add(self, counts: np.ndarray) -> None:
        """Take in the counts of the next pairs, int64, shape (n, columns)."""
        places = (self.pairs + np.arange(len(counts))) % GROUPS
        np.add.at(self._sums, places, counts)
        self.pairs += len(counts)

    @property
    def rows(self) -> np.ndarray:
        """The sums, int64, shape (min(pairs, GROUPS), columns), as the bootstrap takes them."""
        return self._sums[: self.pairs]
