"""One sentence pair of the input, as every reader gives it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One sentence pair of the input.

    Attributes
    ----------
    number : int
        0-based number of the line (TMX: of the unit).
    source, target : str
        The text as it is, without line end and byte order mark; both empty where there is a problem.
    problem : str or None
        None, or ``bad_row`` (not two fields), ``encoding`` (bytes that are no text in the encoding),
        ``long_line`` (over a limit of bytes), ``no_language`` (TMX unit without one of the languages).
    detail : str
        What exactly is wrong, for a report.
    """

    number: int
    source: str
    target: str
    problem: str | None = None
    detail: str = ""
