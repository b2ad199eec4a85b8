r"""Lexical statistics of a bitext: what the words of a pair say about each other, one number a cell.

A cell is a pair (s, t) of a source and a target word that occur together. It holds

    dice(s, t) = 2 joint(s, t) / (count(s) + count(t)),    joint(s, t) = sum_i min(b_i(s), b_i(t)),

with b_i(w) the occurrences of word w in its sentence of pair i, and p(t | s) and p(s | t) of IBM Model 1
(:mod:`align.statistics.model1`). Each model has a module of its own and gives one array over the cells in
each direction; a further model is a further pair of such arrays, trained from these.

The tables are estimated over all cells; then those are dropped in which both probabilities are below
``min_probability``. Under the smoothing of Model 1 this is nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from align.core.codes import PROBABILITIES
from align.core.kernels import kernel
from align.core.ragged import offsets_of, read_only
from align.data.corpus import Corpus
from align.statistics import model1
from align.statistics.cooccurrence import (
    Bags,
    Cooccurrence,
    JointCounts,
    Postings,
    first_at_least,
    index,
    joint_counts,
    sealed,
    shrunk,
)
from align.statistics.mapper import Mapper, Threads, writable
from align.statistics.model1 import Cells, Tables, WordFactors
from align.statistics.records import Record, check_columns, check_offsets, load_columns


@dataclass(frozen=True)
class Lexicon(Record):
    """Sparse tables over the pairs of words that occur together, row by row.

    Attributes
    ----------
    offsets : ndarray of int64, shape (Vs + 1,)
        The cells of source word s are ``offsets[s]`` to ``offsets[s + 1]``.
    targets : ndarray of int32, shape (cells,)
        Target words, ascending for each source word.
    dice : ndarray of float32, shape (cells,)
        Dice coefficient, in (0, 1].
    forward : ndarray of float32, shape (cells,)
        p(target | source) of Model 1, in [0, 1].
    reverse : ndarray of float32, shape (cells,)
        p(source | target) of Model 1, in [0, 1].
    null_forward : ndarray of float32, shape (Vt,)
        p(target | NULL).
    null_reverse : ndarray of float32, shape (Vs,)
        p(source | NULL).
    source_counts, target_counts : ndarray of int64, shapes (Vs,) and (Vt,)
        Occurrences of each word in the text the tables come from.
    """

    PACKED = MappingProxyType(
        {name: PROBABILITIES for name in ("dice", "forward", "reverse", "null_forward", "null_reverse")}
        | {"offsets": np.int64, "targets": np.int32, "source_counts": np.int64, "target_counts": np.int64}
    )

    offsets: np.ndarray
    targets: np.ndarray
    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    null_forward: np.ndarray
    null_reverse: np.ndarray
    source_counts: np.ndarray
    target_counts: np.ndarray

    @property
    def cells(self) -> int:
        """Pairs of words with an entry."""
        return len(self.targets)

    def sources(self) -> np.ndarray:
        """Return the source word of every cell, int32, shape (cells,)."""
        return np.repeat(np.arange(len(self.source_counts), dtype=np.int32), np.diff(self.offsets))

    def renumbered(
        self, source_ids: np.ndarray, target_ids: np.ndarray, n_source: int, n_target: int
    ) -> Lexicon:
        """Return the tables over other vocabularies.

        Parameters
        ----------
        source_ids, target_ids : ndarray of int, shapes (Vs,) and (Vt,)
            The new id of each word, no two the same; -1 for a word that is to go.
        n_source, n_target : int
            Sizes of the new vocabularies.
        """
        source, target = source_ids[self.sources()], target_ids[self.targets]
        kept = np.flatnonzero((source >= 0) & (target >= 0))
        kept = kept[np.lexsort((target[kept], source[kept]))]
        offsets = offsets_of(np.bincount(source[kept], minlength=n_source))

        return Lexicon(
            offsets,
            target[kept].astype(np.int32),
            self.dice[kept],
            self.forward[kept],
            self.reverse[kept],
            moved(self.null_forward, target_ids, n_target),
            moved(self.null_reverse, source_ids, n_source),
            moved(self.source_counts, source_ids, n_source),
            moved(self.target_counts, target_ids, n_target),
        )

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = False) -> Lexicon:
        """Read what :meth:`save` wrote; ``mapped`` leaves the cells on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, is no array file, or does not fit the others.
        """
        found = load_columns(cls, folder, mapped=mapped)
        cells, n_source, n_target = (
            len(found[name]) for name in ("targets", "source_counts", "target_counts")
        )
        expected: dict[str, tuple[type, int]] = {
            "offsets": (np.int64, n_source + 1),
            "targets": (np.int32, cells),
            "source_counts": (np.int64, n_source),
            "target_counts": (np.int64, n_target),
        }
        expected |= {name: (np.float32, cells) for name in ("dice", "forward", "reverse")}
        expected |= {"null_forward": (np.float32, n_target), "null_reverse": (np.float32, n_source)}
        check_columns(found, expected, folder)
        check_offsets(found["offsets"], cells, "cells", folder)
        return cls(**found)


# Cells of a row that are walked in the time of one search in it.
CELLS_A_SEARCH = 12


def moved(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    """Return ``size`` values, 0 where there are none: each value at its new place, gone where that is -1."""
    result = np.zeros(size, dtype=values.dtype)
    result[places[places >= 0]] = values[places >= 0]
    return result


class PriorRows(NamedTuple):
    """What the cells of a shard need of a prior: rows of its tables, and all counts of target words."""

    rows: np.ndarray
    targets: np.ndarray
    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    source_counts: np.ndarray
    target_counts: np.ndarray


class WordCounts(NamedTuple):
    """Occurrences of each source and target word, those of a prior among them; int64."""

    source: np.ndarray
    target: np.ndarray


class Rows(NamedTuple):
    """What a shard of the source words has of its own in the finished tables (:class:`Lexicon`)."""

    offsets: np.ndarray
    targets: np.ndarray
    dice: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray


def estimate(
    corpus: Corpus | Cooccurrence,
    n_source: int,
    n_target: int,
    *,
    iterations: int = 5,
    smoothing: float = 0.1,
    min_probability: float = 1e-5,
    prior: Lexicon | None = None,
    prior_weight: float = 1.0,
    mapper: Mapper | None = None,
    on_iteration: Callable[[int, float, float], None] | None = None,
) -> Lexicon:
    """Estimate Dice and Model 1 in both directions.

    Parameters
    ----------
    corpus : Corpus or Cooccurrence
        The sentence pairs, or their index where :func:`align.statistics.cooccurrence.index` has made it
        already.
    n_source, n_target : int
        Sizes of the vocabularies Vs and Vt; words with a higher id are left out.
    iterations : int
        Rounds of EM, >= 1.
    smoothing : float
        Dirichlet prior of Model 1 in counts a cell, >= 0; 0 is maximum likelihood.
    min_probability : float
        Cells in which both probabilities are lower are dropped, in [0, 1]; 0 keeps all.
    prior : Lexicon, optional
        Tables of another corpus over the same vocabularies. Its counts, times `prior_weight`, are added to
        those of this corpus, as if its text stood beside, aligned as it was.
    prior_weight : float
        What an occurrence in the text of the prior counts against one in this, > 0.
    mapper : Mapper, optional
        Who does the work in shards: that which made the index, or other threads. One thread without it; the
        result does not depend on it.
    on_iteration : function, optional
        Called after each round with its number and the log-likelihoods
        (:func:`align.statistics.model1.train`).

    Returns
    -------
    Lexicon
    """
    mapper = Threads() if mapper is None else mapper
    cooccurrence = (
        corpus if isinstance(corpus, Cooccurrence) else index([corpus], n_source, n_target, mapper=mapper)
    )
    counts = _counts(cooccurrence, prior, prior_weight)
    stored = mapper.put(counts)
    pieces = []
    for first, last in cooccurrence.shards:
        own = None if prior is None else mapper.put(_prior_rows(prior, first, last))
        found = cooccurrence.source, cooccurrence.target, (first, last), cooccurrence.sizes[first:last]
        pieces.append((*found, stored, own, float(prior_weight)))
    cells = mapper.map(begin_cells, pieces)
    model = model1.train(
        *(cooccurrence, cells, mapper),
        iterations=iterations,
        smoothing=smoothing,
        on_iteration=on_iteration,
    )
    words = mapper.put(model.words)
    finishing = [(*each, words, float(min_probability)) for each in zip(cells, model.tables, strict=True)]
    null = model.words.null_forward, model.words.null_reverse.astype(np.float32)
    rows = [mapper.get(each) for each in mapper.map(finish_rows, finishing)]
    del cells, model, finishing  # to threads these are the arrays of the rows
    return Lexicon(*_joined(rows), *null, *counts)


def begin_cells(
    source: Postings,
    target: Bags,
    shard: tuple[int, int],
    sizes: np.ndarray,
    counts: WordCounts,
    prior: PriorRows | None,
    weight: float,
) -> Cells:
    """Return the cells of a shard of the source words, those of the corpus or of the prior.

    Parameters
    ----------
    source, target, shard
        The whole index, and a run of source words.
    sizes : ndarray of int64
        Cells of the shard's words in the corpus.
    counts : WordCounts
    prior : PriorRows, optional
        Of the same words.
    weight : float
        As of :func:`estimate`.
    """
    found = joint_counts(source, target, len(counts.target), shard, sizes)
    none = np.zeros(0, dtype=np.float32)
    cells = Cells(*found, none, none) if prior is None else _with_prior(found, sealed(prior), weight)
    _joint_to_dice(cells, read_only(counts.source[slice(*shard)]), read_only(counts.target))
    return cells


def finish_rows(cells: Cells, tables: Tables, words: WordFactors, min_probability: float) -> Rows:
    """Return the finished tables of a shard without the cells that are improbable in both directions.

    The cells that stay are moved to the front of the arrays they are in, to spare memory: cells and tables
    are used up.
    """
    rows = Rows(np.empty_like(cells.rows), *map(writable, (cells.targets, cells.dice, *tables[:2])))
    _scale_columns(rows.targets, rows.reverse, read_only(words.scale))
    kept = _move_to_front(read_only(cells.rows), rows, min_probability)
    return Rows(rows.offsets, *(shrunk(values, kept) for values in rows[1:]))


def edge_values(lexicon: Lexicon, block: Corpus) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Look up every edge of a block of pairs.

    Parameters
    ----------
    lexicon : Lexicon
        The tables; they may lie on disk.
    block : Corpus
        N sentence pairs; a word the tables do not have (its id is too high) has zeros.

    Returns
    -------
    dice, forward, reverse : ndarray of float32, shape (E,)
        E = sum n_i m_i, pair after pair, row by row; 0 where the words have no entry.
    """
    found = cells_of_edges(lexicon.offsets, lexicon.targets, len(lexicon.target_counts), block)
    there = found >= 0
    values = np.zeros((3, len(found)), dtype=np.float32)
    for row, table in zip(values, (lexicon.dice, lexicon.forward, lexicon.reverse), strict=True):
        row[there] = table[found[there]]
    return values[0], values[1], values[2]


