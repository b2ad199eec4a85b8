"""The links of a block of sentence pairs as arrays, and the score of a whole pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BlockLinks:
    """Links between the surface tokens of N sentence pairs.

    The score of a sentence pair is 2 / (n + m) times the sum of the confidences of its links, n and m being
    its words: the share of words that are linked, each as far as its link is trusted. It is in [0, 1]; a pair
    of which only half is translated cannot get more than about a half.

    Attributes
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        The links of pair i are ``offsets[i]:offsets[i + 1]``, sorted by source, then target token.
    source, target : ndarray of int32, shape (L,)
        Surface tokens, counted within the line.
    score : ndarray of float64, shape (L,)
        The model's score of each link.
    confidence : ndarray of float64, shape (L,)
        Probability that the link is right, in [0, 1].
    mass : ndarray of float64, shape (N,)
        Sum of the confidences of the links between analysis tokens.
    words : ndarray of int64, shape (N,)
        Analysis tokens of both sides, n + m.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    score: np.ndarray
    confidence: np.ndarray
    mass: np.ndarray
    words: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sentence_scores(self) -> np.ndarray:
        """Return the score of each pair, float64 in [0, 1], shape (N,); 0 for a pair without words."""
        return np.minimum(1.0, 2.0 * self.mass / np.maximum(self.words, 1))

    def pairs(self, pair: int) -> list[tuple[int, int]]:
        """Return the links of one pair."""
        here = slice(int(self.offsets[pair]), int(self.offsets[pair + 1]))
        return list(zip(self.source[here].tolist(), self.target[here].tolist(), strict=True))

    @classmethod
    def build(
        cls,
        pairs: np.ndarray,
        source: np.ndarray,
        target: np.ndarray,
        score: np.ndarray,
        confidence: np.ndarray,
        words: np.ndarray,
    ) -> BlockLinks:
        """Sort links between analysis tokens into pairs, and merge those that are one between surface tokens.

        Of several links between the same two surface tokens the one with the highest score stays.

        Parameters
        ----------
        pairs : ndarray of int64, shape (L,)
            The pair of each link.
        source, target, score, confidence : ndarray, shape (L,)
            As in the result.
        words : ndarray of int64, shape (N,)
            Analysis tokens of both sides of each pair.
        """
        mass = np.bincount(pairs, weights=confidence, minlength=len(words))
        order = np.lexsort((-score, target, source, pairs))
        keys = np.stack([pairs, source, target], axis=1)[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
        kept = order[first]
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.cumsum(np.bincount(pairs[kept], minlength=len(words)), out=offsets[1:])
        return cls(
            offsets,
            source[kept].astype(np.int32),
            target[kept].astype(np.int32),
            score[kept],
            confidence[kept],
            mass,
            words,
        )

    @classmethod
    def join(cls, parts: Sequence[BlockLinks]) -> BlockLinks:
        """Put the pairs of several blocks one after the other."""
        counts = [np.zeros(1, dtype=np.int64), *(np.diff(part.offsets) for part in parts)]
        empty = np.zeros(0)
        return cls(
            np.cumsum(np.concatenate(counts)),
            np.concatenate([empty.astype(np.int32), *(part.source for part in parts)]),
            np.concatenate([empty.astype(np.int32), *(part.target for part in parts)]),
            np.concatenate([empty, *(part.score for part in parts)]),
            np.concatenate([empty, *(part.confidence for part in parts)]),
            np.concatenate([empty, *(part.mass for part in parts)]),
            np.concatenate([empty.astype(np.int64), *(part.words for part in parts)]),
        )

    def merged(self, lines: np.ndarray, count: int) -> BlockLinks:
        """Put the pairs that are parts of one line together.

        Parameters
        ----------
        lines : ndarray of int64, shape (N,)
            The line of each pair, non-decreasing, in ``0..count - 1``.
        count : int
            How many lines there are; one without a pair gets no links and no words.
        """
        if count == len(self) and np.array_equal(lines, np.arange(count)):
            return self
        of_links = np.repeat(lines, np.diff(self.offsets))
        words = np.zeros(count, dtype=np.int64)
        np.add.at(words, lines, self.words)
        whole = BlockLinks.build(of_links, self.source, self.target, self.score, self.confidence, words)
        mass = np.bincount(lines, weights=self.mass, minlength=count)
        return BlockLinks(
            whole.offsets, whole.source, whole.target, whole.score, whole.confidence, mass, words
        )
