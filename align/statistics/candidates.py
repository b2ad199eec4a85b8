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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only
from align.data.corpus import Corpus
from align.statistics.lexicon import Lexicon
from align.statistics.lexicon_kernels import first_at_least

# Pairs a call of the kernel.
_BLOCK = 1000


@dataclass(frozen=True)
class Candidates:
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

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def join(cls, parts: Sequence[Candidates]) -> Candidates:
        """Put those of several runs of tokens one after the other."""
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
        return cls(
            np.cumsum(counts, out=counts),
            np.concatenate([np.zeros(0, np.uint16), *(part.places for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.cells for part in parts)]),
        )


def find(
    corpus: Corpus,
    lexicon: Lexicon,
    *,
    least: float = 0.01,
    lexical: float = 0.03,
    width: float = 2.0,
    jobs: int = 1,
) -> tuple[Candidates, Candidates]:
    """Find the candidates of every word of a corpus.

    Parameters
    ----------
    corpus : Corpus
        N sentence pairs of at most 65,535 words a side.
    lexicon : Lexicon
        Of its words; it may lie on disk.
    least : float
        The least probability, in [0, 1].
    lexical : float
        The prior b, in counts a word, > 0.
    width : float
        Distance from the diagonal, in words, at which a link is half as probable, > 0.
    jobs : int
        Threads, >= 1; the result does not depend on it.

    Returns
    -------
    forward, reverse : Candidates
        Source words for each target word; target words for each source word: the same links.
    """
    tables = tuple(
        map(
            read_only,
            (
                lexicon.offsets,
                lexicon.targets,
                lexicon.forward,
                lexicon.reverse,
                lexicon.source_counts.astype(np.float32),
                lexicon.target_counts.astype(np.float32),
            ),
        )
    )

    def block(start: int) -> tuple[Candidates, Candidates]:
        here = corpus.block(start, min(start + _BLOCK, len(corpus)))
        edges = int((here.source.lengths() * here.target.lengths()).sum())
        # room for every possible link: memory that is never written is never taken
        found = tuple(np.empty(edges, dtype=kind) for kind in (np.uint16, np.int32, np.uint16, np.int32))
        counts = [np.zeros(len(side.ids) + 1, dtype=np.int64) for side in (here.target, here.source)]
        sizes = np.zeros(2, dtype=np.int64)
        _find(
            (
                read_only(here.source.ids),
                here.source.offsets,
                read_only(here.target.ids),
                here.target.offsets,
            ),
            tables,
            np.float32(least),
            np.float32(lexical),
            np.float32(1 / width),
            counts[0][1:],
            counts[1][1:],
            found,
            sizes,
        )
        places, cells, reverse_places, reverse_cells = (
            values[: sizes[side // 2]].copy() for side, values in enumerate(found)
        )
        ahead, back = map(np.cumsum, counts)
        return Candidates(ahead, places, cells), Candidates(back, reverse_places, reverse_cells)

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(block, range(0, len(corpus), _BLOCK)))
    return Candidates.join([part[0] for part in parts]), Candidates.join([part[1] for part in parts])


@kernel(error_model="numpy")
def _find(  # type: ignore[no-untyped-def]
    texts, tables, least, lexical, inverse_width, forward_counts, reverse_counts, found, sizes
):
    source, source_offsets, target, target_offsets = texts
    rows, targets, forward, reverse, source_counts, target_counts = tables
    places, cells, reverse_places, reverse_cells = found
    edges, longest = 1, 1
    for i in range(len(source_offsets) - 1):
        n, m = source_offsets[i + 1] - source_offsets[i], target_offsets[i + 1] - target_offsets[i]
        edges, longest = max(edges, n * m), max(longest, n, m)
    cell_of = np.empty(edges, dtype=np.int32)
    ahead, back = np.empty(edges, dtype=np.float32), np.empty(edges, dtype=np.float32)
    lowest, reverse_lowest = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
    source_prior, target_prior = lexical * len(source_counts), lexical * len(target_counts)
    one, half = np.float32(1.0), np.float32(0.5)
    count, reverse_count = 0, 0
    for i in range(len(source_offsets) - 1):
        first, n = source_offsets[i], source_offsets[i + 1] - source_offsets[i]
        start, m = target_offsets[i], target_offsets[i + 1] - target_offsets[i]
        lowest[:m] = 0
        for j in range(n):
            s = source[first + j]
            begin, end, count_s = rows[s], rows[s + 1], source_counts[s]
            total = np.float32(0.0)
            for k in range(m):
                t, edge = target[start + k], j * m + k
                count_t = target_counts[t]
                cell = first_at_least(targets, begin, end, t)
                made, reverse_made = lexical, lexical
                if cell < end and targets[cell] == t:
                    made += forward[cell] * count_s
                    reverse_made += reverse[cell] * count_t
                else:
                    cell = len(targets)
                away = np.float32((j + half) / n - (k + half) / m) * np.float32(max(n, m)) * inverse_width
                near = one / (one + away * away)
                cell_of[edge] = cell
                ahead[edge] = near * made / (count_s + target_prior)
                back[edge] = near * reverse_made / (count_t + source_prior)
                lowest[k] += least * ahead[edge]
                total += least * back[edge]
            reverse_lowest[j] = total
        for j in range(n):
            before = reverse_count
            for k in range(m):
                edge = j * m + k
                if back[edge] >= reverse_lowest[j] or ahead[edge] >= lowest[k]:
                    reverse_places[reverse_count] = k
                    reverse_cells[reverse_count] = cell_of[edge]
                    reverse_count += 1
            reverse_counts[first + j] = reverse_count - before
        for k in range(m):
            before = count
            for j in range(n):
                edge = j * m + k
                if back[edge] >= reverse_lowest[j] or ahead[edge] >= lowest[k]:
                    places[count] = j
                    cells[count] = cell_of[edge]
                    count += 1
            forward_counts[start + k] = count - before
    sizes[0], sizes[1] = count, reverse_count
