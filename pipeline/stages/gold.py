"""Gold: sentence pairs aligned by hand; text as preprocess left it, links checked against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.columns import Columns
from align.links import (
    AlignedPair,
    Link,
    check_bounds,
    detect_base,
    find_format,
    in_other_base,
    read_file,
    rebased,
)
from align.links.formats import read_text
from pipeline.stages.download.stage import load as load_sources
from pipeline.work.stage import StageContext

# The keys of [gold] that say how links are read.
LINKS_OPTIONS = ("format", "columns", "base")


@dataclass(frozen=True)
class Gold:
    """The gold pairs of a corpus; the lists have one entry a pair."""

    path: str  # the file of the links
    source: list[list[str]]  # surface tokens
    target: list[list[str]]
    links: list[list[Link]]  # sure and possible ones
    doubt: str  # why they may count from 1 though read as counting from 0; empty where that is clear
    base: int = 0  # what the file was taken to count from
    otherwise: list[list[Link]] | None = None  # the links, had it counted from the other, if it can
    notes: tuple[str, ...] = ()  # what was left out in reading

    def __len__(self) -> int:
        return len(self.links)

    def check_training(self, train: int) -> None:
        """Refuse a training part, the first ``train`` pairs (gold.train), that nothing can be learnt from.

        Raises
        ------
        InputError
            If there are not so many pairs, or none of them has a sure link.
        """
        if train > len(self):
            raise InputError(f"gold.train: {train} is more than the {len(self)} gold pairs; give fewer")
        links = [link for pair in self.links[:train] for link in pair]
        if train and not links:
            raise InputError(
                f"{self.path}: none of the first {train} pairs has a link; nothing can be learnt: raise "
                "gold.train, or set it to 0"
            )
        if train and not any(link.sure for link in links):
            raise InputError(
                f"{self.path}: none of the first {train} pairs has a sure link, and possible ones alone "
                "teach nothing; mark sure links, or set train.labels to silver"
            )


def read_gold(context: StageContext) -> Gold | None:
    """Read the gold of a corpus, which the stages download and preprocess left, by [gold].

    Returns
    -------
    Gold or None
        None where the configuration names no gold.

    Raises
    ------
    InputError
        As :func:`fit_gold`.
    """
    place = load_sources(context.inputs["download"])["gold"]
    if place is None:
        return None
    source, target = (_tokens(context.inputs["preprocess"] / f"gold.{side}.txt") for side in SIDES)
    options = {key: context.option(f"gold.{key}") for key in LINKS_OPTIONS}
    return fit_gold(str(place["links"]), source, target, **options)


def fit_gold(
    path: str,
    source: Sequence[list[str]],
    target: Sequence[list[str]],
    *,
    format: str = "pharaoh",
    columns: Columns | None = None,
    base: int | None = None,
) -> Gold:
    """Read gold links and check them against their text.

    Parameters
    ----------
    path : str
        The file of the links.
    source, target : sequence of list of str
        The surface tokens of each pair.
    format : str
        A key of :data:`align.links.FORMATS`. One that fixes the base (wpt) is read by its own rule.
    columns : Columns, optional
        The one that holds the links, where a row has further fields.
    base : {0, 1}, optional
        What the links count from. None: told by them (:func:`detect_base`), and 0 where they do not tell.

    Raises
    ------
    InputError
        If the links are not of the format, of another number of pairs, or outside their sentences.
    """
    kind = find_format(format)
    notes: list[str] = []
    as_they_are = 0 if kind.base is None else None
    pairs = read_file(path, format=format, columns=columns, base=as_they_are, on_note=notes.append)
    if not kind.every_pair:  # such a file is silent about pairs without links at its end
        pairs += [AlignedPair([])] * (len(source) - len(pairs))
    if not len(pairs) == len(source) == len(target):
        raise InputError(
            f"{path}: links of {len(pairs)} pairs but {len(source)} gold pairs; give the links of this text"
        )
    found = detect_base(
        pair._replace(source=s, target=t) for pair, s, t in zip(pairs, source, target, strict=True)
    )
    taken = kind.base if kind.base is not None else found.base or 0 if base is None else base
    if kind.base is None:
        pairs = list(rebased(pairs, taken, name=path))
    advice = "counted from 1? then set gold.base to 1" if base == 0 and found.base == 1 else ""
    for index, (pair, left, right) in enumerate(zip(pairs, source, target, strict=True), 1):
        check_bounds(
            pair.links,
            left,
            right,
            where=f"{path}:{pair.line or index}",
            reverse="the links seem to be target first: swap gold.files, or the links",
            otherwise=advice,
            written=pair.written,
        )
    doubt = found.reason if kind.base is None and base is None and found.base is None else ""
    links = [pair.links for pair in pairs]
    otherwise = in_other_base(links, base=taken) if kind.base is None else None
    if otherwise is not None and any(
        link.source >= len(left) or link.target >= len(right)
        for pair, left, right in zip(otherwise, source, target, strict=True)
        for link in pair
    ):
        otherwise = None
    return Gold(path, list(source), list(target), links, doubt, taken, otherwise, tuple(notes))


def _tokens(path: Path) -> list[list[str]]:
    with open(path, "rb") as stream:
        return list(read_text(stream, str(path)))
