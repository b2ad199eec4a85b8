"""The format of the Berkeley aligner, one line a pair: ``0-0 2-1-P``, target index first, 0-based.

``-P`` marks a possible link (``-S``, a sure one, is read too). Scores are not held.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from align.core.errors import InputError
from align.links.link import AlignedPair, Link, tidy
from align.links.pharaoh import fields

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?:-([SP]))?")


def parse_berkeley(text: str, *, where: str = "links") -> list[Link]:
    """Return the links of one line, source first, sorted and without duplicates.

    Raises
    ------
    InputError
        If something in the line is not a link; the message starts with ``where``.
    """
    links = []
    for word in fields(text):
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(
                f"{where}: {word[:80]!r} is not a berkeley link like 0-0 or 2-1-P; mend the line, or name"
                " the format of the file"
            )
        target, source, mark = match.groups()
        links.append(Link(int(source), int(target), mark != "P"))
    return tidy(links)


def format_berkeley(links: Iterable[Link]) -> str:
    """Return one line, without its end; scores are left out."""
    return " ".join(f"{link.target}-{link.source}{'' if link.sure else '-P'}" for link in links)


def read_berkeley(lines: Iterable[tuple[int, str]], name: str) -> Iterable[AlignedPair]:
    """Yield the pairs of numbered lines; indices are as in the file."""
    for number, line in lines:
        yield AlignedPair(parse_berkeley(line, where=f"{name}:{number}"), line=number)


def write_berkeley(pairs: Iterable[AlignedPair]) -> Iterable[str]:
    """Yield one line a pair."""
    for pair in pairs:
        yield format_berkeley(pair.links)
