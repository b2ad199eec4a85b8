"""What words count in the score of a pair, and which share of them is linked."""

import numpy as np
import pytest

from align.blocklinks import BlockLinks, linked_share, word_weights
from align.corpus import Corpus, Sentences
from align.vocabulary import Vocabulary

# 1,000 words: shares of 0.9, 0.09 and 0.01.
WORDS = Vocabulary(["the", "house", "red"], [900, 90, 10])


def test_frequent_words_count_less():
    weights = word_weights(np.array([0, 1, 2, 3, 99]), WORDS)
    assert weights.tolist() == pytest.approx([0.01 / 0.91, 0.1, 0.5, 1.0, 1.0])
    assert word_weights(np.array([0, 1]), Vocabulary([], [])).tolist() == [1.0, 1.0]
    assert word_weights(np.zeros(0, dtype=np.int32), WORDS).tolist() == []


def test_the_score_is_the_weighted_share_of_linked_words():
    corpus = Corpus(Sentences.from_lists([[0, 1], [2, 2, 3]]), Sentences.from_lists([[1, 0], [2]]))
    # the - the 0.8, house - house 0.5; in the second pair red - red 0.9 and red - red 0.6
    linked = np.array([0, 1, 2, 3]), np.array([1, 0, 2, 2])
    mass, weight = linked_share(corpus, linked, np.array([0.8, 0.5, 0.9, 0.6]), (WORDS, WORDS))
    the = 0.01 / 0.91
    assert weight.tolist() == pytest.approx([2 * (the + 0.1), 2.5])
    # A word with two links counts once, as far as the better is trusted.
    assert mass.tolist() == pytest.approx([2 * (0.8 * the + 0.5 * 0.1), 0.5 * (0.9 + 0.6 + 0.9)])


def test_scores_are_shares_and_nothing_has_none():
    none = np.zeros(0, dtype=np.int64)
    found = BlockLinks.build(
        none, none, none, none * 1.0, none * 1.0, np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 2.0])
    )
    assert found.sentence_scores().tolist() == [0.0, 0.25, 1.0]


def test_words_that_all_sentences_have_make_no_translation():
    corpus = Corpus(
        Sentences.from_lists([[0, 2, 1], [0, 2, 1]]), Sentences.from_lists([[0, 2, 1], [0, 3, 4]])
    )
    linked = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3])
    mass, weight = linked_share(corpus, linked, np.ones(4), (WORDS, WORDS))
    assert mass[0] / weight[0] == pytest.approx(1)
    assert mass[1] / weight[1] < 0.05
