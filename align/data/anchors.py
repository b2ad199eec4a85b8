"""What tells, at little cost, whether lines translate each other: their lengths and their anchors.

Anchors are words that are the same on both sides and rare on both: numbers, names, loans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from align.core.ragged import offsets_of

# Logarithms of lengths are kept in steps of 1/16; 0 is a line out of use.
STEPS, BINS = 16, 256

# An anchor comes at most in this share of the lines, or so few times; a line keeps at most so many.
_RARE, _FEW = 0.01, 3
_MOST = 16

_WORD = re.compile(r"\w+")


class LineSigns(NamedTuple):
    """What is known of N lines, for each side.

    Attributes
    ----------
    lengths : (ndarray of uint8, ndarray of uint8), each of shape (N,)
        The logarithms of their lengths in steps of 1 / STEPS; 0 where a line is out of use.
    anchors : (ndarray of uint32, ndarray of uint32)
        Hashes of the anchors of all lines, each once a line.
    counts : (ndarray of uint8, ndarray of uint8), each of shape (N,)
        How many each line has.
    """

    lengths: tuple[np.ndarray, np.ndarray]
    anchors: tuple[np.ndarray, np.ndarray]
    counts: tuple[np.ndarray, np.ndarray]


class SideTokens(NamedTuple):
    """The tokens of one side of N lines.

    Attributes
    ----------
    hashes : ndarray of uint64
        Of its distinct words: see :func:`hash_words`.
    ids : ndarray of int
        Its tokens as indices of those.
    rows : ndarray of int, as long
        The line of each token, from 0, never falling.
    letters : ndarray of int, shape (N,)
        The length of each line.
    """

    hashes: np.ndarray
    ids: np.ndarray
    rows: np.ndarray
    letters: np.ndarray


def hash_words(words: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash of each word, uint64: the same on every machine."""
    return np.frombuffer(b"".join(map(_digest, words)), dtype="<u8")


# Most words of some lines are those of the lines before. So many take about 10 MB.
@lru_cache(maxsize=1 << 16)
def _digest(word: str) -> bytes:
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def text_tokens(lines: Sequence[str]) -> SideTokens:
    """Return the words of lines as they are, without the rules of any language, in lower case."""
    words = [_WORD.findall(line.lower()) for line in lines]
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for line in words for word in line]
    rows = np.repeat(np.arange(len(words)), [len(line) for line in words])
    letters = np.array([len(line) for line in lines], dtype=np.int64)
    return SideTokens(hash_words(numbers), np.array(ids, dtype=np.int64), rows.astype(np.int64), letters)


def line_signs(source: SideTokens, target: SideTokens, used: np.ndarray) -> LineSigns:
    """Return the signs of lines.

    Parameters
    ----------
    source, target : SideTokens
        Of the same N lines.
    used : ndarray of bool, shape (N,)
        Lines that can be used; the others tell nothing.
    """
    sides, count = (source, target), len(used)
    limit = max(_FEW, int(_RARE * count))
    rare = [np.bincount(side.ids, minlength=len(side.hashes)) <= limit for side in sides]
    shared = np.intersect1d(source.hashes[rare[0]], target.hashes[rare[1]], assume_unique=True)
    anchors, counts = zip(*(_anchors(side, shared, used) for side in sides), strict=True)
    source_lengths, target_lengths = (_length_bins(side.letters, used) for side in sides)
    return LineSigns((source_lengths, target_lengths), anchors, counts)


def joined(signs: Sequence[LineSigns]) -> LineSigns:
    """Return the signs of lines one after the other."""
    source, target = (
        [np.concatenate(each) for each in zip(*(_side(part, place) for part in signs), strict=True)]
        for place in (0, 1)
    )
    return LineSigns(*zip(source, target, strict=True))


def _side(signs: LineSigns, place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return signs.lengths[place], signs.anchors[place], signs.counts[place]


def _length_bins(letters: np.ndarray, used: np.ndarray) -> np.ndarray:
    bins = np.rint(STEPS * np.log1p(letters.astype(np.float64)))
    return np.where(used, np.clip(bins, 1, BINS - 1), 0).astype(np.uint8)


def _anchors(side: SideTokens, shared: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the anchors of all lines, those of the lowest hashes where a line has many, and their counts."""
    chosen = np.isin(side.hashes, shared)[side.ids]
    rows, hashes = side.rows[chosen], side.hashes[side.ids[chosen]].astype(np.uint32)
    kept = used[rows]
    keys = np.sort(rows[kept].astype(np.uint64) << np.uint64(32) | hashes[kept])
    keys = keys[np.diff(keys, prepend=~keys[:1]) != 0]
    rows = (keys >> np.uint64(32)).astype(np.int64)
    before = offsets_of(np.bincount(rows, minlength=len(used)))
    kept = np.arange(len(keys)) - before[rows] < _MOST
    return keys[kept].astype(np.uint32), np.bincount(rows[kept], minlength=len(used)).astype(np.uint8)
