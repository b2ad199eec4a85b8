"""The links of a block of sentence pairs as arrays, and the score of a whole pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import offsets_of
from align.features.spelling import spellings
from align.text.words import NUMBER

if TYPE_CHECKING:
    from align.features.block import Block

# The share of all words at which one counts half in the score of a pair.
_FREQUENT = 0.01

# What a number counts: it is hardly ever left out or translated by another.
_NUMBER = 6.0


@dataclass(frozen=True)
class Alignments:
    """Links between the surface tokens of N sentence pairs.

    The score of a sentence pair is the share of its words, of both sides, that have a translation in the
    other sentence: the mean of how far the best of a word's links is trusted, and there is evidence that the
    two words are translations (:mod:`align.model.evidence`), and of the evidence for it and any word there,
    linked or not. Very frequent words count less (:func:`word_weights`): any two sentences have some of these
    in common. It is in [0, 1], and 0 for a pair without links; a pair of which only half is translated cannot
    get more than about a half, and one of words of which nothing is known hardly anything.

    Attributes
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        The links of pair i are ``offsets[i]:offsets[i + 1]``, sorted by source, then target token.
    source, target : ndarray of int32, shape (L,)
        Surface tokens, counted within the line.
    score, confidence : ndarray of float64, shape (L,)
        The model's score of each link; the probability that it is right, in [0, 1].
    mass, weight : ndarray of float64, shape (N,)
        Sums over the analysis tokens of both sides: of their weights times how far they have a translation,
        and of their weights alone.
    """

    offsets: np.ndarray
    source: np.ndarray
    target: np.ndarray
    score: np.ndarray
    confidence: np.ndarray
    mass: np.ndarray
    weight: np.ndarray

    def sentence_scores(self) -> np.ndarray:
        """Return the score of each pair, float64 in [0, 1], shape (N,); 0 for a pair without words."""
        return share(self.mass, self.weight)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def pairs(self, pair: int) -> list[tuple[int, int]]:
        """Return the links of one pair."""
        here = slice(int(self.offsets[pair]), int(self.offsets[pair + 1]))
        return list(zip(self.source[here].tolist(), self.target[here].tolist(), strict=True))

    def lists(self) -> list[list[tuple[int, int]]]:
        """Return the links of each pair."""
        links = list(zip(self.source.tolist(), self.target.tolist(), strict=True))
        return [links[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    @classmethod
    def build(
        cls,
        pairs: np.ndarray,
        source: np.ndarray,
        target: np.ndarray,
        score: np.ndarray,
        confidence: np.ndarray,
        mass: np.ndarray,
        weight: np.ndarray,
    ) -> Alignments:
        """Sort links between analysis tokens into pairs, and merge those that are one between surface tokens.

        Of several links between the same two surface tokens the one with the highest score stays.

        Parameters
        ----------
        pairs : ndarray of int64, shape (L,)
            The pair of each link.
        source, target, score, confidence : ndarray, shape (L,)
            As in the result.
        mass, weight : ndarray of float64, shape (N,)
            As in the result.
        """
        height, width = (int(tokens.max(initial=0)) + 1 for tokens in (source, target))
        keys = (pairs * height + source) * width + target
        kept = np.arange(len(keys))
        # As a rule they are in order, and no two of them are one.
        if not (keys[1:] > keys[:-1]).all():
            kept = np.lexsort((-score, keys))
            kept = kept[np.concatenate([[True], keys[kept][1:] != keys[kept][:-1]])]
        offsets = offsets_of(np.bincount(pairs[kept], minlength=len(weight)))
        return cls(
            offsets,
            source[kept].astype(np.int32),
            target[kept].astype(np.int32),
            score[kept],
            confidence[kept],
            mass,
            weight,
        )

    @classmethod
    def join(cls, parts: Sequence[Alignments]) -> Alignments:
        """Put the pairs of several blocks one after the other."""
        empty = cls.build(*np.zeros((3, 0), dtype=np.int64), *np.zeros((4, 0)))
        parts = [empty, *parts]
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        columns = zip(*(list(vars(part).values())[1:] for part in parts), strict=True)
        return cls(offsets_of(lengths), *map(np.concatenate, columns))

    def merged(self, lines: np.ndarray, count: int) -> Alignments:
        """Put the pairs that are parts of one line together.

        Parameters
        ----------
        lines : ndarray of int64, shape (N,)
            The line of each pair, non-decreasing, in ``0..count - 1``.
        count : int
            How many lines there are; one without a pair gets no links and no weight.
        """
        if count == len(self) and np.array_equal(lines, np.arange(count)):
            return self
        of_links = np.repeat(lines, np.diff(self.offsets))
        mass, weight = (
            np.bincount(lines, weights=values, minlength=count) for values in (self.mass, self.weight)
        )
        return Alignments.build(of_links, self.source, self.target, self.score, self.confidence, mass, weight)


def share(mass: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the scores of pairs, float64 in [0, 1]; 0 for a pair without words."""
    some = weight > 0
    return np.where(some, np.minimum(1.0, mass / np.where(some, weight, 1.0)), 0.0)


