"""What the stage learns of a shard of lines: counts and the report of rejects, kept as its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.stages.preprocess.counts import SideCounts
from pipeline.work import checkpoint


class Reject(NamedTuple):
    """A row of the reject report; ``line`` is 1-based, ``effect`` is ``dropped`` or ``no-statistics``."""

    line: int
    reason: str
    effect: str
    detail: str


class Report:
    """The rejects of a shard whose first line is ``first`` (0-based), and which of its lines are in use.

    Attributes
    ----------
    rows : list of Reject
    alive : ndarray of bool, shape (lines,)
    """

    def __init__(self, first: int, lines: int) -> None:
        self._first = first
        self.rows: list[Reject] = []
        self.alive = np.ones(lines, dtype=bool)

    def drop(self, row: int, reason: str, detail: str = "") -> None:
        """Take a line out."""
        self.alive[row] = False
        self.note(row, reason, "dropped", detail)

    def note(self, row: int, reason: str, effect: str, detail: str = "") -> None:
        """Report something of a line that stays."""
        # A report is one line a reject, whatever the text it quotes.
        self.rows.append(Reject(self._first + row + 1, reason, effect, " ".join(detail.split())))


@dataclass(frozen=True)
class Summary:
    """What the stage learns of a shard; the arrays are in files (see :func:`shard_files`)."""

    number: int
    lines: int
    used_lines: int
    split_lines: int
    parts: int
    sides: tuple[SideCounts, SideCounts]
    lengths: np.ndarray  # see counts.length_sums
    hashes: np.ndarray  # uint64, one for each part that statistics use: equal parts have equal ones
    rejects: list[Reject]
    changes: dict[str, int]  # what cleaning changed
    again: bool = False  # whether an earlier run had done it, but what it left could not be used

    def light(self) -> Summary:
        """Return it without what is added up elsewhere, so that many can be kept."""
        source, target = (replace(side, words=[], counts=side.counts[:0].copy()) for side in self.sides)
        return replace(self, sides=(source, target), rejects=[], changes={})

    def save(self, folder: Path, *, made_from: str) -> None:
        """Write it beside the shard's other files, as their checkpoint."""
        files = shard_files(folder, self.number)
        # Not by ``asdict``, which copies each of the thousands of words.
        values = {**vars(self), "sides": [vars(side) for side in self.sides]}
        checkpoint.save(files.pop("summary"), values, files.values(), made_from=made_from)

    @classmethod
    def load(cls, folder: Path, number: int, *, made_from: str) -> Summary | None:
        """Return what :meth:`save` left; None where the files are not whole or of another shard."""
        values = checkpoint.load(shard_files(folder, number)["summary"], made_from=made_from)
        if values is None:
            return None
        values["sides"] = tuple(
            SideCounts(**{**side, "counts": np.array(side["counts"], dtype=np.int64)})
            for side in values["sides"]
        )
        values["lengths"] = np.array(values["lengths"], dtype=np.float64)
        values["hashes"] = np.array(values["hashes"], dtype=np.uint64)
        values["rejects"] = [Reject(*each) for each in values["rejects"]]
        return cls(**values)


def shard_files(folder: Path, number: int) -> dict[str, Path]:
    """Return the files of a shard: arrays (``npz``), the surface text of each side, and its summary."""
    names = {"arrays": "npz", "source": "source.txt", "target": "target.txt", "summary": "json"}
    return {name: folder / f"shard-{number:06d}.{ending}" for name, ending in names.items()}
