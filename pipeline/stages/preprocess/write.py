"""The results of all shards put together to the stage's files, in the order of the lines."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from align.core.arrays import create_array, save_array, write_rows
from align.core.ragged import SIDES
from align.data.vocabulary import Vocabulary
from pipeline.stages.preprocess.shard import Summary, shard_files


class WordCounts:
    """The words of one side of all shards, numbered as they come, and their occurrences."""

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


class _Growing:
    """An ``.npy`` file of known length that is filled from its start; nothing of it stays in memory."""

    def __init__(self, path: Path, dtype: type, *shape: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        create_array(path, dtype, shape)
        self._path, self._dtype, self._length = path, dtype, shape[0]
        self._filled = 0

    def add(self, values: np.ndarray) -> None:
        if len(values):
            write_rows(self._path, self._filled, values.astype(self._dtype, copy=False))
        self._filled += len(values)

    def close(self) -> None:
        assert self._filled == self._length


class _Ragged:
    """A file of values, and one of where each row's begin (``.offsets``)."""

    def __init__(self) -> None:
        self._sizes: list[np.ndarray] = []

    def add(self, sizes: np.ndarray) -> None:
        self._sizes.append(sizes.astype(np.int32))

    def save(self, path: Path) -> None:
        sizes = np.concatenate([np.zeros(1, dtype=np.int32), *self._sizes])
        save_array(path, np.cumsum(sizes, dtype=np.int64))


def write_corpus(
    folder: Path,
    shards: Path,
    summaries: Sequence[Summary],
    numbers: Sequence[Sequence[np.ndarray]],
    ranks: Sequence[np.ndarray],
) -> None:
    """Write ``corpus/``, ``lines.npy``, ``in_statistics.npy``, the surface text and its spans.

    Parameters
    ----------
    folder, shards : Path
        Where to write, and where the shards' files are; they are deleted as they are used.
    summaries : sequence of Summary
        The shards in order.
    numbers : two sequences of ndarray of int32
        For each side and shard: the number of each of the shard's words.
    ranks : two ndarrays of int32
        For each side: the vocabulary id of each number.
    """
    parts = sum(summary.parts for summary in summaries)
    lines = _Growing(folder / "lines.npy", np.int64, parts)
    used = _Growing(folder / "in_statistics.npy", np.bool_, parts)
    for place, (side, rank) in enumerate(zip(SIDES, ranks, strict=True)):
        tokens = sum(summary.sides[place].tokens for summary in summaries)
        surface = sum(summary.sides[place].surface for summary in summaries)
        ids = _Growing(folder / "corpus" / f"{side}.ids.npy", np.int32, tokens)
        parents = _Growing(folder / "corpus" / f"{side}.parents.npy", np.int32, tokens)
        spans = _Growing(folder / f"{side}.spans.npy", np.uint32, surface, 2)
        offsets, span_offsets = _Ragged(), _Ragged()
        with open(folder / f"{side}.txt", "wb") as text:
            for summary, known in zip(summaries, numbers[place], strict=True):
                files = shard_files(shards, summary.number)
                with np.load(files["arrays"], allow_pickle=False) as arrays:
                    ids.add(rank[known][arrays[f"{side}.ids"]] if len(known) else np.zeros(0, np.int32))
                    parents.add(arrays[f"{side}.parents"])
                    offsets.add(arrays[f"{side}.sizes"])
                    spans.add(arrays[f"{side}.spans"])
                    span_offsets.add(arrays[f"{side}.span_sizes"])
                    if place == 0:
                        lines.add(arrays["lines"])
                        used.add(arrays["used"])
                with open(files[side], "rb") as part:
                    shutil.copyfileobj(part, text)
                files[side].unlink()
                if place == 1:
                    files["arrays"].unlink()
        offsets.save(folder / "corpus" / f"{side}.offsets.npy")
        span_offsets.save(folder / f"{side}.spans.offsets.npy")
        for growing in (ids, parents, spans):
            growing.close()
    lines.close()
    used.close()
