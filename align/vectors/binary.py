"""Word vectors out of a binary fastText model (``.bin``).

The vector of a word is the mean of its own row and those of its character n-grams [1]_; a word that the
model does not know has its n-grams still. A model (``.bin``) is read as a stream, from the vocabulary to
the last number, so that a model of 7 GB needs memory for the wanted words only and one that is cut off is
noticed; no other program is needed for it.

References
----------
.. [1] Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with subword information", TACL 2017.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from align.core.errors import InputError
from align.data.streams import open_text
from align.vectors.mapping import has_vector
from align.vectors.rows import MAGIC, MOST_NUMBERS
from align.vectors.vec import LOOKUPS, Lookup, Vectors

VERSIONS = (11, 12)

# Bytes read at once, and n-gram rows added at once.
STEP = 1 << 22
ROWS = 1 << 14

_SETTINGS = struct.Struct("<12id")
_COUNTS = struct.Struct("<3i2q")
_ENTRY_TAIL = 9  # after a word's closing zero byte: its count (int64) and kind (int8)
_WORD = 0


@dataclass(frozen=True)
class Subwords:
    """How a model cuts words: n-grams of `shortest` to `longest` characters, hashed to `buckets` rows."""

    shortest: int
    longest: int
    buckets: int

    def rows(self, word: str) -> list[int]:
        """Return the rows of a word's n-grams, counted from the first n-gram row."""
        if self.buckets <= 0 or word == "</s>":
            return []
        letters = [_signed(letter.encode("utf-8", "surrogatepass")) for letter in f"<{word}>"]
        rows = []
        for start in range(len(letters)):
            value = 2166136261  # 32-bit FNV-1a
            for length, letter in enumerate(letters[start : start + self.longest], 1):
                for byte in letter:
                    value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
                lone_mark = length == 1 and (start == 0 or start == len(letters) - 1)
                if length >= self.shortest and not lone_mark:
                    rows.append(value % self.buckets)
        return rows


def is_model(path: Path) -> bool:
    """Whether a file, packed or not, starts like a binary fastText model."""
    with open_text(path) as stream:
        return stream.peek(len(MAGIC))[: len(MAGIC)] == MAGIC


def model_dimension(path: Path) -> int:
    """Return how many numbers a vector of a binary model has, reading its head only."""
    with open_text(path) as file:
        return _head(_Stream(file, path))[0]


def read_model(path: Path, words: Sequence[str]) -> Vectors:
    """Read the vectors of the wanted words from a binary fastText model, packed or not.

    A word that the model does not know under any spelling gets the mean of its n-grams.

    Parameters
    ----------
    path : Path
        A ``.bin`` file as fastText writes it; quantized ones (``.ftz``) are refused.
    words : sequence of str
        The V wanted ones, none twice.

    Raises
    ------
    InputError
        If it is no such model, or damaged, or cut off.
    """
    with open_text(path) as file:
        stream = _Stream(file, path)
        dim, subwords = _head(stream)
        rows, way, known = _wanted_rows(stream, words, subwords)
        matrix = np.zeros((len(words), dim), dtype=np.float32)
        bad = _add_rows(stream, matrix, rows, known + max(subwords.buckets, 0))
        _skip_output(stream)
    has = has_vector(matrix)
    matrix[~has] = 0.0
    zero = ~has & (way < len(LOOKUPS))
    way[zero] = len(LOOKUPS)
    return Vectors.of(
        matrix, way, path, header=None, rows=known, bad={"number": bad} if bad else {}, first_bad=None,
        duplicates=0, zero=int(zero.sum()),
    )  # fmt: skip


def _head(stream: _Stream) -> tuple[int, Subwords]:
    """Read the settings: the number of numbers a vector, and how words are cut."""
    if stream.take(4) != MAGIC:
        raise InputError(f"{stream.path}: not a fastText model; give a .bin or a .vec file")
    version = struct.unpack("<i", stream.take(4))[0]
    settings = _SETTINGS.unpack(stream.take(_SETTINGS.size))
    dim = settings[0]
    if version not in VERSIONS or not 0 < dim <= MOST_NUMBERS:
        raise InputError(
            f"{stream.path}: a fastText model of version {version} with {dim} dimensions; "
            f"give one of version {VERSIONS[-1]} and at most {MOST_NUMBERS}, or a .vec file"
        )
    return dim, Subwords(settings[9], settings[10], settings[8])


