"""What workers of preprocessing are given and give back.

A *line* is a pair of the input; a *part* is a row of the corpus: a line, or a piece of one that was too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pipeline.stages.preprocess.counts import SideCounts
from pipeline.stages.preprocess.parts import Reject


@dataclass(frozen=True)
class Settings:
    """What every shard is treated by.

    Attributes
    ----------
    processors : (str, str)
        Settings of the text processors of the source and the target, as JSON.
    max_length : int
        Analysis tokens that a part may have.
    max_ratio : float
        Ratio of lengths over which a part is left out of statistics.
    strip_markup : bool
        Whether lines of markup and language tags go.
    folder : str
        Where the shards' files go; ``sample.source.txt`` and ``sample.target.txt`` in it train the sentence
        splitters.
    code : str
        Hash of the code of both tokenizers (:func:`pipeline.stages.preprocess.tokenizer.code_of`).
    sample : str
        Hash of those two files.
    """

    processors: tuple[str, str]
    max_length: int
    max_ratio: float
    strip_markup: bool
    folder: str
    code: str = ""
    sample: str = ""


@dataclass(frozen=True)
class Shard:
    """Lines in a row: ``first`` is the 0-based number of the first; lines with a problem have empty texts.

    ``problems`` holds line within the shard, reason and detail.
    """

    number: int
    first: int
    texts: tuple[list[str], list[str]]
    problems: list[tuple[int, str, str]]
    settings: Settings

    def packed(self) -> Packed:
        """Return the shard as it is sent to a worker."""
        source, target = ("\n".join(texts) for texts in self.texts)
        return Packed(replace(self, texts=([], [])), (source, target))


@dataclass(frozen=True)
class Packed:
    """A shard on its way to a worker: all lines of a side in one string, which no line has a line feed in.

    Sixteen thousand small objects take longer to send, and what other things are made among them holds on to
    their memory when they are gone.
    """

    shard: Shard
    texts: tuple[str, str]

    def unpacked(self) -> Shard:
        """Return the shard."""
        source, target = (text.split("\n") for text in self.texts)
        assert len(source) == len(target)
        return replace(self.shard, texts=(source, target))


@dataclass(frozen=True)
class Summary:
    """What the stage learns of a shard; the arrays are in files (see :func:`shard_files`).

    Attributes
    ----------
    sides : (SideCounts, SideCounts)
        Words and counts of source and target.
    lengths : ndarray of float64
        See :func:`pipeline.stages.preprocess.counts.length_sums`.
    hashes : ndarray of uint64
        One for each part that statistics use; equal parts have equal ones.
    changes : dict of str to int
        What cleaning changed.
    again : bool
        Whether an earlier run had done it, but what it left could not be used.
    """

    number: int
    lines: int
    used_lines: int
    split_lines: int
    parts: int
    sides: tuple[SideCounts, SideCounts]
    lengths: np.ndarray
    hashes: np.ndarray
    rejects: list[Reject]
    changes: dict[str, int]
    again: bool = False

    def light(self) -> Summary:
        """Return it without what is added up elsewhere, so that many can be kept."""
        sides = (self.sides[0].light(), self.sides[1].light())
        return replace(self, sides=sides, rejects=[], changes={})


def shard_files(folder: Path, number: int) -> dict[str, Path]:
    """Return the files of a shard: arrays (``npz``), the surface text of each side, and its summary."""
    names = {"arrays": "npz", "source": "source.txt", "target": "target.txt", "summary": "json"}
    return {name: folder / f"shard-{number:06d}.{ending}" for name, ending in names.items()}
