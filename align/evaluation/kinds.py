"""What kind of words a link joins: negation, numbers, punctuation, names, function words, content words.

No dictionary is needed but for negation: function words are the most frequent words of a text, names are
written with a capital on both sides. The kinds are there to count by, not to judge a single link by.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from align.core.tags import comparable
from align.text.normalise import lookup_key

NEGATION, NUMBERS, PUNCTUATION, NAMES, FUNCTION, CONTENT = KINDS = (
    "negation",
    "numbers",
    "punctuation",
    "names",
    "function words",
    "content words",
)

# So many of the most frequent words of a side are its function words.
FUNCTION_WORDS = 100

# English verbs before n't.
_VERBS = "do does did is are was were has have had wo would ca could sha should must need might ought dare ai"

# Words whose main use is to negate, by language, under their lookup keys.
NEGATIONS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "bg": "не нито никога никой никоя никое нищо без няма нямаше недей",
        "ca": "no ni mai ningú cap res gens sense tampoc",
        "cs": "ne není nikdy nikdo nic žádný žádná žádné ani bez nikoli",
        "da": "ikke ej aldrig ingen intet ingenting hverken uden",
        "de": "nicht nichts nie niemals niemand niemandem niemanden kein keine keinen keinem keiner keines"
        " weder noch ohne nein nirgends nirgendwo",
        "el": "δεν δε μη μην ποτέ κανείς κανένας καμία κανένα τίποτα ούτε όχι χωρίς",
        "en": "not n't no never nobody none nothing nor neither nowhere cannot without "
        + " ".join(f"{verb}n't" for verb in _VERBS.split()),
        "es": "no ni nunca jamás nadie ningún ninguno ninguna nada tampoco sin",
        "et": "ei mitte ega pole keegi mitte kunagi",
        "fi": "ei en et emme ette eivät älä eikä koskaan ilman",
        "fr": "ne n' pas non ni jamais rien personne aucun aucune aucuns aucunes nul nulle guère sans",
        "hu": "nem ne sem se soha senki semmi nincs nincsenek nélkül",
        "it": "non no né mai nessun nessuno nessuna niente nulla neanche nemmeno neppure senza",
        "lt": "ne nei nė niekada niekas nėra be",
        "lv": "ne nav neviens nekad nekas bez",
        "nl": "niet niets nooit niemand geen noch zonder nergens neen nee",
        "pl": "nie nigdy nikt nic żaden żadna żadne ani bez",
        "pt": "não nem nunca jamais ninguém nenhum nenhuma nada sem",
        "ro": "nu nici niciodată nimeni nimic niciun nicio fără",
        "ru": "не ни никогда никто ничто ничего нет нельзя без",
        "sk": "nie ne nikdy nikto nič žiadny žiadna žiadne ani bez",
        "sl": "ne ni nikoli nihče nič noben nobena niti brez",
        "sv": "inte icke ej aldrig ingen inget inga ingenting varken utan",
        "uk": "не ні ніколи ніхто ніщо нічого немає без",
    }.items()
}


def negations(language: str) -> frozenset[str]:
    """Return the words that negate in a language, by its code (``pt-BR`` is ``pt``); empty where unknown."""
    return NEGATIONS.get(comparable(language).partition("-")[0], frozenset())


class Word(NamedTuple):
    """What the kind of a link asks of one of its words."""

    key: str  # its lookup key
    negates: bool
    spoken: bool  # has a letter or a digit
    number: bool  # begins with a digit
    capital: bool  # begins with a capital
    frequent: bool  # is among the most frequent words of its side


class Words(dict[str, Word]):
    """What is known of the words of one side, by token; each is looked at once.

    Parameters
    ----------
    language : str
        Its code.
    frequent : collection of str
        The most frequent words, under their lookup keys.
    """

    def __init__(self, language: str, frequent: Collection[str]) -> None:
        super().__init__()
        self._negations, self._frequent = negations(language), frozenset(frequent)

    def __missing__(self, token: str) -> Word:
        """Look at a token."""
        key = lookup_key(token)
        found = self[token] = Word(
            key,
            key in self._negations,
            any(map(str.isalnum, token)),
            token[:1].isdecimal(),
            token[:1].isupper(),
            key in self._frequent,
        )
        return found


def kind(source: Word, target: Word, places: tuple[int, int]) -> str:
    """Return the kind of a link, one of `KINDS`, the first that holds.

    ``negation``: either word negates. ``punctuation``: either has no letter and no digit. ``numbers``: either
    begins with a digit. ``names``: both begin with a capital, and neither is the first word of its sentence,
    or they are the same word. ``function words``: both are among the most frequent of their side.

    Parameters
    ----------
    source, target : Word
        The words.
    places : (int, int)
        Where they stand in their sentences, from 0.
    """
    if source.negates or target.negates:
        return NEGATION
    if not (source.spoken and target.spoken):
        return PUNCTUATION
    if source.number or target.number:
        return NUMBERS
    if source.capital and target.capital and (all(places) or source.key == target.key):
        return NAMES
    return FUNCTION if source.frequent and target.frequent else CONTENT
