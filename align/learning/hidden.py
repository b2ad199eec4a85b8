"""Labelled pairs as a model sees them that has not seen their text: with words it does not know."""

from __future__ import annotations

import numpy as np

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import PairBlock, Resources
from align.learning.made_words import ITEMS, OTHER, SAME
from align.problems.labels import Labels
from align.text.normalise import lookup_key

# The share of words that are made unknown besides those of a single pair.
SHARE = 0.15

_MAKERS = (*SAME.values(), *OTHER.values())


def hide(
    corpus: Corpus, labels: Labels, resources: Resources, *, seed: int, first: int = 0
) -> tuple[PairBlock, Labels]:
    """Return pairs of which nothing was sampled, some words being unknown.

    A word that stands in a single pair is unknown to whoever has not seen that pair; :data:`SHARE` of the
    others are made unknown. Then some words of each pair that have one link only give way to names, numbers,
    signs and codes that are alike, and change their places on the target side.

    Parameters
    ----------
    corpus : Corpus
        N pairs that the resources were made of.
    labels : Labels
        Their links.
    resources : Resources
        The vocabularies tell what is known.
    seed : int
        >= 0.
    first : int
        The number of the first pair, >= 0: what is made of a pair depends on its number and the seed alone.

    Returns
    -------
    PairBlock, Labels
        The pairs and their links.
    """
    sides = [_Words(*side) for side in _sides(corpus, resources)]
    target = labels.target.copy()
    for pair in range(len(corpus)):
        generator = np.random.default_rng((seed, first + pair))
        for side in sides:
            side.hide(pair, generator)
        own = slice(int(labels.offsets[pair]), int(labels.offsets[pair + 1]))
        links = own.start + _alone(labels.source[own], labels.target[own])
        count = int(generator.integers(ITEMS[0], ITEMS[1] + 1))
        chosen = generator.permutation(links)[:count]
        target[chosen] = labels.target[generator.permutation(chosen)]
        make = _MAKERS[int(generator.integers(len(_MAKERS)))]
        for link in chosen.tolist():
            words = make(generator)
            sides[0].put(pair, int(labels.source[link]), words[0])
            sides[1].put(pair, int(target[link]), words[1])
    block = PairBlock(
        Corpus(sides[0].sentences(), sides[1].sentences()), list(sides[0].unknown), list(sides[1].unknown)
    )
    pairs = np.repeat(np.arange(len(labels)), np.diff(labels.offsets))
    order = np.lexsort((target, labels.source, pairs))
    return block, Labels(labels.offsets, labels.source[order], target[order], labels.sure[order])


def _sides(corpus: Corpus, resources: Resources) -> list[tuple[Sentences, Vocabulary]]:
    return [(corpus.source, resources.source_vocabulary), (corpus.target, resources.target_vocabulary)]


class _Words:
    """The words of one side, of which more and more become unknown."""

    def __init__(self, given: Sentences, vocabulary: Vocabulary) -> None:
        self._given, self._vocabulary = given, vocabulary
        self._ids = np.array(given.ids, dtype=np.int32)
        self.unknown: dict[str, int] = {}

    def hide(self, pair: int, generator: np.random.Generator) -> None:
        """Make words unknown that only this pair has, and a share of the others."""
        own = self._ids[int(self._given.offsets[pair]) : int(self._given.offsets[pair + 1])]
        words, counts = np.unique(own, return_counts=True)
        gone = (generator.random(len(words)) < SHARE) | (self._vocabulary.counts[words] <= counts)
        for word in words[gone].tolist():
            own[own == word] = self._number(self._vocabulary.words[word])

    def put(self, pair: int, place: int, word: str) -> None:
        """Put an unknown word into a place."""
        self._ids[int(self._given.offsets[pair]) + place] = self._number(lookup_key(word))

    def sentences(self) -> Sentences:
        """Return the words as they are now."""
        return Sentences(self._ids, self._given.offsets, self._given.parents)

    def _number(self, word: str) -> int:
        return len(self._vocabulary) + self.unknown.setdefault(word, len(self.unknown))


def _alone(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the links of words that have no other, as numbers."""
    return np.flatnonzero((np.bincount(source)[source] == 1) & (np.bincount(target)[target] == 1))
