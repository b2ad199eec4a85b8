"""What features are computed from: the statistics of a language pair, and a block of sentence pairs.

A block holds data and knows no feature. Each of its words is looked up once, not once a token: its vector and
count are gathered into small tables over the block's own words. What several groups of features share is
computed once and kept with the block (:meth:`Block.shared`), that of pairs of words for the whole block
(:meth:`Block.of_edges`), the rest for a part of it, which fits the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from align.core.mapped import take_rows
from align.core.ragged import edge_offsets, offsets_of
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.statistics.stem_links import StemLinks
from align.text.words import VocabularyTable

if TYPE_CHECKING:
    from align.statistics.expected_links import ExpectedLinks
    from align.statistics.lexicon import Lexicon
    from align.statistics.posteriors import Posteriors

Value = TypeVar("Value")

# Entries of a table that are gone through in the time that it takes to sort an id among others.
_WORDS_AN_ID = 64


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
    def source_words(self) -> VocabularyTable:
        """Return the spellings of the source vocabulary, made as they are asked for."""
        return VocabularyTable(self.source_vocabulary)

    @cached_property
    def target_words(self) -> VocabularyTable:
        """Return the spellings of the target vocabulary, made as they are asked for."""
        return VocabularyTable(self.target_vocabulary)

    @cached_property
    def source_tokens(self) -> float:
        """Return the number of tokens behind the source counts, at least 1."""
        return float(max(1, self.source_vocabulary.counts.sum()))

    @cached_property
    def target_tokens(self) -> float:
        """Return the number of tokens behind the target counts, at least 1."""
        return float(max(1, self.target_vocabulary.counts.sum()))

    @cached_property
    def stem_links(self) -> StemLinks | None:
        """Return the links of stems, made when they are first asked for; None without expected links."""
        if self.lexicon is None or self.links is None:
            return None
        return StemLinks.of(self.lexicon, self.links, (self.source_vocabulary, self.target_vocabulary))

    @cached_property
    def letters_ratio(self) -> float:
        """Return how many target letters there are to a source letter in the text behind the counts, > 0."""
        source, target = self.source_vocabulary.letters(), self.target_vocabulary.letters()
        return target / source if source and target else 1.0


class PairBlock(NamedTuple):
    """N sentence pairs as word ids, with what is known of them alone.

    Attributes
    ----------
    corpus : Corpus
        Ids at and above a vocabulary's size stand for unknown words.
    unknown_source, unknown_target : sequence of str
        Lookup keys of the unknown words: id V + u is word u.
    posteriors : Posteriors or None
        What was sampled of the N pairs.
    """

    corpus: Corpus
    unknown_source: Sequence[str] = ()
    unknown_target: Sequence[str] = ()
    posteriors: Posteriors | None = None

    def block(self, start: int, stop: int) -> PairBlock:
        """Return pairs ``start`` to ``stop`` (exclusive)."""
        stored = None if self.posteriors is None else self.posteriors.block(start, stop)
        return self._replace(corpus=self.corpus.block(start, stop), posteriors=stored)


class Side(NamedTuple):
    """One side of a block, as the kernels read it; U distinct words.

    Attributes
    ----------
    starts : ndarray of int64, shape (N + 1,)
        Sentence i is ``tokens[starts[i]:starts[i + 1]]``.
    tokens : ndarray of int32, shape (T,)
        Index into ``words`` of each token.
    words : ndarray of int32, shape (U,)
        The distinct word ids, ascending.
    known, size : int
        How many of them are in the vocabulary (the others are unknown words); its number of words.
    counts : ndarray of int64, shape (T,)
        Count in the corpus of each token's word; 0 for unknown words.
    log_frequencies : ndarray of float32, shape (T,)
        ln(count / tokens of the corpus); a count of 0 is taken as a half.
    log_ranks : ndarray of float64, shape (T,)
        Logarithm of the rank, from 1; of unknown words that after the last known one.
    has_vector : ndarray of bool, shape (T,)
        Whether the word has a vector.
    vectors : ndarray of float32, shape (U, p)
        Word vectors, zero rows for words without one.
    """

    starts: np.ndarray
    tokens: np.ndarray
    words: np.ndarray
    known: int
    size: int
    counts: np.ndarray
    log_frequencies: np.ndarray
    log_ranks: np.ndarray
    has_vector: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(
        cls,
        sentences: Sentences,
        vocabulary: Vocabulary,
        vectors: np.ndarray | None,
        total: float,
        unknown: int,
    ) -> Side:
        """Gather the words of sentences, given the corpus's tokens and the number of unknown words."""
        words, tokens = _distinct(sentences.ids, len(vocabulary), unknown)
        known = int(np.searchsorted(words, len(vocabulary)))
        counts = np.zeros(len(words), dtype=np.int64)
        counts[:known] = vocabulary.counts[words[:known]]
        gathered = np.zeros((len(words), 0 if vectors is None else vectors.shape[1]), dtype=np.float32)
        if vectors is not None:
            gathered[:known] = take_rows(vectors, words[:known])
        return cls(
            np.array(sentences.offsets, dtype=np.int64),
            tokens,
            words,
            known,
            len(vocabulary),
            counts[tokens],
            np.log(np.maximum(counts, 0.5) / total).astype(np.float32)[tokens],
            # Unknown words have numbers in the order they come, which says nothing of them: all are the next.
            np.log(np.minimum(words, len(vocabulary)) + 1.0)[tokens],
            np.asarray(gathered.any(axis=1))[tokens],
            gathered,
        )

    def part(self, start: int, stop: int) -> Side:
        """Return some sentences, their tokens counted from 0."""
        starts = self.starts[start : stop + 1]
        own = slice(int(starts[0]), int(starts[-1]))
        return self._replace(
            starts=starts - starts[0],
            tokens=self.tokens[own],
            counts=self.counts[own],
            log_frequencies=self.log_frequencies[own],
            log_ranks=self.log_ranks[own],
            has_vector=self.has_vector[own],
        )

    def by_word(self) -> np.ndarray:
        """Return the order of the tokens by word, int64, shape (T,)."""
        return np.argsort(self.tokens, kind="stable")

    def of_words(self, table: np.ndarray | None) -> np.ndarray:
        """Return a vocabulary's table (float32) for each word, shape (U,); 0 for unknown words."""
        values: np.ndarray = np.zeros(len(self.words), dtype=np.float32)
        if table is not None:
            values[: self.known] = table[self.words[: self.known]]
        return values


