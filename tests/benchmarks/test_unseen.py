"""Pairs with words that a model does not know: how they are made and judged."""

import pytest

from align.core.errors import InputError
from align.learning.made_words import OTHER, SAME
from align.model.aligner import Aligner
from align.text.numbers import normal_number
from benchmarks import unseen
from benchmarks.unseen import Made, pairs_of, shares, translations
from tests.align import toy


@pytest.fixture(scope="module")
def aligner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    toy.toy_model().save(folder)
    return Aligner.load(folder)


def test_ordinary_words_are_translations(aligner):
    found = dict(translations(aligner))
    assert found["house"] == "maison"
    assert found.items() <= dict(toy.PAIRS).items()
    assert all(word.isalpha() for word in found)


@pytest.mark.parametrize("kinds", [SAME, OTHER])
def test_pairs_hold_unknown_words_at_the_same_places_in_another_order(aligner, kinds, monkeypatch):
    monkeypatch.setattr(unseen, "_LEAST", 3)
    made = pairs_of(aligner, kinds, 60, 0)
    assert made == pairs_of(aligner, kinds, 60, 0)
    assert {pair.kind for pair in made} == {*kinds, "mixed"}
    known = dict(translations(aligner))
    for pair in made:
        places = [{j for j, _ in pair.own}, {k for _, k in pair.own}]
        assert places[0] == places[1]
        assert 2 <= len(pair.own) <= 6
        assert any(j != k for j, k in pair.own)
        assert [side.surface for side in aligner.tokens(*pair.text)] == [list(pair.source), list(pair.target)]
        for j, word in enumerate(pair.source):
            assert j in places[0] or pair.target[j] == known[word]
        for j, k in pair.own:
            words = pair.source[j], pair.target[k]
            assert (words[0] == words[1]) == (kinds is SAME)
            if pair.kind in ("number", "format"):
                assert normal_number(words[0]) == normal_number(words[1])


def test_a_model_of_few_words_is_refused(aligner):
    with pytest.raises(InputError, match="words well; give one of more text"):
        pairs_of(aligner, SAME, 5, 0)


def test_words_count_that_are_linked_to_their_own_and_to_nothing_else():
    pair = Made("name", ("a", "b", "c"), ("c", "b", "a"), ((0, 2), (2, 0)))
    links = [[(0, 2), (1, 1), (2, 0)], [(0, 2), (0, 1), (2, 0)], [(2, 0)], []]
    found = shares([pair] * 4, links)
    assert found == {"words": 4 / 8, "pairs": 1 / 4, "name": 4 / 8}
