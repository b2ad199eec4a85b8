"""Counts over the lines of a shard: words, lengths, hashes of pairs, tokens that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from align.core.ragged import offsets_of, spans_at
from align.text.batch import Batch, BatchProcessor
from align.text.tokenize import is_unspaced

# A token of so many letters is a sign of text that nobody parted into words.
LONG_TOKEN = 30

# The odd number nearest to 2^64 / golden ratio: its powers spread over all 64 bits.
_MULTIPLIER = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class SideCounts:
    """Counts of one side of a shard."""

    words: list[str]  # the distinct analysis tokens of its parts; the shard's ids index them
    counts: np.ndarray  # int64, shape (len(words),): how often each stands in the parts that statistics use
    tokens: int  # analysis tokens
    surface: int  # surface tokens
    long: int  # surface tokens of LONG_TOKEN letters or more
    unspaced: int  # surface tokens that are one sign of a script without spaces


def values_of_spans(values: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the values of each span (from, to), one span after the other."""
    return values[spans_at(spans[:, 0], spans[:, 1])[1]]


def count_side(
    processor: BatchProcessor, batch: Batch, spans: np.ndarray, used: np.ndarray, alive: np.ndarray
) -> tuple[SideCounts, np.ndarray]:
    """Count one side, and number its words anew, those of the shard alone.

    Parameters
    ----------
    processor : BatchProcessor
        Knows the words behind the batch's numbers.
    batch : Batch
        The tokens of all lines.
    spans : ndarray of int64, shape (P, 2)
        The analysis tokens of each part.
    used : ndarray of bool, shape (P,)
        Parts that statistics use.
    alive : ndarray of bool, shape (lines,)
        Lines that have a part.

    Returns
    -------
    counts : SideCounts
    ids : ndarray of int32
        The analysis tokens of all parts as indices into ``counts.words``.
    """
    tokens = values_of_spans(batch.words, spans)
    present = np.flatnonzero(np.bincount(tokens, minlength=len(processor.words)))
    renumbered = np.zeros(len(processor.words), dtype=np.int32)
    renumbered[present] = np.arange(len(present))
    ids = renumbered[tokens]
    counted = np.repeat(used, spans[:, 1] - spans[:, 0])
    long, unspaced = 0, 0
    kept = batch.surface[np.repeat(alive, np.diff(batch.starts))]
    occurrences = np.bincount(kept, minlength=len(processor.surface))
    lengths = np.array(processor.lengths, dtype=np.int32)
    for number in np.flatnonzero((occurrences > 0) & ((lengths >= LONG_TOKEN) | (lengths <= 2))).tolist():
        token = processor.surface[number]
        if len(token) <= 2:
            unspaced += int(occurrences[number]) if is_unspaced(token) else 0
        elif token.isalpha():
            long += int(occurrences[number])
    counts = SideCounts(
        [processor.words[number] for number in present.tolist()],
        np.bincount(ids[counted], minlength=len(present)),
        len(ids),
        len(kept),
        long,
        unspaced,
    )
    return counts, ids


def hash_pairs(
    hashes: Sequence[np.ndarray], ids: Sequence[np.ndarray], sizes: Sequence[np.ndarray]
) -> np.ndarray:
    """Return a 64-bit hash of each of P pairs, uint64, shape (P,): equal words in equal order, equal hashes.

    Each argument has one entry a side: hashes of the words that ids index
    (:func:`~align.data.anchors.hash_words`), the ids of all tokens, int, and the number of tokens of each
    pair, int64, shape (P,).

    With h(word) a hash of its letters and q an odd constant: sum over tokens of h(word) q^(place + 1) mod
    2^64, source tokens first, then target tokens from place 2^20 on.
    """
    total = np.zeros(len(sizes[0]), dtype=np.uint64)
    for hashed, tokens, lengths, start in zip(hashes, ids, sizes, (0, 1 << 20), strict=True):
        before = offsets_of(lengths)
        places = np.arange(len(tokens)) - np.repeat(before[:-1], lengths)
        powers = np.full(int(lengths.max(initial=0)) + 1, _MULTIPLIER, dtype=np.uint64)
        powers[:1] = pow(_MULTIPLIER, start + 1, 1 << 64)
        powers = np.cumprod(powers, dtype=np.uint64)
        terms = hashed[tokens] * powers[places]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        total += sums[before[1:]] - sums[before[:-1]]
    return total


def length_sums(source: np.ndarray, target: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Return sums over the lines in use, float64, shape (6,).

    Parameters
    ----------
    source, target : ndarray of int64, shape (lines,)
        Surface tokens of each line.
    alive : ndarray of bool, shape (lines,)

    Returns
    -------
    ndarray
        n and the sums of x, y, x^2, y^2, xy with x and y the logarithms of the lengths.
    """
    x, y = (np.log1p(side[alive].astype(np.float64)) for side in (source, target))
    return np.array([len(x), *(np.sum(each) for each in (x, y, x * x, y * y, x * y))])


def correlation(sums: np.ndarray) -> float:
    """Return the correlation of lengths from sums added up; 0 where it is undefined."""
    n, x, y, xx, yy, xy = sums.tolist()
    spread = max(n * xx - x * x, 0.0) * max(n * yy - y * y, 0.0)
    return float((n * xy - x * y) / np.sqrt(spread)) if spread > 1e-18 else 0.0
