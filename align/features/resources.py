"""What features are computed from: bitext statistics, word vectors, vocabularies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from align.data.vocabulary import Vocabulary
from align.text.words import WordTable

if TYPE_CHECKING:
    from align.statistics.expected_links import ExpectedLinks
    from align.statistics.lexicon import Lexicon


@dataclass(frozen=True)
class Resources:
    """The statistics and vectors of one language pair.

    Attributes
    ----------
    lexicon : Lexicon or None
        Dice and Model 1 tables over the two vocabularies; ``None``: those features are 0.
    source_vectors, target_vectors : ndarray of float32, shape (V, p), or None
        Unit vectors of the words in one common space, a zero row for a word without a vector;
        ``None``: no word has one.
    source_vocabulary, target_vocabulary : Vocabulary
        The words by id.
    links : ExpectedLinks or None
        Expected links over the cells of the lexicon; ``None``: probabilities that are not given are 0.
    """

    lexicon: Lexicon | None
    source_vectors: np.ndarray | None
    target_vectors: np.ndarray | None
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    links: ExpectedLinks | None = None

    def __post_init__(self) -> None:
        for side, vectors, vocabulary in (
            ("source", self.source_vectors, self.source_vocabulary),
            ("target", self.target_vectors, self.target_vocabulary),
        ):
            if vectors is not None and len(vectors) != len(vocabulary):
                raise ValueError(f"resources: {len(vectors)} {side} vectors for {len(vocabulary)} words")
        cells = None if self.lexicon is None else self.lexicon.cells
        if self.links is not None and len(self.links.forward) != cells:
            raise ValueError(f"resources: links of {len(self.links.forward)} cells, a lexicon of {cells}")
        if (self.source_vectors is None) != (self.target_vectors is None):
            raise ValueError("resources: vectors on one side only")
        if self.source_vectors is not None and self.target_vectors is not None:
            dimensions = self.source_vectors.shape[1], self.target_vectors.shape[1]
            if dimensions[0] != dimensions[1]:
                raise ValueError("resources: vectors of {} and {} dimensions".format(*dimensions))

    @property
    def dimensions(self) -> int:
        """Return the number p of dimensions of the vectors, 0 where there are none."""
        return 0 if self.source_vectors is None else int(self.source_vectors.shape[1])

    @cached_property
    def source_words(self) -> WordTable:
        """Return the spellings of the source vocabulary, made at the first use."""
        return WordTable.of_codes(*self.source_vocabulary.code_points())

    @cached_property
    def target_words(self) -> WordTable:
        """Return the spellings of the target vocabulary, made at the first use."""
        return WordTable.of_codes(*self.target_vocabulary.code_points())

    @cached_property
    def source_tokens(self) -> float:
        """Return the number of tokens behind the source counts, at least 1."""
        return float(max(1, self.source_vocabulary.counts.sum()))

    @cached_property
    def target_tokens(self) -> float:
        """Return the number of tokens behind the target counts, at least 1."""
        return float(max(1, self.target_vocabulary.counts.sum()))
