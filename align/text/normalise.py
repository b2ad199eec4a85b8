"""Cleaning of a line of text, and the one function that turns a token into its lookup key.

Cleaning makes text canonical without touching its words: Unicode normal form C [1]_ (never KC, which would
rewrite ``½`` or ``ﬁ``), every kind of white space and control character one ASCII space, invisible
characters deleted, escapes of markup (``&amp;``, ``&apos;``) undone. It remembers where each character came
from.

References
----------
.. [1] Unicode Standard Annex 15, "Unicode Normalization Forms".
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from align.text.characters import APOSTROPHES, GERSHAYIM, HEBREW, MARKS

# All that ends a line or parts words somewhere (tab, vertical tab, form feed, carriage return, file to unit
# separators, U+0085, no-break and wide spaces, U+2028, U+2029, zero width space), and control characters.
_SPACES = "\x00-\x1f\x7f-\xa0\u1680\u180e\u2000-\u200b\u2028\u2029\u202f\u205f\u3000"
# Soft hyphen, byte order mark, word joiner, unwritten signs of formulas; marks of the direction of writing,
# of digit shapes, of notes between the lines, of a language.
_INVISIBLE = "\xad\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0001"

_space = re.compile(f"[{_SPACES}]")
_invisible = re.compile(f"[{_INVISIBLE}]")
_special = re.compile(f"[{_SPACES}{_INVISIBLE}]")
_special_in_lines = re.compile(f"[{_SPACES}{_INVISIBLE}](?<!\n)")
_wide_space = re.compile(r"\s")

# Text of the 1990s in the Windows code page 1252, read as Latin-1: the quotes and dashes it meant.
# U+0085 (an ellipsis there) is left out: it is the NEXT LINE of other texts, so a space.
_WINDOWS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x85, 0x8D, 0x8F, 0x90, 0x9D)
}
_SPACE_TABLE = {ord(character): " " for character in map(chr, range(0x3001)) if _space.match(character)}
_TABLE = _SPACE_TABLE | _WINDOWS
_TABLE_IN_LINES = {code: into for code, into in _TABLE.items() if code != 0x0A}

# The characters that markup escapes, and numbers; an escape may have been escaped again, and again.
_escape = re.compile(r"&(?:amp;)*(amp;|lt;|gt;|quot;|apos;|nbsp;|#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};)")

_NOTHING: Mapping[str, int] = MappingProxyType({})

_rewritten = re.compile("[ &`]")
_inner_apostrophe = re.compile(rf"(?<=\w)[{APOSTROPHES}]|[\u2019\u02bc\u05f3]")
_gershayim = re.compile(rf"(?<=[{HEBREW}{MARKS}])(?:{GERSHAYIM})(?=[{HEBREW}])|\u05f4")
# Brackets and quotes as escaped in the Penn Treebank; old corpora have them.
_TREEBANK = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
    "''": '"',
    "``": '"',
}


class CleanText(NamedTuple):
    """Cleaned text and the way back.

    The changes are counted in characters: ``spaces`` (white space and controls made a space), ``windows``
    (quotes and dashes of code page 1252), ``invisible`` (deleted), ``escapes`` (undone); ``composed`` counts
    lines changed by normal form C.
    """

    text: str  # its only white space is U+0020
    # Start and end in the original text of what each character came from; None where all are at their places.
    origin: tuple[list[int], list[int]] | None
    changes: Mapping[str, int]

    def raw_span(self, start: int, stop: int) -> tuple[int, int]:
        """Return the span of the original text behind ``text[start:stop]`` (not empty)."""
        if self.origin is None:
            return start, stop
        return self.origin[0][start], self.origin[1][stop - 1]


def clean(text: str) -> CleanText:
    """Clean one line of text.

    Parameters
    ----------
    text : str
        A line without its line end.
    """
    if text.isascii() and text.isprintable() and "&" not in text:
        return untouched(text)
    normal = unicodedata.is_normalized("NFC", text)
    escaped = "&" in text and _escape.search(text) is not None
    if normal and not escaped and not _special.search(text):
        return untouched(text)
    changes = count_changes(text)
    replaced = text.translate(_TABLE)
    if normal and not escaped and not _invisible.search(replaced):
        return CleanText(replaced, None, changes)
    if not normal:
        changes["composed"] = 1
    return CleanText(*_rebuild(replaced), changes)


def untouched(text: str) -> CleanText:
    """Return a text as if nothing had to be cleaned."""
    return CleanText(text, None, _NOTHING)


def count_changes(text: str) -> dict[str, int]:
    """Return how many characters of each kind :func:`clean` replaces or deletes."""
    found = _special.findall(text)
    windows = sum(ord(character) in _WINDOWS for character in found)
    invisible = sum(_invisible.match(character) is not None for character in found)
    spaces = len(found) - windows - invisible
    escapes = len(_escape.findall(text)) if "&" in text else 0
    counts = {"spaces": spaces, "windows": windows, "invisible": invisible, "escapes": escapes}
    return {kind: count for kind, count in counts.items() if count}


def replace_in_place(text: str) -> tuple[str, bool]:
    """Do the part of cleaning that moves no character, on many lines at once (a line feed between them).

    Returns
    -------
    text : str
        The same number of characters; white space made U+0020, line feeds kept.
    complete : bool
        Whether that was all; else some lines hold characters to delete, to compose or to unescape.
    """
    if _special_in_lines.search(text):
        text = text.translate(_TABLE_IN_LINES)
    if "&" in text and _escape.search(text):
        return text, False
    complete = text.isascii() or not (_invisible.search(text) or not unicodedata.is_normalized("NFC", text))
    return text, complete


def _rebuild(text: str) -> tuple[str, tuple[list[int], list[int]]]:
    """Unescape, delete and compose, keeping the origin of every character."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    segment = ""
    places: list[tuple[int, int]] = []

    def close() -> None:
        composed = unicodedata.normalize("NFC", segment)
        pieces.append(composed)
        # Where the number of characters stays, each has its own place; else all share the segment's.
        whole = (places[0][0], places[-1][1])
        for start, end in places if len(composed) == len(places) else [whole] * len(composed):
            starts.append(start)
            ends.append(end)

    for character, start, end in _characters(text):
        if _invisible.match(character):
            continue
        if segment and (character < "\u0300" or not _joins(segment, character)):
            close()
            segment, places = "", []
        segment += character
        places.append((start, end))
    if segment:
        close()
    return "".join(pieces), (starts, ends)


