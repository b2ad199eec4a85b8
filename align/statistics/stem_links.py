"""Links of stems: what other forms of two words tell of them where they are rare or were never seen.

Words that begin with the same four letters are taken for forms of one word, as in
:mod:`align.statistics.stems`; here those that the vocabulary does not know have a stem as well. The links of
two stems are the sum of the expected links of all their forms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.mapped import give_pages_back
from align.core.ragged import read_only
from align.data.vocabulary import Vocabulary
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon
from align.statistics.stems import LETTERS

# Of cells with fewer links than this most are chance.
_LEAST = np.float32(0.3)

# Bits of a letter in the key of a stem: all alphabets in use have letters of so many.
_BITS = 16


class StemLinks(NamedTuple):
    """The links of the stems of one language pair, a row a source stem.

    Attributes
    ----------
    source_keys, target_keys : ndarray of uint64, shapes (S,) and (T,)
        The stems, ascending (:func:`keys_of`).
    source_counts, target_counts : ndarray of int64, shapes (S,) and (T,)
        Occurrences of all forms together.
    forward_totals, reverse_totals : ndarray of float64, shapes (S,) and (T,)
        Links of all forms together, to whatever word.
    offsets : ndarray of int64, shape (S + 1,)
        The cells of source stem i are ``offsets[i]:offsets[i + 1]``, in no order.
    targets : ndarray of int32, shape (cells,)
        Target stem of each cell.
    forward, reverse : ndarray of float32, shape (cells,)
        Links of each cell, target words made by source words and the other way.
    """

    source_keys: np.ndarray
    target_keys: np.ndarray
    source_counts: np.ndarray
    target_counts: np.ndarray
    forward_totals: np.ndarray
    reverse_totals: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray

    @classmethod
    def of(
        cls, lexicon: Lexicon, links: ExpectedLinks, vocabularies: tuple[Vocabulary, Vocabulary]
    ) -> StemLinks:
        """Add up the links of the words of two vocabularies; a pass over the cells."""
        keys, stems, counts, totals = [], [], [], []
        for vocabulary, words in zip(vocabularies, (links.forward_totals, links.reverse_totals), strict=True):
            found = keys_of(*vocabulary.code_points())
            of_words = np.full(len(found), -1, dtype=np.int32)
            own, of_words[found > 0] = np.unique(found[found > 0], return_inverse=True)
            keys.append(own)
            stems.append(of_words)
            has_stem, known = of_words >= 0, of_words[of_words >= 0]
            counts.append(
                np.bincount(known, weights=vocabulary.counts[has_stem], minlength=len(own)).astype(np.int64)
            )
            totals.append(np.bincount(known, weights=words[has_stem], minlength=len(own)))
        order = np.argsort(stems[0], kind="stable")
        order = order[np.count_nonzero(stems[0] < 0) :]
        tables = lexicon.offsets, lexicon.targets, links.forward, links.reverse
        sums = np.zeros((len(keys[1]), 2), dtype=np.float32)
        cells = _add_up(order, stems[0], stems[1], tuple(map(read_only, tables)), sums, len(keys[0]))
        give_pages_back(*tables)
        return cls(*keys, *counts, *totals, *cells)


def keys_of(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return a number for each word, the same for words with the same first letters, 0 without so many.

    Parameters
    ----------
    codes : ndarray of uint32
        Code points of all words.
    offsets : ndarray of int64, shape (V + 1,)
        Word v is ``codes[offsets[v]:offsets[v + 1]]``.

    Returns
    -------
    ndarray of uint64, shape (V,)
    """
    keys = np.empty(len(offsets) - 1, dtype=np.uint64)
    _write_keys(codes, offsets, keys)
    return keys


def places_of(codes: np.ndarray, offsets: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the place of each word's stem among ascending keys, int32 (V,), -1 where it is not there."""
    places = np.empty(len(offsets) - 1, dtype=np.int32)
    _write_places(codes, offsets, keys, places)
    return places


@kernel
def _write_keys(codes, offsets, keys):  # type: ignore[no-untyped-def]
    for word in range(len(keys)):
        keys[word] = _key(codes, offsets[word], offsets[word + 1])


@kernel
def _write_places(codes, offsets, keys, places):  # type: ignore[no-untyped-def]
    for word in range(len(places)):
        key = _key(codes, offsets[word], offsets[word + 1])
        place = np.searchsorted(keys, key) if key != 0 else len(keys)
        places[word] = place if place < len(keys) and keys[place] == key else -1


@kernel
def _key(codes, start, stop):  # type: ignore[no-untyped-def]
    key = np.uint64(0)
    if stop - start >= LETTERS:
        for place in range(LETTERS):
            letter = np.uint64(codes[start + place]) & np.uint64((1 << _BITS) - 1)
            key |= letter << np.uint64(_BITS * place)
    return key


@kernel
def _add_up(words, of_source, of_target, tables, sums, count):  # type: ignore[no-untyped-def]
    """Return the cells of stems; ``words`` are the source words that have one, in the order of their stems.

    ``sums``, a row a target stem, are 0 before and after.
    """
    rows, columns, forward, reverse = tables
    most = 0
    for word in words:
        for cell in range(rows[word], rows[word + 1]):
            most += 1 if max(forward[cell], reverse[cell]) >= _LEAST else 0
    offsets, size = np.zeros(count + 1, dtype=np.int64), 0
    targets, aheads, backs = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(most, np.float32)
    at = 0
    for stem in range(count):
        begun = size
        while at < len(words) and of_source[words[at]] == stem:
            for cell in range(rows[words[at]], rows[words[at] + 1]):
                other = of_target[columns[cell]]
                ahead = forward[cell] if forward[cell] >= _LEAST else np.float32(0.0)
                back = reverse[cell] if reverse[cell] >= _LEAST else np.float32(0.0)
                if other < 0 or ahead + back == 0.0:
                    continue
                if sums[other, 0] + sums[other, 1] == 0.0:
                    targets[size] = other
                    size += 1
                sums[other, 0] += ahead
                sums[other, 1] += back
            at += 1
        for cell in range(begun, size):
            aheads[cell], backs[cell] = sums[targets[cell], 0], sums[targets[cell], 1]
            sums[targets[cell]] = 0.0
        offsets[stem + 1] = size
    return offsets, targets[:size].copy(), aheads[:size].copy(), backs[:size].copy()