def _wanted_rows(
    stream: _Stream, words: Sequence[str], subwords: Subwords
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, int]:
    """Find which rows of the model each wanted word is the mean of.

    Returns
    -------
    rows : tuple of two int64 arrays, shape (E,)
        Model row, and wanted word that it belongs to, sorted by row.
    way : ndarray of int64, shape (V,)
        Index in `LOOKUPS`; ``len(LOOKUPS)`` where there is nothing.
    known : int
        Words in the model: the rows in front of the n-gram rows.
    """
    size, known, _, _, pruned = _COUNTS.unpack(stream.take(_COUNTS.size))
    if size < 0 or not 0 <= known <= size or pruned > 0:
        raise InputError(f"{stream.path}: damaged or quantized fastText model; get the .bin file again")
    lookup = Lookup(words)
    way = np.full(len(words), LOOKUPS.index("subwords"), dtype=np.int64)
    form: list[tuple[int, str] | None] = [None] * len(words)
    for number, (entry, kind) in enumerate(stream.entries(size)):
        if kind != _WORD:
            continue
        word = entry.decode("utf-8", "replace")
        for each, closeness in lookup.matches(word):
            if closeness < way[each]:
                way[each], form[each] = closeness, (number, word)
    rows, owners = array("q"), array("q")
    for each, word in enumerate(words):
        own = form[each]
        grams = subwords.rows(own[1] if own else word)
        rows.extend(known + row for row in grams)
        if own:
            rows.append(own[0])
        elif not grams:
            way[each] = len(LOOKUPS)
        owners.extend([each] * (len(rows) - len(owners)))
    order = np.argsort(rows, kind="stable")
    return (np.asarray(rows)[order], np.asarray(owners)[order]), way, known


def _add_rows(stream: _Stream, matrix: np.ndarray, rows: tuple[np.ndarray, np.ndarray], expected: int) -> int:
    """Add up the model's rows as they go by, and divide by their number; return the words not finite."""
    if stream.take(1) != b"\0":
        raise InputError(
            f"{stream.path}: a quantized fastText model; give the .bin or .vec file it was made from"
        )
    count, dim = struct.unpack("<2q", stream.take(16))
    if (count, dim) != (expected, matrix.shape[1]):
        raise InputError(
            f"{stream.path}: a damaged fastText model: {count} rows of {dim} numbers where {expected} of "
            f"{matrix.shape[1]} are due; get the file again"
        )
    totals = np.bincount(rows[1], minlength=len(matrix))
    step = max(1, STEP // (4 * dim))
    for start in range(0, count, step):
        stop = min(count, start + step)
        block = np.frombuffer(stream.take(4 * dim * (stop - start)), dtype="<f4").reshape(-1, dim)
        first, last = np.searchsorted(rows[0], (start, stop))
        for part in range(first, last, ROWS):
            chosen = slice(part, min(part + ROWS, last))
            with np.errstate(over="ignore", invalid="ignore"):  # such rows are none, below
                np.add.at(matrix, rows[1][chosen], block[rows[0][chosen] - start])
    matrix /= np.maximum(totals, 1)[:, None].astype(np.float32)
    finite = np.isfinite(matrix).all(axis=1)
    matrix[~finite] = 0.0
    return int((~finite).sum())


def _skip_output(stream: _Stream) -> None:
    """Read over the output matrix, which only training needs, to see that it is all there."""
    stream.take(1)
    count, dim = struct.unpack("<2q", stream.take(16))
    left = 4 * max(count, 0) * max(dim, 0)
    while left > 0:
        left -= len(stream.take(min(left, STEP)))


class _Stream:
    """A binary stream that is read to a known length, or refused as cut off."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self._file = file
        self._buffer = b""

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        while len(self._buffer) < size:
            self._more()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def entries(self, count: int) -> Iterator[tuple[bytes, int]]:
        """Yield the words of the model's vocabulary with their kinds."""
        at = 0
        for _ in range(count):
            end = self._buffer.find(b"\0", at)
            while end < 0 or end + _ENTRY_TAIL >= len(self._buffer):
                self._buffer, at = self._buffer[at:], 0
                if len(self._buffer) > STEP:
                    raise InputError(f"{self.path}: a damaged fastText model; get the file again")
                self._more()
                end = self._buffer.find(b"\0")
            yield self._buffer[at:end], self._buffer[end + _ENTRY_TAIL]
            at = end + _ENTRY_TAIL + 1
        self._buffer = self._buffer[at:]

    def _more(self) -> None:
        more = self._file.read(STEP)
        if not more:
            raise InputError(f"{self.path}: a fastText model that is cut off; get the file again")
        self._buffer += more


def _signed(letter: bytes) -> list[int]:
    """Return bytes as fastText's hash sees them: as signed numbers widened to 32 bits."""
    return [byte | 0xFFFFFF00 if byte > 127 else byte for byte in letter]
