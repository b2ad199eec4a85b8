"""Analysis tokens: what stands behind the words people see."""

from collections import Counter

import pytest

from align.core.errors import InputError
from align.text.contractions import CONTEXTS, CONTRACTIONS
from align.text.processor import TextProcessor
from align.text.profiles import Profile


def analysis(language, text):
    return " ".join(TextProcessor(language, profile="expand").process(text).analysis)


EXPANDED = """
fr | C'est l'avis du chef des élus. | ce est le avis de le chef de les élus .
fr | Il parle au maire, aux élus. | il parle à le maire , à les élus .
fr | J'ai dit qu'il n'y a rien d'autre. | je ai dit que il ne y a rien de autre .
fr | S'il m'aime, t'aime-t-on ? | se il me aime , te aime on ?
fr | jusqu'au bout lorsqu'on puisqu'il | jusque à le bout lorsque on puisque il
fr | quelqu'un duquel auxquelles | quelque un de lequel à lesquelles
fr | aujourd’hui | aujourd' hui
# The t of an inversion is no word; a compound with au- is left alone.
fr | Y a-t-il, va-t-elle, peut-il | y a il , va elle , peut - il
fr | au-dessus du toit, au-delà | au - dessus de le toit , au - delà
fr | 9 p. 100 de l'eau, 5% | 9 % de le eau , 5 %
fr | la p. 12 | la p. 12
fr | Lloyd's | lloyd 's
en | I don't, can't and won't. | i do not , cannot and will not .
en | It's what we've said they're | it is what we have said they are
en | He'd say I'm sure you'll | he would say i am sure you will
en | Canada's, women's, let's; members' | canada 's , women 's , let 's ; members '
en | 9% of “it” | 9 per cent of " it "
en | o'clock O'Neill's | o'clock o'neill 's
de | Zum Haus im Wald | zu dem haus in dem wald
it | della casa nel parco, dell'anno | di la casa in il parco , di lo anno
es | del rey al mar | de el rey a el mar
pt | da casa no mar, pelos | de a casa em o mar , por os
el | στην πόλη | σε την πόλη
sv | i dag | i dag
"""


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [row.split(" | ") for row in EXPANDED.strip().split("\n") if row[0] != "#"],
)
def test_expand(language, text, expected):
    assert analysis(language, text) == expected


def test_expand_parts_what_was_given_as_one_token():
    found = TextProcessor("fr", profile="expand").process_tokens(
        ["peut-être", "d'après-guerre", "70%", "au-delà"]
    )
    assert " ".join(found.analysis) == "peut - être d'après - guerre 70 % au - delà"
    assert found.parents == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3]


@pytest.mark.parametrize("word", ["http://a-b.org", "a-b@x.org", "--", "-", "www.a-b.org"])
def test_expand_leaves_addresses_and_dashes(word):
    assert TextProcessor("en", profile="expand").process_tokens([word]).analysis == [word]


def test_parents_lead_back_to_the_surface():
    found = TextProcessor("fr", profile="expand").process("Va-t-il du port ?")
    assert found.surface == ["Va", "-", "t", "-", "il", "du", "port", "?"]
    assert found.analysis == ["va", "il", "de", "le", "port", "?"]
    assert found.parents == [0, 4, 5, 5, 6, 7]


def test_plain_is_the_keys():
    found = TextProcessor("fr").process("C’est l’avis DU chef, va-t-il ?")
    assert found.analysis == ["c'", "est", "l'", "avis", "du", "chef", ",", "va", "-", "t", "-", "il", "?"]
    assert found.parents == list(range(13))


def test_text_in_the_convention_already_is_unchanged():
    lines = [
        ("fr", "monsieur le président , ce est à le ministre de les transports que je ne ai pas écrit ."),
        ("fr", "respectera il aujourd' hui la motion no 1 , peut - être à 70 % ? ( M. Roy )"),
        ("fr", "au - dessus de le toit , $ 98,355 . a ) 2.8c . le1er"),
        ("en", "Mr. Speaker , the hon. member 's motion : let 's think -LRB- No. 1 -RRB- ."),
        ("en", "'' it is not 70 per cent , '' they say -- at 2 p.m. in St. John 's"),
    ]
    for language, line in lines:
        words = line.split(" ")
        found = TextProcessor(language, profile="expand").process_tokens(words)
        assert found.surface == words
        assert found.parents == list(range(len(words)))


@pytest.mark.parametrize("side", ["en", "fr"])
def test_the_hansards_gold_is_unchanged(side, real_data):
    processor = TextProcessor(side, profile="expand")
    with open(real_data(f"gold/hansards-test.{side}"), encoding="utf-8", newline="\n") as lines:
        for line in lines:
            words = line.rstrip("\n").split(" ")
            assert processor.process_tokens(words).parents == list(range(len(words)))


@pytest.mark.parametrize(("side", "share"), [("en", 0.03), ("fr", 0.04)])
def test_raw_hansards_become_the_gold_s_words(side, share, real_data):
    """Words of the gold that the first 10,000 lines of the corpus lack are rare words, not conventions."""
    import lzma

    processor = TextProcessor(side, profile="expand")
    known = Counter()
    with lzma.open(real_data(f"hansards/hansards.{side}.xz"), "rt", encoding="utf-8", newline="\n") as lines:
        for line, _ in zip(lines, range(10_000), strict=False):
            known.update(processor.process(line.rstrip("\n")).analysis)
    with open(real_data(f"gold/hansards-test.{side}"), encoding="utf-8", newline="\n") as lines:
        gold = Counter(word for line in lines for word in processor.process_tokens(line.split()).analysis)
    missing = {word: count for word, count in gold.items() if word not in known}
    assert sum(missing.values()) < share * gold.total()
    # What is frequent in the gold is there, but for exclamations and a dash the corpus writes otherwise.
    assert {word for word, count in missing.items() if count >= 4} <= {"--", "oh", "bravo"}


@pytest.mark.parametrize("language", sorted(CONTRACTIONS))
def test_the_tables_are_closed(language):
    """The words a contraction stands for are no contractions: expanding twice changes nothing."""
    profile = Profile(language, "expand")
    for key, words in CONTRACTIONS[language].items():
        assert key == key.lower()
        assert all(words)
        again = [each for word in words for each in profile.words(word)]
        assert tuple(again) == words, key


@pytest.mark.parametrize("language", sorted(CONTEXTS))
def test_the_rules_in_context_have_a_reading_for_each_place(language):
    for rule in CONTEXTS[language]:
        assert len(rule.keys) == len(rule.readings)
        assert any(reading is not None for reading in rule.readings)


def test_an_unknown_profile_is_refused():
    with pytest.raises(InputError, match=r"profile 'expanded': no such profile; choose one of plain, expand"):
        Profile("fr", "expanded")
