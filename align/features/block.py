"""A block of sentence pairs made ready for the feature kernels.

Each word of the block is looked up once, not once a token: its vector, count and spelling are gathered
into small tables over the block's own words. What several groups share (the tables' statistics of every
edge, cosines, posteriors) is computed at the first use and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from align.corpus import Corpus, Sentences
from align.features import association, chain, cosine, posterior, spelling
from align.features.edges import edge_offsets
from align.features.resources import Resources
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

    @cached_property
    def counts(self) -> np.ndarray:
        """Return the corpus count of each word, int64, shape (U,); 0 for extra words."""
        counts = np.zeros(len(self.words), dtype=np.int64)
        counts[: self.known] = self._vocabulary.counts[self.words[: self.known]]
        return counts

    @cached_property
    def log_frequencies(self) -> np.ndarray:
        """Return ln(count / tokens of the corpus), float32, shape (U,); a count of 0 is taken as a half."""
        return np.log(np.maximum(self.counts, 0.5) / self._total).astype(np.float32)

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
        """Return whether each word has a vector, bool, shape (U,)."""
        return np.asarray(self.vectors.any(axis=1))

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
        The words.
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

    @cached_property
    def source_spellings(self) -> WordTable:
        """Return the spellings of the source words."""
        return self.source.spellings(self.resources.source_words)

    @cached_property
    def target_spellings(self) -> WordTable:
        """Return the spellings of the target words."""
        return self.target.spellings(self.resources.target_words)

    @cached_property
    def _identical(self) -> tuple[np.ndarray, np.ndarray]:
        return spelling.identical(self)

    @property
    def identical(self) -> np.ndarray:
        """Return whether the two words of each edge are the same text, bool, shape (E,)."""
        return self._identical[0]

    @property
    def same_names(self) -> np.ndarray:
        """Return whether they are the same text and look like a name or number, bool, shape (E,)."""
        return self._identical[1]

    @cached_property
    def cosines(self) -> np.ndarray:
        """Return the cosine of each edge, float32, shape (E,); 0 where a word has no vector."""
        return cosine.cosines(self)

    @cached_property
    def association(self) -> association.Association:
        """Return Dice and the Model 1 probabilities of each edge."""
        return association.look_up(self)

    @cached_property
    def chain(self) -> ChainPosteriors:
        """Return the chain model's posteriors of each edge."""
        return chain.posteriors(self)

    @cached_property
    def sampled(self) -> ChainPosteriors:
        """Return the sampled posteriors of each edge, or those of the sampler's tables."""
        return posterior.posteriors(self)
