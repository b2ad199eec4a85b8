"""Word vectors of a vocabulary, read from text files (``.vec``) one row at a time.

A row is a word and p numbers; the first line may say how many rows and numbers there are [1]_. Words may
hold spaces or be numbers themselves, so a row is split from the right. Only the rows of words that are
wanted are parsed and kept: memory is 4 V p bytes for V wanted words, whatever the size of the file. What
is wrong with a file is counted and told; a file that is wrong altogether, or cut off, is refused.

References
----------
.. [1] Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with subword information", TACL 2017.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.data.streams import open_text
from align.data.vocabulary import Vocabulary
from align.text.normalise import lookup_key
from align.vectors.mapping import has_vector
from align.vectors.rows import LONGEST, parse_numbers, read_start, split_row

# How a word of a file may stand for a wanted word, the closest first.
LOOKUPS = ("exact", "lower", "spelling", "subwords")

# Of these kinds of bad row a file may hold BAD_SHARE, and always BAD_FREE; of words in a wrong encoding
# ENCODING_SHARE (published files have a few).
BAD_SHARE = 0.001
BAD_FREE = 3
ENCODING_SHARE = 0.05

Track = Callable[[Iterable[bytes], int | None], Iterable[bytes]]


@dataclass(frozen=True)
class Report:
    """What was found in a file of vectors.

    Rows are passed over for their ``length`` (not a word and p numbers), a ``number`` that is not finite
    (looked for in wanted rows only), or their ``encoding`` (a word that is not UTF-8).
    """

    path: str
    dim: int  # numbers a row, p
    header: int | None  # rows that the first line promises; None where it promises nothing
    rows: int  # rows that are there, bad ones included
    bad: dict[str, int]  # rows passed over, by reason
    first_bad: int | None  # the first line passed over, from 1
    duplicates: int  # further rows that would stand for a wanted word as closely; the first is kept
    zero: int  # rows of wanted words without a direction, as zeros: such a word counts as not found
    lookups: dict[str, int]  # wanted words found, by the way they were (see `LOOKUPS`)
    ended: bool = True  # whether the last row is a whole line: of another the last number may be cut


@dataclass(frozen=True)
class Vectors:
    """The vectors of V words: `matrix`, float32 (V, p), zeros where `found`, bool (V,), is False."""

    matrix: np.ndarray
    found: np.ndarray
    report: Report

    @classmethod
    def of(cls, matrix: np.ndarray, way: np.ndarray, path: Path, **counted: Any) -> Vectors:
        """Return vectors found in the ways of `way`, int (V,): indices in `LOOKUPS`, its length for none."""
        ways = np.bincount(way, minlength=len(LOOKUPS)).tolist()
        lookups = dict(zip(LOOKUPS, ways, strict=False))
        report = Report(str(path), matrix.shape[1], lookups=lookups, **counted)
        return cls(matrix, way < len(LOOKUPS), report)


class Lookup:
    """Finds the wanted words that a word of a file stands for.

    The one case policy: a wanted word takes the vector of the same word; else of one that is the same in
    lower case; else of one with the same lookup key (apostrophes, form of accents, invisible characters).

    Parameters
    ----------
    words : sequence of str
        V wanted words, no duplicates.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.exact = {word: number for number, word in enumerate(words)}
        self._lower = _others(words, str.lower)
        self._spelling = _others(words, lookup_key)

    def matches(self, word: str) -> Iterator[tuple[int, int]]:
        """Yield ``(wanted word's number, index in LOOKUPS)``, the closest ways first."""
        none: dict[str, list[int]] = {}
        forms = ((word, none), (word.lower(), self._lower), (lookup_key(word), self._spelling))
        for way, (form, others) in enumerate(forms):
            own = [self.exact[form]] if form in self.exact else []
            for number in own + others.get(form, []):
                yield number, way


def _others(words: Sequence[str], form: Callable[[str], str]) -> dict[str, list[int]]:
    """Return, by this form, the words that are not in it themselves: few, where the words are lookup keys."""
    found: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        if (key := form(word)) != word:
            found.setdefault(key, []).append(number)
    return found


def read_vec(path: Path, words: Sequence[str], *, track: Track = lambda rows, total: rows) -> Vectors:
    """Read the vectors of the wanted words from a text file, plain or packed.

    Parameters
    ----------
    path : Path
        A file in the format of fastText and word2vec (with a first line of two integers) or of GloVe
        (without).
    words : sequence of str
        V wanted words, no duplicates.
    track : function
        ``track(lines, total)`` returns the lines, and may watch them go by; total is None where unknown.

    Returns
    -------
    Vectors
        ``matrix`` (V, p).

    Raises
    ------
    InputError
        If the file is a web page, has no rows, does not hold what its first line says, is cut off, or has
        more than one bad row in a thousand.
    """
    # A number beyond float32 becomes infinite, which is looked for.
    with open_text(path) as stream, np.errstate(over="ignore"):
        first, header, dim = read_start(stream, path)
        reader = _Reader(Lookup(words), len(words), dim, header[0] if header else None, path)
        rest = iter(lambda: stream.readline(LONGEST), b"")
        lines = track(itertools.chain(first, rest), reader.header)
        for line in lines:
            reader.take(line)
    return reader.finish()