def _characters(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each character with its start and end in the text, an escape as the character it stands for."""
    position = 0
    for escape in [*_escape.finditer(text), None]:
        stop = escape.start() if escape else len(text)
        for place in range(position, stop):
            yield text[place], place, place + 1
        if escape:
            character = html.unescape(f"&{escape.group(1)}")
            # A number may stand for a space, and for anything: then for nothing that is known.
            character = character.translate(_TABLE) if len(character) == 1 else "\ufffd"
            yield character, stop, escape.end()
            position = escape.end()


def _joins(segment: str, character: str) -> bool:
    """Say whether a character composes with, or is reordered within, what stands before it."""
    if unicodedata.combining(character):
        return True
    normal = unicodedata.normalize
    return normal("NFC", segment + character) != normal("NFC", segment) + normal("NFC", character)


def lookup_key(token: str) -> str:
    """Return the key under which a token is counted and looked up in vectors.

    The one casing function of the project: training, priors, vectors and alignment of new text all use it.
    Lower case, normal form C, invisible characters gone, every sign typed for an apostrophe made ``'`` (for
    Hebrew gershayim ``"``), escapes of markup and of the Penn Treebank undone. Never empty; a token of
    nothing visible gives ``_``.
    """
    key = token.lower()
    if key.isascii() and key.isprintable() and key not in _TREEBANK and not _rewritten.search(key):
        return key or "_"
    key = _wide_space.sub("_", clean(key).text.strip())
    key = _gershayim.sub('"', _inner_apostrophe.sub("'", key))
    return _TREEBANK.get(key, key) or "_"
