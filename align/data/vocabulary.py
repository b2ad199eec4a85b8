"""Vocabularies: words with counts, in rank order, and their code points for the spelling kernels."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import numpy as np

from align.core.errors import InputError
from align.core.files import text_file
from align.core.ragged import offsets_of

# The digits that a count has at most: it is below 2^63.
_DIGITS = 18
_ROW = re.compile(rf"(.+)\t([0-9]{{1,{_DIGITS}}})")

_TAB, _LINE_FEED, _ZERO = ord("\t"), ord("\n"), ord("0")


class Vocabulary:
    """Words of one language with their counts; the id of a word is its rank.

    Parameters
    ----------
    words : sequence of str
        Lookup keys (see :mod:`align.text`), most frequent first, no duplicates, none empty.
    counts : array_like of int, shape (V,)
        Occurrences of each word in the corpus, >= 0, non-increasing.

    Raises
    ------
    ValueError
        If the lengths differ or a word is listed twice.
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int] | np.ndarray) -> None:
        self.counts = np.asarray(counts, dtype=np.int64)
        if len(words) != len(self.counts):
            raise ValueError(f"vocabulary: {len(words)} words but {len(self.counts)} counts")
        if len(set(words)) != len(words):
            raise ValueError("vocabulary: a word is listed twice")
        # One text of all words takes 10 bytes a word, an object for each of them 60.
        self._text = "\n".join(words)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def words(self) -> list[str]:
        """Return the words by id, made when they are first asked for."""
        return self._text.split("\n") if len(self) else []

    def code_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what :func:`code_points` gives for the words, without an object for each of them."""
        if not len(self):
            return code_points([])
        codes = np.frombuffer(self._text.encode("utf-32-le"), dtype=np.uint32)
        letters = codes != ord("\n")
        ends = np.flatnonzero(~letters)
        offsets = np.concatenate([[0], ends - np.arange(len(ends)), [np.count_nonzero(letters)]])
        return codes[letters], offsets

    def letters(self) -> int:
        """Return how many code points the words have in the corpus, all occurrences together."""
        return int((np.diff(self.code_points()[1]) * self.counts).sum())

    @cached_property
    def index(self) -> dict[str, int]:
        """Return the id of each word, made when it is first asked for: 100 bytes a word."""
        return {word: rank for rank, word in enumerate(self.words)}

    def save(self, path: Path) -> None:
        """Write one ``word TAB count`` line a word, in UTF-8."""
        with text_file(path) as out:
            out.writelines(
                f"{word}\t{count}\n" for word, count in zip(self.words, self.counts.tolist(), strict=True)
            )

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If a line does not have the form ``word TAB count``, or a word comes twice.
        """
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        found = _columns(data)
        if found is None:
            _refuse(path, data.tobytes().decode())
        text, counts = found
        try:
            return cls(text.split("\n") if len(counts) else [], counts)
        except ValueError as error:
            raise InputError(f"{path}: {error}; make the file again") from None


def _columns(data: np.ndarray) -> tuple[str, np.ndarray] | None:
    """Return the words of a file, a line each, and the counts; None where a line has another form.

    All lines are read at once, in a third of the time of one expression a line.
    """
    ends, tabs = np.flatnonzero(data == _LINE_FEED), np.flatnonzero(data == _TAB)
    if len(data) and data[-1] != _LINE_FEED:
        return None
    if not len(ends):
        return "", np.zeros(0, dtype=np.int64)
    # The last TAB of each line parts its word from its count.
    last = np.searchsorted(tabs, ends) - 1
    if last.min() < 0:
        return None
    tabs = tabs[last]
    digits = ends - tabs - 1
    if not (tabs > np.append(-1, ends[:-1]) + 1).all() or not (1 <= digits.min() <= digits.max() <= _DIGITS):
        return None
    counts = np.zeros(len(ends), dtype=np.int64)
    for place in range(int(digits.max())):
        some = digits > place
        values = data[tabs[some] + 1 + place] - np.uint8(_ZERO)
        if values.max() > 9:
            return None
        counts[some] = counts[some] * 10 + values
    # What stands from a TAB to the end of its line goes.
    steps = np.zeros(len(data), dtype=np.int8)
    steps[tabs], steps[ends] = 1, -1
    return data[np.cumsum(steps, dtype=np.int8) == 0].tobytes().decode()[:-1], counts


def _refuse(path: Path, text: str) -> NoReturn:
    """Tell which line of a vocabulary is none."""
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1], 1):
        if not _ROW.fullmatch(line):
            raise InputError(f"{path}:{number}: not 'word TAB count'; make the file again")
    raise InputError(f"{path}:{len(lines)}: cut off, the line has no end; make the file again")


class WordCounter:
    """The words of a text, numbered as they come, and their occurrences."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counts = array("q")

    def add(self, words: Sequence[str], counts: np.ndarray) -> np.ndarray:
        """Count words and return their numbers, int32, shape (len(words),)."""
        numbers = np.empty(len(words), dtype=np.int32)
        for place, (word, count) in enumerate(zip(words, counts.tolist(), strict=True)):
            number = numbers[place] = self._numbers.setdefault(word, len(self._numbers))
            if number == len(self._counts):
                self._counts.append(0)
            self._counts[number] += count
        return numbers

    def rank(self) -> tuple[Vocabulary, np.ndarray]:
        """Return the vocabulary, and the id in it of each number, int32."""
        words = list(self._numbers)
        counts = np.frombuffer(self._counts, dtype=np.int64) if words else np.zeros(0, dtype=np.int64)
        # Ties in count are ordered by code point. Two sorts in turn make no object for each word.
        order = np.fromiter(sorted(range(len(words)), key=words.__getitem__), np.int64, len(words))
        order = order[np.argsort(-counts[order], kind="stable")]
        ids = np.empty(len(words), dtype=np.int32)
        ids[order] = np.arange(len(words), dtype=np.int32)
        return Vocabulary([words[number] for number in order.tolist()], counts[order]), ids


def code_points(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the words' code points in one flat array, for compiled kernels.

    Parameters
    ----------
    words : sequence of str
        V words.

    Returns
    -------
    codes : ndarray of uint32, shape (C,)
        Code points of all words, one word after the other.
    offsets : ndarray of int64, shape (V + 1,)
        Word v is ``codes[offsets[v]:offsets[v + 1]]``.
    """
    offsets = offsets_of([len(word) for word in words])
    # Not read-only, as bytes are: to the compiler that would be another type.
    codes = np.frombuffer(bytearray("".join(words).encode("utf-32-le")), dtype=np.uint32)
    return codes, offsets
