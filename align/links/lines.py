"""Numbered lines of a text file of links: only a line feed ends a line, the text is UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from align.core.errors import InputError

# No pair has so many links; a longer line is not held in memory.
LONGEST = 1 << 24

_FIELD = re.compile(r"[^ \t]+")

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def fields(line: str) -> list[str]:
    """Split at runs of spaces and tabs only: any other white space in a line of links is a fault."""
    return [field for field in line.replace("\t", " ").split(" ") if field]


def columns(line: str) -> Iterator[tuple[int, str]]:
    """Yield (column from 1, text) of each of the :func:`fields` of a line."""
    return ((match.start() + 1, match[0]) for match in _FIELD.finditer(line))


def numbered_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """Yield (1-based number, text) of each line, without its end.

    A carriage return before the line end and a byte order mark at the start go.

    Raises
    ------
    InputError
        If a line is not UTF-8, or longer than `LONGEST` bytes.
    """
    number = 0
    while line := stream.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise InputError(f"{name}:{number}: a line of over {LONGEST} bytes; is this a file of links?")
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        try:
            yield number, line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}:{number}: byte 0x{line[error.start]:02x} at offset {error.start} is not UTF-8;"
                " convert the file to UTF-8"
            ) from None
