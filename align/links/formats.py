"""The table of the formats of links, and reading and writing any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from align.core.errors import InputError
from align.data.columns import Columns
from align.data.streams import open_text
from align.links import giza, jsonl, nltk_lines, pharaoh, tmx, wpt
from align.links.bases import Base, rebased
from align.links.lines import numbered_lines
from align.links.link import AlignedPair, Link, Spot, Written, inside
from align.links.rows import read_rows, tokens_of, watched

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
    # Whether a line is the links of a pair and nothing else, so that it may be one column of a file.
    in_columns: bool = False


def _line_format(
    name: str,
    parse: Callable[..., list[Link]],
    spots: Callable[[str], Iterable[Spot]],
    text: Callable[[Iterable[Link]], str],
    **holds: Any,
) -> Format:
    """Return a format of one line a pair that holds possible links; indices are read as in the file."""

    def pairs(lines: Iterable[tuple[int, str]], name: str, note: Note) -> Iterator[AlignedPair]:
        for number, line in lines:
            links = parse(line, where=f"{name}:{number}")
            yield AlignedPair(links, line=number, written=Written(((number, line),), spots))

    return Format(
        name,
        pairs,
        lambda pairs: (text(pair.links) for pair in pairs),
        possible=True,
        in_columns=True,
        **holds,
    )


def _silent(reader: Callable[[Iterable[tuple[int, str]], str], Iterable[AlignedPair]]) -> Reader:
    """Return a reader that never has anything to note, in the shape of those that may."""
    return lambda lines, name, note: reader(lines, name)


_PHARAOH = _line_format(
    "pharaoh", pharaoh.parse_pharaoh, pharaoh.pharaoh_spots, pharaoh.format_pharaoh, base=None, scores=True
)

FORMATS = {
    "pharaoh": _PHARAOH,
    "talp": _PHARAOH,
    "berkeley": _line_format(
        "berkeley", pharaoh.parse_berkeley, pharaoh.berkeley_spots, pharaoh.format_berkeley
    ),
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
    columns: Columns | None = None,
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
    columns : Columns, optional
        Of rows with further fields, the one of the links; or those of source, target and links. See
        :func:`align.links.rows.read_rows`.
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
    lines = numbered_lines(stream, name)
    if columns is None:
        pairs = kind.read(watched(lines, name, on_note) if kind.in_columns else lines, name, on_note)
    elif kind.in_columns:
        pairs = read_rows(lines, columns, name, lambda *row: next(iter(kind.read([row], name, on_note))))
    else:
        able = ", ".join(key for key, each in FORMATS.items() if each.in_columns)
        raise InputError(f"{name}: columns: {format} has none; leave them out (for {able} only)")
    first = kind.base if base is None else base
    pairs = rebased(pairs, first, name=name, ambiguous=ambiguous, on_base=on_base)
    # Who says the base of a file that may have either may still find it to be the other one.
    return pairs if kind.base is None and base is not None else inside(pairs, name=name)


def read_file(path: str | Path, *, format: str = "pharaoh", **options: Any) -> list[AlignedPair]:
    """Return all pairs of a file, packed or not; see :func:`read`, which has the further options."""
    with open_text(path) as stream:
        return list(read(stream, format=format, name=str(path), **options))


def read_text(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Yield the tokens of each line of a tokenized text; see :func:`align.links.rows.tokens_of`."""
    for _, line in numbered_lines(stream, name):
        yield tokens_of(line)


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
