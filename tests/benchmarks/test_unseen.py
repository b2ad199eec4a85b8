"""Pairs with words that a model does not know: how they are made, judged and learnt from."""

import numpy as np
import pytest

from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import Resources
from align.links import Link
from align.model.aligner import Aligner
from align.problems.labels import Labels
from align.text.numbers import normal_number
from benchmarks import unseen
from benchmarks.hidden import hidden
from benchmarks.unseen import OTHER, SAME, Made, pairs_of, shares, translations
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


def exchanged(block):
    """Which pairs have words that were none of theirs."""
    strange = np.array([False] * 50 + [not word.startswith("w") for word in block.unknown_source])
    return strange[np.asarray(block.corpus.source.ids)].reshape(len(block.corpus), -1).any(axis=1)


class TestHidden:
    def given(self, count=200):
        """Pairs of words of which each knows its place; all but two of each are linked, two words twice."""
        generator = np.random.default_rng(0)
        words = [f"w{number}" for number in range(50)]
        ids = [generator.permutation(50)[:8].tolist() for _ in range(count)]
        corpus = Corpus(*(Sentences.from_lists(ids) for _ in range(2)))
        counts = np.bincount(np.concatenate(ids), minlength=50)
        counts[7] = 1
        vocabularies = Vocabulary(words, counts), Vocabulary(words, counts)
        labels = Labels.from_lists([[Link(j, j) for j in range(6)] + [Link(4, 5)]] * count)
        return corpus, labels, Resources(None, None, None, *vocabularies)

    def test_links_follow_their_words(self):
        corpus, labels, resources = self.given()
        block, moved = hidden(corpus, labels, resources, seed=1)
        made = exchanged(block)
        assert 0.35 < made.mean() < 0.65
        assert block.posteriors is None
        assert len(moved.source) == len(labels.source)
        for pair in range(len(corpus)):
            own = slice(moved.offsets[pair], moved.offsets[pair + 1])
            links = list(zip(moved.source[own].tolist(), moved.target[own].tolist(), strict=True))
            assert links == sorted(links)
            assert {(4, 4), (4, 5), (5, 5)} <= set(links)
            if not made[pair]:
                assert len(links) == 7
                assert {j for j, k in links if j == k} == set(range(6))
        found = [
            (j, k)
            for pair in np.flatnonzero(made).tolist()
            for j, k in zip(
                moved.source[moved.offsets[pair] : moved.offsets[pair + 1]].tolist(),
                moved.target[moved.offsets[pair] : moved.offsets[pair + 1]].tolist(),
                strict=True,
            )
            if j < 4
        ]
        assert np.mean([j != k for j, k in found]) > 0.3

    def test_rare_words_and_some_others_are_unknown(self):
        corpus, labels, resources = self.given()
        block, _ = hidden(corpus, labels, resources, seed=1)
        made = exchanged(block)
        before = np.asarray(corpus.source.ids).reshape(-1, 8)[~made]
        after = np.asarray(block.corpus.source.ids).reshape(-1, 8)[~made]
        gone = after >= 50
        assert gone[before == 7].all()
        assert 0.1 < gone[before != 7].mean() < 0.2
        assert (after[~gone] == before[~gone]).all()
        named = [block.unknown_source[number - 50] for number in after[gone].tolist()]
        assert named == [f"w{number}" for number in before[gone].tolist()]
        assert (np.asarray(corpus.source.ids) < 50).all()

    def test_a_seed_decides(self):
        given = self.given(20)
        first, second, third = (hidden(*given, seed=seed) for seed in (3, 3, 4))
        assert first[0].unknown_target == second[0].unknown_target
        assert np.array_equal(first[0].corpus.source.ids, second[0].corpus.source.ids)
        assert not np.array_equal(first[0].corpus.source.ids, third[0].corpus.source.ids)
