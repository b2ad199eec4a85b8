"""Profiles: which analysis tokens stand behind the surface tokens of a sentence.

* ``plain``: each token's lookup key;
* ``expand``: contractions undone and clipped words made whole, where the language has rules
  (:mod:`align.text.contractions`), compounds with hyphens and ``%`` parted. A surface token may have
  several analysis tokens, or none (the *t* of ``va-t-il``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import contains

from align.core.errors import InputError
from align.text.contractions import CONTEXTS, CONTRACTIONS, ENGLISH_ENDINGS, QUOTES, Context
from align.text.languages import base_code

PROFILES = ("plain", "expand")

# Parts of a key that was given as one token: hyphens and percent signs stand by themselves.
_parted = re.compile(r"(?<=\w)[-\u2010\u2011](?=\w)|(?<=\d)%\Z")
_address = re.compile(r"://|@|\Awww\.")
_possessive = re.compile(r"(?<=[\w.])'s\Z")

# What marks the key of a place where a context rule holds; no key holds such a character.
_MARK = "\x00"


class Profile:
    """The analysis of tokens of one language.

    Parameters
    ----------
    language : str
        Language code.
    name : {"plain", "expand"}

    Raises
    ------
    InputError
        If there is no such profile.
    """

    def __init__(self, language: str, name: str = "plain") -> None:
        if name not in PROFILES:
            raise InputError(f"profile {name!r}: no such profile; choose one of {', '.join(PROFILES)}")
        self.name = name
        self._language = base_code(language)
        self._contractions = QUOTES | CONTRACTIONS.get(self._language, {})
        self.contexts: tuple[Context, ...] = CONTEXTS.get(self._language, ()) if name == "expand" else ()
        self.begins = frozenset[str]().union(*(rule.keys[0] for rule in self.contexts))

    def words(self, key: str) -> tuple[str, ...]:
        """Return the analysis tokens of a key (of a key marked by :meth:`in_context`, those of its place)."""
        if self.name == "plain":
            return (key,)
        if key.startswith(_MARK):
            rule, place = key[1:].split(_MARK)
            reading = self.contexts[int(rule)].readings[int(place)]
            assert reading is not None
            return reading
        return self._expand(key)

    def in_context(self, keys: Sequence[str]) -> Sequence[str]:
        """Mark the keys for which a rule of keys in a row holds; the sequence itself where none does."""
        if self.begins.isdisjoint(keys):
            return keys
        starts = [start for start, key in enumerate(keys) if key in self.begins]
        marks = {}
        for number, rule in enumerate(self.contexts):
            for start in starts:
                window = keys[start : start + len(rule.keys)]
                if len(window) == len(rule.keys) and all(map(contains, rule.keys, window)):
                    for place, reading in enumerate(rule.readings):
                        if reading is not None:
                            marks[start + place] = f"{_MARK}{number}{_MARK}{place}"
        return [marks.get(place, key) for place, key in enumerate(keys)] if marks else keys

    def _expand(self, key: str) -> tuple[str, ...]:
        known = self._contractions.get(key)
        if known is not None:
            return known
        if _parted.search(key) and not _address.search(key):
            return self._part(key)
        if self._language == "en" and "'" in key:
            return self._english(key)
        if _possessive.search(key) and self._language in ("fr", "it"):
            return key[:-2], "'s"  # a name in English: Lloyd's
        return (key,)

    def _part(self, key: str) -> tuple[str, ...]:
        words: list[str] = []
        position = 0
        for cut in _parted.finditer(key):
            words += [key[position : cut.start()], "%" if cut.group() == "%" else "-"]
            position = cut.end()
        words += [key[position:]] if position < len(key) else []
        # A part may be a contraction itself (d'après-guerre), except in front of a hyphen (au-dessus).
        parted: list[str] = []
        for place, word in enumerate(words):
            before_dash = words[place + 1 : place + 2] == ["-"]
            parted += (word,) if before_dash and word == "au" else self._expand(word)
        return tuple(parted)

    def _english(self, key: str) -> tuple[str, ...]:
        for ending, word in ENGLISH_ENDINGS.items():
            if key.endswith(ending) and len(key) > len(ending):
                return (*self._expand(key[: -len(ending)]), word)
        return (key,)
