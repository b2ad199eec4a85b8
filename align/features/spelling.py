"""Features of the letters of two words: names, numbers, punctuation and cognates show their translation.

Words are compared without accents (and in Latin letters, see :mod:`align.features.words`), numbers by their
value. The longest common subsequence of two words is found with one machine word a column [1]_. Two words
that meet in many edges of a block are compared once.

References
----------
.. [1] Hyyrö 2004, "Bit-parallel LCS-length computation revisited".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from align.features.resources import Resources
from align.features.words import NUMBER, PUNCTUATION, WORD
from align.kernels import kernel

if TYPE_CHECKING:
    from align.features.block import Block

LONGEST = 63  # letters of a word that are compared: one bit each
COGNATE_LENGTH = 4
COGNATE_RATIO = 0.7
LONG_PREFIX = 8
NAME_LENGTH = 4

_NAMES = (
    "same_word",
    "same_punctuation",
    "other_punctuation",
    "punctuation_and_word",
    "same_number",
    "other_number",
    "number_and_word",
    "prefix",
    "long_prefix",
    "common_letters",
    "cognate",
    "length_difference",
)


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``spelling``."""
    return _NAMES


# A comparison of two words is one number: 6 bits of common letters, 6 of common prefix, two flags.
_SIX, _SIX_BITS = 6, 63
_SAME, _SAME_NAME = 1 << 12, 1 << 13
_STAMP = 16  # bits of the number that a word's number is put above


def compare(block: Block) -> np.ndarray:
    """Return what the letters of the two words of each edge have in common, uint16, shape (E,).

    Bits 0-5: letters of the longest common subsequence of two words, 6-11: common prefix in letters, 12:
    the same text, 13: the same text and name-like, that is a number or a word of 4 letters and more
    (shorter words of two languages often look the same by chance).
    """
    source, target = block.source_spellings, block.target_spellings
    result = np.zeros(int(block.offsets[-1]), dtype=np.uint16)
    alphabet = max(source.folded.max(initial=0), target.folded.max(initial=0)) + 1
    _compare(
        block.shapes,
        block.offsets,
        block.source.by_word,
        block.source.tokens,
        block.source_starts,
        source.codes,
        source.offsets,
        source.folded,
        source.folded_offsets,
        source.kinds,
        block.target.tokens,
        block.target_starts,
        target.codes,
        target.offsets,
        target.folded,
        target.folded_offsets,
        target.kinds,
        np.zeros(int(alphabet), dtype=np.uint64),
        result,
    )
    return result


def same_names(comparisons: np.ndarray) -> np.ndarray:
    """Return whether two words are the same text and name-like, bool, shape (E,), by :func:`compare`."""
    same: np.ndarray = (comparisons & np.uint16(_SAME_NAME)) != 0
    return same


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``spelling``.

    Flags for the same word, punctuation or number and for what does not fit; for two words,
    with a and b their lengths in letters: ``prefix`` = common prefix / max(a, b); ``long_prefix`` = prefix
    times min(max(a, b), 8) / 8; ``common_letters`` = longest common subsequence / max(a, b); ``cognate``
    where that is above 0.7 and both have 4 letters or more; ``length_difference`` = abs(a - b) / max(a, b).
    """
    source, target = block.source_spellings, block.target_spellings
    write_spelling(
        block.shapes,
        block.offsets,
        block.comparisons,
        block.source.tokens,
        block.source_starts,
        source.folded_offsets,
        source.kinds,
        block.target.tokens,
        block.target_starts,
        target.folded_offsets,
        target.kinds,
        out,
    )


@kernel(error_model="numpy")
def _bits(word):  # type: ignore[no-untyped-def]
    """Count the ones of a 64-bit word: sums of pairs, of fours, of bytes, then of all bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    fours = np.uint64(0x3333333333333333)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(error_model="numpy")
