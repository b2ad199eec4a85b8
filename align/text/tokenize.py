r"""The ``rules`` tokenizer: a compiled set of rules for each language.

Text is parted at white space; each chunk is then cut by one regular expression. A chunk is cut the same
way wherever it stands (but for ``No.`` and its like, which look at whether a number follows), so the
processor cuts each distinct chunk once and remembers.

The rules, in order: addresses; numbers (``9.8``, ``1,000.50``, ``.5``), parted from a unit of measure
(``9.8m``: ``9.8`` + ``m``) and from currency and percent signs; abbreviations (``Mr.``, ``p.m.``); Hebrew
acronyms and clipped words (``צה"ל``); elided words (``l'`` + ``homme``); words, with the
apostrophes inside them (``it's``, ``aujourd'hui``); runs of dots and dashes; any other sign by itself.
Hyphens and slashes are signs. No token ends within a grapheme cluster (:mod:`align.text.characters`). Nothing
is rewritten: the pieces of a chunk put together are the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from align.text.characters import (
    APOSTROPHES,
    GERESH,
    GERSHAYIM,
    HEBREW,
    MARKS,
    MODIFIERS,
    UNSPACED,
    keep_clusters,
)
from align.text.languages import Language, rules_of

# Only single signs are repeated possessively: of groups, Python before 3.11.5 matches too much (gh-106052).

# A word: letters, digits and underscores with their marks, not of scripts without spaces.
_SIGN = rf"[^\W{UNSPACED}]"
_WORD = rf"(?:{_SIGN}++[{MARKS}]*+)+"
_LETTER = rf"[^\W\d_{UNSPACED}]"
_APOSTROPHE = f"[{APOSTROPHES}]"
_END = rf"(?![\w{MARKS}])"

_ADDRESS = (
    # A web address ends before the punctuation of the sentence around it.
    r"(?:[hH][tT][tT][pP][sS]?|[fF][tT][pP])://[^\s<>\"«»]*[\w/#=&]"
    r"|[wW][wW][wW]\.[\w-]+\.[^\s<>\"«»]*[\w/#=&]"
    r"|\w[\w.+-]*@\w[\w-]*(?:\.\w[\w-]*)+"
)

_UNITS = (
    "bn|tn|mn|mln|mld|mrd|Mio|Mrd|Mln|Mld|[mb]illions?|milliards?"
    "|[kcdmnµμ]?m[²³]?|[kmµμ]?g|[hcm]l|ha|[kMGT]?Wh|[kMGT]W|[kMGT]Hz|Hz|[kM]V|[kMG]J|[hkM]Pa|dB|mAh"
    "|[kmgt]b|[KMGTP]B|[kMG]bit|[kMG]bps|mph|rpm|ppm|am|pm"
)
_NUMBER = rf"(?:\.(?=\d))?\d++(?:[.,:٫٬{APOSTROPHES}]\d++)*"

# What is paid with: a sign, or a code before or behind the number. Beside one, a letter is thousands or more.
_CURRENCY = "[$¢-¥\u20a0-\u20cf]"
_CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|RUB|TRY"
_MULTIPLES = "[kKmMbBtT][nN]?|MM|cr"
_AMOUNT = (
    rf"(?=[\d.])(?:(?<={_CURRENCY}){_NUMBER}(?=(?:{_MULTIPLES}){_END})|(?<=\b(?:{_CODES})){_NUMBER}"
    rf"|(?<![\w.]){_NUMBER}(?=(?:{_MULTIPLES})?(?:{_CODES}){_END}|(?:{_MULTIPLES}){_CURRENCY}))"
    rf"|\b(?:{_CODES})(?=\d)"
)

# Hebrew words with gershayim or geresh. A quote between a preposition and a word that another quote follows
# is no gershayim; an apostrophe at the end of a word is geresh, but where one stands in front of it.
_LETTERS = rf"(?:[{HEBREW}][{MARKS}]*+)+"
_QUOTED = rf"[ובהכלמש]{{1,2}}(?:{GERSHAYIM})[{HEBREW}]{{2,}}(?:{GERSHAYIM})(?![{HEBREW}])"
_INSIDE = rf"{_LETTERS}(?:(?:{GERSHAYIM}|[{GERESH}])(?=[{HEBREW}]){_LETTERS})*"
_GERESH_AT_END = rf"(?<!{_APOSTROPHE}){_INSIDE}{_APOSTROPHE}(?!{_APOSTROPHE}){_END}"
_HEBREW = rf"(?!{_QUOTED})(?:{_GERESH_AT_END}|{_INSIDE}\u05f3?{_END})"

_has_marks = re.compile(f"[{MARKS}]").search
_NO_MARK = "\u0300"  # one of them, in place of all

_CASES: dict[str, Callable[[str], str]] = {
    "lower": lambda word: word,
    "capital": lambda word: re.sub(r"\w", lambda first: first.group().upper(), word, count=1),
    "upper": str.upper,
}


class Cutter(NamedTuple):
    """The rules of one language.

    ``cut(chunk, number_follows)`` gives the tokens of a chunk without white space, in order; put together
    they are the chunk. ``numbered(chunk)`` says whether they depend on a number following.
    """

    cut: Callable[[str, bool], list[str]]
    numbered: Callable[[str], bool]


@lru_cache(maxsize=64)
def rules(language: str, *, keep_unspaced: bool = False) -> Cutter:
    """Return the rules tokenizer of a language.

    Parameters
    ----------
    language : str
        Language code; an unknown one gets the rules common to all.
    keep_unspaced : bool
        Give runs of a script without spaces whole, for a segmenter, instead of by characters.
    """
    known = rules_of(language)
    pieces = _compile(known, keep_unspaced=keep_unspaced)
    before_number = _words(known.numbered, "lower", "capital")
    at_end = re.compile(rf"(?<![\w{MARKS}])(?:{before_number})\.\Z")

    def cut(chunk: str, number_follows: bool) -> list[str]:
        return pieces(chunk + "0")[:-1] if number_follows else pieces(chunk)

    return Cutter(cut, lambda chunk: chunk.endswith(".") and at_end.search(chunk) is not None)


def _compile(known: Language, *, keep_unspaced: bool) -> Callable[[str], list[str]]:
    """Put the rules of a language into one expression; earlier alternatives win."""
    one = rf"[{UNSPACED}][{MARKS}]*+"
    unspaced = rf"(?:{one})+" if keep_unspaced else one
    alternatives = [
        _ADDRESS,
        _AMOUNT,
        rf"(?<![\w.]){_NUMBER}(?:(?!(?:{_UNITS}){_END}){_WORD})?",
        rf"(?:{_LETTER}{{1,2}}\.){{2,}}",
        rf"(?:{_words(known.abbreviations, 'lower', 'capital', 'upper')})\.",
        rf"(?:{_words(known.numbered, 'lower', 'capital')})\.(?=\d)",
        _HEBREW,
        *_elisions(known),
        rf"{_WORD}(?:{_APOSTROPHE}{_WORD})*" + (rf"(?::{_LETTER}++)?" if known.colon else ""),
        unspaced,
        r"\.{2,}|-{2,}|={2,}|\*{2,}|#{2,}|~{2,}|''|``",
        # Any other sign with what modifies it; emoji joined by U+200D are one.
        rf"\S[{MODIFIERS}{MARKS}]*+(?:(?<=\u200d)\S[{MODIFIERS}{MARKS}]*+)*",
    ]
    whole = "|".join(filter(None, alternatives))
    # Text without marks, as a rule all of it, is cut by the same expression without them, which is made in
    # half of the time; the whole one is made when it is first needed.
    unmarked = re.compile(whole.replace(MARKS, _NO_MARK)).findall
    marked = cache(lambda: re.compile(whole).findall)
    cut = keep_clusters(lambda chunk: marked()(chunk) if _has_marks(chunk) else unmarked(chunk))
    # Most chunks are letters alone, and then a word. One that is typed for an apostrophe counts as a letter.
    is_word = re.compile(rf"(?:(?!{_APOSTROPHE}){_LETTER})+").fullmatch
    return lambda chunk: [chunk] if is_word(chunk) else cut(chunk)


def _elisions(known: Language) -> list[str]:
    """Return the expressions for apostrophes at the end of a word and in front of one."""
    found = []
    if known.whole:
        # In front of the apostrophe or after it: po', 's, 'n'.
        found.append(rf"(?:{_words(known.whole, 'lower', 'capital', 'upper')}){_END}(?!{_APOSTROPHE}\w)")
    if known.clitics:
        found.append(rf"{_APOSTROPHE}(?:{_words(known.clitics, 'lower', 'upper')}){_END}")
    if known.elides_all:
        # But names and words of other languages: O'Neill, Pepper's.
        found.append(rf"(?!O{_APOSTROPHE}){_LETTER}++{_APOSTROPHE}(?!s{_END})(?={_SIGN})")
    if known.elided:
        found.append(rf"(?:{_words(known.elided, 'lower', 'capital', 'upper')}){_APOSTROPHE}")
    return found


def _words(words: str, *cases: str) -> str:
    """Return an alternative of words, longest first, in the cases named; any apostrophe for theirs."""
    forms = {_CASES[case](word) for word in words.split() for case in cases} | set(words.split())
    escaped = (
        re.escape(form).replace("'", _APOSTROPHE) for form in sorted(forms, key=lambda f: (-len(f), f))
    )
    return "|".join(escaped)


# Whether a token is of a script without spaces.
is_unspaced: Callable[[str], object] = re.compile(f"[{UNSPACED}]").match
