"""A block of sentence pairs made ready for the feature kernels.

Each word of the block is looked up once, not once a token: its vector, count and spelling are gathered
into small tables over the block's own words. So are pairs of words: the statistics and the spelling of all
edges are found for the whole block, a word at a time. What else several groups share (cosines, posteriors)
is computed for a part of the block, and stays in the processor's cache while the groups are filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from align.core.lazy import lazy
from align.core.mapped import take_rows
from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import association, chain, cosine, posterior, spelling
from align.features.association import Association
from align.features.resources import Resources
from align.text.words import WordTable

if TYPE_CHECKING:
    from align.features.chain import Posteriors as ChainPosteriors
    from align.statistics.posteriors import Posteriors


class Side:
    """One side of a block.

    Attributes
    ----------
    tokens : ndarray of int32, shape (T,)
        Index into ``words`` of each token.
    starts : ndarray of int64, shape (N + 1,)
        Sentence i is ``tokens[starts[i]:starts[i + 1]]``.
    words : ndarray of int32, shape (U,)
        The distinct word ids of the block, ascending.
    known : int
        How many of them are in the vocabulary; the others are unknown words.
    """

    def __init__(
        self,
        sentences: Sentences,
        vocabulary: Vocabulary,
        vectors: np.ndarray | None,
        total: float,
        unknown: Sequence[str],
    ) -> None:
        words, tokens = _distinct(sentences.ids, len(vocabulary) + len(unknown))
        if len(words) and not 0 <= int(words[0]) <= int(words[-1]) < len(vocabulary) + len(unknown):
            raise ValueError(
                f"features: word ids {words[0]} to {words[-1]}, "
                f"but there are only {len(vocabulary)} words and {len(unknown)} unknown ones"
            )
        self.words = words.astype(np.int32)
        self.tokens = tokens.astype(np.int32)
        self.starts = np.ascontiguousarray(sentences.offsets, dtype=np.int64)
        self.known = int(np.searchsorted(words, len(vocabulary)))
        self._vocabulary = vocabulary
        self._vectors = vectors
        self._total = total
        self._unknown = unknown

    def of_words(self, table: np.ndarray | None, dtype: type = np.float32) -> np.ndarray:
        """Return a vocabulary's table for the words of the block, shape (U,); 0 for unknown words."""
        values: np.ndarray = np.zeros(len(self.words), dtype=dtype)
        if table is not None:
            values[: self.known] = table[self.words[: self.known]]
        return values

    @property
    def size(self) -> int:
        """Return the number of words of the vocabulary."""
        return len(self._vocabulary)

    @lazy
    def by_word(self) -> np.ndarray:
        """Return the order of the tokens by word, int64, shape (T,)."""
        return np.argsort(self.tokens, kind="stable")

    @lazy
    def counts(self) -> np.ndarray:
        """Return the corpus count of each token's word, int64, shape (T,); 0 for unknown words."""
        return self.of_words(self._vocabulary.counts, np.int64)[self.tokens]

    @lazy
    def log_frequencies(self) -> np.ndarray:
        """Return ln(count / tokens of the corpus) of each token, float32; a count of 0 is taken as a half."""
        counts = np.maximum(self.of_words(self._vocabulary.counts, np.int64), 0.5)
        return np.log(counts / self._total).astype(np.float32)[self.tokens]

    @lazy
    def log_ranks(self) -> np.ndarray:
        """Return the logarithm of the rank, from 1, of each token's word, float32, shape (T,)."""
        return np.log(self.words + np.float32(1.0))[self.tokens]

    @lazy
    def vectors(self) -> np.ndarray:
        """Return the words' vectors, float32, shape (U, p); zero rows for words without one."""
        dimensions = 0 if self._vectors is None else self._vectors.shape[1]
        vectors = np.zeros((len(self.words), dimensions), dtype=np.float32)
        if self._vectors is not None:
            vectors[: self.known] = take_rows(self._vectors, self.words[: self.known])
        return vectors

    @lazy
    def has_vector(self) -> np.ndarray:
        """Return whether each token's word has a vector, bool, shape (T,)."""
        return np.asarray(self.vectors.any(axis=1))[self.tokens]

    def spellings(self, table: WordTable) -> WordTable:
        """Return the spellings of the block's words, given those of the vocabulary."""
        chosen = table.take(self.words[: self.known])
        unseen = self.words[self.known :] - len(self._vocabulary)
        if len(unseen) == 0:
            return chosen
        return chosen.extended(WordTable.of([self._unknown[index] for index in unseen]))


