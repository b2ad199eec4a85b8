"""Posteriors: the probabilities of the likely links of the pairs that were sampled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.arrays import ArrayAppender, load_rows, near_rows, save_array
from align.core.errors import InputError
from align.core.kernels import kernel
from align.core.ragged import edge_offsets, offsets_of, read_only, rows_at
from align.statistics.candidates import Candidates
from align.statistics.records import REMEDY, Record, check_columns, check_offsets, load_columns

# A probability p is kept as p times this, in 16 bits.
SCALE = 65535

# An edge is kept where it is this probable in either direction.
LEAST = 0.01


def _expected(pairs: int, entries: int) -> dict[str, tuple[type, int]]:
    """Return the type and the length of each array of posteriors."""
    return {
        "offsets": (np.int64, pairs + 1),
        "edges": (np.int32, entries),
        "forward": (np.uint16, entries),
        "reverse": (np.uint16, entries),
        "sampled": (np.bool_, pairs),
    }


@dataclass(frozen=True)
class Posteriors(Record):
    """Probabilities of the likely links of N sentence pairs.

    Attributes
    ----------
    offsets : ndarray of int64, shape (N + 1,)
        The entries of pair i are ``offsets[i]`` to ``offsets[i + 1]``; none, if it was not ``sampled``.
    edges, forward, reverse : ndarray of int32 and twice uint16, shape (L,)
        An edge of the pair, ``j * m_i + k``, ascending; the probability that the target word comes from the
        source word, and the other way, times :data:`SCALE`.
    sampled : ndarray of bool, shape (N,)
        Whether the pair was sampled.
    """

    offsets: np.ndarray
    edges: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    sampled: np.ndarray

    @classmethod
    def of_candidates(
        cls,
        starts: tuple[np.ndarray, np.ndarray],
        candidates: tuple[Candidates, Candidates],
        *,
        forward: np.ndarray,
        reverse: np.ndarray,
        least: float = LEAST,
    ) -> Posteriors:
        """Keep what is likely of the posteriors of the candidates.

        Parameters
        ----------
        starts : tuple of ndarray of int64, shape (N + 1,)
            Where the N sentences of the source side, and of the target side, begin.
        candidates : tuple of Candidates
            Those of the target words and of the source words: the same links.
        forward, reverse : ndarray of uint16, shape (C,)
            Probabilities of the candidates, times :data:`SCALE`.
        least : float
            Links less probable than this in both directions are dropped, in [0, 1].
        """
        offsets = np.zeros(len(starts[0]), dtype=np.int64)
        edges = np.empty(len(reverse), dtype=np.int32)
        both = np.empty(len(reverse), dtype=np.uint16), np.empty(len(reverse), dtype=np.uint16)
        _keep_likely(
            starts,
            (candidates[0].offsets, candidates[1].offsets, candidates[1].places),
            (forward, reverse),
            round(least * SCALE),
            offsets,
            edges,
            both,
        )
        kept = int(offsets[-1])
        likely, ahead, back = (values[:kept].copy() for values in (edges, *both))
        return cls(offsets, likely, ahead, back, np.ones(len(offsets) - 1, dtype=bool))

    def __len__(self) -> int:
        return len(self.sampled)

    def placed(self, places: np.ndarray, count: int) -> Posteriors:
        """Return those of ``count`` pairs, these at the given places (ascending); others were not sampled."""
        lengths, sampled = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        lengths[places], sampled[places] = np.diff(self.offsets), self.sampled
        return Posteriors(offsets_of(lengths), self.edges, self.forward, self.reverse, sampled)

    def block(self, start: int, stop: int) -> Posteriors:
        """Return pairs ``start`` to ``stop`` (exclusive); all arrays but ``offsets`` are views."""
        here = slice(int(self.offsets[start]), int(self.offsets[stop]))
        return Posteriors(
            self.offsets[start : stop + 1] - here.start,
            self.edges[here],
            self.forward[here],
            self.reverse[here],
            self.sampled[start:stop],
        )

    def take(self, chosen: np.ndarray) -> Posteriors:
        """Return the pairs with the given indices (int array, any order) as a copy."""
        offsets, where = rows_at(self.offsets, chosen)
        return Posteriors(
            offsets, self.edges[where], self.forward[where], self.reverse[where], self.sampled[chosen]
        )

    @classmethod
    def join(cls, parts: Sequence[Posteriors]) -> Posteriors:
        """Put the pairs of several blocks, at least one, one after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        arrays = [
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("edges", "forward", "reverse", "sampled")
        ]
        return cls(offsets_of(lengths), *arrays)

    def dense(self, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both probabilities of every edge.

        Parameters
        ----------
        shapes : ndarray of int, shape (N, 2)
            Numbers of words of each pair.

        Returns
        -------
        forward, reverse : ndarray of float32, shape (E,)
            In [0, 1]; 0 where nothing was kept.

        Raises
        ------
        ValueError
            If these are not the posteriors of pairs of these shapes.
        """
        starts = edge_offsets(shapes)
        forward, reverse = (np.zeros(int(starts[-1]), dtype=np.float32) for _ in range(2))
        inside = len(shapes) == len(self) and _put(
            read_only(self.offsets),
            read_only(self.edges),
            read_only(self.forward),
            read_only(self.reverse),
            starts,
            forward,
            reverse,
        )
        if not inside:
            raise ValueError("posteriors: not those of the pairs given")
        return forward, reverse

    @classmethod
    def load(cls, folder: Path) -> Posteriors:
        """Read what :meth:`save` wrote; large files stay on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, is no array file, or does not fit the others.
        """
        found = load_columns(cls, folder)
        entries = len(found["edges"])
        check_columns(found, _expected(len(found["sampled"]), entries), folder)
        check_offsets(found["offsets"], entries, "entries", folder)
        return cls(**found)

    @classmethod
    def load_block(cls, folder: Path, start: int, stop: int) -> Posteriors:
        """Read pairs ``start`` to ``stop`` (exclusive) of what :meth:`save` wrote, and nothing else.

        Raises
        ------
        InputError
            As :meth:`load`, for the rows that are read.
        """

        def read(name: str, first: int, last: int) -> np.ndarray:
            return load_rows(folder / f"{name}.npy", first, last, remedy=REMEDY)

        offsets, sampled = read("offsets", start, stop + 1), read("sampled", start, stop)
        first, last = int(offsets[0]), int(offsets[-1])
        if np.diff(offsets).min(initial=0) < 0:
            raise InputError(f"{folder / 'offsets.npy'}: not ascending; {REMEDY}")
        found = {name: read(name, first, last) for name in ("edges", "forward", "reverse")}
        found |= {"offsets": offsets, "sampled": sampled}
        check_columns(found, _expected(stop - start, last - first), folder)
        return cls(**(found | {"offsets": offsets - first}))

    @classmethod
    def load_chosen(cls, folder: Path, chosen: np.ndarray) -> Posteriors:
        """Read the pairs with the given indices, int (n,), as :meth:`Corpus.load_chosen` does."""
        parts = []
        for rows in near_rows(chosen):
            first, last = int(rows[0]), int(rows[-1]) + 1
            parts.append(cls.load_block(folder, first, last).take(rows - first))
        return cls.join(parts or [cls.load_block(folder, 0, 0)])


class PosteriorAppender:
    """Writes what :meth:`Posteriors.save` would write block by block, never all in memory; a context manager.

    Parameters
    ----------
    folder : Path
        Made if missing.
    count : int
        Pairs in all, N; those that are never given were not sampled.
    """

    def __init__(self, folder: Path, count: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lengths, self._sampled = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        self._files = ExitStack()
        self._columns: dict[str, ArrayAppender] = {}

    def append(self, rows: np.ndarray, found: Posteriors) -> None:
        """Write the posteriors of the pairs ``rows``, ascending and behind all rows before."""
        self._lengths[rows] = np.diff(found.offsets)
        self._sampled[rows] = found.sampled
        for name, column in self._columns.items():
            column.append(getattr(found, name))

    def __enter__(self) -> PosteriorAppender:
        for name in ("edges", "forward", "reverse"):
            column = ArrayAppender(self._folder / f"{name}.npy", _expected(0, 0)[name][0])
            self._columns[name] = self._files.enter_context(column)
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()
        save_array(self._folder / "offsets.npy", offsets_of(self._lengths))
        save_array(self._folder / "sampled.npy", self._sampled)


def load_if_there(folder: Path) -> Posteriors | None:
    """Return the posteriors of a folder, None where there is no such folder.

    Raises
    ------
    InputError
        As :meth:`Posteriors.load`.
    """
    return Posteriors.load(folder) if folder.is_dir() else None


@kernel
def _put(offsets, edges, forward, reverse, starts, all_forward, all_reverse):  # type: ignore[no-untyped-def]
    """Put what was kept to its edges; returns whether all of it lies inside its pair."""
    scale = np.float32(SCALE)
    for i in range(len(offsets) - 1):
        count = starts[i + 1] - starts[i]
        for entry in range(offsets[i], offsets[i + 1]):
            if edges[entry] < 0 or edges[entry] >= count:
                return False
            edge = starts[i] + edges[entry]
            all_forward[edge] = np.float32(forward[entry]) / scale
            all_reverse[edge] = np.float32(reverse[entry]) / scale
    return True


@kernel
def _keep_likely(texts, candidates, posteriors, least, offsets, edges, both):  # type: ignore[no-untyped-def]
    """Write the likely links row by row: those of a target word come in order, a cursor each."""
    source_offsets, target_offsets = texts
    forward_offsets, reverse_offsets, places = candidates
    forward, reverse = posteriors
    longest = 1
    for i in range(len(offsets) - 1):
        longest = max(longest, target_offsets[i + 1] - target_offsets[i])
    cursors = np.empty(longest, dtype=np.int64)
    kept = 0
    for i in range(len(offsets) - 1):
        first, start = source_offsets[i], target_offsets[i]
        m = target_offsets[i + 1] - start
        for word in range(m):
            cursors[word] = forward_offsets[start + word]
        for j in range(source_offsets[i + 1] - first):
            for c in range(reverse_offsets[first + j], reverse_offsets[first + j + 1]):
                k = np.int64(places[c])
                ahead, back = forward[cursors[k]], reverse[c]
                cursors[k] += 1
                if ahead >= least or back >= least:
                    edges[kept] = j * m + k
                    both[0][kept] = ahead
                    both[1][kept] = back
                    kept += 1
        offsets[i + 1] = kept
