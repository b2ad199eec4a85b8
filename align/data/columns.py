"""Rows of several fields, and which of them hold what is wanted: by number from 1, or by name.

Fields are parted by TABs (``tsv``), or by ``|||`` between spaces (``joint``). Where columns are named, the
first row of the file holds their names, and is no pair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from align.core.errors import InputError

# Numbers from 1, or names: of one sort, as :func:`check_columns` says.
Columns = Sequence[int | str]

BARS = re.compile(r"(?<![^ ])\|\|\|(?![^ ])")

# How a message describes so many columns, with an example.
_WANTED = {
    (2,): ("two columns", "2,3"),
    (1,): ("one column", "2"),
    (1, 3): ("one column, or three", "2, or 1,2,3 for source, target and links"),
}

# Names that people give to the columns of both sides, besides the languages.
_NAMES = {"source", "target", "src", "tgt", "trg", "original", "translation"}
_NAMES |= {f"{what}{number}" for what in ("text", "sentence", "text_", "sentence_") for number in (1, 2)}


class Field(NamedTuple):
    """A field of a row."""

    start: int  # characters of the row before it
    text: str


def fields_of(line: str, kind: str) -> list[Field]:
    """Return the fields of a row of ``tsv`` or ``joint``; between bars without the spaces around them."""
    if kind == "tsv":
        parts, start = [], 0
        for part in line.split("\t"):
            parts.append(Field(start, part))
            start += len(part) + 1
        return parts
    ends = [0, *(end for bars in BARS.finditer(line) for end in bars.span()), len(line)]
    parts = []
    for start, stop in zip(ends[::2], ends[1::2], strict=True):
        text = line[start:stop]
        parts.append(Field(start + len(text) - len(text.lstrip(" ")), text.strip(" ")))
    return parts


def kind_of_row(line: str) -> str | None:
    """Return the kind of a row that has more than one field: TABs go before bars."""
    return "tsv" if "\t" in line else "joint" if BARS.search(line) else None


def parse_columns(text: str) -> Columns:
    """Return the columns of ``2,3`` or ``source,target``."""
    pieces = [piece.strip() for piece in text.split(",")]
    return [int(piece) for piece in pieces] if all(map(_is_number, pieces)) else pieces


def check_columns(columns: Columns, *, counts: tuple[int, ...] = (2,), where: str = "columns") -> None:
    """Refuse what is no choice of columns.

    Parameters
    ----------
    columns : Columns
        Numbers from 1, or names.
    counts : tuple of int
        How many there may be: (2,), (1,) or (1, 3).
    where : str
        What the message starts with: the option's name.

    Raises
    ------
    InputError
        If a number is below 1, a name is empty or a number, one is there twice, or there are both sorts.
    """
    numbers = [column for column in columns if isinstance(column, int)]
    names = [column for column in columns if isinstance(column, str)]
    fits = len(columns) in counts and len(set(columns)) == len(columns) and not (numbers and names)
    if not fits or any(each < 1 for each in numbers) or any(not each or _is_number(each) for each in names):
        wanted, example = _WANTED[counts]
        told = ",".join(map(str, columns))
        raise InputError(f"{where}: {told!r} is not {wanted} from 1, or by name; give for example {example}")


@dataclass
class Chooser:
    """Takes the fields of chosen columns out of the rows of one file, the first one first.

    Attributes
    ----------
    columns : Columns
        See :func:`check_columns`.
    where : str
        Name of the file, for errors.
    kind : {"tsv", "joint"}, optional
        How fields are parted; None: as in the first row that has more than one.
    """

    columns: Columns
    where: str
    kind: str | None = None
    _numbers: list[int] = field(default_factory=list)

    @property
    def named(self) -> bool:
        """Whether the first row has the names of the columns."""
        return isinstance(self.columns[0], str)

    def take_names(self, line: str) -> None:
        """Look the columns up in the first row of the file.

        Raises
        ------
        InputError
            If one is not there, or there twice.
        """
        names = [part.text.strip(" ") for part in self._fields(line)]
        for column in self.columns:
            if names.count(str(column)) != 1:
                often = "two columns" if column in names else "no column"
                told = ", ".join(map(repr, names))[:200]
                raise InputError(
                    f"{self.where}:1: {often} {column!r} in its first row ({told}); give names that stand "
                    "there, or numbers from 1"
                )
        self._numbers = [names.index(str(column)) + 1 for column in self.columns]

    def choose(self, line: str) -> list[Field] | str:
        """Return the wanted fields of a row, or what is wrong with it."""
        numbers = self._numbers or [int(column) for column in self.columns]
        parts = self._fields(line)
        if len(parts) < max(numbers):
            return f"{len(parts)} field(s), and no field {max(numbers)}"
        return [parts[number - 1] for number in numbers]

    def _fields(self, line: str) -> list[Field]:
        self.kind = self.kind or kind_of_row(line)
        return [Field(0, line)] if self.kind is None else fields_of(line, self.kind)


def are_names(source: str, target: str, languages: Sequence[str]) -> bool:
    """Tell whether both sides of a first row seem to be names of columns, such as the codes of languages."""
    known = _NAMES.union(code.lower() for code in languages)
    return all(text.strip().lower() in known for text in (source, target))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
