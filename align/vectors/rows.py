"""Rows of vectors as text: a word and p numbers, told apart from what is not one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import numpy as np

from align.core.errors import InputError
from align.data.streams import open_text

# Rows looked at before anything is allocated, the longest line, and the most numbers a row may have.
FIRST_ROWS = 100
LONGEST = 1 << 20
MOST_NUMBERS = 20_000

# How a binary model of fastText begins.
MAGIC = (793712314).to_bytes(4, "little")

_PAGE = re.compile(rb"\s*<(!doctype|!--|html|head|body|\?xml|error|[a-z]+:)", re.IGNORECASE)
_POINTER = b"version https://git-lfs."
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECIMAL = re.compile(rb"[-+]?(\d*\.\d+([eE][-+]?\d+)?|\d+[eE][-+]\d+)")
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_NUMBER_STARTS = frozenset(b"+-.0123456789nNiI")


def split_row(body: bytes, dim: int) -> tuple[bytes, bytes] | None:
    """Split a row, stripped of white space, into its word and its `dim` numbers; None if it has others.

    What stands in front of the last `dim` fields is the word: it may hold spaces, and be a number. It is
    taken for a row with too many numbers if it is a word followed by what is written like a vector's
    number (``cat 0.25``).
    """
    if body.count(b" ") == dim and b"\t" not in body:
        word, _, numbers = body.partition(b" ")
    else:
        fields = body.rsplit(None, dim)
        if len(fields) <= dim:
            return None
        word = fields[0]
        pieces = word.split()
        if len(pieces) > 1 and _DECIMAL.fullmatch(pieces[-1]) and not _is_number(pieces[0]):
            return None
        numbers = b" ".join(fields[1:])
    return (word, numbers) if word and numbers and numbers[0] in _NUMBER_STARTS else None


def parse_numbers(numbers: bytes, dim: int) -> np.ndarray | None:
    """Return `dim` numbers as float32, shape (dim,); None if they are not `dim` finite numbers."""
    fields = numbers.split()
    if len(fields) != dim or b"_" in numbers:  # Python's numbers may hold "_", a file's may not
        return None
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def first_lines(stream: BinaryIO, path: Path) -> list[bytes]:
    """Read the first lines, as many as are looked at before the rest is trusted."""
    lines = []
    for _ in range(FIRST_ROWS + 1):
        line = stream.readline(LONGEST)
        if not line:
            break
        lines.append(line)
    if not lines or not b"".join(lines).strip():
        raise InputError(f"{path}: empty; get the file again")
    if lines[0].startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
    if _PAGE.match(b"".join(lines[:10])):
        raise InputError(f"{path}:1: a web page (HTML or XML), not word vectors; get the file again")
    if lines[0].startswith(_POINTER):
        raise InputError(f"{path}: a pointer of Git LFS, not the file itself; get it with git lfs pull")
    if lines[0].startswith(_UTF16):
        raise InputError(f"{path}: in UTF-16; convert it to UTF-8")
    if any(len(line) == LONGEST for line in lines):
        raise InputError(f"{path}: a line of over {LONGEST} bytes: not vectors as text; give a .vec file")
    return lines


def text_dimension(path: Path) -> int:
    """Return how many numbers a row of a text file has, looking at its first rows only.

    Raises
    ------
    InputError
        If these are not those of a file of vectors.
    """
    with open_text(path) as stream:
        return read_start(stream, path)[2]


def read_start(stream: BinaryIO, path: Path) -> tuple[list[bytes], tuple[int, int] | None, int]:
    """Read the first rows; return them, what a first line says, and how many numbers a row has."""
    first = first_lines(stream, path)
    header = read_header(first[0])
    first = first[header is not None :]
    return first, header, dimension(first, header, path)


def read_header(line: bytes) -> tuple[int, int] | None:
    """Return the two integers of a first line that is nothing else."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    # Of a number that no file can mean, its size is enough (and Python reads no endless ones).
    rows, dim = (int(field) if len(field) < 19 else 10**18 for field in fields)
    return rows, dim


def dimension(first: list[bytes], header: tuple[int, int] | None, path: Path) -> int:
    """Return the number of numbers a row, checked on the first rows."""
    bodies = [body for line in first if (body := line.strip(b" \t\r\n"))][:FIRST_ROWS]
    if not bodies:
        raise InputError(f"{path}: no rows after its first line; get the file again")
    counts = Counter(len(body.split()) - 1 for body in bodies)
    # Words with spaces make a row longer, so that of two common counts the smaller one is right.
    usual = min(counts, key=lambda count: (-counts[count], count))
    dim = header[1] if header else usual
    fits = [0 < dim <= MOST_NUMBERS and _is_row(body, dim) for body in bodies]
    # Words like "page 5" are few: where most rows are so, the last of their words are numbers too many.
    surplus = sum(_ends_in_number(body, dim) for body in bodies)
    if not any(fits[:2]) or 2 * sum(fits) < len(fits) or 2 * surplus > len(bodies):
        said = f"its first line says {dim} numbers a row" if header else "no line says how many numbers"
        raise InputError(
            f"{path}:{2 if header else 1}: the first rows are not a word and its numbers ({said}, the rows "
            f"have {usual}); give a .vec file, or mend it"
        )
    return dim


def _is_row(body: bytes, dim: int) -> bool:
    row = split_row(body, dim)
    return row is not None and (parse_numbers(row[1], dim) is not None or _not_finite(row[1]))


def _ends_in_number(body: bytes, dim: int) -> bool:
    """Whether what stands before the last `dim` fields is a word, not a number itself, and then a number."""
    before = body.rsplit(None, dim)
    pieces = before[0].split() if before else []  # of rarer kinds of blanks alone there is nothing
    return len(pieces) > 1 and _is_number(pieces[-1]) and not _is_number(pieces[0])


def _is_number(field: bytes) -> bool:
    return _NUMBER.fullmatch(field) is not None


def _not_finite(numbers: bytes) -> bool:
    """Whether all are numbers, one of them NaN or infinite: a row of the right form, though a bad one."""
    try:
        return not np.isfinite([float(each) for each in numbers.split()]).all()
    except ValueError:
        return False
