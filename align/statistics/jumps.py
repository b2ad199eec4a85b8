r"""Jumps: how far from the last linked word's place the next one's is, by the word jumped from.

Observed words that follow one another were mostly made by hidden words that stand close together. Where the
last linked word was made by the hidden word at place a, and the next one by that at place b, the jump is
d = b - a; its probability is

    p(d | c, g) = (n(c, g, d) + K p(d | g)) / (n(c, g) + K),
    p(d | g) = (n(g, d) + K_0 p(d)) / (n(g) + K_0),       p(d) ~ n(d) + b,

n being counts of jumps, c the class of the hidden word jumped from and g, the gap, how many observed words
further on the next linked one is: NULL made those between. Frequent words are a class each: what follows an
article differs from what follows a full stop. The rare ones share a class, and the beginning of a sentence,
from where its first link is jumped to, is one by itself.

Distributions by class are those of [1]_, there of clusters of words, here of words, smoothed.

References
----------
.. [1] F. J. Och and H. Ney, "A Systematic Comparison of Various Statistical Alignment Models",
   Computational Linguistics 29, 2003, sections 2.1.1 and 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# The class of the beginning of a sentence, and of words that are too rare for one of their own.
BEGINNING, OTHERS = 0, 1

# Gaps that are told apart: 1, 2, and this and more.
GAPS = 3

# Dirichlet parameter of a jump, in counts a distance.
JUMP = 0.5

# Weights of the distributions that others are smoothed by, in counts: of the gap's (K) and of all (K_0).
OF_GAP, OF_ALL = 100.0, 20.0

# Words with a class of their own occur so often, and are so many at most.
_LEAST_COUNT, MOST_CLASSES = 100, 1500

# Numbers that the counts of a corpus take at most: with long sentences fewer words have a class.
MOST_NUMBERS = 1_000_000


def word_classes(counts: np.ndarray, longest: int) -> np.ndarray:
    """Return the class of each hidden word.

    Parameters
    ----------
    counts : ndarray of int, shape (V,)
        Occurrences.
    longest : int
        The longest jump, >= 0.

    Returns
    -------
    ndarray of int32, shape (V,)
        ``OTHERS``, or a number above it that no other word has, the most frequent word's first; of words
        equally frequent the one of the lower id.
    """
    room = min(MOST_CLASSES, MOST_NUMBERS // (GAPS * (2 * longest + 1)))
    order = np.argsort(-counts.astype(np.int64), kind="stable")[:room]
    order = order[counts[order] >= _LEAST_COUNT]
    classes = np.full(len(counts), OTHERS, dtype=np.int32)
    classes[order] = np.arange(OTHERS + 1, OTHERS + 1 + len(order))
    return classes


@dataclass(frozen=True)
class Jumps:
    """Counts of jumps from the hidden words of one direction, C classes.

    Attributes
    ----------
    counts : ndarray, shape (C, GAPS, 2 L + 1)
        Jumps by d places from a word of a class, over a gap, at index L + d; >= 0.
    classes : ndarray of int32, shape (V,)
        The class of each hidden word, ``OTHERS`` to C - 1.
    """

    counts: np.ndarray
    classes: np.ndarray

    @classmethod
    def none(cls, classes: np.ndarray, longest: int) -> Jumps:
        """Return counts of no jump yet, int64, for jumps of at most so many places."""
        count = int(classes.max(initial=OTHERS)) + 1
        return cls(np.zeros((count, GAPS, 2 * longest + 1), dtype=np.int64), classes)

    @property
    def longest(self) -> int:
        """The longest jump L."""
        return self.counts.shape[2] // 2

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The probabilities p(d | c, g), float32, shape (C, GAPS, 2 L + 1), of counts that stay."""
        return self.smoothed()

    def smoothed(self) -> np.ndarray:
        """Return the probabilities of the counts as they are now."""
        by_gap = self.counts.sum(axis=0, dtype=np.float64)
        overall = by_gap.sum(axis=0) + JUMP
        by_gap += OF_ALL * overall / overall.sum()
        by_gap /= by_gap.sum(axis=1, keepdims=True)
        of_class = self.counts.sum(axis=2, dtype=np.float64, keepdims=True)
        found: np.ndarray = ((self.counts + OF_GAP * by_gap) / (of_class + OF_GAP)).astype(np.float32)
        return found

    def renumbered(self, ids: np.ndarray, size: int) -> Jumps:
        """Return these counts for another vocabulary of so many words.

        ``ids``, int (V,), are the numbers there of these words, -1 for none; new words are ``OTHERS``.
        """
        classes = np.full(size, OTHERS, dtype=np.int32)
        classes[ids[ids >= 0]] = self.classes[ids >= 0]
        return Jumps(self.counts, classes)

    def moved(self, classes: np.ndarray, longest: int) -> Jumps:
        """Return these counts, float32, for other classes of the words and another length of jumps.

        Longer jumps are left out. A class that has one word here and there keeps its counts; all others go
        to ``OTHERS``.
        """
        there = Jumps.none(classes, longest)
        goes_to = np.full(len(self.counts), OTHERS)
        goes_to[BEGINNING] = BEGINNING
        own = self.classes > OTHERS
        goes_to[self.classes[own]] = classes[own]
        reach = min(longest, self.longest)
        counts = np.zeros(there.counts.shape, dtype=np.float32)
        np.add.at(
            counts[:, :, longest - reach : longest + reach + 1],
            goes_to,
            self.counts[:, :, self.longest - reach : self.longest + reach + 1],
        )
        return Jumps(counts, classes)

    def plus(self, other: Jumps) -> Jumps:
        """Return the sum of two of the same words and sentences."""
        return Jumps(self.counts + other.counts, self.classes)
