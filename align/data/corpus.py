"""A bitext as arrays: what every numerical module reads.

Tokens here are *analysis* tokens (contractions undone, lower-cased lookup keys), given by their ids
in a :class:`~align.data.vocabulary.Vocabulary`. ``parents`` leads back from each of them to the surface
token that the user sees. An id at or above the vocabulary's size stands for a word the vocabulary
does not have (``unknown`` words of unseen text): the statistics know nothing of it, its spelling is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from align.core.arrays import load_array, load_rows, near_rows, save_array
from align.core.ragged import SIDES, offsets_of, rows_at

# Words that a sentence may have: a sampled link is an int16 among as many candidates, an edge of two such
# sentences an int32.
LONGEST = 2**15 - 1

_ARRAYS = ("ids", "offsets", "parents")

# Pairs whose offsets are read at once.
_PIECE = 1 << 18


@dataclass(frozen=True)
class Sentences:
    """One side of a bitext, N sentences of T analysis tokens."""

    ids: np.ndarray  # int32 (T,): vocabulary ids of the tokens of all sentences, one sentence after the other
    offsets: np.ndarray  # int64 (N + 1,): sentence i is ids[offsets[i]:offsets[i + 1]]
    parents: np.ndarray  # int32 (T,): the surface token of each token, counted within the input line

    def lengths(self) -> np.ndarray:
        """Return the number of analysis tokens of each sentence, int64, shape (N,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def block(self, start: int, stop: int) -> Sentences:
        """Return sentences ``start`` to ``stop`` (exclusive); token arrays are views, offsets start at 0."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Sentences(
            self.ids[first:last], self.offsets[start : stop + 1] - first, self.parents[first:last]
        )

    def take(self, chosen: np.ndarray) -> Sentences:
        """Return the sentences with the given indices (int array, any order) as a copy."""
        offsets, where = rows_at(self.offsets, chosen)
        return Sentences(self.ids[where], offsets, self.parents[where])

    @classmethod
    def from_lists(
        cls, ids: Sequence[Sequence[int]], parents: Sequence[Sequence[int]] | None = None
    ) -> Sentences:
        """Build from one list of ids a sentence; without ``parents`` each token is its own surface token."""
        if parents is None:
            parents = [range(len(sentence)) for sentence in ids]
        offsets = offsets_of([len(sentence) for sentence in ids])
        flat, upward = (np.fromiter(chain.from_iterable(of), np.int32) for of in (ids, parents))
        return cls(flat, offsets, upward)

    @classmethod
    def join(cls, parts: Sequence[Sentences]) -> Sentences:
        """Put several runs of sentences one after the other."""
        empty = np.zeros(0, dtype=np.int32)
        offsets = offsets_of(np.concatenate([empty, *(part.lengths() for part in parts)]))
        return cls(
            np.concatenate([empty, *(part.ids for part in parts)]),
            offsets,
            np.concatenate([empty, *(part.parents for part in parts)]),
        )


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs: sentence i of ``source`` and sentence i of ``target`` translate each other."""

    source: Sentences
    target: Sentences

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(f"corpus: {len(self.source)} source but {len(self.target)} target sentences")

    def __len__(self) -> int:
        return len(self.source)

    def shapes(self) -> np.ndarray:
        """Return the numbers of words (n_i, m_i) of each pair, int32, shape (N, 2)."""
        return np.stack([self.source.lengths(), self.target.lengths()], axis=1).astype(np.int32)

    def block(self, start: int, stop: int) -> Corpus:
        """Return pairs ``start`` to ``stop`` (exclusive) without copying the tokens."""
        return Corpus(self.source.block(start, stop), self.target.block(start, stop))

    def take(self, chosen: np.ndarray) -> Corpus:
        """Return the pairs with the given indices."""
        return Corpus(self.source.take(chosen), self.target.take(chosen))

    @classmethod
    def join(cls, parts: Sequence[Corpus]) -> Corpus:
        """Put several corpora one after the other."""
        return cls(
            Sentences.join([part.source for part in parts]), Sentences.join([part.target for part in parts])
        )

    def save(self, folder: Path) -> None:
        """Write six ``.npy`` files (``source.ids.npy`` ...) into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        for side, sentences in zip(SIDES, (self.source, self.target), strict=True):
            for name in _ARRAYS:
                save_array(folder / f"{side}.{name}.npy", getattr(sentences, name))

    @classmethod
    def load(cls, folder: Path, *, mapped: bool = True) -> Corpus:
        """Read what :meth:`save` wrote; ``mapped`` leaves the token arrays on disk (memory-mapped)."""

        def read(side: str, name: str) -> np.ndarray:
            # Offsets are small: only tokens stay on disk.
            return load_array(folder / f"{side}.{name}.npy", mapped=mapped and name != "offsets")

        return cls(*(Sentences(*(read(side, name) for name in _ARRAYS)) for side in SIDES))

    @staticmethod
    def load_count(folder: Path) -> int:
        """Return how many pairs :meth:`save` wrote, reading none of them."""
        return len(load_array(folder / "source.offsets.npy", mapped=True)) - 1

    @classmethod
    def load_shapes(cls, folder: Path) -> np.ndarray:
        """Return :meth:`shapes` of what :meth:`save` wrote, and keep nothing else of it.

        Raises
        ------
        InputError
            As :meth:`load_block`.
        """
        shapes = np.empty((cls.load_count(folder), 2), dtype=np.int32)
        for start in range(0, len(shapes), _PIECE):
            stop = min(start + _PIECE, len(shapes))
            for column, side in enumerate(SIDES):
                offsets = load_rows(folder / f"{side}.offsets.npy", start, stop + 1)
                shapes[start:stop, column] = np.diff(offsets)
        return shapes

    @classmethod
    def load_block(cls, folder: Path, start: int, stop: int) -> Corpus:
        """Read pairs ``start`` to ``stop`` (exclusive) of what :meth:`save` wrote, and nothing else.

        Raises
        ------
        InputError
            If a file is missing or damaged, or there are not so many pairs.
        """

        def read(side: str) -> Sentences:
            offsets = load_rows(folder / f"{side}.offsets.npy", start, stop + 1)
            ids, parents = (
                load_rows(folder / f"{side}.{name}.npy", int(offsets[0]), int(offsets[-1]))
                for name in ("ids", "parents")
            )
            return Sentences(ids, offsets - offsets[0], parents)

        return cls(read("source"), read("target"))

    @classmethod
    def load_chosen(cls, folder: Path, chosen: np.ndarray) -> Corpus:
        """Read the pairs with the given indices, int (n,), as a rule ascending; the rest stays on disk.

        Raises
        ------
        InputError
            As :meth:`load_block`.
        """
        parts = []
        for rows in near_rows(chosen):
            first, last = int(rows[0]), int(rows[-1]) + 1
            parts.append(cls.load_block(folder, first, last).take(rows - first))
        return cls.join(parts or [cls.load_block(folder, 0, 0)])
