"""Who does the pieces of work that do not need each other's results, and where their arrays lie.

The lexicon is estimated by functions of arrays, each for one shard of the source words or of the sentences.
A :class:`Mapper` has them done: threads over arrays in memory (:class:`Threads`), or a cluster over files
(:mod:`pipeline.stages.lexicon.cluster`). What is summed over all shards is summed by the caller, in their
order: the same bytes whatever the shards are and whoever does them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

# Runs of items (source words, sentences), as first and last but one.
Shards = tuple[tuple[int, int], ...]

# Shards of source words a thread: more than one, so that none waits long for the last.
_SHARDS_PER_THREAD = 8


class Mapper(Protocol):
    """Has functions of named tuples of arrays done.

    A *stored* tuple stands for one wherever the mapper keeps it. Among the arguments of a function a stored
    tuple becomes the tuple itself; a list of them, which can be gone through once, is loaded one by one.
    """

    def word_shards(self, steps: int) -> int:
        """Return how many shards to make of the source words, >= 1, by the steps it takes to find cells."""
        ...

    def sentence_shards(self, words: int) -> int:
        """Return how many shards to make of the sentences, >= 1, beside so many of the words."""
        ...

    def put(self, value: Any) -> Any:
        """Store a named tuple or a dataclass of arrays for all who need it."""
        ...

    def get(self, stored: Any) -> Any:
        """Return a stored tuple; its arrays may lie on disk."""
        ...

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the stored result, a named tuple, of ``function(*each)`` for each of the arguments."""
        ...

    def fill(
        self, function: Callable[..., None], arguments: Sequence[tuple[Any, ...]], offsets: np.ndarray
    ) -> np.ndarray:
        """Return one float32 array, its part ``offsets[i]:offsets[i + 1]`` filled by the i-th piece of work.

        ``function`` has that part, to be written, as its last argument.
        """
        ...

    def drop(self, stored: Sequence[Any]) -> None:
        """Give back the place of what is not needed any more."""
        ...


class Threads:
    """Threads of this process; what is stored is what was given, and functions may change it."""

    def __init__(self, jobs: int = 1) -> None:
        self._jobs = jobs

    def word_shards(self, steps: int) -> int:
        """Return one for a thread alone, else some for each."""
        return 1 if self._jobs == 1 else _SHARDS_PER_THREAD * self._jobs

    def sentence_shards(self, words: int) -> int:
        """Return one for each thread."""
        return self._jobs

    def put(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def get(self, stored: Any) -> Any:
        """Return the value itself."""
        return stored

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results."""
        if self._jobs == 1:
            return [function(*each) for each in arguments]
        with ThreadPoolExecutor(self._jobs) as pool:
            return list(pool.map(lambda each: function(*each), arguments))

    def fill(
        self, function: Callable[..., None], arguments: Sequence[tuple[Any, ...]], offsets: np.ndarray
    ) -> np.ndarray:
        """Return one array filled in parts."""
        whole = np.empty(offsets[-1], dtype=np.float32)
        parts = [whole[first:last] for first, last in pairwise(offsets)]
        self.map(function, [(*each, part) for each, part in zip(arguments, parts, strict=True)])
        return whole

    def drop(self, stored: Sequence[Any]) -> None:
        """Do nothing: Python does it."""


def writable(values: np.ndarray) -> np.ndarray:
    """Return a stored array to be changed: the array itself, or a copy where it only can be read."""
    return values if values.flags.writeable else np.array(values)


def cut(work: np.ndarray, parts: int) -> Shards:
    """Cut items into at most ``parts`` runs of about equal work; ``work`` (items + 1,) is cumulative."""
    edges = np.searchsorted(work, np.linspace(0, work[-1], parts + 1))
    edges[0], edges[-1] = 0, len(work) - 1
    return tuple((int(first), int(last)) for first, last in pairwise(edges) if first < last)
