"""What parliamentary corpora leave in their text that nobody said: lines of markup, language tags."""

from __future__ import annotations

import re

# <CHAPTER ID=1>, <SPEAKER ID=2 NAME="X">, <P>, </P>, <BRK>, <BR/>. Any other tag must have an attribute:
# <hope> may be text.
_TAG = re.compile(
    r"\s*<(?:/?(?:CHAPTER|SPEAKER|P|BRK?|HR|DOC|TEXT|SEG|S)|[A-Z][\w.-]*(?=\s+[\w.:-]+\s*=))"
    r"(?:\s+[\w.:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s<>\"']+))*\s*/?>\s*",
    re.IGNORECASE,
)

# The language a speech was held in, where a speaker begins: "(DE) Herr Präsident", "– (FR) Monsieur".
_LANGUAGES = "BG|CS|DA|DE|EL|EN|ES|ET|FI|FR|GA|HR|HU|IT|LT|LV|MT|NL|PL|PT|RO|SK|SL|SV"
_LANGUAGE_TAG = re.compile(rf"\s*(?:[-\u2010-\u2015]\s*)?\((?:{_LANGUAGES})\)(?:\s*[-\u2010-\u2015](?=\s))?")


def is_markup(line: str) -> bool:
    """Say whether a line is one tag of markup and nothing else (``5 < 6`` is not)."""
    return line.lstrip()[:1] == "<" and _TAG.fullmatch(line) is not None


def blank_language_tag(line: str) -> str:
    """Return the line with a language tag at its start made spaces, so that no character moves."""
    if "(" not in line[:12]:
        return line
    found = _LANGUAGE_TAG.match(line)
    return " " * found.end() + line[found.end() :] if found else line
