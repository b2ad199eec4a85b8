"""Which words occur together in the pairs of a bitext, and how often: the pattern of the lexical tables.

Every sentence is made a bag: its distinct words w with their numbers b_i(w). The cells of the tables are
the pairs (s, t) of a source and a target word that share at least one sentence pair; with each goes

    joint(s, t) = sum_i min(b_i(s), b_i(t)),

from which the Dice coefficient follows. The cells are found word by word: an inverted index gives the
pairs a source word occurs in, an array over the target vocabulary marks what has been met. Nothing is
hashed, no list of all co-occurrences is sorted, and the rows of the table do not depend on each other, so
that shards of the source words are counted anywhere (:mod:`align.statistics.mapper`) to the same table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import offsets_of, read_only
from align.data.corpus import Corpus, Sentences
from align.statistics.mapper import Mapper, Shards, Threads, cut

# Bytes that one cell takes while the tables are estimated: target id, Dice, two probabilities, and a copy
# of one, which NumPy makes from version 2.5 on where an array changes its size.
BYTES_PER_CELL = 20


class Bags(NamedTuple):
    """The sentences of one side as bags of words.

    Attributes
    ----------
    words : ndarray of int32, shape (U,)
        The distinct words of each sentence, ascending, one sentence after the other.
    repeats : ndarray of float32, shape (U,)
        How often each occurs in its sentence, >= 1.
    offsets : ndarray of int64, shape (N + 1,)
        Sentence i is ``words[offsets[i]:offsets[i + 1]]``.
    """

    words: np.ndarray
    repeats: np.ndarray
    offsets: np.ndarray

    def part(self, first: int, last: int) -> Bags:
        """Return sentences ``first`` to ``last``; the offsets still begin where they do in the whole."""
        begin, end = self.offsets[first], self.offsets[last]
        return Bags(self.words[begin:end], self.repeats[begin:end], self.offsets[first : last + 1])

    def counts(self, size: int) -> np.ndarray:
        """Return the occurrences of each of ``size`` words, int64, shape (size,)."""
        counts = np.zeros(size, dtype=np.int64)
        sum_by_word(self.words, self.repeats, counts)
        return counts


class Postings(NamedTuple):
    """The inverted index of one side: the sentences each word occurs in.

    Attributes
    ----------
    offsets : ndarray of int64, shape (V + 1,)
        Those of word w are ``sentences[offsets[w]:offsets[w + 1]]``.
    sentences : ndarray of int32, shape (U,)
        Sentence indices, ascending for each word.
    repeats : ndarray of float32, shape (U,)
        How often the word occurs in the sentence, >= 1.
    """

    offsets: np.ndarray
    sentences: np.ndarray
    repeats: np.ndarray

    def part(self, first: int, last: int) -> Postings:
        """Return those of words ``first`` to ``last``, from 0; offsets still lead into all sentences."""
        return Postings(self.offsets[first : last + 1], self.sentences, self.repeats)


def sealed(arrays: Any) -> Any:
    """Return a named tuple with read-only views of its arrays, as kernels take what they do not change.

    In memory and mapped from disk they are then of one type to the compiler.
    """
    return type(arrays)(*map(read_only, arrays))


@dataclass(frozen=True)
class Cooccurrence:
    """The index of a bitext and the size of its table.

    Attributes
    ----------
    source, target
        :class:`Postings` of the source words and :class:`Bags` of the target sentences, as stored by the
        mapper that made the index.
    source_counts, target_counts : ndarray of int64, shapes (Vs,) and (Vt,)
        Occurrences of each word.
    entries : tuple of int
        Distinct words of all source sentences, and of all target sentences.
    pairs : int
        Sentence pairs N, of the bitext they were chosen from.
    sizes : ndarray of int64, shape (Vs,)
        Cells of each source word.
    shards : tuple of (int, int)
        Runs of source words of about equal work.
    """

    source: Any
    target: Any
    source_counts: np.ndarray
    target_counts: np.ndarray
    entries: tuple[int, int]
    pairs: int
    sizes: np.ndarray
    shards: Shards

    @property
    def cells(self) -> int:
        """Pairs of words that occur together."""
        return int(self.sizes.sum())

    def memory(self, prior_cells: int = 0, *, jobs: int) -> int:
        """Return the bytes that estimating takes at its peak on so many threads, this index included.

        ``prior_cells`` are the cells of a prior.
        """
        index = 8 * self.entries[0] + 12 * self.entries[1] + 8 * (self.pairs + 1)
        words = 64 * (len(self.source_counts) + len(self.target_counts))
        threads = jobs * 24 * len(self.target_counts)
        cells = self.cells + prior_cells
        # with a prior: its tables, the cells of the two apart, and the prior counts of each cell
        grown = 16 * prior_cells + 16 * cells if prior_cells else 0
        return index + words + threads + BYTES_PER_CELL * cells + grown


def index(
    parts: Sequence[Corpus],
    n_source: int,
    n_target: int,
    *,
    used: np.ndarray | None = None,
    mapper: Mapper | None = None,
) -> Cooccurrence:
    """Index a bitext and count the cells of its table.

    Parameters
    ----------
    parts : sequence of Corpus
        The sentence pairs, one corpus after the other; their tokens may lie on disk. Words with an id at or
        above the vocabulary's size are left out.
    n_source, n_target : int
        Sizes of the vocabularies Vs and Vt, >= 0.
    used : ndarray of bool, shape (N,), optional
        The pairs to take; all without it.
    mapper : Mapper, optional
        Who counts, and keeps the index; one thread without it. The counts do not depend on it.

    Returns
    -------
    Cooccurrence
    """
    mapper = Threads() if mapper is None else mapper
    bag = bags([part.source for part in parts], n_source, used)
    source_counts, postings = bag.counts(n_source), invert(bag, n_source)
    del bag
    bag = bags([part.target for part in parts], n_target, used)
    target_counts, entries = bag.counts(n_target), (len(postings.sentences), len(bag.words))
    work = np.zeros(n_source + 1, dtype=np.int64)
    _add_work(postings.offsets, postings.sentences, bag.offsets, work[1:])
    np.cumsum(work, out=work)
    shards = cut(work, mapper.word_shards(int(work[-1]))) or ((0, 0),)
    pairs = len(bag.offsets) - 1
    source, target = mapper.put(postings), mapper.put(bag)
    del postings, bag
    found = mapper.map(count_cells, [(source, target, n_target, shard) for shard in shards])
    sizes = np.concatenate([mapper.get(each).sizes for each in found])
    return Cooccurrence(source, target, source_counts, target_counts, entries, pairs, sizes, shards)


def bags(parts: Sequence[Sentences], size: int, used: np.ndarray | None = None) -> Bags:
    """Return the bags of the words with an id below ``size``; a sentence not ``used`` has an empty one."""
    pairs, tokens = sum(len(part) for part in parts), sum(len(part.ids) for part in parts)
    words, repeats = np.empty(tokens, dtype=np.int32), np.empty(tokens, dtype=np.float32)
    offsets = np.zeros(pairs + 1, dtype=np.int64)
    taken = np.ones(pairs, dtype=bool) if used is None else used
    first = 0
    for part in parts:
        last = first + len(part)
        own = Bags(words, repeats, offsets[first : last + 1])
        _fill_bags(read_only(part.ids), part.offsets, taken[first:last], size, own)
        first = last
    return Bags(shrunk(words, int(offsets[-1])), shrunk(repeats, int(offsets[-1])), offsets)


def shrunk(values: np.ndarray, size: int) -> np.ndarray:
    """Return the first ``size`` values; the memory of the others is given back at once, without a copy.

    The array itself is used up, which no other may share.
    """
    if not values.flags.owndata:
        return values[:size].copy()
    values.resize(size, refcheck=False)
    return values


def invert(bag: Bags, size: int) -> Postings:
    """Return the inverted index of ``size`` words."""
    offsets = np.zeros(size + 1, dtype=np.int64)
    count_words(bag.words, offsets[1:])
    np.cumsum(offsets, out=offsets)
    sentences = np.empty(len(bag.words), dtype=np.int32)
    repeats = np.empty(len(bag.words), dtype=np.float32)
    _fill_postings(bag, offsets[:-1].copy(), sentences, repeats)
    return Postings(offsets, sentences, repeats)


class Sizes(NamedTuple):
    """How many cells each word of a shard has, int64."""

    sizes: np.ndarray


class JointCounts(NamedTuple):
    """The cells of a shard of the source words.

    Attributes
    ----------
    rows : ndarray of int64, shape (words + 1,)
        Those of word s of the shard are ``rows[s]`` to ``rows[s + 1]``, from 0.
    targets : ndarray of int32, shape (cells,)
        Target words, ascending for each source word.
    joint : ndarray of float32, shape (cells,)
        sum_i min(b_i(s), b_i(t)) > 0.
    """

    rows: np.ndarray
    targets: np.ndarray
    joint: np.ndarray


def count_cells(source: Postings, target: Bags, n_target: int, shard: tuple[int, int]) -> Sizes:
    """Return the number of cells of each word of a shard, given the whole index."""
    sizes = np.zeros(shard[1] - shard[0], dtype=np.int64)
    met = np.full(n_target, -1, dtype=np.int32)
    _count_cells(sealed(source.part(*shard)), sealed(target), met, sizes)
    return Sizes(sizes)


def joint_counts(
    source: Postings, target: Bags, n_target: int, shard: tuple[int, int], sizes: np.ndarray
) -> JointCounts:
    """Return the cells of a shard, given the whole index and what :func:`count_cells` found."""
    rows = offsets_of(sizes)
    found = JointCounts(rows, np.empty(rows[-1], dtype=np.int32), np.empty(rows[-1], dtype=np.float32))
    _fill_cells(sealed(source.part(*shard)), sealed(target), np.zeros(n_target, dtype=np.float32), found)
    return found


@kernel
def _fill_bags(ids: np.ndarray, starts: np.ndarray, taken: np.ndarray, size: int, bag: Bags) -> None:
    """Write the bags of some sentences; their first offset says where they begin, the rest are filled."""
    words, repeats, offsets = bag
    end = offsets[0]
    for i in range(len(starts) - 1):
        if taken[i]:
            first = end
            sentence = ids[starts[i] : starts[i + 1]].copy()
            _sort(sentence)
            for word in sentence:
                if word >= size:
                    break
                if end > first and words[end - 1] == word:
                    repeats[end - 1] += 1
                else:
                    words[end] = word
                    repeats[end] = 1
                    end += 1
        offsets[i + 1] = end


@kernel
def _fill_postings(bag: Bags, places: np.ndarray, sentences: np.ndarray, repeats: np.ndarray) -> None:
    """Write the sentences of each word from its place on; ``places`` (V,) is used up."""
    for i in range(len(bag.offsets) - 1):
        for entry in range(bag.offsets[i], bag.offsets[i + 1]):
            word = bag.words[entry]
            sentences[places[word]] = i
            repeats[places[word]] = bag.repeats[entry]
            places[word] += 1


@kernel
def count_words(words: np.ndarray, counts: np.ndarray) -> None:
    """Count the entries of each word; NumPy's bincount would first make 8 bytes of each of 4."""
    for word in words:
        counts[word] += 1


