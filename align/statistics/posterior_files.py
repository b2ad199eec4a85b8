"""Posteriors written block by block, so that those of a whole corpus are never in memory at once."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from align.core.arrays import ArrayAppender, save_array
from align.core.ragged import offsets_of
from align.statistics.posteriors import Posteriors

_TYPES = {"edges": np.int32, "forward": np.uint16, "reverse": np.uint16}


class PosteriorAppender:
    """Writes what :meth:`align.statistics.posteriors.Posteriors.save` would write; a context manager.

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
        for name, kind in _TYPES.items():
            column = ArrayAppender(self._folder / f"{name}.npy", kind)
            self._columns[name] = self._files.enter_context(column)
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()
        offsets = offsets_of(self._lengths)
        save_array(self._folder / "offsets.npy", offsets)
        save_array(self._folder / "sampled.npy", self._sampled)