def cells_of_edges(rows: np.ndarray, targets: np.ndarray, n_target: int, block: Corpus) -> np.ndarray:
    """Return the cell of every edge of a block of pairs, int64, shape (E,), -1 where the words have none.

    ``rows`` and ``targets`` are the ``offsets`` and ``targets`` of a lexicon of ``n_target`` target words.
    """
    n, m = block.source.lengths(), block.target.lengths()
    offsets = offsets_of(n.astype(np.int64) * m)
    found = np.empty(offsets[-1], dtype=np.int64)
    _find_cells(
        *(read_only(block.source.ids), read_only(block.source.offsets)),
        *(read_only(block.target.ids), read_only(block.target.offsets)),
        np.argsort(block.source.ids, kind="stable"),
        read_only(rows),
        read_only(targets),
        CELLS_A_SEARCH,
        np.full(n_target, -1, dtype=np.int64),
        offsets,
        found,
    )
    return found


def _counts(cooccurrence: Cooccurrence, prior: Lexicon | None, weight: float) -> WordCounts:
    """Return the occurrences of each word; a word of the prior that has a cell has a count: rounded up."""
    source, target = cooccurrence.source_counts, cooccurrence.target_counts
    if prior is not None:
        source = source + np.ceil(weight * prior.source_counts).astype(np.int64)
        target = target + np.ceil(weight * prior.target_counts).astype(np.int64)
    return WordCounts(source, target)


