"""The table of the formats of links, and reading and writing any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from align.core.errors import InputError
from align.data.streams import open_text
from align.links import berkeley, giza, jsonl, nltk_lines, pharaoh, tmx, wpt
from align.links.bases import Base, rebased
from align.links.lines import numbered_lines
from align.links.link import AlignedPair

Lines = Iterable[tuple[int, str]]
Note = Callable[[str], None]


@dataclass(frozen=True)
class Format:
    """A format of links.

    Attributes
    ----------
    name : str
        As it is named on the command line.
    read : callable
        From numbered lines, the name of the file and a callback for notes to pairs, indices as in the file.
    write : callable or None
        From pairs (counted from 0) to lines without ends; None: read only.
    base : {0, 1} or None
        What the format counts from once it is read; None: its files differ.
    possible, scores, text : bool
        Whether it holds possible links, scores, tokens.
    every_pair : bool
        Whether pairs without links are held; if not, a file does not tell how many pairs it has.
    """

    name: str
    read: Callable[[Lines, str, Note], Iterable[AlignedPair]]
    write: Callable[[Iterable[AlignedPair]], Iterable[str]] | None
    base: int | None = 0
    possible: bool = False
    scores: bool = False
    text: bool = False
    every_pair: bool = True


def _silent(reader: Callable[[Lines, str], Iterable[AlignedPair]]) -> Callable[..., Iterable[AlignedPair]]:
    """Return a reader that never has anything to note, in the shape of those that may."""
    return lambda lines, name, note: reader(lines, name)


_PHARAOH = Format(
    "pharaoh", _silent(pharaoh.read_pharaoh), pharaoh.write_pharaoh, None, possible=True, scores=True
)

FORMATS = {
    "pharaoh": _PHARAOH,
    "talp": _PHARAOH,
    "berkeley": Format("berkeley", _silent(berkeley.read_berkeley), berkeley.write_berkeley, possible=True),
    "wpt": Format(
        "wpt",
        lambda lines, name, note: wpt.read_wpt(lines, name, on_note=note),
        wpt.write_wpt,
        1,
        possible=True,
        scores=True,
        every_pair=False,
    ),
    "giza": Format(
        "giza", lambda lines, name, note: giza.read_giza(lines, name, on_note=note), None, text=True
    ),
    "tmx": Format("tmx", _silent(tmx.read_tmx), tmx.write_tmx, possible=True, scores=True, text=True),
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
        If the file is not of the format, or the base is ambiguous or not the format's.
    """
    kind = find_format(format)
    if base is not None and kind.base not in {None, base} and format != "berkeley":
        raise InputError(
            f"{name}: the format {format} counts from {kind.base}, not {base}; leave the base out"
        )
    pairs = kind.read(numbered_lines(stream, name), name, on_note)
    return rebased(
        pairs,
        kind.base if base is None else base,
        name=name,
        ambiguous=ambiguous,
        on_base=on_base,
    )


def read_file(
    path: str | Path,
    *,
    format: str = "pharaoh",
    base: int | None = None,
    ambiguous: int | None = 0,
    on_note: Note = lambda note: None,
) -> list[AlignedPair]:
    """Return all pairs of a file, packed or not; see :func:`read`."""
    with open_text(path) as stream:
        return list(
            read(stream, format=format, name=str(path), base=base, ambiguous=ambiguous, on_note=on_note)
        )


def read_text(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Yield the tokens of each line of a tokenized text: cut at runs of the space character only."""
    for _, line in numbered_lines(stream, name):
        yield [token for token in line.split(" ") if token]


def write(pairs: Iterable[AlignedPair], *, format: str = "pharaoh") -> Iterable[str]:
    """Yield the lines, without their ends, of the pairs in a format.

    Raises
    ------
    InputError
        If the format cannot be written, or not without tokens that a pair does not have.
    """
    writer = find_format(format, writable=True).write
    assert writer is not None
    return writer(pairs)
