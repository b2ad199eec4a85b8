"""The formats of one line a pair: Pharaoh (``0-0 1p2 3-4:0.93``) and Berkeley (``0-0 2-1-P``).

Pharaoh: ``-`` stands in a sure link, ``p`` in a possible one (``P`` and ``?`` are read too); a score follows
after a colon. The TALP format is the same without scores. The source index comes first.

Berkeley: the target index comes first, and counts from 0. ``-P`` marks a possible link (``-S``, a sure one,
is read too). Scores are not held.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from align.core.errors import InputError
from align.data.columns import fields_of, kind_of_row
from align.links.lines import columns, fields
from align.links.link import Link, Spot, format_link, tidy

# Nine digits are enough for a token index, and cannot make a number slow to convert.
_INDEX = r"([0-9]{1,9})"
SCORE = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?"
_LINK = re.compile(rf"{_INDEX}([-pP?]){_INDEX}(?::({SCORE}))?")
_BERKELEY = re.compile(rf"{_INDEX}-{_INDEX}(?:-([SP]))?")
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
            what = f"{advice(word, text)} ({_column_of(text, _LINK)})"
            raise InputError(f"{where}: {word[:80]!r} is not a link like 0-0 or 1p2; {what}")
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


def parse_berkeley(text: str, *, where: str = "links") -> list[Link]:
    """Return the links of one line of the Berkeley aligner; else as :func:`parse_pharaoh`."""
    links = []
    for word in fields(text):
        match = _BERKELEY.fullmatch(word)
        if match is None:
            raise InputError(
                f"{where}: {word[:80]!r} is not a berkeley link like 0-0 or 2-1-P; mend the line, or name"
                f" the format of the file ({_column_of(text, _BERKELEY)})"
            )
        target, source, mark = match.groups()
        links.append(Link(int(source), int(target), mark != "P"))
    return tidy(links)


def format_berkeley(links: Iterable[Link]) -> str:
    """Return one line, without its end; scores are left out."""
    return " ".join(f"{link.target}-{link.source}{'' if link.sure else '-P'}" for link in links)


def pharaoh_spots(line: str) -> Iterator[Spot]:
    """Yield the links of a line with their columns, those that are none left out."""
    for column, word in columns(line):
        if match := _LINK.fullmatch(word):
            yield column, word, int(match[1]), int(match[3])


def berkeley_spots(line: str) -> Iterator[Spot]:
    """Yield the links of a line of the Berkeley aligner likewise."""
    for column, word in columns(line):
        if match := _BERKELEY.fullmatch(word):
            yield column, word, int(match[2]), int(match[1])


def _column_of(text: str, pattern: re.Pattern[str]) -> str:
    """Return where the first word stands that is no link of a format."""
    return next(f"column {column}" for column, word in columns(text) if not pattern.fullmatch(word))


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


def _column_of_links(line: str) -> int:
    """Return which field of a row seems to be links, 0 where none does."""
    kind = kind_of_row(line)
    found = [] if kind is None else [fields(each.text) for each in fields_of(line, kind)]
    links = [number for number, words in enumerate(found, 1) if words and all(map(_LINK.fullmatch, words))]
    return links[-1] if links else 0


def advice(word: str, line: str, *, own: str = "pharaoh") -> str:
    """Say what to do about a word that is not a link of its ``own`` format, by what the line looks like."""
    for format, matches in (
        ("pharaoh", _LINK.fullmatch(word)),
        ("berkeley", _BERKELEY.fullmatch(word)),
        ("wpt", _WPT.fullmatch(line.strip(" \t"))),
        ("jsonl", line.startswith("{")),
        ("giza", line.startswith("# Sentence pair")),
        ("tmx", line.startswith("<")),
    ):
        if matches and format != own:
            return f"this looks like the {format} format: name it"
    if column := _column_of_links(line):
        return f"its field {column} seems to be the links: choose that column"
    return "mend the line, or name the format of the file"