def _prior_rows(prior: Lexicon, first: int, last: int) -> PriorRows:
    """Return the rows of source words ``first`` to ``last``."""
    begin, end = prior.offsets[first], prior.offsets[last]
    return PriorRows(
        prior.offsets[first : last + 1] - begin,
        prior.targets[begin:end],
        prior.dice[begin:end],
        prior.forward[begin:end],
        prior.reverse[begin:end],
        prior.source_counts[first:last],
        prior.target_counts,
    )


def _with_prior(found: JointCounts, prior: PriorRows, weight: float) -> Cells:
    """Return the cells of corpus and prior together, with their joint counts, and the prior's counts."""
    rows = np.zeros(len(found.rows), dtype=np.int64)
    _count_united(found, prior, rows)
    joint, forward, reverse = (np.zeros(rows[-1], dtype=np.float32) for _ in range(3))
    cells = Cells(rows, np.empty(rows[-1], dtype=np.int32), joint, forward, reverse)
    _unite(found, prior, weight, cells)
    return cells


def _joined(shards: list[Rows]) -> Rows:
    """Put the rows of all shards one after the other; each array's memory is given back at once."""
    offsets = offsets_of(np.concatenate([np.diff(each.offsets) for each in shards]))
    columns = [list(values) for values in zip(*shards, strict=True)][1:]
    shards.clear()
    return Rows(offsets, *map(_grown, columns))


