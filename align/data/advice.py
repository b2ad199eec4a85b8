"""What a user can do about input of the wrong kind, in the words of the command at hand."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """Ends of error messages about a bitext: what to do, each without a full stop."""

    languages: str  # where a translation memory does not have the languages
    encoding: str  # where bytes are no text
    tsv: str  # where two files were expected, and one of them has both sides with a TAB between
    joint: str  # the same with bars between


LIBRARY = Advice(
    languages="name languages that it has",
    encoding="name the encoding of the text, e.g. latin-1",
    tsv="read it as kind 'tsv'",
    joint="read it as kind 'joint'",
)
