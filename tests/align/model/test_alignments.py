"""What words count in the score of a pair, and which share of them is linked."""

import numpy as np
import pytest

from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import PairBlock, Resources
from align.features.block import Block
from align.model.alignments import Alignments, linked_share, word_weights

# 1,000 words: shares of 0.9, 0.09 and 0.01.
WORDS = Vocabulary(["the", "house", "red"], [900, 90, 10])


def block(source, target, words=WORDS):
    """Pairs of these words; those above the vocabulary are blue, 1999 and so on."""
    unknown = ["blue", "1999", "green"]
    corpus = Corpus(Sentences.from_lists(source), Sentences.from_lists(target))
    return Block.of(PairBlock(corpus, unknown, unknown), Resources(None, None, None, words, words))


def test_frequent_words_count_less_and_numbers_more():
    source, target = word_weights(block([[0, 1, 2], [3, 5]], [[4], []]))
    assert source.tolist() == pytest.approx([0.01 / 0.91, 0.1, 0.5, 1.0, 1.0])
    assert target.tolist() == [6.0]
    assert word_weights(block([[0, 2]], [[]], Vocabulary([], [])))[0].tolist() == [1.0, 1.0]
    assert [each.tolist() for each in word_weights(block([], []))] == [[], []]


def test_the_score_is_the_weighted_share_of_words_with_a_translation():
    pairs = block([[0, 1], [2, 2, 3]], [[1, 0], [2]])
    # the - the 0.8, house - house 0.5; in the second pair red - red 0.9 and red - red 0.6
    linked = np.array([0, 1, 2, 3]), np.array([1, 0, 2, 2])
    # Of every edge half of what is known there counts: the - house 0.4, house - house 1, red - red 0.2
    known = np.array([0.4, 0.0, 1.0, 0.0, 0.2, 0.0, 0.0], dtype=np.float32)
    mass, weight = linked_share(pairs, linked, np.array([0.8, 0.5, 0.9, 0.6]), known)
    the = 0.01 / 0.91
    assert weight.tolist() == pytest.approx([2 * (the + 0.1), 2.5])
    # A word with two links counts once, as far as the better is trusted.
    of_links = [2 * (0.8 * the + 0.5 * 0.1), 0.5 * (0.9 + 0.6 + 0.9)]
    of_words = [the * 0.4 + 0.1 * 1.0 + 0.1 * 1.0, 0.5 * (0.2 + 0.2)]
    assert mass.tolist() == pytest.approx(
        [(one + other) / 2 for one, other in zip(of_links, of_words, strict=True)]
    )


def test_without_links_there_is_no_score():
    none = np.zeros(0, dtype=np.int64)
    mass, weight = linked_share(
        block([[0, 1]], [[0]]), (none, none), np.zeros(0), np.ones(2, dtype=np.float32)
    )
    assert mass.tolist() == [0.0]
    assert weight[0] > 0


def test_scores_are_shares_and_nothing_has_none():
    none = np.zeros(0, dtype=np.int64)
    found = Alignments.build(
        none, none, none, none * 1.0, none * 1.0, np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 2.0])
    )
    assert found.sentence_scores().tolist() == [0.0, 0.25, 1.0]


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
    linked = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3])
    known = np.zeros(18, dtype=np.float32)
    known[[0, 4, 8, 9]] = 1.0
    mass, weight = linked_share(pairs, linked, np.ones(4), known)
    assert mass[0] / weight[0] == pytest.approx(1)
    assert mass[1] / weight[1] < 0.05
