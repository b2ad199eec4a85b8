"""Vocabularies: the same words, ids and code points, kept as objects or as one text."""

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.vocabulary import Vocabulary, code_points
from align.text.words import VocabularyTable, WordTable

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
        ("a\t2\n\n", ":2: not 'word TAB count'"),
        ("a\nb\t2\t1\n", ":1: not 'word TAB count'"),
        ("a\t2\nb\t\n", ":2: not 'word TAB count'"),
        ("a\t2\nb\t-1\n", ":2: not 'word TAB count'"),
        ("a\t2\nb\t1/\n", ":2: not 'word TAB count'"),
        (f"a\t{10**18}\n", ":1: not 'word TAB count'"),
        ("\n", ":1: not 'word TAB count'"),
    ],
)
def test_a_damaged_one_is_refused(tmp_path, text, told):
    path = tmp_path / "words.tsv"
    path.write_text(text, encoding="utf-8", newline="\n")
    with pytest.raises(InputError, match=told):
        Vocabulary.load(path)


def test_the_last_tab_of_a_line_parts_word_and_count(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text(f"a\tb\t{10**18 - 1}\n7\t0070\n", encoding="utf-8", newline="\n")
    found = Vocabulary.load(path)
    assert (found.words, found.counts.tolist()) == (["a\tb", "7"], [10**18 - 1, 70])
    assert found.counts.dtype == np.int64


def test_words_spelt_one_by_one_are_those_of_the_whole_vocabulary():
    words = [*WORDS, "1,000.50", "Καλό", "3e", "\u0301"] * 40
    vocabulary = Vocabulary([f"{word}{place}" for place, word in enumerate(words)], np.ones(len(words)))
    table, whole = VocabularyTable(vocabulary), WordTable.of(vocabulary.words)
    for chosen in ([5, 2, 2], [], [0], list(range(len(words))), [7, 1]):
        found, expected = (
            table.take(np.array(chosen, dtype=np.int32)),
            whole.take(np.array(chosen, dtype=int)),
        )
        for name in ("codes", "offsets", "folded", "folded_offsets", "kinds"):
            one, other = getattr(found, name), getattr(expected, name)
            assert (one.dtype, one.flags.writeable) == (other.dtype, other.flags.writeable), name
            np.testing.assert_array_equal(one, other)
    assert "whole" in vars(table)
