"""Vocabularies: the same words, ids and code points, kept as objects or as one text."""

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.vocabulary import Vocabulary, code_points
from align.text.words import WordTable

WORDS = ["the", "été", "𝄞", "a b", "\r", "\u2028", "x" * 300, "年", "’"]


def stored(folder, words):
    path = folder / "words.tsv"
    Vocabulary(words, np.arange(len(words), 0, -1)).save(path)
    return path


@pytest.mark.parametrize("words", [[], WORDS[:1], WORDS])
def test_a_loaded_one_is_the_stored_one(tmp_path, words):
    found = Vocabulary.load(stored(tmp_path, words))
    assert len(found) == len(words)
    assert found.words == words
    assert found.words is found.words
    assert found.index == {word: place for place, word in enumerate(words)}
    assert found.counts.tolist() == list(range(len(words), 0, -1))


@pytest.mark.parametrize("words", [[], WORDS[:1], WORDS])
@pytest.mark.parametrize("asked", [False, True])
def test_code_points_are_those_of_the_words(tmp_path, words, asked):
    found = Vocabulary.load(stored(tmp_path, words))
    if asked:
        assert found.words == words
    for given in (found, Vocabulary(words, found.counts)):
        for one, other in zip(given.code_points(), code_points(words), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_the_table_of_spellings_needs_no_object_for_each_word(tmp_path):
    found = Vocabulary.load(stored(tmp_path, WORDS))
    table, expected = WordTable.of_codes(*found.code_points()), WordTable.of(WORDS)
    for name in ("codes", "offsets", "folded", "folded_offsets", "kinds"):
        np.testing.assert_array_equal(getattr(table, name), getattr(expected, name))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\t2\na\t1\n", "listed twice"),
        ("a\t2\nb\n", ":2: not 'word TAB count'"),
        ("a\t2\n\t1\n", ":2: not 'word TAB count'"),
        ("a\t2\nb\t1", ":2: cut off"),
    ],
)
def test_a_damaged_one_is_refused(tmp_path, text, told):
    path = tmp_path / "words.tsv"
    path.write_text(text, encoding="utf-8", newline="\n")
    with pytest.raises(InputError, match=told):
        Vocabulary.load(path)
