"""Which words occur together in the pairs of a bitext, and how often: the pattern of the lexical tables.

Every sentence is made a bag: its distinct words w with their numbers b_i(w). The cells of the tables are
the pairs (s, t) of a source and a target word that share at least one sentence pair; with each goes

    joint(s, t) = sum_i min(b_i(s), b_i(t)),

from which the Dice coefficient follows. The cells are found word by word: an inverted index gives the
pairs a source word occurs in, an array over the target vocabulary marks what has been met. Nothing is
hashed, no list of all co-occurrences is sorted, and the rows of the table do not depend on each other, so
that threads share the source words and any number of them makes the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from align.core.ragged import offsets_of, read_only
from align.data.corpus import Corpus, Sentences
from align.statistics import cooccurrence_kernels as kernels

# Bytes that one cell takes while the tables are estimated: target id, Dice, and two probabilities.
BYTES_PER_CELL = 16

# Ranges of words a thread: more than one, so that none waits long for the last.
_RANGES_PER_JOB = 8


@dataclass(frozen=True)
class Bags:
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
        kernels.add_repeats(self.words, self.repeats, counts)
        return counts


@dataclass(frozen=True)
class Postings:
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


@dataclass(frozen=True)
class Text:
    """What the cells of a bitext are counted from.

    Attributes
    ----------
    source : Postings
        Where each source word occurs.
    target : Bags
        The target sentences.
    source_counts, target_counts : ndarray of int64, shapes (Vs,) and (Vt,)
        Occurrences of each word.
    """

    source: Postings
    target: Bags
    source_counts: np.ndarray
    target_counts: np.ndarray

    def work(self) -> np.ndarray:
        """Return the steps that finding the cells of the source words takes, cumulative, int64, (Vs + 1,)."""
        work = np.zeros(len(self.source_counts) + 1, dtype=np.int64)
        kernels.add_work(self.source.offsets, self.source.sentences, self.target.offsets, work[1:])
        return np.cumsum(work, out=work)

    def counted(self, sizes: np.ndarray, ranges: tuple[tuple[int, int], ...], jobs: int) -> Cooccurrence:
        """Return the index, with the number of cells of each source word, shape (Vs,)."""
        rows = offsets_of(sizes)
        return Cooccurrence(
            self.source, self.target, self.source_counts, self.target_counts, rows, ranges, jobs
        )


@dataclass(frozen=True)
class Cooccurrence:
    """The index of a bitext and the size of its table.

    Attributes
    ----------
    source : Postings
        Where each source word occurs.
    target : Bags
        The target sentences.
    source_counts, target_counts : ndarray of int64, shapes (Vs,) and (Vt,)
        Occurrences of each word.
    rows : ndarray of int64, shape (Vs + 1,)
        The cells of source word s are to be numbers ``rows[s]`` to ``rows[s + 1]``.
    ranges : tuple of (int, int)
        Runs of source words of about equal work, for threads.
    jobs : int
        Threads to use, >= 1.
    """

    source: Postings
    target: Bags
    source_counts: np.ndarray
    target_counts: np.ndarray
    rows: np.ndarray
    ranges: tuple[tuple[int, int], ...]
    jobs: int

    @property
    def cells(self) -> int:
        """Pairs of words that occur together."""
        return int(self.rows[-1])

    def memory(self, known_cells: int = 0, *, jobs: int | None = None) -> int:
        """Return the bytes that estimating takes at its peak, this index included.

        Parameters
        ----------
        known_cells : int
            Cells of a prior.
        jobs : int, optional
            Threads; those of the index without it.
        """
        index = 12 * len(self.target.words) + 8 * len(self.source.sentences) + 8 * len(self.target.offsets)
        words = 64 * (len(self.source_counts) + len(self.target_counts))
        threads = (self.jobs if jobs is None else jobs) * 24 * len(self.target_counts)
        cells = self.cells + known_cells
        # with a prior: its tables, the cells of the two apart, and the counts known of each cell
        grown = 16 * known_cells + 16 * cells if known_cells else 0
        return index + words + threads + BYTES_PER_CELL * cells + grown

    def share(self, work: Callable[[int, int], None]) -> None:
        """Call ``work(first, last)`` for every range of source words, on the threads."""
        share(work, self.ranges, self.jobs)


def share(
    work: Callable[[int, int], None], ranges: tuple[tuple[int, int], ...] | list[tuple[int, int]], jobs: int
) -> None:
    """Call ``work(first, last)`` for every range, on so many threads."""
    if jobs == 1:
        for first, last in ranges:
            work(first, last)
        return
    with ThreadPoolExecutor(jobs) as pool:
        for _ in pool.map(lambda each: work(*each), ranges):
            pass


def cut(work: np.ndarray, parts: int) -> tuple[tuple[int, int], ...]:
    """Cut items into at most ``parts`` runs of about equal work; ``work`` (items + 1,) is cumulative."""
    edges = np.searchsorted(work, np.linspace(0, work[-1], parts + 1))
    edges[0], edges[-1] = 0, len(work) - 1
    return tuple((int(first), int(last)) for first, last in pairwise(edges) if first < last)


def index(
    parts: Sequence[Corpus], n_source: int, n_target: int, *, used: np.ndarray | None = None, jobs: int = 1
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
    jobs : int
        Threads, >= 1; the result does not depend on it, but for its ``ranges``.

    Returns
    -------
    Cooccurrence
    """
    text = read(parts, n_source, n_target, used=used)
    ranges = cut(text.work(), 1 if jobs == 1 else _RANGES_PER_JOB * jobs) if n_source else ()
    sizes = np.zeros(n_source, dtype=np.int64)

    def count(first: int, last: int) -> None:
        sizes[first:last] = count_run(text.source.part(first, last), text.target, n_target)

    share(count, ranges, jobs)
    return text.counted(sizes, ranges, jobs)