def word_weights(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return what words count in the score of a pair: a / (a + p), p their share of all words, a = 0.01.

    A number counts as six.

    Returns
    -------
    (ndarray of float64, ndarray of float64)
        Of the source and of the target tokens of the block, in (0, 6]; 1 for words never seen.

    Notes
    -----
    The form is that of Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for sentence
    embeddings".
    """
    totals = block.resources.source_tokens, block.resources.target_tokens
    source, target = (
        _FREQUENT
        / (_FREQUENT + side.counts / total)
        * np.where(words.kinds[side.tokens] == NUMBER, _NUMBER, 1.0)
        for side, total, words in zip(
            (block.source, block.target), totals, block.shared(spellings), strict=True
        )
    )
    return source, target


def linked_share(
    block: Block, words: tuple[np.ndarray, np.ndarray], trust: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``mass`` and ``weight`` of each pair of a block.

    Parameters
    ----------
    block : Block
        N pairs.
    words : (ndarray of int64, ndarray of int64), shapes (L,)
        Source and target token of each link, counted over all pairs.
    trust : ndarray of float64, shape (L,)
        How far each link speaks for a translation, in [0, 1].
    known : ndarray of float32, shape (E,)
        How far the two words of each edge are known to be translations, in [0, 1].

    Returns
    -------
    mass, weight : ndarray of float64, shape (N,)
    """
    count = len(block.shapes)
    mass, weight = np.zeros(count), np.zeros(count)
    sides = zip((block.source, block.target), words, word_weights(block), _best(block, known), strict=True)
    for side, linked, weights, partner in sides:
        best = np.zeros(len(weights))
        np.maximum.at(best, linked, trust)
        pairs = np.repeat(np.arange(count), np.diff(side.starts))
        some = np.zeros(count)
        some[pairs[linked]] = 1.0
        best = (best + some[pairs] * partner) / 2
        mass += np.bincount(pairs, weights=weights * best, minlength=count)
        weight += np.bincount(pairs, weights=weights, minlength=count)
    return mass, weight


def _best(block: Block, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest value of the edges of each token, 0 where it has none, both sides, float32."""
    found = tuple(np.zeros(len(side.tokens), dtype=np.float32) for side in (block.source, block.target))
    _write_best(block.shapes, block.offsets, block.source.starts, block.target.starts, values, *found)
    return found[0], found[1]


@kernel
def _write_best(shapes, offsets, sources, targets, values, rows, columns):  # type: ignore[no-untyped-def]
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        of_target = columns[targets[i] : targets[i] + m]
        for j in range(n):
            row = values[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            best = np.float32(0.0)
            for k in range(m):
                best = max(best, row[k])
                of_target[k] = max(of_target[k], row[k])
            rows[sources[i] + j] = best
