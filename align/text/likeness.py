"""How far two words are spelt alike: letters in common, and what counts as a name or a cognate.

The longest common subsequence of two words is found with one machine word a column [1]_.

References
----------
.. [1] Hyyrö 2004, "Bit-parallel LCS-length computation revisited".
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel

LONGEST = 63  # letters of a word that are compared: one bit each
COGNATE_LENGTH = 4
COGNATE_RATIO = 0.7
NAME_LENGTH = 4
SHORT_WORD = 0.5  # how far two equal words of fewer letters are alike


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
def letters_in_common(masks, length, other):  # type: ignore[no-untyped-def]
    """Return :func:`common_letters` and the number of letters that both words begin with."""
    prefix = 0
    while prefix < len(other) and masks[other[prefix]] >> np.uint64(prefix) & np.uint64(1):
        prefix += 1
    return common_letters(masks, length, other), prefix


@kernel(error_model="numpy")
def _bits(word):  # type: ignore[no-untyped-def]
    """Count the ones of a 64-bit word: sums of pairs, of fours, of bytes, then of all bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    fours = np.uint64(0x3333333333333333)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
