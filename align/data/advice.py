"""What a user can do about input of the wrong kind, in the words of the command at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Advice(NamedTuple):
    """Ends of error messages about a bitext: what to do, each without a full stop; the library's own."""

    # Where a translation memory does not have the languages.
    languages: str = "name languages that it has"
    # Where bytes are no text.
    encoding: str = "name the encoding of the text, e.g. latin-1"
    # Where two files were expected, and one of them has both sides with a TAB between; the same with bars.
    tsv: str = "read it as kind 'tsv'"
    joint: str = "read it as kind 'joint'"
    # How another kind of input is named, given it: tsv, joint, tmx.
    kind: Callable[[str], str] = "read it as kind '{}'".format
    # How columns are chosen, given those to choose, as 2,3.
    columns: Callable[[str], str] = "columns={}".format


LIBRARY = Advice()
