r"""IBM Model 1 in both directions at once, over the cells of a co-occurrence table.

Every target word of a pair comes from one source word or from NULL, each as likely as the other
(Brown et al. 1993, equation (6) ff. [1]_):

    p(target | source) = prod_k  1 / (n + 1)  sum_{j = 0..n} p(t_k | s_j),      s_0 = NULL,

and the same with the sides exchanged. One round of EM takes the expected counts

    c(t | s) = sum_i b_i(t) a_i(s) p(t | s) / den_i(t),     den_i(t) = p(t | NULL) + sum_s a_i(s) p(t | s)

and makes them probabilities again: c(t | s) / c(s) with smoothing 0, or by variational Bayes under a
symmetric Dirichlet prior of that size (Riley and Gildea 2012 [2]_)

    p(t | s) ~ exp(psi(c(t | s) + smoothing)) / exp(psi(c(s) + smoothing K_s)),

K_s cells in the row, which keeps rare words from taking the blame for everything. The last round is never
smoothed, so that the rows of the result sum to one.

A round walks over the source words, with the row of each spread out over an array of the target
vocabulary, so that memory is read in order and nothing is looked up. The E-step has two parts. den needs a
walk of its own, in shards of the sentences (:func:`denominators`). In the other direction den sums over the
target words of one sentence and is at hand at once, so that one further walk, in shards of the source words,
serves both directions (:func:`expected_counts`). No shard needs another's result: a
:class:`~align.statistics.mapper.Mapper` has them done. Every cell is summed in one fixed order, and so are
the columns, NULL and the likelihood, by :func:`train`: any mapper and any shards give the same bytes.

References
----------
.. [1] P. F. Brown, S. A. Della Pietra, V. J. Della Pietra, R. L. Mercer, "The mathematics of statistical
   machine translation: parameter estimation", Computational Linguistics 19(2), 1993.
.. [2] D. Riley and D. Gildea, "Improving the IBM alignment models using variational Bayes", ACL 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only
from align.statistics.cooccurrence import (
    Bags,
    Cooccurrence,
    Postings,
    count_words,
    first_at_least,
    sealed,
    sum_by_word,
)
from align.statistics.mapper import Mapper, cut, writable


class Cells(NamedTuple):
    """The cells of a shard of the source words.

    Attributes
    ----------
    rows, targets
        As of :class:`~align.statistics.cooccurrence.JointCounts`.
    dice : ndarray of float32, shape (cells,)
        Dice coefficients.
    prior_forward, prior_reverse : ndarray of float32, shape (cells,) or (0,)
        Prior counts of target words given source words and of source words given target words, >= 0, which
        are added to the expected ones in every round; empty without a prior.
    """

    rows: np.ndarray
    targets: np.ndarray
    dice: np.ndarray
    prior_forward: np.ndarray
    prior_reverse: np.ndarray


class Ratio(NamedTuple):
    """b_i(t) / den_i(t) of each entry of the target bags, float32, shape (U,)."""

    ratio: np.ndarray


class Tables(NamedTuple):
    """What a round makes of the cells of a shard.

    Attributes
    ----------
    forward, reverse : ndarray of float32, shape (cells,)
        p(t | s), and counts of s given t, which :attr:`WordFactors.scale` makes probabilities.
    null_counts, likelihood : ndarray of float64, shape (words,)
        What NULL gets of each source word, and the log-likelihood of its occurrences but for the model's
        choices.
    """

    forward: np.ndarray
    reverse: np.ndarray
    null_counts: np.ndarray
    likelihood: np.ndarray


class WordFactors(NamedTuple):
    """What a round needs of single words.

    Attributes
    ----------
    null_forward : ndarray of float32, shape (Vt,)
        p(t | NULL).
    null_reverse : ndarray of float64, shape (Vs,)
        p(s | NULL).
    scale : ndarray of float64, shape (Vt,)
        Factors that make the reverse counts of the round before probabilities.
    """

    null_forward: np.ndarray
    null_reverse: np.ndarray
    scale: np.ndarray


class Model1(NamedTuple):
    """What Model 1 has learnt.

    Attributes
    ----------
    tables : list
        :class:`Tables` of each shard, as the mapper has stored them.
    words : WordFactors
        Those of the last round.
    """

    tables: list[Any]
    words: WordFactors


def train(
    cooccurrence: Cooccurrence,
    cells: list[Any],
    mapper: Mapper,
    *,
    iterations: int,
    smoothing: float,
    on_iteration: Callable[[int, float, float], None] | None = None,
) -> Model1:
    """Run EM from a uniform start, or from prior counts.

    Parameters
    ----------
    cooccurrence : Cooccurrence
        The index of the bitext.
    cells : list
        :class:`Cells` of each of its shards, as the mapper has stored them; every pair of words that occurs
        together has one.
    mapper : Mapper
        Who does the E-steps.
    iterations : int
        Rounds, >= 1.
    smoothing : float
        Size of the Dirichlet prior in counts a cell, >= 0; 0 is maximum likelihood.
    on_iteration : function, optional
        Called with the number of the round (from 1) and the log-likelihoods, in nats, of the target side
        given the source and of the source side given the target, under the tables the round began with.

    Returns
    -------
    Model1
    """
    n_source, n_target = len(cooccurrence.source_counts), len(cooccurrence.target_counts)
    choices = log_choices(mapper.get(cooccurrence.source), mapper.get(cooccurrence.target))
    tables = mapper.map(first_tables, [(each, n_source, n_target) for each in cells])
    scale, sizes = _first_scale(map(mapper.get, cells), n_target)
    null_forward, null_reverse = (np.full(size, 1 / max(size, 1)) for size in (n_target, n_source))
    before = 0.0
    for iteration in range(1, iterations + 1):
        now = float(smoothing) if iteration < iterations else 0.0
        tables, null_counts, ahead = _e_step(
            *(cooccurrence, cells, tables, mapper),
            *(null_forward, null_reverse, scale, (before, now)),
        )
        found = [mapper.get(each) for each in tables]
        if on_iteration is not None:
            back = float(np.concatenate([each.likelihood for each in found]).sum())
            on_iteration(iteration, ahead - choices[0], back - choices[1])
        scale = np.zeros(n_target)
        for own, each in zip(map(mapper.get, cells), found, strict=True):
            sum_by_word(read_only(own.targets), read_only(each.reverse), scale)
        _invert_totals(scale, sizes, now)
        null_forward = _shares(null_counts)
        null_reverse = _shares(np.concatenate([each.null_counts for each in found]))
        del found  # a mapped file keeps its place on the disk
        before = now
    return Model1(tables, WordFactors(null_forward.astype(np.float32), null_reverse, scale))


def first_tables(cells: Cells, n_source: int, n_target: int) -> Tables:
    """Return uniform tables of a shard, or those of its prior counts, given the whole vocabularies' sizes."""
    forward = np.full(len(cells.targets), 1 / max(n_target, 1), dtype=np.float32)
    reverse = np.full(len(cells.targets), 1 / max(n_source, 1), dtype=np.float32)
    if len(cells.prior_forward):
        # one count spread over the vocabulary keeps what has no prior count possible
        forward += cells.prior_forward
        _divide_rows(read_only(cells.rows), forward, read_only(cells.prior_forward))
        reverse += cells.prior_reverse
    return Tables(forward, reverse, np.zeros(0), np.zeros(0))


