r"""What the sampler believes of links before it counts any: its priors, and counts of other sources.

Every word has the same prior over the words it may make, NULL too, every jump the same, and every word the
same over how many words it makes (:data:`FERTILITY`). To these are added, cell by cell, the links of another
corpus and those of words spelt alike (:class:`LexicalPrior`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only
from align.statistics.expected_links import ExpectedLinks
from align.statistics.jumps import Jumps
from align.statistics.lexicon import Lexicon, moved
from align.statistics.stems import Stems, of_lexicon
from align.text.likeness import COGNATE_LENGTH, COGNATE_RATIO, LONGEST, NAME_LENGTH, common_letters
from align.text.words import WORD, WordTable

# Dirichlet parameter of a word given the word that made it, and given NULL, in counts a word.
LEXICAL, NULL_LEXICAL = 1e-3, 1e-3

# Prior probability that a word is made by NULL.
NULL = 0.2

# Links that words spelt alike have beforehand.
SPELLING = 2.0

# Words that a word makes, from 0 to 5 and more, in counts: half a word, which mostly makes one.
FERTILITY_WEIGHT = 0.5
FERTILITY = np.array([0.3, 0.4, 0.15, 0.08, 0.04, 0.03], dtype=np.float32)


@dataclass(frozen=True)
class LexicalPrior:
    """Prior counts of links in one direction, those of single cells and words, and of jumps.

    Attributes
    ----------
    links : ndarray of float32, shape (cells,)
        Links of each pair of words, >= 0.
    totals : ndarray of float32, shape (V_hidden,)
        Links of each word to words of the observed side: those to words without a cell as well.
    null_links : ndarray of float32, shape (V_observed,)
        Links of each word to NULL.
    jumps : Jumps, optional
        From the hidden words.
    stems : Stems, optional
        Of the words.
    """

    links: np.ndarray
    totals: np.ndarray
    null_links: np.ndarray
    jumps: Jumps | None = None
    stems: Stems | None = None

    def plus(self, other: LexicalPrior) -> LexicalPrior:
        """Return the sum of two, of which at most one knows of jumps, and one of stems."""
        return LexicalPrior(
            self.links + other.links,
            self.totals + other.totals,
            self.null_links + other.null_links,
            other.jumps if self.jumps is None else self.jumps,
            other.stems if self.stems is None else self.stems,
        )


def from_links(
    links: ExpectedLinks,
    old: Lexicon,
    new: Lexicon,
    source_ids: np.ndarray,
    target_ids: np.ndarray,
    *,
    weight: float = 1.0,
) -> tuple[LexicalPrior, LexicalPrior]:
    """Return the links of another corpus as prior counts.

    Parameters
    ----------
    links : ExpectedLinks
        Over the cells of `old`.
    old, new : Lexicon
        The tables of the other corpus and of this one.
    source_ids, target_ids : ndarray of int, shapes (Vs,) and (Vt,)
        The id in `new` of each word of `old`, -1 for a word it does not have.
    weight : float
        What a link of the other corpus counts against one of this, > 0.

    Returns
    -------
    forward, reverse : LexicalPrior
        The totals of a word keep its links to words that `new` does not have.
    """
    cells = _cells_in(old, new, source_ids, target_ids)
    n_source, n_target = len(new.source_counts), len(new.target_counts)

    forward_jumps, reverse_jumps = links.jumps
    factor = np.float32(weight)
    return (
        LexicalPrior(
            moved(links.forward, cells, new.cells) * factor,
            moved(links.forward_totals, source_ids, n_source) * factor,
            moved(links.null_forward, target_ids, n_target) * factor,
            forward_jumps.renumbered(source_ids, n_source),
        ),
        LexicalPrior(
            moved(links.reverse, cells, new.cells) * factor,
            moved(links.reverse_totals, target_ids, n_target) * factor,
            moved(links.null_reverse, source_ids, n_source) * factor,
            reverse_jumps.renumbered(target_ids, n_target),
        ),
    )


def _cells_in(lexicon: Lexicon, other: Lexicon, source_ids: np.ndarray, target_ids: np.ndarray) -> np.ndarray:
    """Return the number that each cell of a lexicon has in another one, int64; -1 where it has none.

    ``source_ids`` and ``target_ids`` are the ids in `other` of the words of `lexicon`, -1 for none.
    """
    width = len(other.target_counts)
    keys = other.sources().astype(np.int64) * width + other.targets
    source, target = source_ids[lexicon.sources()].astype(np.int64), target_ids[lexicon.targets]
    wanted = np.where((source >= 0) & (target >= 0), source * width + target, -1)
    where = np.searchsorted(keys, wanted)
    there = where < len(keys)
    there[there] = keys[where[there]] == wanted[there]
    return np.where(there, where, -1)


def from_spelling(
    lexicon: Lexicon,
    source: WordTable,
    target: WordTable,
    *,
    weight: float = SPELLING,
    stems: float = 0.0,
) -> tuple[LexicalPrior, LexicalPrior]:
    """Return prior counts of words spelt alike (names, numbers, punctuation and cognates), and stems.

    A prior count decides for rare words and is lost among the links of frequent ones.

    Parameters
    ----------
    lexicon : Lexicon
    source, target : WordTable
        The spellings of its words.
    weight : float
        Links of a pair of words that are the same, >= 0; others have :func:`likeness` times as many.
    stems : float
        Weight of the prior by stems (:mod:`align.statistics.stems`), in counts a word; 0: none.

    Returns
    -------
    forward, reverse : LexicalPrior
    """
    links = likeness(lexicon, source, target) * np.float32(weight)
    totals, reverse_totals = (
        np.bincount(words, weights=links, minlength=size).astype(np.float32)
        for words, size in ((lexicon.sources(), len(source)), (lexicon.targets, len(target)))
    )
    none, reverse_none = (np.zeros(size, dtype=np.float32) for size in (len(target), len(source)))
    own = of_lexicon(lexicon, source, target, weight=stems) if stems else (None, None)
    return (
        LexicalPrior(links, totals, none, stems=own[0]),
        LexicalPrior(links, reverse_totals, reverse_none, stems=own[1]),
    )


def likeness(lexicon: Lexicon, source: WordTable, target: WordTable) -> np.ndarray:
    """Return how far the words of each cell are spelt alike, float32 in [0, 1], shape (cells,).

    Without accents, in Latin letters: 1 for the same number, punctuation, or word of 4 letters and more, 0.5
    for the same shorter word; for two words of 4 letters and more the length of their longest common
    subsequence over that of the longer word, if above 0.7; else 0.
    """
    alphabet = max(source.folded.max(initial=0), target.folded.max(initial=0)) + 1
    found = np.zeros(lexicon.cells, dtype=np.float32)
    _likeness(
        read_only(lexicon.offsets),
        read_only(lexicon.targets),
        (source.folded, source.folded_offsets, source.kinds),
        (target.folded, target.folded_offsets, target.kinds),
        np.zeros(int(alphabet), dtype=np.uint64),
        found,
    )
    return found


@kernel(error_model="numpy")
def _likeness(rows, targets, source, target, masks, found):  # type: ignore[no-untyped-def]
    source_letters, source_offsets, source_kinds = source
    target_letters, target_offsets, target_kinds = target
    bit = np.uint64(1)
    for s in range(len(rows) - 1):
        a, long_a = source_offsets[s], min(source_offsets[s + 1] - source_offsets[s], LONGEST)
        for at in range(long_a):
            masks[source_letters[a + at]] |= bit << np.uint64(at)
        for cell in range(rows[s], rows[s + 1]):
            t = targets[cell]
            b, long_b = target_offsets[t], min(target_offsets[t + 1] - target_offsets[t], LONGEST)
            if source_kinds[s] != target_kinds[t]:
                continue
            at = 0
            while at < long_a and at < long_b and source_letters[a + at] == target_letters[b + at]:
                at += 1
            shortest, length = min(long_a, long_b), max(long_a, long_b)
            if at == length:
                short = source_kinds[s] == WORD and length < NAME_LENGTH
                found[cell] = np.float32(0.5) if short else np.float32(1.0)
            elif source_kinds[s] == WORD and shortest >= COGNATE_LENGTH and shortest > COGNATE_RATIO * length:
                common = common_letters(masks, long_a, target_letters[b : b + long_b])
                if common > COGNATE_RATIO * length:
                    found[cell] = np.float32(common) / np.float32(length)
        for at in range(long_a):
            masks[source_letters[a + at]] = np.uint64(0)
