"""What features are in plain words: one table for ``explain``, the explorer's page and docs/features.md.

A feature's words begin with who says so ("sampler: ..."), so that a list of them can be read down its left
edge. "Rivals" are the other words of the same sentence.
"""

from __future__ import annotations

import re

from align.features.maps import competition_names, posterior_names

# What is more than a name of the page's sections: where the numbers come from.
GROUP_WORDS: dict[str, str] = {
    "bias": (
        "The same number for every possible link: how ready the model is to link at all. `--bias` is "
        "added to it."
    ),
    "cosine": (
        "Word vectors put words that are used alike near each other, and both languages are turned into "
        "one space. The cosine is 1 for vectors that point the same way, 0 for words that have nothing to "
        "do with each other."
    ),
    "product": (
        "The same vectors, a number a dimension, so that training may weigh the dimensions. Off by default."
    ),
    "position": "Where the two words stand in their sentences, from 0 (beginning) to 1 (end).",
    "spelling": (
        "The letters of the two words, without accents and in Latin letters; numbers go by their value."
    ),
    "frequency": (
        "How often each word occurs in its half of the bitext. Rare words seldom translate frequent ones."
    ),
    "lexical": (
        "Counts over the whole bitext. Dice is 2 c(s,t) / (c(s) + c(t)): 1 for two words that always "
        "occur in the same pairs. IBM Model 1 gives p(t|s), the probability that source word s is "
        "translated by t (forward), and p(s|t) (reverse); its posteriors share each word out among the "
        "words of the other sentence and NULL, which stands for no word."
    ),
    "chain": (
        "A hidden Markov model over the sentence: neighbours tend to be translated by neighbours. It goes "
        "by the sampler's tables, vectors, and equal names and numbers, in both directions."
    ),
    "context": (
        "What the chain says of the words around: a link is likelier where its neighbours are linked in "
        "parallel."
    ),
    "posterior": (
        "A Bayesian hidden Markov model with fertility, sampled over the bitext in both directions: of "
        "all the times that the text was aligned anew, the share in which these two words were linked. A "
        "pair that was not in that text gets a chain over the sampler's tables instead."
    ),
    "partner": (
        "Where statistics know little of a word, its spelling has to say who its partner is. What is said "
        "here counts fully for words never seen, and less and less for words seen often."
    ),
    "identity": "Whether a word is a given one of the 30 most frequent of its language. Off by default.",
    "concat": "The two vectors side by side. Off by default, and of use for comparison only.",
    "words": (
        "These belong to a word, not to a link: what a second link of the same word costs, and a third "
        "again. In `explain` they stand together as `fertility`."
    ),
}

_PLACE, _SPELLING, _FREQUENCY, _MODEL1 = "place: ", "spelling: ", "frequency: ", "Model 1: "
_AROUND, _PARTNER = "neighbours: ", "little-known word: "


# What :func:`align.features.maps.compete` makes of a score.
_COMPETITION = (
    "lead over the source word's other links",
    "lead over the target word's other links",
    "share of all the source word's links",
    "share of all the target word's links",
    "first choice of both words",
)

# What :func:`align.features.maps.fill_posteriors` writes.
_POSTERIORS = (
    "probability that the source word made the target word",
    "probability that the target word made the source word",
    "probability of the link, both directions together",
    "probability of the link, small ones told apart",
    *_COMPETITION,
)


def _told(names: tuple[str, ...], who: str, words: tuple[str, ...]) -> dict[str, str]:
    """Return the words of features that several scores have, by who says so."""
    return {name: f"{who}: {each}" for name, each in zip(names, words, strict=True)}