def denominators(
    source: Postings,
    target: Bags,
    shard: tuple[int, int],
    cells: Iterable[Cells],
    tables: Iterable[Tables],
    words: WordFactors,
    den: np.ndarray,
) -> None:
    """Do the first part of an E-step for a shard of the sentences: find den of its entries.

    Parameters
    ----------
    source, target
        The whole index.
    shard : tuple of int
        The first sentence, and the one behind the last.
    cells, tables : iterable
        Of all shards of the source words, in order.
    words : WordFactors
    den : ndarray of float32, shape (entries of the shard,)
        Is filled.
    """
    own = sealed(target.part(*shard))
    _take(read_only(words.null_forward), own.words, den)
    row = np.zeros(len(words.null_forward), dtype=np.float32)
    first = 0
    for each, table in zip(cells, tables, strict=True):
        last = first + len(each.rows) - 1
        postings = sealed(source.part(first, last))
        _add_denominators(shard[0], postings, own, row, sealed(each), read_only(table.forward), den)
        first = last


def expected_counts(
    source: Postings,
    target: Bags,
    shard: tuple[int, int],
    cells: Cells,
    tables: Tables,
    words: WordFactors,
    ratio: Ratio,
    smoothing: tuple[float, float],
) -> Tables:
    """Do the second part of an E-step, and the M-step but for columns, for a shard of the source words.

    Parameters
    ----------
    source, target
        The whole index.
    shard, cells, tables
        A run of source words, and what belongs to it; the tables are used up if they can be written to.
    words : WordFactors
    ratio : Ratio
    smoothing : tuple of float
        That of the reverse counts there are, and that of the forward counts to come, >= 0.
    """
    size = shard[1] - shard[0]
    found = Tables(writable(tables.forward), writable(tables.reverse), np.zeros(size), np.zeros(size))
    own = WordFactors(words.null_forward, words.null_reverse[slice(*shard)], words.scale)
    _expect(
        sealed(source.part(*shard)), sealed(target), sealed(cells), sealed(own), read_only(ratio.ratio),
        smoothing, found,
    )  # fmt: skip
    return found