def _distinct(ids: np.ndarray, size: int, unknown: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ids, ascending, and the index there of each id, both int32.

    Of many, a table of all words is an eighth of the time of a sort.
    """
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < size + unknown:
        raise ValueError(
            f"features: word ids {ids.min()} to {ids.max()}, "
            f"but there are only {size} words and {unknown} unknown ones"
        )
    if len(ids) < (size + unknown) // _WORDS_AN_ID:
        distinct, places = np.unique(ids, return_inverse=True)
        return distinct.astype(np.int32), places.astype(np.int32)
    place = np.zeros(size + unknown, dtype=np.int32)
    place[ids] = 1
    words = np.flatnonzero(place).astype(np.int32)
    place[words] = np.arange(len(words), dtype=np.int32)
    return words, place[ids]


@dataclass(frozen=True)
class Block:
    """A block of N sentence pairs with E edges and the words of both sides.

    Attributes
    ----------
    pairs, resources
        Where the words come from, and the statistics.
    shapes : ndarray of int32, shape (N, 2)
        Numbers of words of each pair.
    offsets : ndarray of int64, shape (N + 1,)
        Edge (j, k) of pair i is number ``offsets[i] + j * m_i + k``.
    source, target : Side
        The words.
    whole : Block or None
        What this is a part of, with ``first`` the number there of the first edge here.
    picked : ndarray of int64 or None
        The edges whose features are wanted, ascending; None: those of all.
    """

    pairs: PairBlock
    resources: Resources
    shapes: np.ndarray
    offsets: np.ndarray
    source: Side
    target: Side
    whole: Block | None = None
    first: int = 0
    picked: np.ndarray | None = None
    _kept: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, pairs: PairBlock, resources: Resources) -> Block:
        """Gather what the features of these pairs are computed from."""
        corpus, given = pairs.corpus, resources
        vocabularies = given.source_vocabulary, given.target_vocabulary
        vectors = given.source_vectors, given.target_vectors
        totals = given.source_tokens, given.target_tokens
        unknown = len(pairs.unknown_source), len(pairs.unknown_target)
        sides = (corpus.source, corpus.target)
        source, target = map(Side.of, sides, vocabularies, vectors, totals, unknown)
        shapes = corpus.shapes()
        return cls(pairs, resources, shapes, edge_offsets(shapes), source, target)

    def part(self, start: int, stop: int) -> Block:
        """Return pairs ``start`` to ``stop``: edges and tokens are counted from 0, words stay."""
        if start == 0 and stop == len(self.shapes):
            return self
        first = int(self.offsets[start])
        return Block(
            self.pairs.block(start, stop),
            self.resources,
            self.shapes[start:stop],
            self.offsets[start : stop + 1] - first,
            self.source.part(start, stop),
            self.target.part(start, stop),
            self,
            first,
        )

    def picking(self, edges: np.ndarray) -> Block:
        """Return this block with these edges (int64, ascending) as those whose features are wanted.

        What was computed of the block is kept.
        """
        kept = {of: value for of, value in self._kept.items() if of not in (chosen, ends)}
        return replace(self, picked=edges, _kept=kept)

    def shared(self, function: Callable[[Block], Value]) -> Value:
        """Return ``function(block)``, which is called once."""
        if function not in self._kept:
            self._kept[function] = function(self)
        value: Value = self._kept[function]
        return value

    def of_edges(self, function: Callable[[Block], np.ndarray]) -> np.ndarray:
        """Return what a function gives for each edge, shape (..., E); it is called once a whole block."""
        found = self.shared(function) if self.whole is None else self.whole.shared(function)
        return found[..., self.first : self.first + int(self.offsets[-1])]


class Chosen(NamedTuple):
    """The C edges of a block whose features are wanted, source token after source token.

    Attributes
    ----------
    starts : ndarray of int64, shape (T + 1,)
        Those of source token t are ``starts[t]`` to ``starts[t + 1]``.
    targets : ndarray of int32, shape (C,)
        The place of each one's target word in its sentence, ascending for each source token.
    edges : ndarray of int64, shape (C,)
        Their numbers in the block, ascending.
    """

    starts: np.ndarray
    targets: np.ndarray
    edges: np.ndarray


def chosen(block: Block) -> Chosen:
    """Return the edges whose features are wanted."""
    rows = offsets_of(np.repeat(block.shapes[:, 1].astype(np.int64), block.shapes[:, 0]))
    edges = block.picked
    starts = rows if edges is None else np.searchsorted(edges, rows)
    if edges is None:
        edges = np.arange(rows[-1])
    targets = (edges - np.repeat(rows[:-1], np.diff(starts))).astype(np.int32)
    return Chosen(starts, targets, edges)


class Ends(NamedTuple):
    """The two ends of each edge whose features are wanted, each an array of shape (C,).

    Attributes
    ----------
    pair : ndarray of int64
        Which pair it is in.
    source, target : ndarray of int64
        Its source and its target token, as numbers in the block.
    source_word, target_word : ndarray of int32
        Their words, as numbers in the block.
    """

    pair: np.ndarray
    source: np.ndarray
    target: np.ndarray
    source_word: np.ndarray
    target_word: np.ndarray


def ends(block: Block) -> Ends:
    """Return the two ends of each edge whose features are wanted."""
    edges = block.shared(chosen).edges
    pair = np.searchsorted(block.offsets, edges, side="right") - 1
    row, column = np.divmod(edges - block.offsets[pair], block.shapes[pair, 1])
    source, target = block.source.starts[pair] + row, block.target.starts[pair] + column
    return Ends(pair, source, target, block.source.tokens[source], block.target.tokens[target])
