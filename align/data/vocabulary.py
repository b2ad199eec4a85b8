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

_ROW = re.compile(r"^(.+)\t([0-9]{1,18})$", re.MULTILINE)


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
        with open(path, encoding="utf-8", newline="\n") as file:
            text = file.read()
        rows = _ROW.findall(text)
        if len(rows) != text.count("\n") or (text and not text.endswith("\n")):
            _refuse(path, text)
        words = [word for word, _ in rows]
        counts = [int(count) for _, count in rows]
        try:
            return cls(words, np.array(counts, dtype=np.int64))
        except ValueError as error:
            raise InputError(f"{path}: {error}; make the file again") from None


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
