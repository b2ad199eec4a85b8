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
from align.text.words import NUMBER, PUNCTUATION

if TYPE_CHECKING:
    from align.features.block import Block
    from align.model.evidence import Evidence

# The share of all words at which one counts half in the score of a pair.
_FREQUENT = 0.01

# What a number counts that has its counterpart, and one that has none, as words and as words by the number of
# words of the pair: it is hardly ever left out or translated by another, least of all where there is little
# else. Likewise a sign, in times of what another word as frequent counts.
_NUMBER, _LOST_NUMBER, _LOST_SHORT = 1.5, 3.0, 150.0
_SIGN, _LOST_SIGN = 2 / 3, 2.0

# What its link and its evidence count in how far a word has a translation, and what the whole other side
# does: where less than this of the word is owed to that, it speaks against one.
_PARTNER, _SIDE, _OWED = 0.8, 0.2, 0.25

# Sides are usual where the logarithm of the ratio of their lengths is within this of that of the text; how
# fast the score falls beyond.
_USUAL, _FALL = 0.4, 1.0

# Letters that are added to both sides: the lengths of short ones vary more.
_LETTERS = 3.0


@dataclass(frozen=True)
class Alignments:
    """Links between the surface tokens of N sentence pairs.

    The score of a sentence pair is the share of its words, of both sides, that have a translation in the
    other sentence: for each word the mean of how far the best of its links is trusted, and there is evidence
    that the two words are translations (:mod:`align.model.evidence`), and of the evidence for it and any word
    there, linked or not; and, a fifth, how far the whole other side speaks for it. Very frequent words count
    less: any two sentences have some of these in common. A number without its
    counterpart counts as many words; sides of very different lengths lower the score (:func:`linked_share`).
    It is in [0, 1], and 0 for a pair without links; a pair of which only half is translated cannot get more
    than about a half, and one of words of which nothing is known hardly anything.

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
        below 0 where something speaks against one, and of their weights alone.
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
    return np.where(some, np.clip(mass / np.where(some, weight, 1.0), 0.0, 1.0), 0.0)


def linked_share(
    block: Block, words: tuple[np.ndarray, np.ndarray], trust: np.ndarray, known: Evidence
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``mass`` and ``weight`` of each pair of a block.

    A word weighs a / (a + p), p its share of all words, a = 0.01. A number weighs 1.5, without a translation
    3 + 150 / (n + m) in a pair of n and m words; a sign 2/3 of a word, or twice one; between both ends what
    is between. With a and b letters on the two
    sides, and c target letters to a source letter in the text of the model, the mass falls by exp(0.4 - d)
    where d = |ln((b + 3) / (c (a + 3)))| is above 0.4.

    Parameters
    ----------
    block : Block
        N pairs.
    words : (ndarray of int64, ndarray of int64), shapes (L,)
        Source and target token of each link, counted over all pairs.
    trust : ndarray of float64, shape (L,)
        How far each link speaks for a translation, in [0, 1].
    known : Evidence
        How far the words are known to be translations.

    Returns
    -------
    mass, weight : ndarray of float64, shape (N,)

    Notes
    -----
    The form of the weights is that of Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline for
    sentence embeddings".
    """
    given, count = block.resources, len(block.shapes)
    mass, weight, letters = np.zeros(count), np.zeros(count), np.full((2, count), _LETTERS)
    sides, spelt = (block.source, block.target), (block.whole or block).shared(spellings)
    totals, partners = (given.source_tokens, given.target_tokens), _best(block, known.edges)
    for place in range(len(sides)):
        side, partner = sides[place], (partners[place], known[1 + place])
        _add_words(
            *(side, spelt[place], totals[place], block.shapes, words[place], trust, partner),
            *(mass, weight, letters[place]),
        )
    difference = np.abs(np.log(letters[1] / (given.letters_ratio * letters[0])))
    return mass * np.exp(-_FALL * np.maximum(difference - _USUAL, 0.0)), weight


@kernel(error_model="numpy")
def _add_words(  # type: ignore[no-untyped-def]
    side, spelt, total, shapes, linked, trust, partner, mass, weight, letters
):
    """Add the words of one side to the sums of their pairs."""
    best = np.zeros(len(side.tokens))
    for link in range(len(linked)):
        best[linked[link]] = max(best[linked[link]], trust[link])
    found, owed = partner
    at = 0
    for i in range(len(mass)):
        lost = _LOST_NUMBER + _LOST_SHORT / (shapes[i, 0] + shapes[i, 1])
        # Links are in the order of their pairs; in a pair without any, no word has a translation.
        some = False
        while at < len(linked) and linked[at] < side.starts[i + 1]:
            some, at = True, at + 1
        for token in range(side.starts[i], side.starts[i + 1]):
            word = side.tokens[token]
            kind = spelt.kinds[word]
            # Of a number nothing is known but whether it stands there.
            of_side = found[token] if kind == NUMBER else owed[token]
            translated = _PARTNER * (best[token] + found[token]) / 2 + _SIDE * (of_side - _OWED)
            translated = translated / (_PARTNER + _SIDE * (1 - _OWED)) if some else 0.0
            own = _weight(kind, side.counts[token] / total, lost, max(translated, 0.0))
            mass[i] += own * translated
            weight[i] += own
            letters[i] += spelt.offsets[word + 1] - spelt.offsets[word]


@kernel
def _weight(kind, share, lost, translated):  # type: ignore[no-untyped-def]
    """Return what a word counts that is such a share of all words and is so far translated."""
    if kind == NUMBER:
        return _NUMBER * translated + lost * (1 - translated)
    own = _FREQUENT / (_FREQUENT + share)
    if kind == PUNCTUATION:
        return own * (_SIGN * translated + _LOST_SIGN * (1 - translated))
    return own


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
