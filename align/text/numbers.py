"""Numbers in one form, however a language writes them."""

from __future__ import annotations

import re

_LEADING_NUMBER = re.compile(r"[0-9]+(?:[.,:/ ’'][0-9]+)*")
_SEPARATORS = re.compile(r"[.,:/ ’']")


def normal_number(text: str) -> str:
    """Return the leading numeral of a token in one form for all languages.

    Separators all alike with three digits after the last group thousands and go; any other last separator
    is the decimal point; behind a point or a comma zeros at the end say nothing. ``10,000`` and ``10 000``
    give ``10000``; ``1,000.50`` and ``1.000,5`` give ``1000.5``; ``9,8`` gives ``9.8``; ``15:30`` gives
    ``15.30``; ``3rd``, ``3e`` and ``03`` give ``3``.
    """
    found = _LEADING_NUMBER.match(text)
    if found is None:
        return text
    groups = _SEPARATORS.split(found.group())
    signs = _SEPARATORS.findall(found.group())
    if not signs or (len(set(signs)) == 1 and len(groups[-1]) == 3):
        return _without_zeros("".join(groups))
    whole, rest = _without_zeros("".join(groups[:-1])), groups[-1]
    if signs[-1] in ".,":
        rest = rest.rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def _without_zeros(digits: str) -> str:
    return digits.lstrip("0") or "0"
