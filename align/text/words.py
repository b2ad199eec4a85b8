"""What the spelling of words tells: letters without accents, kinds of words, numbers in one form."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from align.core.ragged import rows_at
from align.data.vocabulary import Vocabulary, code_points
from align.text.numbers import normal_number

WORD, NUMBER, PUNCTUATION = 0, 1, 2

# Once one in so many of a vocabulary's words was asked for, all are folded: one by one they take ten times
# the time.
_ASKED_OF_ALL = 64

# Values of rows of different lengths, and their offsets.
Ragged = tuple[np.ndarray, np.ndarray]

# Letters that Unicode does not decompose, and the alphabets nearest to Latin in one plain romanisation:
# names and borrowed words of Cyrillic and Greek text then look like their English cousins.
_PLAIN = {"œ": "oe", "æ": "ae", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
_CYRILLIC = dict(zip("абвгдезиклмнопрстуфхыэіјў", "abvgdeziklmnoprstufhyeiju", strict=True)) | {
    "ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "sht", "ъ": "a", "ь": "", "ю": "yu", "я": "ya", "є": "e"
}  # fmt: skip
_GREEK = dict(zip("αβγδεζηικλμνξοπρσςτυφω", "avgdeziiklmnxoprsstyfo", strict=True)) | {
    "θ": "th", "χ": "ch", "ψ": "ps"
}  # fmt: skip
_ROMAN = _PLAIN | _CYRILLIC | _GREEK


@dataclass(frozen=True)
class WordTable:
    """The spellings of a list of words, for the kernels.

    Word v is ``codes[offsets[v]:offsets[v + 1]]``, uint32 code points as they stand, and likewise in `folded`
    without accents, in Latin letters; for a number its leading numeral in one normal form.
    """

    codes: np.ndarray
    offsets: np.ndarray  # int64 (V + 1,)
    folded: np.ndarray
    folded_offsets: np.ndarray
    kinds: np.ndarray  # uint8 (V,): WORD, NUMBER (begins with a digit) or PUNCTUATION (no letter, no digit)

    def __len__(self) -> int:
        return len(self.kinds)

    @classmethod
    def of(cls, words: Sequence[str]) -> WordTable:
        """Build the table of a list of words, none empty."""
        return cls.of_codes(*code_points(words))

    @classmethod
    def of_codes(cls, codes: np.ndarray, offsets: np.ndarray) -> WordTable:
        """Build the table of words given by their code points (:func:`align.data.vocabulary.code_points`)."""
        folded, ends, kinds = _fold(codes, offsets)
        numbers = np.flatnonzero(kinds == NUMBER)
        if len(numbers):
            spans = zip(ends[numbers].tolist(), ends[numbers + 1].tolist(), strict=True)
            texts = ["".join(map(chr, folded[start:stop])) for start, stop in spans]
            folded, ends = _replace(folded, ends, numbers, code_points(list(map(normal_number, texts))))
        return cls(codes, offsets, folded, ends, kinds)

    def take(self, chosen: np.ndarray) -> WordTable:
        """Return the table of the words with the given indices (int array, any order)."""
        return WordTable(
            *_gather(self.codes, self.offsets, chosen),
            *_gather(self.folded, self.folded_offsets, chosen),
            self.kinds[chosen],
        )

    def extended(self, more: WordTable) -> WordTable:
        """Return this table with the words of another one after its own."""
        return WordTable(
            *_join(self.codes, self.offsets, more.codes, more.offsets),
            *_join(self.folded, self.folded_offsets, more.folded, more.folded_offsets),
            np.concatenate([self.kinds, more.kinds]),
        )


class VocabularyTable:
    """The spellings of a vocabulary: of the words that are asked for, and of all once they were many.

    To fold a whole vocabulary takes as long as to align a hundred pairs.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._asked = vocabulary, 0

    @cached_property
    def whole(self) -> WordTable:
        """The table of all words, by id."""
        return WordTable.of_codes(*self._vocabulary.code_points())

    def take(self, chosen: np.ndarray) -> WordTable:
        """Return the table of the words with the given ids (int array, any order)."""
        if "whole" not in vars(self):
            self._asked += len(chosen)
            if self._asked < len(self._vocabulary) // _ASKED_OF_ALL:
                words = self._vocabulary.words
                return WordTable.of([words[word] for word in chosen.tolist()])
        return self.whole.take(chosen)


def fold_letter(letter: str) -> str:
    """Return a character without accents, in Latin letters where a plain romanisation is known."""
    plain = "".join(each for each in unicodedata.normalize("NFD", letter) if not unicodedata.combining(each))
    digit = unicodedata.decimal(letter, None)
    if digit is not None:
        return str(digit)
    return "".join(_ROMAN.get(each, each) for each in plain)


def _fold(codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fold all words at once: each distinct character is looked at in Python a single time."""
    distinct = np.flatnonzero(np.bincount(codes))  # code points are few: no need to sort the letters
    where = np.zeros(distinct[-1] + 1 if len(distinct) else 0, dtype=np.int64)
    where[distinct] = np.arange(len(distinct))
    where = where[codes]
    letters = [chr(code) for code in distinct]
    expansions, starts = code_points([fold_letter(letter) for letter in letters])
    folded, ends = _gather(expansions, starts, where)
    folded_offsets = ends[offsets]
    # A word made of combining marks alone keeps its own characters: no word may become empty.
    empty = np.flatnonzero(np.diff(folded_offsets) == 0)
    if len(empty):
        own = _gather(codes, offsets, empty)
        folded, folded_offsets = _replace(folded, folded_offsets, empty, own)
    counts = np.array([letter.isalnum() for letter in letters], dtype=bool)[where]
    digits = np.array([letter.isdecimal() for letter in letters], dtype=bool)[where]
    kinds = np.full(len(offsets) - 1, WORD, dtype=np.uint8)
    if len(kinds):
        spoken = np.concatenate([[0], np.cumsum(counts)])[offsets]
        kinds[np.diff(spoken) == 0] = PUNCTUATION
        kinds[digits[offsets[:-1]]] = NUMBER
    return folded, folded_offsets, kinds


def _gather(flat: np.ndarray, offsets: np.ndarray, chosen: np.ndarray) -> Ragged:
    """Return the chosen rows of a ragged array, one after the other, and their offsets."""
    ends, places = rows_at(offsets, chosen)
    return flat[places], ends


def _join(flat: np.ndarray, offsets: np.ndarray, more: np.ndarray, ends: np.ndarray) -> Ragged:
    """Return a ragged array with the rows of another one after its own."""
    return np.concatenate([flat, more]), np.concatenate([offsets, ends[1:] + offsets[-1]])


def _replace(flat: np.ndarray, offsets: np.ndarray, rows: np.ndarray, new: Ragged) -> Ragged:
    """Return a ragged array with some of its rows exchanged for others."""
    order = np.arange(len(offsets) - 1)
    order[rows] = len(order) + np.arange(len(rows))
    return _gather(*_join(flat, offsets, *new), order)
