"""What groups of features know of two words, said in sentences with their real numbers.

Groups that look at the same thing, such as the counts of a bitext, share it out among them as training found
best, one of them often against the rest. So what they say is put together (:data:`ASPECTS`), with the sum of
their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

# Shares of the times a word occurs from which two words are said to translate each other often, or mostly.
_OFTEN, _MOSTLY = 0.1, 0.5

# Fewer links than this, which are expected numbers, are none.
_NEVER = 0.5

# Counts that are this many times apart are said to be.
_APART = 5.0

# A rival is said to be spelt more alike from this much on, of 1.
_MORE_ALIKE = 0.2

# From this cosine on two words are used alike, or somewhat alike.
_ALIKE, _SOMEWHAT = 0.5, 0.25


class Facts(NamedTuple):
    """What is known of one possible link, between words j and k of n and m.

    Attributes
    ----------
    source, target : str
        The words as they are counted (analysis tokens).
    place : (int, int)
        j and k, from 0.
    shape : (int, int)
        n and m.
    values : mapping
        The features by name, as the group writes them (unscaled).
    counts : (int, int)
        How often each word occurs in its half of the bitext.
    together : float or None
        How often they were linked there, as the sampler expects; where it did not run, in how many pairs they
        occur together. None where nothing was counted.
    expected : bool
        Whether ``together`` is a number of links.
    sampled : bool
        Whether the pair itself was sampled.
    before, after : bool or None
        Whether the words before both, and those after both, are linked; None at the ends of a sentence.
    """

    source: str
    target: str
    place: tuple[int, int]
    shape: tuple[int, int]
    values: Mapping[str, float]
    counts: tuple[int, int]
    together: float | None
    expected: bool
    sampled: bool
    before: bool | None
    after: bool | None

    def has(self, name: str) -> bool:
        """Tell whether a feature that is a flag is set."""
        return self.values.get(name, 0.0) > 0.5


def times(number: float) -> str:
    """Return a number of times in words: ``never``, ``once``, ``312 times``."""
    whole = round(number)
    return "never" if whole <= 0 else "once" if whole == 1 else f"{whole:,} times"


def percent(value: float) -> str:
    """Return a probability as a whole percentage that does not claim certainty."""
    return "under 1 %" if value < 0.01 else "over 99 %" if value > 0.99 else f"{100 * value:.0f} %"


def _counted(facts: Facts) -> str:
    """Say how often the two words translate each other in the bitext."""
    if facts.together is None:
        return "there is no bitext to count in"
    unseen = {
        word: None
        for word, count in zip((facts.source, facts.target), facts.counts, strict=True)
        if not count
    }
    if unseen:
        return f"the bitext never has {' or '.join(map(repr_of, unseen))}"
    source, target = map(times, facts.counts)
    occur = f"{repr_of(facts.source)} occurs {source}, {repr_of(facts.target)} {target}"
    what = "translate each other" if facts.expected else "occur in the same pairs"
    if facts.together < _NEVER:
        return f"these two words never {what} in the bitext ({occur})"
    share = facts.together / min(facts.counts)
    how = "most of the time" if share >= _MOSTLY else "often" if share >= _OFTEN else "seldom"
    number = times(max(facts.together, 1.0))
    return f"these two words {what} {how}: {number} in the bitext ({occur})"


def _translation(facts: Facts) -> str:
    found = [facts.values[name] for name in ("sampled", "chain", "joint") if name in facts.values]
    if not found:
        return _counted(facts)
    where = (
        "when this text was aligned again and again, the two were linked in"
        if facts.sampled and "sampled" in facts.values
        else "read along this sentence, the link has a probability of"
    )
    return f"{_counted(facts)}; {where} {percent(found[0])}"


def _neighbours(facts: Facts) -> str:
    match facts.before, facts.after:
        case True, True:
            return "both stand next to linked neighbours, before and after"
        case True, _:
            return "both stand next to linked neighbours: the words before them"
        case _, True:
            return "both stand next to linked neighbours: the words after them"
        case None, None:
            return "they have no neighbours on the same side"
    return "their neighbours are not linked with each other"


def _place(facts: Facts) -> str:
    (j, k), (n, m) = facts.place, facts.shape
    apart = round(abs((j + 0.5) / n - (k + 0.5) / m) * m)
    where = f"word {j + 1} of {n} and word {k + 1} of {m}"
    if not apart:
        return f"both stand at the same place of their sentences: {where}"
    return f"they stand {apart} {'word' if apart == 1 else 'words'} off the same place: {where}"


_KINDS = (
    ("same_number", "the two are the same number"),
    ("other_number", "the two are different numbers"),
    ("number_and_word", "one is a number, the other is none"),
    ("same_punctuation", "the two are the same punctuation mark"),
    ("other_punctuation", "the two are different punctuation marks"),
    ("punctuation_and_word", "one is a punctuation mark, the other is none"),
    ("same_word", "the two are spelt the same"),
)


def _spelling(facts: Facts) -> str:
    said = next((words for name, words in _KINDS if facts.has(name)), None)
    if said is None:
        common = facts.values.get("common_letters", 0.0)
        letters = f"{100 * common:.0f} % of the letters in common" if common else "no letter in common"
        # What lies between speaks now for the link and now against it.
        said = f"the two are spelt alike: {letters}" if facts.has("cognate") else f"the two have {letters}"
    if facts.values.get("partner_elsewhere", 0.0) >= _MORE_ALIKE:
        said += "; another word of the sentences is spelt more like one of them"
    return said


def _meaning(facts: Facts) -> str:
    if facts.has("vector_missing"):
        return "one of the words has no vector"
    cosine = facts.values.get("cosine")
    if cosine is None:
        return "by their vectors, dimension by dimension"
    alike = "alike" if cosine >= _ALIKE else "somewhat alike" if cosine >= _SOMEWHAT else "unlike each other"
    return f"by their vectors the two words are used {alike}: cosine {cosine:.2f}"


def _readiness(facts: Facts) -> str:
    few, many = sorted(facts.counts)
    seen = f"{times(facts.counts[0])} and {times(facts.counts[1])}"
    if many > _APART * max(few, 1):
        return f"what every link starts from; here one word occurs far more often than the other ({seen})"
    return f"what every link of words as frequent as these starts from ({seen})"


def _further(facts: Facts) -> str:
    return "one of the words has a stronger link, and each further one costs"


class Aspect(NamedTuple):
    """What several groups of features look at.

    Attributes
    ----------
    groups : tuple of str
    short : str
        Its name in a list.
    wanted : str
        What would have to be different for it to say more for a link.
    said : function
        What it knows of two words, without a capital letter or a full stop.
    """

    groups: tuple[str, ...]
    short: str
    wanted: str
    said: Callable[[Facts], str]


ASPECTS: dict[str, Aspect] = {
    "translation": Aspect(
        ("lexical", "posterior", "chain"),
        "how often they translate each other",
        "words that translate each other more often",
        _translation,
    ),
    "neighbours": Aspect(
        ("context",), "linked neighbours", "neighbours that are linked with each other", _neighbours
    ),
    "spelling": Aspect(("spelling", "partner"), "spelling", "words spelt more alike", _spelling),
    "meaning": Aspect(
        ("cosine", "product", "concat"), "vectors", "words used more alike, by their vectors", _meaning
    ),
    "place": Aspect(
        ("position",), "place in the sentence", "words nearer to the same place of their sentences", _place
    ),
    "readiness": Aspect(
        ("bias", "frequency", "identity"),
        "what a link of such words starts from",
        "a model readier to link words as frequent as these",
        _readiness,
    ),
    "further links": Aspect(
        ("words",),
        "the cost of a further link",
        "words without a stronger link, or for which a further one costs less",
        _further,
    ),
}

ASPECT_OF: dict[str, str] = {group: name for name, aspect in ASPECTS.items() for group in aspect.groups}


def repr_of(word: str) -> str:
    """Return a word in quotes."""
    return f"'{word}'"


def by_aspect(parts: Mapping[str, float]) -> dict[str, float]:
    """Return the parts of a score by aspect, given those by group, the largest first."""
    sums: dict[str, float] = {}
    for group, part in parts.items():
        aspect = ASPECT_OF[group]
        sums[aspect] = sums.get(aspect, 0.0) + part
    return dict(sorted(sums.items(), key=lambda item: (-abs(item[1]), item[0])))
