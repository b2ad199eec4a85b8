"""What words count in the score of a pair, and which share of them is linked."""

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import PairBlock, Resources
from align.features.block import Block
from align.model.alignments import Alignments, linked_share
from align.model.evidence import Evidence

# 1,000 words: shares of 0.9, 0.09 and 0.01.
WORDS = Vocabulary(["the", "house", "red"], [900, 90, 10])


def block(source, target, words=WORDS):
    """Pairs of these words; those above the vocabulary are blue, 1999 and so on."""
    unknown = ["blue", "1999", "green", "?"]
    corpus = Corpus(Sentences.from_lists(source), Sentences.from_lists(target))
    return Block.of(PairBlock(corpus, unknown, unknown), Resources(None, None, None, words, words))


def of_edges(pairs, edges, owed=0.25):
    """Evidence for edges; the other side speaks neither for the words nor against them."""
    sides = (np.full(len(side.tokens), owed, dtype=np.float32) for side in (pairs.source, pairs.target))
    return Evidence(np.array(edges, dtype=np.float32), *sides)


def shares(pairs, linked, trust, known):
    mass, weight = linked_share(pairs, tuple(np.array(linked).T), np.array(trust), known)
    return mass, weight


def expected(words):
    """Mass and weight of (weight, trust, evidence, owed); of a kind the weight is a function of the rest."""
    mass = total = 0.0
    for weight, trust, partner, owed in words:
        translated = (0.8 * (trust + partner) / 2 + 0.2 * (owed - 0.25)) / 0.95
        own = weight(max(translated, 0.0)) if callable(weight) else weight
        mass, total = mass + own * translated, total + own
    return mass, total


def number(translated):
    """Of a pair of three words a side."""
    return 1.5 * translated + (3 + 150 / 6) * (1 - translated)


def sign(translated):
    return translated * 2 / 3 + 2 * (1 - translated)


THE, HOUSE, RED = 0.01 / 0.91, 0.1, 0.5


def test_the_score_is_the_weighted_share_of_words_with_a_translation():
    """Frequent words count less; a word with two links counts once, as far as the better is trusted."""
    pairs = block([[0, 1], [2, 2, 3]], [[1, 0], [2]])
    linked = [(0, 1), (1, 0), (2, 2), (3, 2)]
    # the - house 0.4, house - house 1, red - red 0.2
    known = of_edges(pairs, [0.4, 0.0, 1.0, 0.0, 0.2, 0.0, 0.0])
    known.target[:] = [0.9, 0.5, 0.0]
    mass, weight = shares(pairs, linked, [0.8, 0.5, 0.9, 0.6], known)
    first = expected(
        [(THE, 0.8, 0.4, 0.25), (HOUSE, 0.5, 1.0, 0.25), (HOUSE, 0.5, 1.0, 0.9), (THE, 0.8, 0.0, 0.5)]
    )
    second = expected(
        [(RED, 0.9, 0.2, 0.25), (RED, 0.6, 0.0, 0.25), (1.0, 0.0, 0.0, 0.25), (RED, 0.9, 0.2, 0.0)]
    )
    # red red blue has 10 letters, red 3; both sides of the text as many.
    length = np.exp(0.4 - np.log(13 / 6))
    assert mass.tolist() == pytest.approx([first[0], second[0] * length])
    assert weight.tolist() == pytest.approx([first[1], second[1]])


def test_numbers_and_signs_count_more_where_they_are_lost():
    pairs = block([[2, 4, 6], [2, 4, 6]], [[2, 4, 6], [2, 4, 6]])
    known = of_edges(pairs, np.concatenate([np.eye(3).ravel(), [1], np.zeros(8)]))
    # What the other side says of a number is whether it stands there.
    known.source[:] = [1, 0, 1, 1, 1, 0]
    linked = [(0, 0), (1, 1), (2, 2), (3, 3)]
    mass, weight = shares(pairs, linked, [1.0, 1.0, 1.0, 1.0], known)
    found = [
        (RED, 1, 1, 1),
        (number, 1, 1, 1),
        (sign, 1, 1, 1),
        (RED, 1, 1, 0.25),
        (number, 1, 1, 1),
        (sign, 1, 1, 0.25),
    ]
    lost = [
        (RED, 1, 1, 1),
        (number, 0, 0, 0),
        (sign, 0, 0, 0),
        (RED, 1, 1, 0.25),
        (number, 0, 0, 0),
        (sign, 0, 0, 0.25),
    ]
    sums = [expected(found), expected(lost)]
    assert mass.tolist() == pytest.approx([each[0] for each in sums])
    assert weight.tolist() == pytest.approx([each[1] for each in sums])
    assert weight[1] > 60