class Block:
    """A block of N sentence pairs with E edges and the words of both sides.

    Attributes
    ----------
    shapes : ndarray of int32, shape (N, 2)
        Numbers of words of each pair.
    offsets : ndarray of int64, shape (N + 1,)
        Edge (j, k) of pair i is number ``offsets[i] + j * m_i + k``.
    source, target : Side
        The words. The tokens of pair i begin at ``source_starts[i]`` and ``target_starts[i]``.
    resources : Resources
        The statistics.
    stored : Posteriors or None
        Sampled probabilities of the N pairs.
    """

    def __init__(
        self,
        corpus: Corpus,
        resources: Resources,
        unknown_source: Sequence[str] = (),
        unknown_target: Sequence[str] = (),
        stored: Posteriors | None = None,
    ) -> None:
        self.resources = resources
        self.stored = stored
        lengths = (corpus.source.lengths(), corpus.target.lengths())
        self.shapes = np.stack(lengths, axis=1).astype(np.int32)
        self.offsets = edge_offsets(self.shapes)
        self.source = Side(
            corpus.source,
            resources.source_vocabulary,
            resources.source_vectors,
            resources.source_tokens,
            unknown_source,
        )
        self.target = Side(
            corpus.target,
            resources.target_vocabulary,
            resources.target_vectors,
            resources.target_tokens,
            unknown_target,
        )
        self.source_starts, self.target_starts = self.source.starts, self.target.starts
        self._parent: Block | None = None
        self._edges = slice(0, int(self.offsets[-1]))

    def part(self, start: int, stop: int) -> Block:
        """Return pairs ``start`` to ``stop`` for filling: edges are counted from 0, words shared."""
        view = object.__new__(Block)
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        view.resources, view.source, view.target = self.resources, self.source, self.target
        view.stored = None if self.stored is None else self.stored.block(start, stop)
        view.shapes = self.shapes[start:stop]
        view.offsets = self.offsets[start : stop + 1] - first
        view.source_starts = self.source_starts[start : stop + 1]
        view.target_starts = self.target_starts[start : stop + 1]
        view._parent, view._edges = self, slice(first, last)
        return view

    @property
    def _whole(self) -> Block:
        # Not an attribute: a block that refers to itself would be kept until the next full collection.
        return self if self._parent is None else self._parent

    @property
    def source_spellings(self) -> WordTable:
        """Return the spellings of the source words."""
        return self._whole._source_spellings

    @property
    def target_spellings(self) -> WordTable:
        """Return the spellings of the target words."""
        return self._whole._target_spellings

    @property
    def comparisons(self) -> np.ndarray:
        """Return what the letters of the words of each edge have in common (:func:`spelling.compare`)."""
        return self._whole._comparisons[self._edges]

    @property
    def association(self) -> Association:
        """Return Dice and the Model 1 probabilities of each edge."""
        return self._whole._association.part(self._edges)

    @property
    def expected_links(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sampler's expected links of each edge, both ways; there must be such tables."""
        forward, reverse = self._whole._expected_links
        return forward[self._edges], reverse[self._edges]

    @lazy
    def same_names(self) -> np.ndarray:
        """Return whether the words of each edge are the same name or number, bool, shape (E,)."""
        return spelling.same_names(self.comparisons)

    @lazy
    def cosines(self) -> np.ndarray:
        """Return the cosine of each edge, float32, shape (E,); 0 where a word has no vector."""
        return cosine.cosines(self)

    @lazy
    def chain(self) -> ChainPosteriors:
        """Return the chain model's posteriors of each edge."""
        return chain.posteriors(self)

    @lazy
    def sampled(self) -> ChainPosteriors:
        """Return the sampled posteriors of each edge, or those of the sampler's tables."""
        return posterior.posteriors(self)

    @lazy
    def _source_spellings(self) -> WordTable:
        return self.source.spellings(self.resources.source_words)

    @lazy
    def _target_spellings(self) -> WordTable:
        return self.target.spellings(self.resources.target_words)

    @lazy
    def _comparisons(self) -> np.ndarray:
        return spelling.compare(self)

    @lazy
    def _association(self) -> Association:
        return association.look_up(self)

    @lazy
    def _expected_links(self) -> tuple[np.ndarray, np.ndarray]:
        return association.expected_links(self, self.resources.links)


def _distinct(ids: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ids, ascending, and the place of each id among them; ids are below ``most``."""
    if 16 * len(ids) < most or not 0 <= int(ids.min()) <= int(ids.max()) < most:
        words, places = np.unique(ids, return_inverse=True)
        return words, places
    # Of many words it is quicker to tick off than to sort.
    there = np.zeros(most, dtype=bool)
    there[ids] = True
    words = np.flatnonzero(there)
    place = np.empty(most, dtype=np.int32)
    place[words] = np.arange(len(words), dtype=np.int32)
    return words, place[ids]