@kernel
def sum_by_word(words: np.ndarray, values: np.ndarray, totals: np.ndarray) -> None:
    """Add the value of each entry to the total of its word."""
    for entry in range(len(words)):
        totals[words[entry]] += values[entry]


@kernel
def _add_work(postings: np.ndarray, sentences: np.ndarray, offsets: np.ndarray, work: np.ndarray) -> None:
    """Add up the words beside each source word: what it costs to find its cells."""
    for s in range(len(work)):
        for posting in range(postings[s], postings[s + 1]):
            i = sentences[posting]
            work[s] += offsets[i + 1] - offsets[i]


@kernel
def _count_cells(source: Postings, target: Bags, met: np.ndarray, sizes: np.ndarray) -> None:
    """Count the distinct target words beside each source word; ``met`` (Vt,) is all -1 before.

    Unsigned indices of entries and words, here and below, spare a check of each for being negative.
    """
    offsets, words = target.offsets, target.words
    for s in range(len(sizes)):
        size = 0
        for posting in range(source.offsets[s], source.offsets[s + 1]):
            i = source.sentences[posting]
            for entry in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                t = np.uint64(words[entry])
                if met[t] != s:
                    met[t] = s
                    size += 1
        sizes[s] = size


@kernel
def _fill_cells(source: Postings, target: Bags, count: np.ndarray, found: JointCounts) -> None:
    """Write the cells of a shard's words; ``count`` (Vt,) is all zero before and after."""
    words, repeats, offsets = target
    rows, targets, joint = found
    for s in range(len(rows) - 1):
        first, last = rows[s], rows[s + 1]
        cell = first
        for posting in range(source.offsets[s], source.offsets[s + 1]):
            i, a = source.sentences[posting], source.repeats[posting]
            for entry in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
                t = np.uint64(words[entry])
                if count[t] == 0:
                    targets[cell] = words[entry]
                    cell += 1
                count[t] += min(a, repeats[entry])
        row = targets[first:last]
        # a row that holds much of the vocabulary is put in order by a walk over the vocabulary
        if len(row) * 16 > len(count):
            place = 0
            for word in range(len(count)):
                if count[word] != 0:
                    row[place] = word
                    place += 1
        else:
            _sort(row)
        for cell in range(first, last):
            joint[cell] = count[targets[cell]]
            count[targets[cell]] = 0


@kernel
def _sort(values: np.ndarray) -> None:
    """Put values in ascending order (Shell's method: numpy's sorting takes seconds to compile)."""
    gap = 1
    while gap < len(values) // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            value, place = values[i], i
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@kernel
def first_at_least(values: np.ndarray, low: int, high: int, least: int) -> int:
    """Return the first place from ``low`` to ``high`` with a value of at least ``least``, else ``high``.

    The values between are ascending. (numpy's search takes ten times as long to compile.)
    """
    while low < high:
        middle = (low + high) // 2
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low
