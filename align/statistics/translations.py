"""The tables of a lexicon as rows of words: which translations a word has, and how likely they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from align.data.vocabulary import Vocabulary
from align.statistics.lexicon import Lexicon


class Entry(NamedTuple):
    """A pair of words."""

    source: str
    target: str
    together: int  # how often they stand in the same pairs, or are linked
    forward: float  # p(target | source), in [0, 1]
    reverse: float  # p(source | target), in [0, 1]


class Translations:
    """The rows of a lexicon.

    Parameters
    ----------
    lexicon : Lexicon
        The tables.
    source, target : Vocabulary
        The words of both sides, by id.
    """

    def __init__(self, lexicon: Lexicon, source: Vocabulary, target: Vocabulary) -> None:
        self._lexicon, self._source, self._target = lexicon, source, target

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries by source word, in the order of the vocabulary, the likeliest of each first."""
        for word in range(len(self._source)):
            yield from self._of_source(word)

    def of(self, side: str, word: str) -> list[Entry]:
        """Return the entries of one word, the likeliest first; none where the tables do not know it.

        Parameters
        ----------
        side : {"source", "target"}
            Of the word.
        word : str
            Its lookup key.
        """
        vocabulary = self._source if side == "source" else self._target
        number = vocabulary.index.get(word)
        if number is None:
            return []
        return list(self._of_source(number)) if side == "source" else self._of_target(number)

    def _of_source(self, word: int) -> Iterator[Entry]:
        start, stop = self._lexicon.offsets[word : word + 2].tolist()
        cells = np.arange(start, stop)
        likeliest = np.lexsort((self._lexicon.targets[start:stop], -self._lexicon.forward[start:stop]))
        yield from self._entries(np.full(len(cells), word), cells[likeliest])

    def _of_target(self, word: int) -> list[Entry]:
        cells = np.flatnonzero(self._lexicon.targets == word)
        sources = np.searchsorted(self._lexicon.offsets, cells, side="right") - 1
        likeliest = np.lexsort((sources, -self._lexicon.reverse[cells]))
        return list(self._entries(sources[likeliest], cells[likeliest]))

    def _entries(self, sources: np.ndarray, cells: np.ndarray) -> Iterator[Entry]:
        lexicon = self._lexicon
        targets = lexicon.targets[cells]
        both = lexicon.source_counts[sources] + lexicon.target_counts[targets]
        # Dice is 2 joint / (count + count).
        counts = np.rint(lexicon.dice[cells] * both / 2).astype(np.int64)
        columns = (sources, targets, counts, lexicon.forward[cells], lexicon.reverse[cells])
        for source, target, *rest in zip(*(column.tolist() for column in columns), strict=True):
            yield Entry(self._source.words[source], self._target.words[target], *rest)
