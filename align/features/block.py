"""A block of sentence pairs made ready for the feature kernels.

Each word of the block is looked up once, not once a token: its vector, count and spelling are gathered
into small tables over the block's own words. What several groups share (the tables' statistics of every
edge, cosines, posteriors) is computed at the first use, for all of the block, and kept.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from align.corpus import Corpus, Sentences
from align.features import association, chain, cosine, posterior, spelling
from align.features.association import Association
from align.features.edges import edge_offsets
from align.features.resources import Resources
from align.features.spelling import Letters
from align.features.words import WordTable
from align.vocabulary import Vocabulary

if TYPE_CHECKING:
    from align.features.chain import Posteriors as ChainPosteriors
    from align.posteriors import Posteriors


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
        How many of them are in the vocabulary; the others are extra words.
    """

    def __init__(
        self,
        sentences: Sentences,
        vocabulary: Vocabulary,
        vectors: np.ndarray | None,
        total: float,
        extra: Sequence[str],
    ) -> None:
        words, tokens = np.unique(sentences.ids, return_inverse=True)
        if len(words) and not 0 <= int(words[0]) <= int(words[-1]) < len(vocabulary) + len(extra):
            raise ValueError(
                f"features: word ids {words[0]} to {words[-1]}, "
                f"but only {len(vocabulary)} words and {len(extra)} extra ones are known"
            )
        self.words = words.astype(np.int32)
        self.tokens = tokens.astype(np.int32)
        self.starts = np.ascontiguousarray(sentences.offsets, dtype=np.int64)
        self.known = int(np.searchsorted(words, len(vocabulary)))
        self._vocabulary = vocabulary
        self._vectors = vectors
        self._total = total
        self._extra = extra

    def of_words(self, table: np.ndarray | None, dtype: type = np.float32) -> np.ndarray:
        """Return a vocabulary's table for the words of the block, shape (U,); 0 for extra words."""
        values: np.ndarray = np.zeros(len(self.words), dtype=dtype)
        if table is not None:
            values[: self.known] = table[self.words[: self.known]]
        return values

    @property
    def size(self) -> int:
        """Return the number of words of the vocabulary."""
        return len(self._vocabulary)

    @cached_property
    def counts(self) -> np.ndarray:
        """Return the corpus count of each token's word, int64, shape (T,); 0 for extra words."""
        return self.of_words(self._vocabulary.counts, np.int64)[self.tokens]

    @cached_property
    def log_frequencies(self) -> np.ndarray:
        """Return ln(count / tokens of the corpus) of each token, float32; a count of 0 is taken as a half."""
        counts = np.maximum(self.of_words(self._vocabulary.counts, np.int64), 0.5)
        return np.log(counts / self._total).astype(np.float32)[self.tokens]

    @cached_property
    def log_ranks(self) -> np.ndarray:
        """Return the logarithm of the rank, from 1, of each token's word, float32, shape (T,)."""
        return np.log(self.words + np.float32(1.0))[self.tokens]

    @cached_property
    def vectors(self) -> np.ndarray:
        """Return the words' vectors, float32, shape (U, p); zero rows for words without one."""
        dimensions = 0 if self._vectors is None else self._vectors.shape[1]
        vectors = np.zeros((len(self.words), dimensions), dtype=np.float32)
        if self._vectors is not None:
            vectors[: self.known] = self._vectors[self.words[: self.known]]
        return vectors

    @cached_property
    def has_vector(self) -> np.ndarray:
        """Return whether each token's word has a vector, bool, shape (T,)."""
        return np.asarray(self.vectors.any(axis=1))[self.tokens]

    def spellings(self, table: WordTable) -> WordTable:
        """Return the spellings of the block's words, given those of the vocabulary."""
        chosen = table.take(self.words[: self.known])
        unseen = self.words[self.known :] - len(self._vocabulary)
        if len(unseen) == 0:
            return chosen
        return chosen.extended(WordTable.of([self._extra[index] for index in unseen]))


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
        extra_source: Sequence[str] = (),
        extra_target: Sequence[str] = (),
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
            extra_source,
        )
        self.target = Side(
            corpus.target,
            resources.target_vocabulary,
            resources.target_vectors,
            resources.target_tokens,
            extra_target,
        )
        self.source_starts, self.target_starts = self.source.starts, self.target.starts
        self._whole = self

    def part(self, start: int, stop: int) -> Block:
        """Return pairs ``start`` to ``stop`` as a view for filling: edges keep their numbers in the block."""
        view = copy.copy(self)
        view.shapes = self.shapes[start:stop]
        view.offsets = self.offsets[start : stop + 1]
        view.source_starts = self.source_starts[start : stop + 1]
        view.target_starts = self.target_starts[start : stop + 1]
        return view

    @property
    def source_spellings(self) -> WordTable:
        """Return the spellings of the source words."""
        return self._whole._source_spellings

    @property
    def target_spellings(self) -> WordTable:
        """Return the spellings of the target words."""
        return self._whole._target_spellings

    @property
    def letters(self) -> Letters:
        """Return the letters of both sides as small numbers."""
        return self._whole._letters

    @property
    def identical(self) -> np.ndarray:
        """Return whether the two words of each edge are the same text, bool, shape (E,)."""
        return self._whole._identical[0]

    @property
    def same_names(self) -> np.ndarray:
        """Return whether they are the same text and look like a name or number, bool, shape (E,)."""
        return self._whole._identical[1]

    @property
    def cosines(self) -> np.ndarray:
        """Return the cosine of each edge, float32, shape (E,); 0 where a word has no vector."""
        return self._whole._cosines

    @property
    def association(self) -> Association:
        """Return Dice and the Model 1 probabilities of each edge."""
        return self._whole._association

    @property
    def chain(self) -> ChainPosteriors:
        """Return the chain model's posteriors of each edge."""
        return self._whole._chain

    @property
    def sampled(self) -> ChainPosteriors:
        """Return the sampled posteriors of each edge, or those of the sampler's tables."""
        return self._whole._sampled

    @cached_property
    def _source_spellings(self) -> WordTable:
        return self.source.spellings(self.resources.source_words)

    @cached_property
    def _target_spellings(self) -> WordTable:
        return self.target.spellings(self.resources.target_words)

    @cached_property
    def _letters(self) -> Letters:
        return spelling.number_letters(self._source_spellings, self._target_spellings)

    @cached_property
    def _identical(self) -> tuple[np.ndarray, np.ndarray]:
        return spelling.identical(self)

    @cached_property
    def _cosines(self) -> np.ndarray:
        return cosine.cosines(self)

    @cached_property
    def _association(self) -> Association:
        return association.look_up(self)

    @cached_property
    def _chain(self) -> ChainPosteriors:
        return chain.posteriors(self)

    @cached_property
    def _sampled(self) -> ChainPosteriors:
        return posterior.posteriors(self)
