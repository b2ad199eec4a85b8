"""Features of the letters of two words: names, numbers, punctuation and cognates show their translation.

Words are compared without accents (and in Latin letters, see :mod:`align.features.words`), numbers by their
value. The longest common subsequence of two words is found with one machine word a column [1]_.

References
----------
.. [1] Hyyrö 2004, "Bit-parallel LCS-length computation revisited".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from align.features.resources import Resources
from align.features.words import NUMBER, PUNCTUATION, WORD, WordTable
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


def identical(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the words of each edge are the same text, and whether they are so and name-like.

    Returns
    -------
    same, same_names : ndarray of bool, shape (E,)
        Name-like is a number, or a word of 4 letters and more: shorter words of two languages often look
        the same by chance.
    """
    source, target = block.source_spellings, block.target_spellings
    same, same_names = (np.zeros(int(block.offsets[-1]), dtype=np.bool_) for _ in range(2))
    _identical(
        block.shapes,
        block.offsets,
        block.source.tokens,
        block.source_starts,
        source.codes,
        source.offsets,
        source.kinds,
        block.target.tokens,
        block.target_starts,
        target.codes,
        target.offsets,
        same,
        same_names,
    )
    return same, same_names


def fill(block: Block, features: np.ndarray, column: int) -> None:
    """Write the group ``spelling``.

    Flags for the same word, punctuation or number and for what does not fit; for two words,
    with a and b their lengths in letters: ``prefix`` = common prefix / max(a, b); ``long_prefix`` = prefix
    times min(max(a, b), 8) / 8; ``common_letters`` = longest common subsequence / max(a, b); ``cognate``
    where that is above 0.7 and both have 4 letters or more; ``length_difference`` = abs(a - b) / max(a, b).
    """
    source, target = block.source_spellings, block.target_spellings
    letters = block.letters
    _spelling(
        block.shapes,
        block.offsets,
        block.identical,
        block.source.tokens,
        block.source_starts,
        letters.source,
        source.folded_offsets,
        source.kinds,
        block.target.tokens,
        block.target_starts,
        letters.target,
        target.folded_offsets,
        target.kinds,
        letters.alphabet,
        features,
        column,
    )


class Letters(NamedTuple):
    """The folded letters of both sides' words, int32, numbered from 0 to below ``alphabet``."""

    source: np.ndarray
    target: np.ndarray
    alphabet: int


def number_letters(source: WordTable, target: WordTable) -> Letters:
    """Give numbers to the letters of a block, so that they can index a small table."""
    letters, where = np.unique(np.concatenate([source.folded, target.folded]), return_inverse=True)
    where = where.astype(np.int32)
    return Letters(where[: len(source.folded)], where[len(source.folded) :], len(letters))


@kernel(error_model="numpy")
def _identical(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    source,
    source_starts,
    source_codes,
    source_offsets,
    source_kinds,
    target,
    target_starts,
    target_codes,
    target_offsets,
    same,
    same_names,
):
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            s = source[source_starts[i] + j]
            a, length = source_offsets[s], source_offsets[s + 1] - source_offsets[s]
            kind = source_kinds[s]
            name = kind == NUMBER or (kind == WORD and length >= NAME_LENGTH)
            for k in range(m):
                t = target[target_starts[i] + k]
                b = target_offsets[t]
                if target_offsets[t + 1] - b != length:
                    continue
                at = 0
                while at < length and source_codes[a + at] == target_codes[b + at]:
                    at += 1
                if at == length:
                    same[offsets[i] + j * m + k] = True
                    same_names[offsets[i] + j * m + k] = name


@kernel(error_model="numpy")
def _bits(word):  # type: ignore[no-untyped-def]
    """Count the ones of a 64-bit word: sums of pairs, of fours, of bytes, then of all bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    fours = np.uint64(0x3333333333333333)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(error_model="numpy")
def _spelling(  # type: ignore[no-untyped-def]
    shapes,
    offsets,
    same,
    source,
    source_starts,
    source_letters,
    source_offsets,
    source_kinds,
    target,
    target_starts,
    target_letters,
    target_offsets,
    target_kinds,
    alphabet,
    features,
    column,
):
    zero, one, bit = np.float32(0.0), np.float32(1.0), np.uint64(1)
    masks = np.zeros(alphabet, dtype=np.uint64)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for j in range(n):
            s = source[source_starts[i] + j]
            a, kind = source_offsets[s], source_kinds[s]
            long_a = min(source_offsets[s + 1] - a, LONGEST)
            for at in range(long_a):
                masks[source_letters[a + at]] |= bit << np.uint64(at)
            for k in range(m):
                t = target[target_starts[i] + k]
                b, other = target_offsets[t], target_kinds[t]
                long_b = min(target_offsets[t + 1] - b, LONGEST)
                edge = offsets[i] + j * m + k
                out = features[edge - offsets[0]]
                for c in range(column, column + 12):
                    out[c] = zero
                if kind != other:
                    mixed = kind == PUNCTUATION or other == PUNCTUATION
                    out[column + (3 if mixed else 6)] = one
                    continue
                shortest, length = min(long_a, long_b), max(long_a, long_b)
                prefix = 0
                while prefix < shortest and source_letters[a + prefix] == target_letters[b + prefix]:
                    prefix += 1
                if kind == PUNCTUATION:
                    out[column + (1 if same[edge] else 2)] = one
                    continue
                if kind == NUMBER:
                    out[column + (4 if prefix == length else 5)] = one
                    continue
                free = ~np.uint64(0)
                for at in range(long_b):
                    taken = free & masks[target_letters[b + at]]
                    free = (free + taken) | (free - taken)
                common = _bits(~free & ((bit << np.uint64(long_a)) - bit))
                ratio = np.float32(common) / np.float32(length)
                out[column] = one if same[edge] else zero
                out[column + 7] = np.float32(prefix) / np.float32(length)
                out[column + 8] = out[column + 7] * np.float32(min(length, LONG_PREFIX)) / LONG_PREFIX
                out[column + 9] = ratio
                out[column + 10] = one if shortest >= COGNATE_LENGTH and ratio > COGNATE_RATIO else zero
                out[column + 11] = np.float32(length - shortest) / np.float32(length)
            for at in range(long_a):
                masks[source_letters[a + at]] = np.uint64(0)
