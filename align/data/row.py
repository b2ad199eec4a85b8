"""One sentence pair of the input, as every reader gives it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One sentence pair of the input.

    Its problem, if any, is ``bad_row`` (not two fields), ``encoding`` (bytes that are no text in the
    encoding), ``long_line`` (over a limit of bytes), ``header`` (the names of columns, no pair),
    ``no_language`` (TMX unit without one of them) or ``markup`` (one with characters that XML cannot hold).
    """

    number: int  # of the line (TMX: of the unit), from 0
    source: str  # the text as it is, without line end and byte order mark; empty where there is a problem
    target: str
    problem: str | None = None
    detail: str = ""  # what exactly is wrong, for a report