def log_choices(source: Postings, target: Bags) -> tuple[float, float]:
    """Return sum_i m_i log(n_i + 1) and sum_i n_i log(m_i + 1)."""
    n, m = np.zeros((2, len(target.offsets) - 1))
    # np.bincount would first make 16 bytes a word of what takes 8.
    sum_by_word(read_only(source.sentences), read_only(source.repeats), n)
    _sum_rows(sealed(target), m)
    return float(m @ np.log1p(n)), float(n @ np.log1p(m))


def _e_step(
    cooccurrence: Cooccurrence,
    cells: list[Any],
    tables: list[Any],
    mapper: Mapper,
    null_forward: np.ndarray,
    null_reverse: np.ndarray,
    scale: np.ndarray,
    smoothing: tuple[float, float],
) -> tuple[list[Any], np.ndarray, float]:
    """Have both parts of an E-step done; return tables, what NULL gets of target words, and likelihood."""
    index = cooccurrence.source, cooccurrence.target
    words = mapper.put(WordFactors(null_forward.astype(np.float32), null_reverse, scale))
    bags = sealed(mapper.get(cooccurrence.target))
    shards = cut(bags.offsets, mapper.sentence_shards(len(cooccurrence.shards)))
    edges = bags.offsets[[0, *(last for _, last in shards)]]
    pieces = [(*index, shard, cells, tables, words) for shard in shards]
    den = mapper.fill(denominators, pieces, edges)
    null_counts = np.zeros(len(null_forward))
    likelihood = _divide(bags.words, bags.repeats, den, null_forward, null_counts)
    ratio = mapper.put(Ratio(den))
    found = mapper.map(
        expected_counts,
        [
            (*index, shard, *own, words, ratio, smoothing)
            for shard, *own in zip(cooccurrence.shards, cells, tables, strict=True)
        ],
    )
    mapper.drop([*tables, words, ratio])
    return found, null_counts, likelihood