def _grown(parts: list[np.ndarray]) -> np.ndarray:
    """Return arrays one after the other; the first one grows, the others are used up."""
    parts.reverse()
    whole = parts.pop()
    if not (whole.flags.owndata and whole.flags.writeable):
        whole = np.array(whole)
    while parts:
        part = parts.pop()
        end = len(whole)
        whole.resize(end + len(part), refcheck=False)
        whole[end:] = part
    return whole


@kernel
def _scale_columns(targets: np.ndarray, values: np.ndarray, scale: np.ndarray) -> None:
    """Multiply every value by the factor of its target word."""
    for cell in range(len(targets)):
        values[cell] *= scale[targets[cell]]


@kernel
def _count_united(found: JointCounts, prior: PriorRows, rows: np.ndarray) -> None:
    """Fill ``rows`` for a table with the cells of corpus and prior; targets are ascending in both."""
    for s in range(len(rows) - 1):
        one, other, size = found.rows[s], prior.rows[s], 0
        while one < found.rows[s + 1] or other < prior.rows[s + 1]:
            first, second = _next(s, one, other, found, prior)
            one += first
            other += second
            size += 1
        rows[s + 1] = rows[s] + size


@kernel
def _unite(found: JointCounts, prior: PriorRows, weight: float, cells: Cells) -> None:
    """Write the cells of corpus and prior with their joint counts in ``dice``, and the prior's counts."""
    rows, targets, joint, forward, reverse = cells
    for s in range(len(rows) - 1):
        one, other = found.rows[s], prior.rows[s]
        for cell in range(rows[s], rows[s + 1]):
            first, second = _next(s, one, other, found, prior)
            if first:
                targets[cell] = found.targets[one]
                joint[cell] += found.joint[one]
                one += 1
            if second:
                t = prior.targets[other]
                both = prior.source_counts[s] + prior.target_counts[t]
                targets[cell] = t
                joint[cell] += weight * prior.dice[other] * both / 2
                forward[cell] = weight * prior.forward[other] * prior.source_counts[s]
                reverse[cell] = weight * prior.reverse[other] * prior.target_counts[t]
                other += 1


