"""The work in shards that the lexicon is estimated by, on a cluster: arrays lie in files that all see.

Each piece of work reads files, and writes a folder of its own, which is made aside and renamed when whole, so
that a piece that is done again does no harm. All pieces of a call are there before the next one begins.
"""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Imported for the pieces of work they have: a worker must have the same code (pipeline.work.worker).
from align.core.arrays import load_array, save_array
from align.statistics import lexicon  # noqa: F401
from pipeline.work.engine import Engine
from pipeline.work.publish import new_folder

# Steps of finding cells (a source word beside a target word) in a shard: less than a second.
_SHARD_STEPS = 20_000_000

# Shards of sentences at most: each of them reads the cells of all source words.
_SENTENCE_SHARDS = 32


@dataclass(frozen=True)
class Stored:
    """A named tuple of arrays in a folder, a file each; ``kind`` is its class."""

    folder: str
    kind: type[Any]

    def load(self) -> Any:
        """Return it, large arrays left on the disk."""
        paths = (Path(self.folder) / f"{name}.npy" for name in self.kind._fields)
        return self.kind(*(load_array(path, mapped=True) for path in paths))


class Part(NamedTuple):
    """A part of an array."""

    values: np.ndarray


@dataclass(frozen=True)
class Piece:
    """A piece of work: a function, its arguments, and the folder for its result.

    ``size`` is that of the array to be filled, None where the function returns its result.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    folder: str
    size: int | None = None


def do(piece: Piece) -> Stored:
    """Do a piece of work, in any process that sees the files."""
    arguments = [
        each.load()
        if isinstance(each, Stored)
        else map(Stored.load, each)
        if isinstance(each, list)
        else each
        for each in piece.arguments
    ]
    if piece.size is None:
        result = piece.function(*arguments)
    else:
        result = Part(np.empty(piece.size, dtype=np.float32))
        piece.function(*arguments, result.values)
    return _save(Path(piece.folder), result)


def _save(folder: Path, value: Any) -> Stored:
    with new_folder(folder) as aside:
        for name, values in zip(value._fields, value, strict=True):
            save_array(aside / f"{name}.npy", values)
    return Stored(str(folder), type(value))


class Files:
    """The cluster's workers, over files (:class:`align.statistics.mapper.Mapper`).

    Parameters
    ----------
    engine : Engine
        The cluster.
    folder : Path
        Where the files are to be, on the shared disk.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        # Another name for each attempt: what a lost worker may still write can get into no other one.
        self._engine, self._folder = engine, folder / uuid.uuid4().hex
        self._calls: Counter[str] = Counter()

    def word_shards(self, steps: int) -> int:
        """Return as many as take less than a second each."""
        return 1 + steps // _SHARD_STEPS

    def sentence_shards(self, words: int) -> int:
        """Return as many as of the words, up to a limit."""
        return min(words, _SENTENCE_SHARDS)

    def put(self, value: Any) -> Stored:
        """Write the value; return its place."""
        return _save(self._new_folder(type(value).__name__), value)

    def get(self, stored: Stored) -> Any:
        """Return the value, large arrays left on the disk."""
        return stored.load()

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Stored]:
        """Return the places of the results, when all are there."""
        return self._done(function, arguments, [None] * len(arguments))

    def fill(
        self, function: Callable[..., None], arguments: Sequence[tuple[Any, ...]], offsets: np.ndarray
    ) -> np.ndarray:
        """Return one array put together from the parts the workers filled."""
        whole = np.empty(offsets[-1], dtype=np.float32)
        parts = self._done(function, arguments, np.diff(offsets).tolist())
        for part, (first, last) in zip(parts, pairwise(offsets), strict=True):
            whole[first:last] = part.load().values
        self.drop(parts)
        return whole

    def drop(self, stored: Sequence[Stored]) -> None:
        """Remove the files."""
        for each in stored:  # what a network disk keeps because it is still open goes with the whole folder
            shutil.rmtree(each.folder, ignore_errors=True)

    def _done(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], sizes: Sequence[int | None]
    ) -> list[Stored]:
        folder = self._new_folder(function.__name__)
        pieces = [
            Piece(function, own, str(folder / str(number)), size)
            for number, (own, size) in enumerate(zip(arguments, sizes, strict=True))
        ]
        return list(self._engine.map(do, pieces))

    def _new_folder(self, name: str) -> Path:
        """Return a folder of its own for a value or a call, named after what it is."""
        self._calls[name] += 1
        return self._folder / f"{name}-{self._calls[name]}"