def first_words(path: Path, count: int) -> list[str]:
    """Return the words of the first ``count`` rows of a text file of vectors, plain or packed."""
    with open_text(path) as stream:
        first, _, dim = read_start(stream, path)
        rest = iter(lambda: stream.readline(LONGEST), b"")
        rows = (split_row(line.strip(b" \t\r\n"), dim) for line in itertools.chain(first, rest))
        return [row[0].decode("utf-8", "replace") for row in itertools.islice(rows, count) if row is not None]


@dataclass(frozen=True)
class Coverage:
    """How much of a corpus has vectors."""

    types: float | None  # share of the words, in [0, 1]; None where there are none
    tokens: float | None  # likewise, of their occurrences
    missing: tuple[str, ...]  # the most frequent words without a vector


def coverage(found: np.ndarray, vocabulary: Vocabulary, *, top: int = 10) -> Coverage:
    """Count the words of a vocabulary that have vectors.

    Parameters
    ----------
    found : ndarray of bool, shape (V,)
        Whether a word has a vector.
    vocabulary : Vocabulary
        The V words and their counts.
    top : int
        At most so many words are listed as missing.
    """
    tokens = int(vocabulary.counts.sum())
    missing = np.flatnonzero(~found)[:top]
    return Coverage(
        float(found.mean()) if len(found) else None,
        float(vocabulary.counts[found].sum() / tokens) if tokens else None,
        tuple(vocabulary.words[number] for number in missing),
    )


class _Reader:
    """The state of reading: the vectors so far, and what has been counted."""

    def __init__(self, lookup: Lookup, size: int, dim: int, header: int | None, path: Path) -> None:
        self.header = header
        self._lookup, self._dim, self._path = lookup, dim, path
        self._matrix = np.zeros((size, dim), dtype=np.float32)
        self._way = np.full(size, len(LOOKUPS), dtype=np.int8)
        self._bad: Counter[str] = Counter()
        self._line = 1 if header is not None else 0
        self._rows = self._duplicates = self._zero = 0
        self._first_bad: int | None = None
        self._whole = True  # whether the last line read was a whole row
        self._ended = True

    def take(self, line: bytes) -> None:
        """Take in one line."""
        self._line += 1
        body = line.strip(b" \t\r\n")
        if not body:
            return
        self._rows += 1
        self._whole = True
        self._ended = line.endswith(b"\n")
        row = split_row(body, self._dim)
        if row is None:
            self._whole = self._ended
            self._reject("length")
            return
        try:
            word = row[0].decode("utf-8")
        except UnicodeDecodeError:
            self._reject("encoding")
            return
        self._keep(word, row[1])

    def _keep(self, word: str, numbers: bytes) -> None:
        """Give the row to the wanted words that have nothing closer."""
        exact = self._lookup.exact.get(word)
        if exact is not None and self._way[exact] == 0:
            self._duplicates += 1
            return
        found = list(self._lookup.matches(word))
        better = [(each, way) for each, way in found if way < self._way[each]]
        if not better:
            # Not so where a closer form has the word: which of those came first does not matter.
            self._duplicates += any(way == self._way[each] for each, way in found)
            return
        vector = parse_numbers(numbers, self._dim)
        if vector is None:
            self._reject("number")
        elif not has_vector(vector[None])[0]:
            self._zero += 1
        else:
            for each, way in better:
                # A word may come twice here, by a close way and by a less close one.
                if way < self._way[each]:
                    self._matrix[each], self._way[each] = vector, way

    def _reject(self, reason: str) -> None:
        self._bad[reason] += 1
        if reason != "encoding" and self._first_bad is None:
            self._first_bad = self._line

    def finish(self) -> Vectors:
        """Check what was counted, and return the vectors."""
        self._check()
        return Vectors.of(
            self._matrix, self._way, self._path, header=self.header, rows=self._rows, bad=dict(self._bad),
            first_bad=self._first_bad, duplicates=self._duplicates, zero=self._zero, ended=self._ended,
        )  # fmt: skip

    def _check(self) -> None:
        """Raise InputError where the file cannot be trusted."""
        if self.header is not None and self._rows < self.header:
            raise InputError(
                f"{self._path}: cut off: its first line promises {self.header} rows, {self._rows} are there; "
                "get the file again, or correct its first line"
            )
        if not self._whole:
            raise InputError(f"{self._path}:{self._line}: cut off in the middle of a row; get the file again")
        bad = self._bad["length"] + self._bad["number"]
        if bad > max(BAD_FREE, BAD_SHARE * self._rows) or 2 * bad > self._rows:
            raise InputError(
                f"{self._path}:{self._first_bad}: the first of {bad} rows, of {self._rows}, that are not a "
                f"word and {self._dim} numbers (one in {round(1 / BAD_SHARE)} is let pass); "
                "get the file again or mend it"
            )
        if self._bad["encoding"] > max(BAD_FREE, ENCODING_SHARE * self._rows):
            raise InputError(
                f"{self._path}: {self._bad['encoding']} words of {self._rows} are not UTF-8; "
                "convert the file to UTF-8"
            )