@kernel
def _next(s: int, one: int, other: int, found: JointCounts, prior: PriorRows) -> tuple[bool, bool]:
    """Tell whether the next target word of a row is that of the corpus, and that of the prior."""
    in_first, in_second = one < found.rows[s + 1], other < prior.rows[s + 1]
    first = in_first and (not in_second or found.targets[one] <= prior.targets[other])
    second = in_second and (not in_first or prior.targets[other] <= found.targets[one])
    return first, second


@kernel
def _joint_to_dice(cells: Cells, source_counts: np.ndarray, target_counts: np.ndarray) -> None:
    """Turn the joint counts that stand for them into Dice coefficients."""
    for s in range(len(cells.rows) - 1):
        for cell in range(cells.rows[s], cells.rows[s + 1]):
            cells.dice[cell] *= 2 / (source_counts[s] + target_counts[cells.targets[cell]])


@kernel
def _move_to_front(rows: np.ndarray, tables: Rows, least: float) -> int:
    """Move the cells that stay to the front, fill their ``offsets``, return their number."""
    offsets, targets, dice, forward, reverse = tables
    kept = 0
    offsets[0] = 0
    for s in range(len(rows) - 1):
        for cell in range(rows[s], rows[s + 1]):
            if forward[cell] >= least or reverse[cell] >= least:
                targets[kept] = targets[cell]
                dice[kept] = dice[cell]
                forward[kept] = forward[cell]
                reverse[kept] = reverse[cell]
                kept += 1
        offsets[s + 1] = kept
    return kept


@kernel
def _find_cells(  # type: ignore[no-untyped-def]
    source, source_starts, target, target_starts, order, rows, targets, cells_a_search, last, offsets, found
):
    """Write the cell of every edge, a source word at a time; ``order`` sorts the source tokens by word.

    ``last`` (n_target,) has of each target word the cell of the row walked last that had one.
    """
    pair_of = np.empty(len(source), dtype=np.int32)
    for i in range(len(offsets) - 1):
        pair_of[source_starts[i] : source_starts[i + 1]] = i
    at = 0
    while at < len(order):
        s, stop, wanted = source[order[at]], at, 0
        while stop < len(order) and source[order[stop]] == s:
            i = pair_of[order[stop]]
            wanted += target_starts[i + 1] - target_starts[i]
            stop += 1
        low, high = (rows[s], rows[s + 1]) if s < len(rows) - 1 else (0, 0)
        # One walk along the row serves all occurrences; of a long row with few, searches are cheaper.
        walk = high - low <= cells_a_search * wanted
        if walk:
            for cell in range(low, high):
                last[targets[cell]] = cell
        for turn in range(at, stop):
            token = order[turn]
            i = pair_of[token]
            first, m = target_starts[i], target_starts[i + 1] - target_starts[i]
            start = offsets[i] + (token - source_starts[i]) * m
            for k in range(m):
                t = target[first + k]
                if walk:
                    cell = last[t] if t < len(last) else -1
                    found[start + k] = cell if low <= cell < high else -1
                else:
                    cell = first_at_least(targets, low, high, t)
                    found[start + k] = cell if cell < high and targets[cell] == t else -1
        at = stop
