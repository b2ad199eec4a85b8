"""Features of the letters of two words: names, numbers, punctuation and cognates show their translation.

Words are compared without accents (and in Latin letters, see :mod:`align.text.words`), numbers by their
value. The longest common subsequence of two words is found with one machine word a column [1]_. Two words
that meet in many edges of a block are compared once.

References
----------
.. [1] Hyyrö 2004, "Bit-parallel LCS-length computation revisited".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.features.block import Block, Resources, chosen
from align.text.likeness import (
    COGNATE_LENGTH,
    COGNATE_RATIO,
    LONGEST,
    NAME_LENGTH,
    SHORT_WORD,
    letters_in_common,
)
from align.text.words import NUMBER, PUNCTUATION, WORD, WordTable

LONG_PREFIX = 8

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
(
    _SAME_WORD, _SAME_PUNCTUATION, _OTHER_PUNCTUATION, _PUNCTUATION_AND_WORD, _SAME_NUMBER, _OTHER_NUMBER,
    _NUMBER_AND_WORD, _PREFIX, _LONG_PREFIX, _COMMON_LETTERS, _COGNATE, _LENGTH_DIFFERENCE,
) = range(len(_NAMES))  # fmt: skip


def names(resources: Resources) -> tuple[str, ...]:
    """Return the names of the group ``spelling``."""
    return _NAMES


# A comparison of two words is one number: 6 bits of common letters, 6 of common prefix, two flags.
_SIX, _SIX_BITS = 6, 63
_SAME, _SAME_NAME = 1 << 12, 1 << 13


class Spelling(NamedTuple):
    """The spellings of one side's words, as the kernels read them.

    The fields are those of :class:`align.text.words.WordTable`, ``letters`` and ``ends`` the folded ones.
    """

    codes: np.ndarray
    offsets: np.ndarray
    letters: np.ndarray
    ends: np.ndarray
    kinds: np.ndarray


def spellings(block: Block) -> tuple[Spelling, Spelling]:
    """Return the spellings of the words of both sides of a block."""
    found = []
    for side, table, unknown in (
        (block.source, block.resources.source_words, block.pairs.unknown_source),
        (block.target, block.resources.target_words, block.pairs.unknown_target),
    ):
        chosen = table.take(side.words[: side.known])
        if side.known < len(side.words):
            unseen = side.words[side.known :] - side.size
            chosen = chosen.extended(WordTable.of([unknown[word] for word in unseen]))
        found.append(
            Spelling(chosen.codes, chosen.offsets, chosen.folded, chosen.folded_offsets, chosen.kinds)
        )
    return found[0], found[1]


def comparisons(block: Block) -> np.ndarray:
    """Return what the letters of the two words of each edge have in common, uint16, shape (E,).

    Bits 0-5: letters of the longest common subsequence of two words, 6-11: common prefix in letters, 12:
    the same text, 13: the same text and name-like, that is a number or a word of 4 letters and more
    (shorter words of two languages often look the same by chance).
    """
    source, target = (block.whole or block).shared(spellings)
    result = np.zeros(int(block.offsets[-1]), dtype=np.uint16)
    alphabet = max(source.letters.max(initial=0), target.letters.max(initial=0)) + 1
    masks = np.zeros(int(alphabet), dtype=np.uint64)
    order = block.source.by_word()
    _compare(block.shapes, block.offsets, order, block.source, source, block.target, target, masks, result)
    return result


def same_names(block: Block) -> np.ndarray:
    """Return whether the words of each edge are the same text and name-like, bool, shape (E,)."""
    same: np.ndarray = (block.of_edges(comparisons) & np.uint16(_SAME_NAME)) != 0
    return same


def likenesses(block: Block) -> np.ndarray:
    """Return how far the words of each edge are spelt alike, float32 in [0, 1], shape (E,).

    As :func:`align.statistics.sampler_priors.likeness` of the cells of a lexicon; words that the lexicon does
    not know are compared as well.
    """
    found = block.of_edges(comparisons)
    source, target = (block.whole or block).shared(spellings)
    result = np.empty(len(found), dtype=np.float32)
    _write_likenesses(block.shapes, block.offsets, found, block.source, source, block.target, target, result)
    return result


def fill(block: Block, out: np.ndarray) -> None:
    """Write the group ``spelling``.

    Flags for the same word, punctuation or number and for what does not fit; for two words,
    with a and b their lengths in letters: ``prefix`` = common prefix / max(a, b); ``long_prefix`` = prefix
    times min(max(a, b), 8) / 8; ``common_letters`` = longest common subsequence / max(a, b); ``cognate``
    where that is above 0.7 and both have 4 letters or more; ``length_difference`` = abs(a - b) / max(a, b).
    """
    out[:] = 0
    wanted = block.shared(chosen)
    found = block.of_edges(comparisons)[wanted.edges]
    source, target = (block.whole or block).shared(spellings)
    _write_spelling(found, block.source, source, block.target, target, wanted, out)


@kernel(error_model="numpy")
def _compare(  # type: ignore[no-untyped-def]
    shapes, offsets, order, source, source_words, target, target_words, masks, result
):
    """Compare a source word at a time with all it meets; ``order`` sorts the source tokens by word."""
    bit = np.uint64(1)
    pair_of = np.empty(len(source.tokens), dtype=np.int32)
    for i in range(len(shapes)):
        pair_of[source.starts[i] : source.starts[i + 1]] = i
    # The source word that each target word was met with last, and what came of it.
    met = np.full(len(target_words.kinds), -1, dtype=np.int32)
    found = np.zeros(len(target_words.kinds), dtype=np.uint16)
    fresh = np.empty(len(target_words.kinds) + 1, dtype=np.int32)
    at = 0
    while at < len(order):
        s = source.tokens[order[at]]
        # Without a branch: whether two words have met before is hard to foretell.
        stop, count = at, 0
        while stop < len(order) and source.tokens[order[stop]] == s:
            i = pair_of[order[stop]]
            words = target.tokens[target.starts[i] : target.starts[i + 1]]
            for k in range(len(words)):
                t = words[k]
                fresh[count] = t
                count += 1 if met[t] != s else 0
                met[t] = s
            stop += 1
        text = source_words.codes[source_words.offsets[s] : source_words.offsets[s + 1]]
        letters = source_words.letters[source_words.ends[s] : source_words.ends[s + 1]][:LONGEST]
        kind = source_words.kinds[s]
        for place in range(len(letters)):
            masks[letters[place]] |= bit << np.uint64(place)
        for new in range(count):
            t = fresh[new]
            value = 0
            if target_words.kinds[t] == kind:
                other = target_words.letters[target_words.ends[t] : target_words.ends[t + 1]][:LONGEST]
                common, prefix = letters_in_common(masks, len(letters), other)
                value = (common if kind == WORD else 0) | (prefix << _SIX)
                same = prefix == len(letters) and prefix == len(other)
                if same and _equal(
                    text, target_words.codes[target_words.offsets[t] : target_words.offsets[t + 1]]
                ):
                    name = kind == NUMBER or (kind == WORD and len(text) >= NAME_LENGTH)
                    value |= _SAME | (_SAME_NAME if name else 0)
            found[t] = value
        for place in range(len(letters)):
            masks[letters[place]] = np.uint64(0)
        for turn in range(at, stop):
            token = order[turn]
            i = pair_of[token]
            words = target.tokens[target.starts[i] : target.starts[i + 1]]
            row = result[offsets[i] + (token - source.starts[i]) * len(words) :]
            for k in range(len(words)):
                row[k] = found[words[k]]
        at = stop


@kernel(error_model="numpy")
def _equal(text, other):  # type: ignore[no-untyped-def]
    place, length = 0, len(text)
    if len(other) != length:
        return False
    while place < length and text[place] == other[place]:
        place += 1
    return place == length


@kernel(error_model="numpy")
def _write_likenesses(  # type: ignore[no-untyped-def]
    shapes, offsets, comparisons, source, source_words, target, target_words, result
):
    """Write what :func:`likenesses` says to ``result``."""
    bits, six, most = np.int32(_SIX_BITS), np.int32(_SIX), np.int32(LONGEST)
    zero, one, long_enough = np.float32(0.0), np.float32(1.0), np.int32(COGNATE_LENGTH)
    lengths = np.empty(_widest(shapes), dtype=np.int32)
    for i in range(len(shapes)):
        n, m = shapes[i, 0], shapes[i, 1]
        for k in range(m):
            t = target.tokens[target.starts[i] + k]
            lengths[k] = min(np.int32(target_words.ends[t + 1] - target_words.ends[t]), most)
        for j in range(n):
            s = source.tokens[source.starts[i] + j]
            length = min(np.int32(source_words.ends[s + 1] - source_words.ends[s]), most)
            short = np.float32(SHORT_WORD) if source_words.kinds[s] == WORD else one
            found = comparisons[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            out = result[offsets[i] + j * m : offsets[i] + (j + 1) * m]
            for k in range(m):
                longest, common = max(length, lengths[k]), np.int32(found[k]) & bits
                equal = (np.int32(found[k]) >> six) & bits == longest
                near = (min(length, lengths[k]) >= long_enough) & (common > COGNATE_RATIO * longest)
                alike = np.float32(common) / np.float32(longest) if near else zero
                out[k] = (short if longest < NAME_LENGTH else one) if equal else alike


@kernel
def _widest(shapes):  # type: ignore[no-untyped-def]
    """Return the most target words of a pair, at least 1."""
    widest = 1
    for i in range(len(shapes)):
        widest = max(widest, shapes[i, 1])
    return widest


@kernel(error_model="numpy")
def _write_spelling(  # type: ignore[no-untyped-def]
    comparisons, source, source_words, target, target_words, wanted, out
):
    """Write what :func:`fill` says to ``out``, which is 0; ``comparisons`` are those of the wanted edges."""
    one, most_letters = np.float32(1.0), np.float32(LONGEST)
    # No number of this type is between it and the ratio as it is written.
    ratio, enough = np.float32(COGNATE_RATIO), np.float32(COGNATE_LENGTH)
    longest_prefix, part = np.float32(LONG_PREFIX), np.float32(1 / LONG_PREFIX)
    for i in range(len(source.starts) - 1):
        for token in range(source.starts[i], source.starts[i + 1]):
            s = source.tokens[token]
            kind = source_words.kinds[s]
            length = min(np.float32(source_words.ends[s + 1] - source_words.ends[s]), most_letters)
            for at in range(wanted.starts[token], wanted.starts[token + 1]):
                t = target.tokens[target.starts[i] + wanted.targets[at]]
                if target_words.kinds[t] != kind:
                    mark = kind == PUNCTUATION or target_words.kinds[t] == PUNCTUATION
                    out[_PUNCTUATION_AND_WORD if mark else _NUMBER_AND_WORD, at] = one
                    continue
                found = np.int32(comparisons[at])
                if kind == PUNCTUATION:
                    out[_SAME_PUNCTUATION if found & _SAME else _OTHER_PUNCTUATION, at] = one
                    continue
                other = min(np.float32(target_words.ends[t + 1] - target_words.ends[t]), most_letters)
                longest, prefix = max(length, other), np.float32((found >> _SIX) & _SIX_BITS)
                if kind == NUMBER:
                    out[_SAME_NUMBER if prefix == longest else _OTHER_NUMBER, at] = one
                    continue
                if found & _SAME:
                    out[_SAME_WORD, at] = one
                prefix /= longest
                common = np.float32(found & _SIX_BITS) / longest
                out[_PREFIX, at] = prefix
                out[_LONG_PREFIX, at] = prefix * min(longest, longest_prefix) * part
                out[_COMMON_LETTERS, at] = common
                if common > ratio and min(length, other) >= enough:
                    out[_COGNATE, at] = one
                out[_LENGTH_DIFFERENCE, at] = abs(length - other) / longest
