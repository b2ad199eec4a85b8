"""The table of the formats of links, and reading and writing any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from align.core.errors import InputError
from align.data.streams import open_text
from align.links import giza, jsonl, nltk_lines, pharaoh, tmx, wpt
from align.links.bases import Base, rebased
from align.links.lines import numbered_lines
from align.links.link import AlignedPair, Link, Spot, Written, inside

Note = Callable[[str], None]
Reader = Callable[[Iterable[tuple[int, str]], str, Note], Iterable[AlignedPair]]
Writer = Callable[..., Iterable[str]]


@dataclass(frozen=True)
class Format:
    """A format of links."""

    # As it is named on the command line.
    name: str
    # From numbered lines, the name of the file and a callback for notes to pairs, indices as in the file.
    read: Reader
    # From pairs (counted from 0) to lines without ends, with ``languages=`` where they are named; None: read
    # only.
    write: Writer | None
    # What the format counts from (0 or 1) once it is read; None: its files differ.
    base: int | None = 0
    # Whether it holds possible links, scores, tokens.
    possible: bool = False
    scores: bool = False
    text: bool = False
    # Whether it names the languages of both sides.
    languages: bool = False
    # Whether pairs without links are held; if not, a file does not tell how many pairs it has.
    every_pair: bool = True


def _line_reader(parse: Callable[..., list[Link]], spots: Callable[[str], Iterable[Spot]]) -> Reader:
    """Return the reader of a format of one line a pair; indices are as in the file."""
    return lambda lines, name, note: (
        AlignedPair(
            parse(line, where=f"{name}:{number}"), line=number, written=Written(((number, line),), spots)
        )
        for number, line in lines
    )


def _line_writer(text: Callable[[Iterable[Link]], str]) -> Writer:
    """Return the writer of a format of one line a pair."""
    return lambda pairs: (text(pair.links) for pair in pairs)


def _silent(reader: Callable[[Iterable[tuple[int, str]], str], Iterable[AlignedPair]]) -> Reader:
    """Return a reader that never has anything to note, in the shape of those that may."""
    return lambda lines, name, note: reader(lines, name)


_PHARAOH = Format(
    "pharaoh",
    _line_reader(pharaoh.parse_pharaoh, pharaoh.pharaoh_spots),
    _line_writer(pharaoh.format_pharaoh),
    base=None,
    possible=True,
    scores=True,
)
_BERKELEY = Format(
    "berkeley",
    _line_reader(pharaoh.parse_berkeley, pharaoh.berkeley_spots),
    _line_writer(pharaoh.format_berkeley),
    possible=True,
)

FORMATS = {
    "pharaoh": _PHARAOH,
    "talp": _PHARAOH,
    "berkeley": _BERKELEY,
    "wpt": Format("wpt", wpt.read_wpt, wpt.write_wpt, base=1, possible=True, scores=True, every_pair=False),
    "giza": Format("giza", giza.read_giza, None, text=True),
    "tmx": Format(
        "tmx", _silent(tmx.read_tmx), tmx.write_tmx, possible=True, scores=True, text=True, languages=True
    ),
    "jsonl": Format(
        "jsonl", _silent(jsonl.read_jsonl), jsonl.write_jsonl, possible=True, scores=True, text=True
    ),
    "nltk": Format("nltk", _silent(nltk_lines.read_nltk), nltk_lines.write_nltk),
}


def find_format(name: str, *, writable: bool = False) -> Format:
    """Return the format of that name.

    Raises
    ------
    InputError
        If there is none, or it has to be ``writable`` and is not.
    """
    names = [key for key, format in FORMATS.items() if format.write or not writable]
    if name not in FORMATS:
        raise InputError(f"no format of links {name!r}; choose one of {', '.join(names)}")
    if name not in names:
        raise InputError(f"the format {name} is read only; choose one of {', '.join(names)}")
    return FORMATS[name]


def read(
    stream: BinaryIO,
    *,
    format: str = "pharaoh",
    name: str = "links",
    base: int | None = None,
    ambiguous: int | None = 0,
    on_note: Note = lambda note: None,
    on_base: Callable[[Base], None] | None = None,
) -> Iterator[AlignedPair]:
    """Yield the pairs of a stream, their indices counted from 0.

    Parameters
    ----------
    stream : binary stream
        The text, UTF-8, not packed.
    format : str
        A key of `FORMATS`.
    name : str
        Name of the file, for errors and notes.
    base : {0, 1}, optional
        What the indices of a Pharaoh or Berkeley file count from. None: the format says, or else the file
        (see :mod:`align.links.bases`).
    ambiguous : {0, 1} or None
        The base to take where neither does; None: that is an error.
    on_note : callable
        Called with a line of text for what was left out or filled in.
    on_base : callable, optional
        Called with the finding where the base was told by the file.

    Raises
    ------
    InputError
        If the file is not of the format, or the base is ambiguous or not the format's, or a link lies outside
        the sentences that the file itself has.
    """
    kind = find_format(format)
    if base is not None and kind.base not in {None, base} and format != "berkeley":
        raise InputError(
            f"{name}: the format {format} counts from {kind.base}, not {base}; leave the base out"
        )
    pairs = kind.read(numbered_lines(stream, name), name, on_note)
    first = kind.base if base is None else base
    return inside(rebased(pairs, first, name=name, ambiguous=ambiguous, on_base=on_base), name=name)


def read_file(path: str | Path, *, format: str = "pharaoh", **options: Any) -> list[AlignedPair]:
    """Return all pairs of a file, packed or not; see :func:`read`, which has the further options."""
    with open_text(path) as stream:
        return list(read(stream, format=format, name=str(path), **options))


def read_text(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Yield the tokens of each line of a tokenized text: cut at runs of the space character only."""
    for _, line in numbered_lines(stream, name):
        yield [token for token in line.split(" ") if token]


def write(
    pairs: Iterable[AlignedPair], *, format: str = "pharaoh", languages: tuple[str, str] | None = None
) -> Iterable[str]:
    """Yield the lines, without their ends, of the pairs in a format.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        Counted from 0.
    format : str
        A key of `FORMATS`.
    languages : (str, str), optional
        Language tags of source and target, for a format that names them.

    Raises
    ------
    InputError
        If the format cannot be written, not without tokens that a pair does not have, or names no languages.
    """
    kind = find_format(format, writable=True)
    assert kind.write is not None
    if languages is None:
        return kind.write(pairs)
    if not kind.languages:
        able = ", ".join(name for name, each in FORMATS.items() if each.write and each.languages)
        raise InputError(f"--languages: {format} does not name languages; leave it out (for {able} only)")
    return kind.write(pairs, languages=languages)