def test_sides_of_other_lengths_than_in_the_text_lower_the_score():
    """How many letters one side has to a letter of the other is that of the text."""
    long = Vocabulary(["the" * 3, "house" * 3, "red" * 3], [900, 90, 10])
    corpus = Corpus(Sentences.from_lists([[1]]), Sentences.from_lists([[1]]))
    for words, ratio in ((WORDS, 1), (long, 3), (Vocabulary([], []), 1)):
        given = Resources(None, None, None, WORDS, words)
        assert given.letters_ratio == pytest.approx(ratio)
        if len(words):
            pairs = Block.of(PairBlock(corpus), given)
            mass, weight = shares(pairs, [(0, 0)], [1.0], of_edges(pairs, [1.0], 1.0))
            assert (mass[0], weight[0]) == pytest.approx((0.2, 0.2))
    longer = block([[1]], [[1] * 10])
    mass, weight = shares(longer, [(0, 0)], [1.0], of_edges(longer, [1.0] * 10, 1.0))
    assert mass[0] / weight[0] < 0.3


def test_words_that_others_speak_against_have_no_score():
    pairs = block([[1]], [[2]])
    mass, weight = shares(pairs, [(0, 0)], [0.01], of_edges(pairs, [0.0], 0.0))
    assert mass[0] < 0 < weight[0]


def test_without_links_there_is_no_score():
    pairs = block([[0, 1], [2]], [[0], [2]])
    mass, weight = shares(pairs, [(2, 1)], [0.5], of_edges(pairs, [1, 1, 1], 1.0))
    assert mass[0] == 0
    assert mass[1] > 0
    assert (weight > 0).all()
    assert (
        linked_share(block([], []), (np.zeros(0, np.int64),) * 2, np.zeros(0), of_edges(block([], []), []))[
            0
        ].tolist()
        == []
    )


def test_scores_are_shares_and_nothing_has_none():
    none = np.zeros(0, dtype=np.int64)
    found = Alignments.build(
        *(none, none, none, none * 1.0, none * 1.0),
        np.array([0.0, 1.0, 2.0, -0.1]),
        np.array([0.0, 4.0, 2.0, 1.0]),
    )
    assert found.sentence_scores().tolist() == [0.0, 0.25, 1.0, 0.0]


@pytest.mark.parametrize("count", [1, 5, 300])
@pytest.mark.parametrize("sorted_already", [False, True])
def test_links_are_sorted_and_the_best_of_equal_ones_stays(count, sorted_already):
    generator = np.random.default_rng(count)
    pairs, source, target = generator.integers(0, 6, (3, count)).astype(np.int32)
    score, confidence = generator.normal(size=count), generator.random(count)
    if sorted_already:
        keys = np.unique(np.stack([pairs, source, target], axis=1), axis=0)
        pairs, source, target = keys.T
        score, confidence = score[: len(keys)], confidence[: len(keys)]
    best = {}
    for link in zip(pairs.tolist(), source.tolist(), target.tolist(), score, confidence, strict=True):
        if link[:3] not in best or link[3] > best[link[:3]][0]:
            best[link[:3]] = link[3:]
    expected = sorted(best)
    found = Alignments.build(pairs.astype(np.int64), source, target, score, confidence, *np.ones((2, 7)))
    assert np.diff(found.offsets).tolist() == [sum(link[0] == pair for link in expected) for pair in range(7)]
    assert [link for pair in range(7) for link in found.pairs(pair)] == [link[1:] for link in expected]
    assert list(zip(found.score, found.confidence, strict=True)) == [best[link] for link in expected]
    assert (found.source.dtype, found.target.dtype) == (np.int32, np.int32)


def test_words_that_all_sentences_have_make_no_translation():
    pairs = block([[0, 2, 1], [0, 2, 1]], [[0, 2, 1], [0, 3, 5]])
    linked = [(0, 0), (1, 1), (2, 2), (3, 3)]
    known = np.zeros(18)
    known[[0, 4, 8, 9]] = 1.0
    mass, weight = shares(pairs, linked, np.ones(4), of_edges(pairs, known, 0.25))
    assert mass[0] / weight[0] == pytest.approx(0.8 / 0.95)
    assert mass[1] / weight[1] < 0.05
