"""The table of links: rows as they are found, appended to a file, and the Parquet file made of them.

A Parquet file that was not closed cannot be gone on with. So the rows wait, plain, in a file of their own,
and become a table at the end, with the words: 100,000 pairs take a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from align.core.errors import WorkError
from align.core.files import byte_file
from align.model.alignments import Alignments

# One row a link.
ROW = np.dtype(
    [("line", "<i8"), ("source", "<i4"), ("target", "<i4"), ("score", "<f4"), ("confidence", "<f4")]
)

MEANINGS = {
    "line": "input line, from 1",
    "source": "source token, from 0",
    "target": "target token, from 0",
    "source_word": "the source token",
    "target_word": "the target token",
    "score": "the model's score",
    "confidence": "probability to be right",
}

# Only these repeat themselves: a dictionary of all lines or scores would cost time and space.
_REPEATED = ["source", "target", "source_word", "target_word"]

_SPACE, _END = b" \n"

# Rows that are written together: the bytes of the table must not depend on how the work was shared.
_ROWS_AT_A_TIME = 1 << 17


def rows_of(found: Alignments, first: int) -> np.ndarray:
    """Return the rows of the links of some lines.

    Parameters
    ----------
    found : Alignments
        N lines with L links.
    first : int
        The number of the first line, from 0.

    Returns
    -------
    ndarray of :data:`ROW`, shape (L,)
    """
    rows = np.empty(len(found.source), dtype=ROW)
    rows["line"] = np.repeat(np.arange(first + 1, first + 1 + len(found)), np.diff(found.offsets))
    for name in ("source", "target", "score", "confidence"):
        rows[name] = getattr(found, name)
    return rows


def write_table(rows: Path, table: Path, count: int, texts: Mapping[str, Path]) -> None:
    """Make the Parquet file of the ``count`` rows that lie in a file one after the other.

    ``texts`` are the files of the tokens that ``source`` and ``target`` count.

    Raises
    ------
    WorkError
        If there are not so many: the file was cut off, or something else wrote to it.
    """
    size = rows.stat().st_size
    if size != count * ROW.itemsize:
        raise WorkError(
            f"{rows}: {size} bytes, not the {count * ROW.itemsize} of {count} links; run the command again"
        )
    # It takes a tenth of a second and 30 MB to load; workers do without.
    import pyarrow as pa
    import pyarrow.parquet as pq

    with ExitStack() as files:
        words = {side: _Words(files.enter_context(open(path, "rb"))) for side, path in texts.items()}
        # Opened here: pyarrow takes no path with bytes that are not UTF-8.
        out = files.enter_context(byte_file(table))
        writer = files.enter_context(
            pq.ParquetWriter(out, _schema(pa), compression="zstd", use_dictionary=_REPEATED)
        )
        file = files.enter_context(open(rows, "rb"))
        while read := file.read(_ROWS_AT_A_TIME * ROW.itemsize):
            piece = np.frombuffer(read, ROW)
            columns = {name: _column(pa, np.ascontiguousarray(piece[name])) for name in ROW.fields or ()}
            for side, text in words.items():
                columns[f"{side}_word"] = text.of(pa, piece["line"], piece[side])
            ordered = [columns[name] for name in MEANINGS]
            writer.write_table(pa.Table.from_arrays(ordered, schema=_schema(pa)), row_group_size=len(piece))


def _schema(pa: Any) -> Any:
    """Return the columns with their types and meanings."""
    types = {name: pa.from_numpy_dtype(ROW[name]) for name in ROW.fields or ()}
    return pa.schema(
        [
            pa.field(name, types.get(name, pa.string()), nullable=False, metadata={"meaning": meaning})
            for name, meaning in MEANINGS.items()
        ]
    )


class _Words:
    """The tokens of a text, read along with links that are sorted by their lines."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._line, self._text = 0, b""  # the last that was read

    def of(self, pa: Any, lines: np.ndarray, tokens: np.ndarray) -> Any:
        """Return a column of the tokens with these numbers, from 0, in these lines, from 1."""
        first, last = int(lines[0]), int(lines[-1])
        texts = [self._text] if self._line == first else []
        while self._line < last:
            self._line, self._text = self._line + 1, self._file.readline()
            if self._line >= first:
                texts.append(self._text)
        text = np.frombuffer(b"".join(texts), dtype=np.uint8)
        apart = (text == _SPACE) | (text == _END)
        ends = np.flatnonzero(apart)
        # What ends a line is its last token; the first of the next follows.
        first_tokens = np.concatenate([[0], np.flatnonzero(text[ends] == _END) + 1])
        # Each token begins as many bytes earlier as there are signs between tokens before it.
        offsets = np.concatenate([[0], ends - np.arange(len(ends))]).astype(np.int32)
        words = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text[~apart]))
        return words.take(_column(pa, (first_tokens[lines - first] + tokens).astype(np.int64)))


def _column(pa: Any, values: np.ndarray) -> Any:
    """Return values as a column; ``pa.array`` would load pandas (25 MB) to ask whether they are its own."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
