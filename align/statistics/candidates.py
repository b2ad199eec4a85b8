r"""Which words of a pair may be linked: the few that are not ruled out beforehand.

Target word t_k of a pair comes from source word s_j, by IBM Model 1 under a prior and by place, with

    r(j | k) ~ (c(s_j, t_k) + b) / (c(s_j) + b V_t) / (1 + (d_jk / width)^2),
    d_jk = max(n, m) ((j + 1/2) / n - (k + 1/2) / m),

c(s, t) = p(t | s) c(s) being the expected number of links of the pair of words; a source word comes from a
target word likewise. A possible link is a candidate where either probability is at least ``least``.
A pair of rare words is hardly ever ruled out, a word that is well known keeps a few candidates: small
corpora are sampled nearly in full, large ones are quick.

Both directions must agree: one that lacks the links the other finds leaves them half as probable as they
are. The prior b has to be far above that of the sampler: what Model 1 alone finds likely is too little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from align.core.errors import InputError
from align.core.kernels import kernel
from align.core.ragged import offsets_of, read_only
from align.data.corpus import LONGEST, Corpus
from align.statistics.lexicon import Lexicon, cells_of_edges

# The prior b, in counts a word.
PRIOR = 0.03

# Distance from the diagonal, in words, at which a link is half as probable.
WIDTH = 2.0

# Pairs a call of the kernel.
_BLOCK = 1000

# What the type of cells (int32) holds.
MOST_CELLS = 2**31 - 1


class Candidates(NamedTuple):
    """The words that may have made each word of one side.

    Attributes
    ----------
    offsets : ndarray of int64, shape (T + 1,)
        Those of token k, counted through all sentences, are ``offsets[k]`` to ``offsets[k + 1]``.
    places : ndarray of uint16, shape (C,)
        Places of the other side's words in their sentence, ascending for each token.
    cells : ndarray of int32, shape (C,)
        The cell of both words in the lexicon; the number of its cells where they have none.
    """

    offsets: np.ndarray
    places: np.ndarray
    cells: np.ndarray

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """Put those of several runs of tokens, at least one, one after the other."""
        return cls(
            offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.cells for part in parts]),
        )


class _Tables(NamedTuple):
    """What the kernel needs of a lexicon; the counts as float32."""

    forward: np.ndarray
    reverse: np.ndarray
    source_counts: np.ndarray
    target_counts: np.ndarray


def check_cells(cells: int) -> None:
    """Refuse a lexicon with more cells than candidates can tell apart.

    Raises
    ------
    InputError
        If it has more than `MOST_CELLS`.
    """
    if cells > MOST_CELLS:
        raise InputError(
            f"lexicon: {cells} word pairs, more than the {MOST_CELLS} that sampling can number (int32); "
            "learn it from fewer pairs (lexicon.pairs), or raise lexicon.min_probability"
        )


def find(corpus: Corpus, lexicon: Lexicon, *, least: float = 0.01) -> tuple[Candidates, Candidates]:
    """Find the candidates of every word of a corpus.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs of at most `LONGEST` words a side.
    lexicon : Lexicon
        Of its words; it may lie on disk.
    least : float
        The least probability, in [0, 1].

    Returns
    -------
    forward, reverse : Candidates
        Source words for each target word; target words for each source word: the same links.

    Raises
    ------
    InputError
        If a sentence, or the lexicon, is larger than the types hold.
    """
    check_cells(lexicon.cells)
    longest = max(int(side.lengths().max(initial=0)) for side in (corpus.source, corpus.target))
    if longest > LONGEST:
        raise InputError(
            f"a sentence of {longest} words, more than the {LONGEST} that sampling can number (int16); "
            "split it"
        )
    counts = (lexicon.source_counts.astype(np.float32), lexicon.target_counts.astype(np.float32))
    tables = (lexicon.forward, lexicon.reverse, *counts)
    shared = _Tables(*map(read_only, tables))
    starts = range(0, max(len(corpus), 1), _BLOCK)
    blocks = []
    for start in starts:
        block = corpus.block(start, min(start + _BLOCK, len(corpus)))
        cells = cells_of_edges(lexicon.offsets, lexicon.targets, len(counts[1]), block)
        blocks.append(_in_block(block, cells, shared, least))
    forward, reverse = zip(*blocks, strict=True)
    return Candidates.join(forward), Candidates.join(reverse)


def _in_block(
    corpus: Corpus, edge_cells: np.ndarray, tables: _Tables, least: float
) -> tuple[Candidates, Candidates]:
    """Find those of a few pairs, given the cell of each edge."""
    source, target, edges = corpus.source, corpus.target, len(edge_cells)
    # room for every possible link: memory that is never written is never taken
    found = tuple(np.empty(edges, dtype=kind) for kind in (np.uint16, np.int32, np.uint16, np.int32))
    ahead, back = (np.zeros(len(side.ids) + 1, dtype=np.int64) for side in (target, source))
    count, reverse_count = _find(
        (read_only(source.ids), source.offsets, read_only(target.ids), target.offsets),
        edge_cells,
        tables,
        (np.float32(least), np.float32(PRIOR), np.float32(1 / WIDTH)),
        (ahead[1:], back[1:]),
        found,
    )
    places, cells = (values[:count].copy() for values in found[:2])
    reverse_places, reverse_cells = (values[:reverse_count].copy() for values in found[2:])
    return (
        Candidates(np.cumsum(ahead), places, cells),
        Candidates(np.cumsum(back), reverse_places, reverse_cells),
    )


@kernel(error_model="numpy")
def _find(texts, edge_cells, tables, settings, counts, found):  # type: ignore[no-untyped-def]
    """Write the candidates of both directions; return how many there are of each."""
    source, source_offsets, target, target_offsets = texts
    places, cells, reverse_places, reverse_cells = found
    edges, longest = 1, 1
    for i in range(len(source_offsets) - 1):
        n, m = source_offsets[i + 1] - source_offsets[i], target_offsets[i + 1] - target_offsets[i]
        edges, longest = max(edges, n * m), max(longest, n, m)
    cell_of, kept = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=np.bool_)
    ahead, back = np.empty(edges, dtype=np.float32), np.empty(edges, dtype=np.float32)
    lowest, reverse_lowest = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
    count, reverse_count, edge = 0, 0, 0
    for i in range(len(source_offsets) - 1):
        first, n = source_offsets[i], source_offsets[i + 1] - source_offsets[i]
        start, m = target_offsets[i], target_offsets[i + 1] - target_offsets[i]
        words, other_words = source[first : first + n], target[start : start + m]
        own, scores = edge_cells[edge : edge + n * m], (cell_of, ahead, back)
        _score(words, other_words, own, tables, settings, scores, (lowest, reverse_lowest))
        edge += n * m
        for j in range(n):
            for k in range(m):
                at = j * m + k
                kept[at] = back[at] >= reverse_lowest[j] or ahead[at] >= lowest[k]
        pair = (kept, cell_of)
        into = counts[1][first:], reverse_places, reverse_cells
        reverse_count = _write_kept(pair, (n, m), (m, 1), into, reverse_count)
        count = _write_kept(pair, (m, n), (1, m), (counts[0][start:], places, cells), count)
    return count, reverse_count


@kernel
def _write_kept(pair, sizes, steps, into, end):  # type: ignore[no-untyped-def]
    """Write what is kept of a pair word by word of one side, from ``end`` on; return the new end."""
    kept, cell_of = pair
    counts, places, cells = into
    for word in range(sizes[0]):
        before = end
        for other in range(sizes[1]):
            edge = word * steps[0] + other * steps[1]
            if kept[edge]:
                places[end], cells[end] = other, cell_of[edge]
                end += 1
        counts[word] = end - before
    return end


@kernel(error_model="numpy")
def _score(source, target, cells, tables, settings, scores, thresholds):  # type: ignore[no-untyped-def]
    """Write the cell and r of every edge of a pair both ways, and what a candidate must have at least."""
    least, prior, inverse_width = settings
    cell_of, ahead, back = scores
    lowest, reverse_lowest = thresholds
    n, m = len(source), len(target)
    source_prior, target_prior = prior * len(tables.source_counts), prior * len(tables.target_counts)
    one, half = np.float32(1.0), np.float32(0.5)
    lowest[:m] = 0
    for j in range(n):
        s = source[j]
        count_s = tables.source_counts[s]
        total = np.float32(0.0)
        for k in range(m):
            t, edge = target[k], j * m + k
            count_t = tables.target_counts[t]
            cell, made, reverse_made = cells[edge], prior, prior
            if cell >= 0:
                made += tables.forward[cell] * count_s
                reverse_made += tables.reverse[cell] * count_t
            else:
                cell = len(tables.forward)
            away = np.float32((j + half) / n - (k + half) / m) * np.float32(max(n, m)) * inverse_width
            near = one / (one + away * away)
            cell_of[edge] = cell
            ahead[edge] = near * made / (count_s + target_prior)
            back[edge] = near * reverse_made / (count_t + source_prior)
            lowest[k] += least * ahead[edge]
            total += least * back[edge]
        reverse_lowest[j] = total
