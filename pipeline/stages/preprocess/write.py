"""The results of all shards put together to the stage's files, in the order of the lines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import ArrayAppender, create_array, save_array, write_rows
from align.core.files import byte_file
from align.core.ragged import SIDES, offsets_of
from align.data.anchors import LineSigns
from pipeline.stages.preprocess.summary import Summary, shard_files


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
        Where to write, and where the shards' files are; they are deleted when they have been used.
    summaries : sequence of Summary
        The shards in order, at least one.
    numbers : two sequences of ndarray of int32
        For each side and shard: the number of each of the shard's words.
    ranks : two ndarrays of int32
        For each side: the vocabulary id of each number.
    """
    (folder / "corpus").mkdir(exist_ok=True)
    files = [shard_files(shards, summary.number) for summary in summaries]
    with (
        ArrayAppender(folder / "lines.npy", np.int64) as lines,
        ArrayAppender(folder / "in_statistics.npy", np.bool_) as used,
    ):
        for arrays in _arrays(files):
            lines.append(arrays["lines"])
            used.append(arrays["used"])
    for place, side in enumerate(SIDES):
        surface = sum(summary.sides[place].surface for summary in summaries)
        _write_side(folder, side, files, numbers[place], ranks[place], surface)
    for each in files:
        each["arrays"].unlink()


def _write_side(
    folder: Path,
    side: str,
    files: Sequence[dict[str, Path]],
    numbers: Sequence[np.ndarray],
    rank: np.ndarray,
    surface: int,
) -> None:
    """Write the text of one side, which has so many surface tokens, and its arrays."""
    sizes, span_sizes, first = [], [], 0
    create_array(folder / f"{side}.spans.npy", np.uint32, (surface, 2))
    with (
        ArrayAppender(folder / "corpus" / f"{side}.ids.npy", np.int32) as ids,
        ArrayAppender(folder / "corpus" / f"{side}.parents.npy", np.int32) as parents,
        byte_file(folder / f"{side}.txt") as text,
    ):
        for arrays, own, known in zip(_arrays(files), files, numbers, strict=True):
            ids.append(rank[known][arrays[f"{side}.ids"]])
            parents.append(arrays[f"{side}.parents"])
            sizes.append(arrays[f"{side}.sizes"].astype(np.int32))
            spans = arrays[f"{side}.spans"]
            write_rows(folder / f"{side}.spans.npy", first, spans)
            first += len(spans)
            span_sizes.append(arrays[f"{side}.span_sizes"].astype(np.int32))
            with open(own[side], "rb") as part:
                shutil.copyfileobj(part, text)
            own[side].unlink()
    assert first == surface
    save_array(folder / "corpus" / f"{side}.offsets.npy", offsets_of(np.concatenate(sizes)))
    save_array(folder / f"{side}.spans.offsets.npy", offsets_of(np.concatenate(span_sizes)))


def signs_to_arrays(signs: LineSigns) -> dict[str, np.ndarray]:
    """Return the signs of a shard's lines under the names they have in its file."""
    return {
        f"{side}.{name}": arrays[place]
        for name, arrays in signs._asdict().items()
        for place, side in enumerate(SIDES)
    }


def read_signs(shards: Path, summaries: Sequence[Summary]) -> Iterator[LineSigns]:
    """Yield the signs of each shard's lines, from its file."""
    for arrays in _arrays([shard_files(shards, summary.number) for summary in summaries]):
        yield LineSigns(*(tuple(arrays[f"{side}.{name}"] for side in SIDES) for name in LineSigns._fields))


def _arrays(files: Sequence[dict[str, Path]]) -> Iterator[Any]:
    for each in files:
        with np.load(each["arrays"], allow_pickle=False) as arrays:
            yield arrays
