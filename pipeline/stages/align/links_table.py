"""The table of links: rows as they are found, appended to a file, and the Parquet file made of them.

A Parquet file that was not closed cannot be gone on with. So the rows wait, plain, in a file of their own,
and become a table at the end, which takes about a hundredth of the stage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import WorkError
from align.core.files import byte_file
from align.model.alignments import Alignments

# One row a link.
ROW = np.dtype(
    [("line", "<i8"), ("source", "<i4"), ("target", "<i4"), ("score", "<f4"), ("confidence", "<f4")]
)

_MEANINGS = {
    "line": "input line, from 1",
    "source": "source token, from 0",
    "target": "target token, from 0",
    "score": "the model's score",
    "confidence": "probability to be right",
}

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


def write_table(rows: Path, table: Path, count: int) -> None:
    """Make the Parquet file of the ``count`` rows that lie in a file one after the other.

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

    schema = pa.schema(
        [
            pa.field(
                name, pa.from_numpy_dtype(ROW[name]), nullable=False, metadata={"meaning": _MEANINGS[name]}
            )
            for name in _MEANINGS
        ]
    )
    # Only tokens repeat themselves: a dictionary of all lines or scores would cost time and space.
    with (
        # Opened here: pyarrow takes no path with bytes that are not UTF-8.
        byte_file(table) as out,
        pq.ParquetWriter(out, schema, compression="zstd", use_dictionary=["source", "target"]) as writer,
        open(rows, "rb") as file,
    ):
        while read := file.read(_ROWS_AT_A_TIME * ROW.itemsize):
            piece = np.frombuffer(read, ROW)
            columns = [_column(pa, np.ascontiguousarray(piece[name])) for name in _MEANINGS]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=len(piece))


def _column(pa: Any, values: np.ndarray) -> Any:
    """Return values as a column; ``pa.array`` would load pandas (25 MB) to ask whether they are its own."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
