"""What was found of a shard, kept on the disk beside its files, so that it need not be found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.stages.preprocess.counts import SideCounts
from pipeline.stages.preprocess.parts import Reject
from pipeline.stages.preprocess.types import Shard, Summary, shard_files
from pipeline.work import checkpoint


def stamp(shard: Shard) -> str:
    """Return a hash of what a shard is made from: its lines and its settings.

    The settings have hashes of the code of the user's own tokenizers and of the text that sentence splitters
    learn from: both may be others though all names are the same.
    """
    found = blake2b(repr((shard.first, shard.problems, asdict(shard.settings))).encode(), digest_size=16)
    for texts in shard.texts:
        # No text has a line feed in it.
        found.update("\n".join(texts).encode("utf-8", "surrogatepass") + b"\n\n")
    return found.hexdigest()


def keep(shard: Shard, summary: Summary, mark: str) -> None:
    """Write a summary beside the shard's files, as their checkpoint."""
    files = shard_files(Path(shard.settings.folder), shard.number)
    record = files.pop("summary")
    checkpoint.save(record, asdict(summary), files.values(), made_from=mark)


def kept(shard: Shard, mark: str) -> Summary | None:
    """Return the summary that an earlier run left of this very shard; None where its files are not whole."""
    record = shard_files(Path(shard.settings.folder), shard.number)["summary"]
    values = checkpoint.load(record, made_from=mark)
    return None if values is None else _summary(values)


def is_there(shard: Shard) -> bool:
    """Tell whether an earlier run left anything of a shard of this number that counted as done."""
    return shard_files(Path(shard.settings.folder), shard.number)["summary"].exists()


def _summary(values: Mapping[str, Any]) -> Summary:
    source, target = (
        SideCounts(**{**side, "counts": np.array(side["counts"], dtype=np.int64)}) for side in values["sides"]
    )
    arrays = {
        "lengths": np.array(values["lengths"], dtype=np.float64),
        "hashes": np.array(values["hashes"], dtype=np.uint64),
    }
    rejects = [Reject(*each) for each in values["rejects"]]
    return Summary(**{**values, **arrays, "sides": (source, target), "rejects": rejects})