def read(parts: Sequence[Corpus], n_source: int, n_target: int, *, used: np.ndarray | None = None) -> Text:
    """Make bags and inverted index of a bitext, the part of :func:`index` before cells are counted."""
    source = bags([part.source for part in parts], n_source, used)
    source_counts = source.counts(n_source)
    postings = invert(source, n_source)
    del source
    target = bags([part.target for part in parts], n_target, used)
    return Text(postings, target, source_counts, target.counts(n_target))


def count_run(source: Postings, target: Bags, n_target: int) -> np.ndarray:
    """Return the number of cells of each word of a run, int64.

    Parameters
    ----------
    source : Postings
        Of the words of the run (:meth:`Postings.part`).
    target : Bags
        All target sentences.
    n_target : int
        Size of the target vocabulary.
    """
    sizes = np.zeros(len(source.offsets) - 1, dtype=np.int64)
    kernels.count_cells(
        read_only(source.offsets),
        read_only(source.sentences),
        read_only(target.words),
        read_only(target.offsets),
        np.full(n_target, -1, dtype=np.int32),
        sizes,
    )
    return sizes


def bags(parts: Sequence[Sentences], size: int, used: np.ndarray | None = None) -> Bags:
    """Return the bags of the words with an id below ``size``; a sentence not ``used`` has an empty one."""
    pairs, tokens = sum(len(part) for part in parts), sum(len(part.ids) for part in parts)
    words, repeats = np.empty(tokens, dtype=np.int32), np.empty(tokens, dtype=np.float32)
    offsets = np.zeros(pairs + 1, dtype=np.int64)
    taken = np.ones(pairs, dtype=bool) if used is None else used
    first = 0
    for part in parts:
        last = first + len(part)
        kernels.fill_bags(
            read_only(part.ids),
            part.offsets,
            taken[first:last],
            size,
            words,
            repeats,
            offsets[first : last + 1],
        )
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
    kernels.count_words(bag.words, offsets[1:])
    np.cumsum(offsets, out=offsets)
    sentences = np.empty(len(bag.words), dtype=np.int32)
    repeats = np.empty(len(bag.words), dtype=np.float32)
    kernels.fill_postings(bag.words, bag.repeats, bag.offsets, offsets[:-1].copy(), sentences, repeats)
    return Postings(offsets, sentences, repeats)


def joint_counts(together: Cooccurrence) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of the table and how often each pair of words occurs together.

    Returns
    -------
    targets : ndarray of int32, shape (cells,)
        Target words, ascending for each source word.
    joint : ndarray of float32, shape (cells,)
        sum_i min(b_i(s), b_i(t)) > 0.
    """
    targets = np.empty(together.cells, dtype=np.int32)
    joint = np.empty(together.cells, dtype=np.float32)

    def fill(first: int, last: int) -> None:
        cells = slice(together.rows[first], together.rows[last])
        fill_run(
            together.source.part(first, last),
            together.target,
            len(together.target_counts),
            together.rows[first : last + 1],
            (targets[cells], joint[cells]),
        )

    together.share(fill)
    return targets, joint


def fill_run(
    source: Postings,
    target: Bags,
    n_target: int,
    rows: np.ndarray,
    out: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write the cells of the words of a run.

    Parameters
    ----------
    source, target, n_target
        As for :func:`count_run`.
    rows : ndarray of int64, shape (words + 1,)
        Where the cells of each word begin; the first number is that of the first place of `out`.
    out : tuple of ndarray
        For targets (int32) and joint counts (float32), both of shape (cells of the run,).
    """
    kernels.fill_cells(
        read_only(source.offsets),
        read_only(source.sentences),
        read_only(source.repeats),
        read_only(target.words),
        read_only(target.repeats),
        read_only(target.offsets),
        np.zeros(n_target, dtype=np.float32),
        read_only(rows),
        *out,
    )
