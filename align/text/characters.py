"""Classes of characters, as the inside of regular-expression sets, and clusters of them that are one sign.

The sets follow the Unicode character database that comes with Python; all of them are meant for use within
``[...]``. A flag is two characters, a keycap up to three, an emoji may be a dozen; so are letters with marks
of scripts that no rule here knows. Such grapheme clusters are those of Unicode [1]_.

References
----------
.. [1] Unicode Standard Annex 29, "Unicode Text Segmentation".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import accumulate, chain

# Scripts written without spaces between words: letters and their vowel signs, not digits or punctuation.
UNSPACED_SCRIPTS = {
    "Han": "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af",
    "Kana": "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e81-\u0ecd\u0edc-\u0edf",
    "Khmer": "\u1780-\u17d3\u17d7\u17dc\u17dd",
    "Myanmar": "\u1000-\u103f\u104e-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f",
}
UNSPACED = "".join(UNSPACED_SCRIPTS.values())

# What is typed for an apostrophe: ASCII, U+2019, U+02BC, U+2018, grave, acute, prime, full width, koronis.
APOSTROPHES = "'\u2019\u02bc\u2018`\u00b4\u2032\uff07\u1fbd"

# Signs that join or change the sign before them and are no tokens of their own: joiners, variation
# selectors, skin tones.
JOINERS = "\u200c\u200d"
MODIFIERS = "\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"

# Hebrew letters, and what is typed for the two signs that are letters among them: gershayim, as in an
# acronym, before one of them; geresh, as in a number or a clipped word, also at the end.
HEBREW = "\u05d0-\u05ea\u05ef-\u05f2"
GERSHAYIM = "\"|\u05f4|\u201d|''"
GERESH = f"{APOSTROPHES}\u05f3"

# Blocks with combining marks: beyond the Basic Multilingual Plane only a few have any.
_MARKED = (
    *((0x300, 0x10000), (0x10A00, 0x10F90), (0x11000, 0x12000), (0x16A00, 0x17000), (0x1CF00, 0x1E950)),
    (0xE0100, 0xE01F0),
)


def _ranges(wanted: Callable[[str], bool]) -> str:
    """Return the ranges of the wanted characters among the blocks that have marks."""
    ranges: list[tuple[int, int]] = []
    for code in chain.from_iterable(range(*block) for block in _MARKED):
        if wanted(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" if last > first else chr(first) for first, last in ranges)


# Combining marks (accents of decomposed text, vowel signs of Indic scripts, Arabic and Hebrew points):
# Python's \w leaves them out, and a word must not be cut at them.
MARKS = _ranges(lambda character: unicodedata.category(character)[0] == "M") + JOINERS

_KEYCAP = re.compile("([0-9#*]\ufe0f?\u20e3)")

# Nothing of these blocks joins what stands beside it: Latin, Greek, Cyrillic, Armenian, punctuation, Han.
_JOINING = re.compile(
    "[^\\0-\u02ff\u0370-\u0482\u048a-\u0590\u1e00-\u200b\u2010-\u20cf\u2100-\u2cee\u3000-\u3029\u30a0-\ua66e]"
)

Pieces = Callable[[str], list[str]]


def keep_clusters(cut: Pieces) -> Pieces:
    """Return a function that cuts text to pieces as ``cut`` does, but never within a grapheme cluster."""

    def whole(text: str) -> list[str]:
        if text.isascii() or _JOINING.search(text) is None:
            return cut(text)
        pieces: list[str] = []
        # A keycap is no digit of the number in front of it.
        for part in _KEYCAP.split(text):
            pieces += [part] if _KEYCAP.fullmatch(part) else cut(part)
        return _joined(pieces)

    return whole


def _joined(pieces: list[str]) -> list[str]:
    """Put together the pieces of each cluster."""
    import regex  # most text has no need of it

    ends = set(accumulate(map(len, regex.findall(r"\X", "".join(pieces)))))
    found, begun, end = [], "", 0
    for piece in pieces:
        begun, end = begun + piece, end + len(piece)
        if end in ends:
            found.append(begun)
            begun = ""
    return found