FEATURE_WORDS: dict[str, dict[str, str]] = {
    "bias": {"bias": "readiness to link"},
    "cosine": {
        "cosine": "vectors: likeness of meaning",
        "vector_missing": "vectors: one of the words has none",
        **_told(competition_names("cosine"), "vectors", _COMPETITION),
    },
    "product": {"product_<n>": "vectors: both words in dimension <n>"},
    "position": {
        "distance": _PLACE + "distance between the two relative places",
        "distance_squared": _PLACE + "distance squared, which is felt where it is large",
        "distance_root": _PLACE + "root of the distance, which is felt where it is small",
        "words_apart": _PLACE + "distance in words of the target sentence, up to 10",
        "on_diagonal": _PLACE + "the same in both sentences, within half a word",
        "both_first": _PLACE + "both words are the first",
        "both_last": _PLACE + "both words are the last",
    },
    "spelling": {
        "same_word": _SPELLING + "the same word",
        "same_punctuation": _SPELLING + "the same punctuation mark",
        "other_punctuation": _SPELLING + "two different punctuation marks",
        "punctuation_and_word": _SPELLING + "punctuation on one side only",
        "same_number": _SPELLING + "the same number",
        "other_number": _SPELLING + "two different numbers",
        "number_and_word": _SPELLING + "a number and a word",
        "prefix": _SPELLING + "beginning in common, as a share of the longer word",
        "long_prefix": _SPELLING + "beginning in common, counting more in long words",
        "common_letters": _SPELLING + "letters in common in the same order, as a share",
        "cognate": _SPELLING + "cognates: over 7 letters of 10 in common",
        "length_difference": _SPELLING + "difference of the lengths in letters",
    },
    "frequency": {
        "frequency_difference": _FREQUENCY + "difference between the two words",
        "rank_difference": _FREQUENCY + "difference between the two words' ranks",
        "source_frequency": _FREQUENCY + "that of the source word",
        "target_frequency": _FREQUENCY + "that of the target word",
        "frequency_product": _FREQUENCY + "that of both words together",
        "both_frequent": _FREQUENCY + "both words are very frequent, as 'the' is",
        "one_frequent": _FREQUENCY + "only one of the words is very frequent",
        "source_rare": _FREQUENCY + "source word seen at most twice",
        "target_rare": _FREQUENCY + "target word seen at most twice",
    },
    "lexical": {
        "dice": "Dice: how far the words occur in the same pairs only",
        "forward": _MODEL1 + "probability of the target word, given the source word",
        "reverse": _MODEL1 + "probability of the source word, given the target word",
        "forward_log": _MODEL1 + "forward probability, small ones told apart",
        "reverse_log": _MODEL1 + "reverse probability, small ones told apart",
        "geometric": _MODEL1 + "forward and reverse probability together",
        "forward_over_null": _MODEL1 + "the source word rather than no word made the target word",
        "reverse_over_null": _MODEL1 + "the target word rather than no word made the source word",
        "forward_posterior": _MODEL1 + "in this sentence, the source word made the target word",
        "reverse_posterior": _MODEL1 + "in this sentence, the target word made the source word",
        "joint": _MODEL1 + "probability of the link, both directions together",
        "joint_log": _MODEL1 + "probability of the link, small ones told apart",
        **_told(competition_names("dice"), "Dice", _COMPETITION),
        **_told(competition_names("joint"), "Model 1", _COMPETITION),
    },
    "chain": _told(posterior_names("chain"), "chain", _POSTERIORS),
    "context": {
        "previous": _AROUND + "the words before are linked",
        "next": _AROUND + "the words after are linked",
        "both_neighbours": _AROUND + "the words before and those after are linked",
        "window": _AROUND + "how far three words on either side are linked in parallel",
        "left_anchor_distance": _AROUND + "off the line from the nearest sure link before",
        "left_anchor_straight": _AROUND + "on the line from the nearest sure link before",
        "left_anchor_near": _AROUND + "one word off the line from the nearest sure link before",
        "right_anchor_distance": _AROUND + "off the line from the nearest sure link after",
        "right_anchor_straight": _AROUND + "on the line from the nearest sure link after",
        "right_anchor_near": _AROUND + "one word off the line from the nearest sure link after",
    },
    "posterior": {
        **_told(posterior_names("sampled"), "sampler", _POSTERIORS),
        "sampled_previous": "sampler: the words before are linked",
        "sampled_next": "sampler: the words after are linked",
        "sampled_both_neighbours": "sampler: the words before and those after are linked",
    },
    "partner": {
        "partner": _PARTNER + "spelt alike, however well the words are known",
        "partner_unknown": _PARTNER + "spelt alike",
        "partner_best": _PARTNER + "spelt alike, as no rival is",
        "partner_elsewhere": _PARTNER + "a rival is spelt more alike, however well the words are known",
        "partner_elsewhere_unknown": _PARTNER + "a rival is spelt more alike",
        "partners_elsewhere": _PARTNER + "both words have rivals spelt more alike",
        "partner_not_near": _PARTNER + "spelt alike, but far apart",
        "source_unknown": _PARTNER + "the source word",
        "target_unknown": _PARTNER + "the target word",
        "both_unknown": _PARTNER + "both words",
        "both_unknown_near": _PARTNER + "both words, in like places",
    },
    "identity": {
        "source.<word>": "word: the source word is '<word>'",
        "target.<word>": "word: the target word is '<word>'",
    },
    "concat": {
        "source_<n>": "vectors: source word in dimension <n>",
        "target_<n>": "vectors: target word in dimension <n>",
    },
    "words": {
        "fertility": "several links: what this one costs, the word having a stronger one",
        "extra.<side>.always": "several links: for any <side> word",
        "extra.<side>.unexpected": "several links: the sampler does not expect them of the <side> word",
        "extra.<side>.apart": "several links: the sampler sees no two neighbours made by the <side> word",
        "extra.<side>.content": "several links: the <side> word is not a very frequent one",
        "extra.<side>.other.<word>": "several links: the <side> word is not '<word>'",
    },
}

_EXACT = {name: words for features in FEATURE_WORDS.values() for name, words in features.items()}
_FILLED = {"n": r"\d+", "side": "source|target", "word": ".+"}


def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of the names that one name with ``<n>``, ``<side>`` or ``<word>`` stands for."""
    parts = re.split(r"<(\w+)>", name)
    filled = (f"(?P<{each}>{_FILLED[each]})" if at % 2 else re.escape(each) for at, each in enumerate(parts))
    return re.compile("".join(filled))


_FAMILIES = [(_pattern(name), words) for name, words in _EXACT.items() if "<" in name]


def in_words(name: str) -> str:
    """Return what a feature is in plain words; of one that is not known, its name."""
    if name in _EXACT:
        return _EXACT[name]
    for pattern, words in _FAMILIES:
        found = pattern.fullmatch(name)
        for part, text in (found.groupdict() if found else {}).items():
            words = words.replace(f"<{part}>", text)
        if found:
            return words
    return name
