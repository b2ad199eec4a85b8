r"""Words that begin alike: what is rare as a word is less so as a stem, and links of stems tell of its own.

Where a language bends its words, most forms stand in a small text once or twice. Words with the same first
letters are taken for forms of one word here, whatever the language. With S and T the stems of the words s
and t the sampler's prior of t given s has as its mean, instead of an even one,

    p(t | s) = p(T | S) n(t) / n(T),     p(T | S) = (C(S, T) + b) / (C(S) + b V_T),

C being links of all forms of both, n occurrences: a hierarchical Dirichlet prior [1]_, where each link of
words counts as one of their stems.

References
----------
.. [1] D. J. C. MacKay and L. C. Bauman Peto, "A Hierarchical Dirichlet Language Model", Natural Language
   Engineering 1, 1995.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import read_only
from align.statistics.lexicon import Lexicon
from align.text.words import WORD, WordTable

# Letters that words have in common to be of one stem, without accents, in Latin letters.
LETTERS = 4

# What the prior of a word weighs, in counts.
WEIGHT = 2.0

# Of more pairs stems are not asked for: they would take half of the sampler's time again, for little.
MOST_PAIRS = 25_000


@dataclass(frozen=True)
class Stems:
    """The stems of the words of one direction.

    Attributes
    ----------
    hidden : ndarray of int32, shape (V_hidden,)
        The stem of each hidden word, from 0.
    cells : ndarray of int32, shape (cells + 1,)
        The pair of stems of each cell; last, of words without a cell, a number that no cell has.
    shares : ndarray of float32, shape (V_observed,)
        Occurrences of each observed word over those of its stem, times the weight of the prior: the counts
        that it has in advance where its stem is certain.
    weight : ndarray of float32, shape (1,)
        Of the prior, in counts a hidden word.
    """

    hidden: np.ndarray
    cells: np.ndarray
    shares: np.ndarray
    weight: np.ndarray

    def expected(self, links: np.ndarray, makers: np.ndarray, made: np.ndarray) -> np.ndarray:
        """Return the prior counts of each cell by the links that were found.

        Parameters
        ----------
        links : ndarray of float32, shape (cells,)
            Links of each cell.
        makers, made : ndarray of int, shape (cells,)
            The hidden and the observed word of each.

        Returns
        -------
        ndarray of float32, shape (cells,)
        """
        own, stems = self.cells[:-1], self.hidden[makers]
        of_pairs, of_stems = np.bincount(own, weights=links), np.bincount(stems, weights=links)
        found: np.ndarray = self.shares[made] * (of_pairs[own] / np.maximum(of_stems[stems], 1.0))
        return found.astype(np.float32)


def of_lexicon(
    lexicon: Lexicon, source: WordTable, target: WordTable, *, weight: float
) -> tuple[Stems, Stems]:
    """Return the stems of both directions, target words made by source words first.

    Parameters
    ----------
    lexicon : Lexicon
    source, target : WordTable
        The spellings of its words.
    weight : float
        Of the prior, in counts a hidden word, > 0.
    """
    of_source, of_target = stems_of(source), stems_of(target)
    cells = np.empty(lexicon.cells + 1, dtype=np.int32)
    words = np.argsort(of_source, kind="stable")
    seen = np.full(int(of_target.max(initial=-1)) + 1, -1, dtype=np.int32)
    cells[-1] = _number(
        read_only(lexicon.offsets), read_only(lexicon.targets), words, of_source, of_target, seen, cells
    )
    sides = (lexicon.source_counts, of_source), (lexicon.target_counts, of_target)
    shares = [
        (weight * counts / np.maximum(np.bincount(stems, weights=counts), 1)[stems]).astype(np.float32)
        for counts, stems in sides
    ]
    mass = np.array([weight], dtype=np.float32)
    return Stems(of_source, cells, shares[1], mass), Stems(of_target, cells, shares[0], mass)


def stems_of(words: WordTable) -> np.ndarray:
    """Return the stem of each word, int32 (V,): a number for all words of the same first letters.

    Numbers, signs and words of no more letters are a stem each.
    """
    starts, lengths = words.folded_offsets[:-1], np.diff(words.folded_offsets)
    stems = np.flatnonzero((words.kinds == WORD) & (lengths > LETTERS))
    found = np.arange(len(words))
    if len(stems):
        letters = words.folded[starts[stems, None] + np.arange(LETTERS)]
        found[stems] = len(words) + np.unique(letters, axis=0, return_inverse=True)[1].reshape(-1)
    return np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int32)


@kernel
def _number(
    rows: np.ndarray,
    targets: np.ndarray,
    words: np.ndarray,
    of_source: np.ndarray,
    of_target: np.ndarray,
    seen: np.ndarray,
    cells: np.ndarray,
) -> int:
    """Give each pair of stems a number, cell by cell, and return how many there are.

    ``words`` are the source words in the order of their stems, ``seen`` the last number of each target stem,
    -1 at first.
    """
    count, begun, stem = 0, 0, -1
    for word in words:
        if of_source[word] != stem:
            begun, stem = count, of_source[word]
        for cell in range(rows[word], rows[word + 1]):
            other = of_target[targets[cell]]
            if seen[other] < begun:
                seen[other] = count
                count += 1
            cells[cell] = seen[other]
    return count