def _first_scale(cells: Iterable[Cells], n_target: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors of the first tables' columns, and how many cells each has."""
    sizes, totals = np.zeros(n_target), np.zeros(n_target)
    for each in cells:
        count_words(read_only(each.targets), sizes)
        if len(each.prior_reverse):
            sum_by_word(read_only(each.targets), read_only(each.prior_reverse), totals)
    return 1 / (totals + 1), sizes


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts / max(counts.sum(), np.finfo(np.float64).tiny)


@kernel
def _take(values: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the values at the indices, which must be in range; NumPy would copy 8 bytes each."""
    for entry in range(len(indices)):
        out[entry] = values[np.uint64(indices[entry])]


@kernel(error_model="numpy")
def _add_denominators(
    first: int,
    source: Postings,
    target: Bags,
    row: np.ndarray,
    cells: Cells,
    forward: np.ndarray,
    den: np.ndarray,
) -> None:
    """Add a_i(s) p(t | s) to den of a shard of sentences, of which ``first`` is the number of the first.

    ``row`` (Vt,) is room for one source word, whatever is in it. Unsigned indices of cells, entries and
    words, here and below, spare a check of each for being negative.
    """
    words, offsets = target.words, target.offsets
    last = first + len(offsets) - 1
    for s in range(len(cells.rows) - 1):
        begin = first_at_least(source.sentences, source.offsets[s], source.offsets[s + 1], first)
        end = first_at_least(source.sentences, begin, source.offsets[s + 1], last)
        if begin == end:
            continue
        for cell in range(np.uint64(cells.rows[s]), np.uint64(cells.rows[s + 1])):
            row[np.uint64(cells.targets[cell])] = forward[cell]
        for posting in range(begin, end):
            i, a = source.sentences[posting] - first, source.repeats[posting]
            for entry in range(np.uint64(offsets[i] - offsets[0]), np.uint64(offsets[i + 1] - offsets[0])):
                den[entry] += a * row[np.uint64(words[entry])]


@kernel(error_model="numpy")
def _divide(
    words: np.ndarray, repeats: np.ndarray, den: np.ndarray, null: np.ndarray, counts: np.ndarray
) -> float:
    """Turn den into repeats / den, add what NULL gets to ``counts``, and return the log-likelihood.

    The choices of the model are left out of it.
    """
    total = 0.0
    for entry in range(len(words)):
        if den[entry] > 0:
            total += repeats[entry] * math.log(den[entry])
            den[entry] = repeats[entry] / den[entry]
            counts[words[entry]] += null[words[entry]] * den[entry]
    return total


@kernel(error_model="numpy")
def _expect(
    source: Postings,
    target: Bags,
    cells: Cells,
    own: WordFactors,
    ratio: np.ndarray,
    smoothing: tuple[float, float],
    found: Tables,
) -> None:
    """Find the counts of both directions; :attr:`WordFactors.null_reverse` is that of the shard alone."""
    words, repeats, offsets = target
    row = np.zeros(len(own.scale), dtype=np.float32)
    sums = np.zeros((len(own.scale), 2))
    for s in range(len(cells.rows) - 1):
        begin, end = np.uint64(cells.rows[s]), np.uint64(cells.rows[s + 1])
        for cell in range(begin, end):
            t = np.uint64(cells.targets[cell])
            row[t] = _smoothed(np.float64(found.reverse[cell]), smoothing[0]) * own.scale[t]
            sums[t, 0] = 0.0
            sums[t, 1] = 0.0
        null_count, total = 0.0, 0.0
        for posting in range(source.offsets[s], source.offsets[s + 1]):
            i, a = source.sentences[posting], np.float64(source.repeats[posting])
            entries = range(np.uint64(offsets[i]), np.uint64(offsets[i + 1]))
            den = np.float32(own.null_reverse[s])
            for entry in entries:
                den += repeats[entry] * row[np.uint64(words[entry])]
            if den <= 0:
                continue
            share_of = a / den
            null_count += share_of
            total += a * math.log(den)
            for entry in entries:
                t = np.uint64(words[entry])
                ahead, back = sums[t, 0], sums[t, 1]
                sums[t, 0] = ahead + a * ratio[entry]
                sums[t, 1] = back + share_of * repeats[entry]
        found.null_counts[s] = null_count * own.null_reverse[s]
        found.likelihood[s] = total
        _write_row(begin, end, cells, row, sums, smoothing[1], found)


@kernel(error_model="numpy")
def _write_row(
    begin: np.uint64,
    end: np.uint64,
    cells: Cells,
    row: np.ndarray,
    sums: np.ndarray,
    smoothing: float,
    found: Tables,
) -> None:
    """Write one source word's reverse counts and its new forward probabilities."""
    forward, reverse = found.forward, found.reverse
    total = 0.0
    for cell in range(begin, end):
        t = np.uint64(cells.targets[cell])
        ahead, back = forward[cell] * sums[t, 0], row[t] * sums[t, 1]
        if len(cells.prior_forward):
            ahead += cells.prior_forward[cell]
            back += cells.prior_reverse[cell]
        total += ahead
        forward[cell] = ahead
        reverse[cell] = back
    if total <= 0:
        return
    factor = 1 / _smoothed(total + smoothing * (end - begin - 1), smoothing)
    for cell in range(begin, end):
        forward[cell] = _smoothed(np.float64(forward[cell]), smoothing) * factor


@kernel(error_model="numpy")
def _smoothed(count: float, smoothing: float) -> float:
    """Return exp(psi(count + smoothing)), the count itself without smoothing."""
    if smoothing == 0:
        return count
    x = count + smoothing
    # psi(x) = psi(x + 6) - sum_i 1 / (x + i), i < 6: the sum is P'(x) / P(x) for P(x) = prod_i (x + i). Then
    # the asymptotic series is good to 1e-9 (Abramowitz and Stegun, 6.3.18).
    down = 0.0
    if x < 6:
        product, slope = 1.0, 0.0
        for _ in range(6):
            slope = slope * x + product
            product *= x
            x += 1
        down = slope / product
    inverse = 1 / x
    square = inverse * inverse
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240))))
    return x * math.exp(-down - 0.5 * inverse - series)


@kernel
def _sum_rows(bags: Bags, totals: np.ndarray) -> None:
    """Fill ``totals`` (N,) with the number of words of each bag."""
    for i in range(len(totals)):
        total = 0.0
        for entry in range(bags.offsets[i], bags.offsets[i + 1]):
            total += bags.repeats[entry]
        totals[i] = total


@kernel
def _invert_totals(totals: np.ndarray, sizes: np.ndarray, smoothing: float) -> None:
    """Turn the sums of columns into the factors that make counts probabilities."""
    for t in range(len(totals)):
        if totals[t] > 0:
            totals[t] = 1 / _smoothed(totals[t] + smoothing * (sizes[t] - 1), smoothing)


@kernel
def _divide_rows(rows: np.ndarray, values: np.ndarray, counts: np.ndarray) -> None:
    """Divide each row by the sum of its counts + 1."""
    for s in range(len(rows) - 1):
        total = 1.0
        for cell in range(rows[s], rows[s + 1]):
            total += counts[cell]
        for cell in range(rows[s], rows[s + 1]):
            values[cell] /= total
