"""Gold: sentence pairs aligned by hand; text as preprocess left it, links checked against it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from align.core.errors import InputError
from align.links import AlignedPair, Link, check_bounds, detect_base, find_format, read_file, rebased
from align.links.formats import read_text
from pipeline.stages.download.stage import load as load_sources


@dataclass(frozen=True)
class Gold:
    """The gold pairs of a corpus; all lists have one entry a pair.

    Attributes
    ----------
    path : str
        The file of the links.
    source, target : list of list of str
        Surface tokens.
    links : list of list of Link
        Sure and possible links between them.
    lines : list of int
        The line of ``path`` that each pair's links stand in, 1-based.
    doubt : str
        Why the links may count from 1 though they are read as counting from 0; empty where that is clear.
    """

    path: str
    source: list[list[str]]
    target: list[list[str]]
    links: list[list[Link]]
    lines: list[int]
    doubt: str = ""

    def __len__(self) -> int:
        return len(self.links)


def read_gold(download: Path, preprocess: Path, *, format: str, base: int | None) -> Gold | None:
    """Read the gold of a corpus.

    Parameters
    ----------
    download, preprocess : Path
        Folders of the two stages.
    format : str
        ``pharaoh``, ``talp`` or ``wpt``.
    base : int or None
        Number of the first token of a sentence; None: told by the links (:func:`detect_base`), and 0 where
        they do not tell. A format that fixes it (wpt) is read by its own rule.

    Returns
    -------
    Gold or None
        None where the configuration names no gold.

    Raises
    ------
    InputError
        If the links are not of the format, of another number of pairs, or outside their sentences.
    """
    place = load_sources(download)["gold"]
    if place is None:
        return None
    path = str(place["links"])
    source, target = (_tokens(preprocess / f"gold.{side}.txt") for side in ("source", "target"))
    kind = find_format(format)
    pairs = read_file(path, format=format, base=0 if kind.base is None else None)  # as they are
    if not kind.every_pair:  # such a file is silent about pairs without links at its end
        pairs += [AlignedPair([])] * (len(source) - len(pairs))
    if not len(pairs) == len(source) == len(target):
        raise InputError(
            f"{path}: links of {len(pairs)} pairs but {len(source)} gold pairs; give the links of this text"
        )
    found = detect_base(
        pair._replace(source=s, target=t) for pair, s, t in zip(pairs, source, target, strict=True)
    )
    if kind.base is None:
        pairs = list(rebased(pairs, found.base or 0 if base is None else base, name=path))
    lines = [pair.line or index for index, pair in enumerate(pairs, 1)]
    advice = "counted from 1? then set gold.base to 1" if base == 0 and found.base == 1 else ""
    for pair, line, left, right in zip(pairs, lines, source, target, strict=True):
        check_bounds(
            pair.links,
            left,
            right,
            where=f"{path}:{line}",
            reverse="the links seem to be target first: swap gold.files, or the links",
            otherwise=advice,
        )
    doubt = found.reason if kind.base is None and base is None and found.base is None else ""
    return Gold(path, source, target, [pair.links for pair in pairs], lines, doubt)


def _tokens(path: Path) -> list[list[str]]:
    with open(path, "rb") as stream:
        return list(read_text(stream, str(path)))
