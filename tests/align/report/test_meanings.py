"""Every feature has plain words, and no words are left of one that is gone."""

import re

import pytest

from align.features import BIAS, GROUPS, WORD_GROUPS, word_feature_names
from align.report.meanings import FEATURE_WORDS, GROUP_WORDS, in_words
from tests.align.features.test_features import resources


def names_of(group):
    """Return the names of a group, as the functions of the code give them."""
    if group == "bias":
        return [BIAS]
    if group == "words":
        return ["fertility", *word_feature_names(tuple(WORD_GROUPS), resources())]
    return GROUPS[group].names(resources())


def test_every_group_has_its_words():
    assert set(FEATURE_WORDS) == set(GROUP_WORDS) == {"bias", "words", *GROUPS}


@pytest.mark.parametrize("group", FEATURE_WORDS)
def test_every_feature_has_its_words(group):
    unused = set(FEATURE_WORDS[group])
    for name in names_of(group):
        words = in_words(name)
        assert words != name
        assert "<" not in words, f"{name}: {words}"
        unused -= {each for each in unused if re.fullmatch(re.sub("<[a-z]+>", ".+", re.escape(each)), name)}
    assert not unused


def test_words_differ_where_features_do():
    words = [each for features in FEATURE_WORDS.values() for each in features.values()]
    assert len(set(words)) == len(words)


def test_what_is_put_in():
    assert in_words("source.the") == "word: the source word is 'the'"
    assert in_words("extra.target.content") == "several links: the target word is not a very frequent one"
    assert in_words("extra.source.other.a.b") == "several links: the source word is not 'a.b'"
    assert in_words("of_my_own") == "of_my_own"