def _compare(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    order,
    source,
    source_starts,
    source_codes,
    source_offsets,
    source_letters,
    source_folds,
    source_kinds,
    target,
    target_starts,
    target_codes,
    target_offsets,
    target_letters,
    target_folds,
    target_kinds,
    masks,
    result,
):
    """Compare a source word at a time with all it meets; ``order`` sorts the source tokens by word."""
    bit = np.uint64(1)
    pair_of = np.empty(len(source), dtype=np.int32)
    for i in range(len(shapes)):
        pair_of[source_starts[i] : source_starts[i + 1]] = i
    known = np.full(len(target_kinds), -1, dtype=np.int64)  # the last comparison of each target word
    at = 0
    while at < len(order):
        s = np.int64(source[order[at]])
        text = source_codes[source_offsets[s] : source_offsets[s + 1]]
        letters = source_letters[source_folds[s] : source_folds[s + 1]][:LONGEST]
        kind = source_kinds[s]
        name = kind == NUMBER or (kind == WORD and len(text) >= NAME_LENGTH)
        if kind == WORD:
            for place in range(len(letters)):
                masks[letters[place]] |= bit << np.uint64(place)
        while at < len(order) and source[order[at]] == s:
            token = order[at]
            i = pair_of[token]
            m = shapes[i, 1]
            start = offsets[i] + (token - source_starts[i]) * m
            for k in range(m):
                t = target[target_starts[i] + k]
                if known[t] >> _STAMP != s:
                    found = 0
                    if target_kinds[t] == kind:
                        other = target_letters[target_folds[t] : target_folds[t + 1]][:LONGEST]
                        shortest, prefix = min(len(letters), len(other)), 0
                        while prefix < shortest and letters[prefix] == other[prefix]:
                            prefix += 1
                        common = common_letters(masks, len(letters), other) if kind == WORD else 0
                        found = common | (prefix << _SIX)
                        if _equal(text, target_codes[target_offsets[t] : target_offsets[t + 1]]):
                            found |= _SAME | (_SAME_NAME if name else 0)
                    known[t] = (s << _STAMP) | found
                result[start + k] = np.uint16(known[t])
            at += 1
        for place in range(len(letters)):
            masks[letters[place]] = np.uint64(0)


@kernel(error_model="numpy")
def _equal(text, other):  # type: ignore[no-untyped-def]
    place, length = 0, len(text)
    if len(other) != length:
        return False
    while place < length and text[place] == other[place]:
        place += 1
    return place == length


@kernel(error_model="numpy")
def common_letters(masks, length, other):  # type: ignore[no-untyped-def]
    """Return the longest common subsequence of a word and of another one of ``length`` letters.

    ``masks`` has the places of each letter in the other word as bits.
    """
    free = ~np.uint64(0)
    for place in range(len(other)):
        taken = free & masks[other[place]]
        free = (free + taken) | (free - taken)
    bit = np.uint64(1)
    return _bits(~free & ((bit << np.uint64(length)) - bit))


@kernel(error_model="numpy")
def write_spelling(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    comparisons,
    source,
    source_starts,
    source_folds,
    source_kinds,
    target,
    target_starts,
    target_folds,
    target_kinds,
    out,
):
    """Write what :func:`fill` says."""
    zero, one = np.float32(0.0), np.float32(1.0)
    out[:, : len(comparisons)] = zero
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            s = source[source_starts[i] + j]
            kind, long_a = source_kinds[s], min(source_folds[s + 1] - source_folds[s], LONGEST)
            for k in range(m):
                t = target[target_starts[i] + k]
                other = target_kinds[t]
                edge = offsets[i] + j * m + k
                if kind != other:
                    mixed = kind == PUNCTUATION or other == PUNCTUATION
                    out[3 if mixed else 6, edge] = one
                    continue
                found = np.int64(comparisons[edge])
                same = (found & _SAME) != 0
                if kind == PUNCTUATION:
                    out[1 if same else 2, edge] = one
                    continue
                long_b = min(target_folds[t + 1] - target_folds[t], LONGEST)
                shortest, length = min(long_a, long_b), max(long_a, long_b)
                common, prefix = found & _SIX_BITS, (found >> _SIX) & _SIX_BITS
                if kind == NUMBER:
                    out[4 if prefix == length else 5, edge] = one
                    continue
                scale = np.float32(length)
                ratio, ahead = np.float32(common) / scale, np.float32(prefix) / scale
                out[0, edge] = one if same else zero
                out[7, edge] = ahead
                out[8, edge] = ahead * np.float32(min(length, LONG_PREFIX)) / LONG_PREFIX
                out[9, edge] = ratio
                out[10, edge] = one if shortest >= COGNATE_LENGTH and ratio > COGNATE_RATIO else zero
                out[11, edge] = np.float32(length - shortest) / scale
