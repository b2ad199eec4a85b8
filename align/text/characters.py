"""Classes of characters, as the inside of regular-expression sets.

The sets follow the Unicode character database that comes with Python; all of them are meant for use within
``[...]``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

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


def _ranges(wanted: Callable[[str], bool]) -> str:
    """Return the ranges of the wanted characters of the Basic Multilingual Plane."""
    ranges: list[tuple[int, int]] = []
    for code in range(0x300, 0x10000):
        if wanted(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" if last > first else chr(first) for first, last in ranges)


# Combining marks (accents of decomposed text, vowel signs of Indic scripts, Arabic and Hebrew points):
# Python's \w leaves them out, and a word must not be cut at them.
MARKS = _ranges(lambda character: unicodedata.category(character)[0] == "M") + JOINERS
