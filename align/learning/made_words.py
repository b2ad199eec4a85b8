"""Words that no text has: names, numbers, signs and codes, on both sides alike or nearly so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from align.text.normalise import lookup_key

# How many of them are put into a pair, fewest and most.
ITEMS = (2, 6)

Item = tuple[str, str]
Maker = Callable[[np.random.Generator], Item]


def _word(generator: np.random.Generator, least: int, most: int) -> str:
    """Return a word that can be spoken, with a capital."""
    length, start = int(generator.integers(least, most + 1)), int(generator.integers(2))
    letters = ("bdfgklmnprstv", "aeiou")
    word = "".join(generator.choice(list(letters[(start + place) % 2])) for place in range(length))
    return word.capitalize()


def _name(generator: np.random.Generator) -> Item:
    word = _word(generator, 3, 10)
    return word, word


def _number(generator: np.random.Generator) -> Item:
    value = int(generator.integers(10, 10 ** int(generator.integers(2, 8))))
    text = [str(value), f"{value:,}", f"{value / 100:.2f}"][int(generator.integers(3))]
    return text, text


def _emoji(generator: np.random.Generator) -> Item:
    sign = chr(int(generator.integers(0x1F400, 0x1F4FE)))
    return sign, sign


def _code(generator: np.random.Generator) -> Item:
    letters, digits = "ABCDEFGHJKLMNPQRSTUVWXYZ", "0123456789"
    length = int(generator.integers(4, 9))
    text = "".join(generator.choice(list(letters + digits)) for _ in range(length - 2))
    code = str(generator.choice(list(letters))) + text + str(generator.choice(list(digits)))
    return code, code


def _other_format(generator: np.random.Generator) -> Item:
    value = int(generator.integers(100, 10**7)) / 100
    return [
        (f"{value:,.2f}", f"{value:,.2f}".translate(str.maketrans(",.", ".,"))),
        (
            f"{value:.2f}",
            f"{value:g}".replace(".", ",") if value < 10**4 else f"{value:.2f}".replace(".", ","),
        ),
        (f"{int(value * 100):,}", str(int(value * 100))),
    ][int(generator.integers(3))]


def _near_name(generator: np.random.Generator) -> Item:
    word = _word(generator, 7, 11)
    place = int(generator.integers(2, len(word)))
    return word, word[:place] + str(generator.choice(list("aehikostu"))) + word[place:]


_CYRILLIC = dict(zip("bdfgklmnprstvaeiou", "бдфгклмнпрствaеиоу", strict=True)) | {"a": "а"}


def _other_letters(generator: np.random.Generator) -> Item:
    word = _word(generator, 5, 10)
    return word, "".join(_CYRILLIC[letter] for letter in lookup_key(word)).capitalize()


SAME = {"name": _name, "number": _number, "emoji": _emoji, "code": _code}
OTHER = {"format": _other_format, "near name": _near_name, "letters": _other_letters}
