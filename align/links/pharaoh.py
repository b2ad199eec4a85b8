"""The Pharaoh format, one line a pair: ``0-0 1p2 3-4:0.93``.

``-`` stands in a sure link, ``p`` in a possible one (``P`` and ``?`` are read too); a score follows after
a colon. The TALP format is the same without scores. The source index comes first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from align.core.errors import InputError
from align.links.link import AlignedPair, Link, format_link, tidy

# Nine digits are enough for a token index, and cannot make a number slow to convert.
_INDEX = r"([0-9]{1,9})"
SCORE = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?"
_LINK = re.compile(rf"{_INDEX}([-pP?]){_INDEX}(?::({SCORE}))?")
_BERKELEY = re.compile(rf"{_INDEX}-{_INDEX}-[PS]")
_WPT = re.compile(rf"{_INDEX}[ \t]+{_INDEX}[ \t]+{_INDEX}(?:[ \t]+.*)?")


def parse_pharaoh(text: str, *, where: str = "links") -> list[Link]:
    """Return the links of one line, sorted and without duplicates.

    Parameters
    ----------
    text : str
        Links with spaces or tabs between; empty for none. Indices are returned as they are written.
    where : str
        What an error message starts with, as a rule ``<file>:<line>``.

    Raises
    ------
    InputError
        If something in the line is not a link.
    """
    links = []
    for word in fields(text):
        match = _LINK.fullmatch(word)
        if match is None:
            raise InputError(f"{where}: {word[:80]!r} is not a link like 0-0 or 1p2; {_advice(word, text)}")
        source, mark, target, score = match.groups()
        number = None if score is None else finite(score, where=where)
        links.append(Link(int(source), int(target), mark == "-", number))
    return tidy(links)


def format_pharaoh(links: Iterable[Link], *, scores: bool = True, digits: int | None = None) -> str:
    """Return one line, without its end; the inverse of :func:`parse_pharaoh`.

    Parameters
    ----------
    links : iterable of Link
        The links of one pair; they are written in the order they come.
    scores : bool
        Whether to write the scores of the links that have one.
    digits : int, optional
        Decimals of the scores, >= 0; None: as many as are needed to read the same number again.
    """
    words = []
    for link in links:
        word = format_link(link)
        if scores and link.score is not None:
            word += f":{float(link.score)!r}" if digits is None else f":{link.score:.{digits}f}"
        words.append(word)
    return " ".join(words)


def read_pharaoh(lines: Iterable[tuple[int, str]], name: str) -> Iterable[AlignedPair]:
    """Yield the pairs of numbered lines; indices are as in the file."""
    for number, line in lines:
        yield AlignedPair(parse_pharaoh(line, where=f"{name}:{number}"), line=number)


def write_pharaoh(pairs: Iterable[AlignedPair]) -> Iterable[str]:
    """Yield one line a pair."""
    for pair in pairs:
        yield format_pharaoh(pair.links)


def fields(line: str) -> list[str]:
    """Split at runs of spaces and tabs only: any other white space in a line of links is a fault."""
    return [field for field in line.replace("\t", " ").split(" ") if field]


def finite(score: str, *, where: str) -> float:
    """Return a score (text that `SCORE` matches) as a number.

    Raises
    ------
    InputError
        If it is too large for a floating point number.
    """
    number = float(score)
    if not math.isfinite(number):
        raise InputError(f"{where}: the score {score[:80]!r} is not finite; write a number like 0.93")
    return number


def _advice(word: str, line: str) -> str:
    """Say what to do about a word that is not a link, going by what the line looks like."""
    if _BERKELEY.fullmatch(word):
        return "this looks like the berkeley format: name it"
    if _WPT.fullmatch(line.strip(" \t")):
        return "this looks like the wpt format: name it"
    if line.startswith("{"):
        return "this looks like the jsonl format: name it"
    if line.startswith("# Sentence pair"):
        return "this looks like the giza format: name it"
    if line.startswith("<"):
        return "this looks like the tmx format: name it"
    return "mend the line, or name the format of the file"
