"""Labels are matchings plus links that cost nothing, whatever the gold looks like."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from align.data.corpus import Corpus, Sentences
from align.learning.gold import from_gold, largest_matching, largest_set
from align.links import Link
from tests.align.problems.test_labels import pairs_of


def corpus_of(*parents):
    """A pair for each two lists of parents; the ids do not matter."""
    sides = [
        Sentences.from_lists([[0] * len(pair[side]) for pair in parents], [pair[side] for pair in parents])
        for side in (0, 1)
    ]
    return Corpus(*sides)


def test_a_gold_that_is_a_matching_stays_as_it_is():
    block = corpus_of(([0, 1], [0, 1, 2]), ([0], [0]))
    made = from_gold([[Link(0, 0), Link(1, 2), Link(1, 1, False)], []], block)
    assert pairs_of(made) == [[(0, 0, True), (1, 1, False), (1, 2, True)], []]


def test_the_largest_part_of_many_to_many_links_is_kept_and_the_rest_is_free():
    # 1 is linked to all three; the largest matching needs 0-0 and leaves 1-0 out
    block = corpus_of(([0, 1], [0, 1, 2]))
    made = from_gold([[Link(0, 0), Link(1, 0), Link(1, 1), Link(1, 2)]], block)
    assert pairs_of(made)[0][0] == (0, 0, True)
    assert made.counts().tolist() == [2]
    assert len(made.source) == 4


def test_similarity_decides_between_equally_large_matchings():
    block = corpus_of(([0, 1], [0, 1, 2]))
    links = [[Link(1, 0), Link(1, 1), Link(1, 2)]]
    assert pairs_of(from_gold(links, block))[0][1] == (1, 1, False)
    assert pairs_of(from_gold(links, block))[0][2] == (1, 2, True)  # nearest to the diagonal
    for best in range(3):
        similarity = np.zeros(6)
        similarity[3 + best] = 0.5
        kept = [k for _, k, sure in pairs_of(from_gold(links, block, similarity=similarity))[0] if sure]
        assert kept == [best]


def test_surface_links_become_links_of_the_analysis_tokens():
    # "du chat" (de + le, chat) and "of the cat": the annotator linked du with both words
    block = corpus_of(([0, 0, 1], [0, 1, 2]))
    made = from_gold([[Link(0, 0), Link(0, 1), Link(1, 2)]], block)
    assert pairs_of(made) == [[(0, 0, True), (0, 1, False), (1, 0, False), (1, 1, True), (2, 2, True)]]
    # linked with one word: one of its tokens keeps the link, the other's is free
    one = pairs_of(from_gold([[Link(0, 0), Link(1, 2)]], block))[0]
    assert sum(sure for j, k, sure in one if k == 0) == 1
    assert len(one) == 3
    # possible links: all combinations, all free
    assert pairs_of(from_gold([[Link(0, 1, False)]], block)) == [[(0, 1, False), (1, 1, False)]]


def test_two_contractions_keep_both_links():
    block = corpus_of(([0, 0], [0, 0]))
    similarity = np.array([0.1, 0.9, 0.9, 0.1])
    assert [
        cell for *cell, sure in pairs_of(from_gold([[Link(0, 0)]], block, similarity=similarity))[0] if sure
    ] == [
        [0, 1],
        [1, 0],
    ]


def sure_of(labels):
    return [(j, k) for j, k, sure in pairs_of(labels)[0] if sure]


def test_with_several_links_a_word_the_gold_is_kept_as_far_as_it_goes():
    block = corpus_of(([0, 1], [0, 1, 2]))
    links = [[Link(0, 0), Link(1, 0), Link(1, 1), Link(1, 2)]]
    assert sure_of(from_gold(links, block, max_fertility=3)) == [(0, 0), (1, 0), (1, 1), (1, 2)]
    made = from_gold(links, block, max_fertility=2)
    assert len(sure_of(made)) == 3
    assert (0, 0) in sure_of(made)
    assert len(made.source) == 4
    for first, second in ((0, 1), (0, 2), (1, 2)):  # word 1 keeps the two it is max_fertility similar to
        similarity = np.zeros(6)
        similarity[[3 + first, 3 + second]] = 0.5
        kept = sure_of(from_gold(links, block, similarity=similarity, max_fertility=2))
        assert kept == [(0, 0), (1, first), (1, second)]
    assert sure_of(from_gold([[], []], corpus_of(([0], [0]), ([], [])), max_fertility=2)) == []


def test_parts_of_a_split_word_are_not_taken_for_words_with_two_links():
    # "du chat" (de + le, chat): linked with "of" alone, or with "of the"
    block = corpus_of(([0, 0, 1], [0, 1, 2]))
    for max_fertility in (2, 3):
        one = sure_of(from_gold([[Link(0, 0), Link(1, 2)]], block, max_fertility=max_fertility))
        assert len(one) == 2
        assert (2, 2) in one
        two = sure_of(from_gold([[Link(0, 0), Link(0, 1), Link(1, 2)]], block, max_fertility=max_fertility))
        assert two == [(0, 0), (1, 1), (2, 2)]
    # with three words: one of the parts has two links, none has three
    block = corpus_of(([0, 0], [0, 1, 2]))
    three = sure_of(from_gold([[Link(0, 0), Link(0, 1), Link(0, 2)]], block, max_fertility=2))
    assert sorted(k for _, k in three) == [0, 1, 2]
    assert sorted(np.bincount([j for j, _ in three])) == [1, 2]


def test_links_that_nothing_speaks_for_can_be_left_free():
    block = corpus_of(([0, 1], [0, 1, 2]))
    links = [[Link(0, 0), Link(0, 1), Link(1, 0), Link(1, 1), Link(1, 2)]]
    probability = np.array([0, 0, 0, 0, 0, 0.2])
    assert len(sure_of(from_gold(links, block, max_fertility=3))) == 5
    assert len(sure_of(from_gold(links, block, max_fertility=3, probability=probability))) == 5
    # the matching is 0-0 and 1-2: the target word 1 is alone, 1-0 links words that are not
    assert sure_of(from_gold(links, block, max_fertility=3, least=0.1)) == [(0, 0), (0, 1), (1, 1), (1, 2)]
    for least, expected in ((0.2, [(0, 0), (1, 1), (1, 2)]), (0.3, [(0, 0), (1, 1)])):
        similarity = np.array([1, 0, 0, 0, 1, 0.0])
        made = from_gold(
            links, block, max_fertility=3, least=least, probability=probability, similarity=similarity
        )
        assert sure_of(made) == expected
        assert len(made.source) == 5
    assert len(sure_of(from_gold(links, block, least=0.9, probability=probability))) == 2


def test_with_enough_links_a_word_every_surface_link_is_kept():
    generator = np.random.default_rng(0)
    for _ in range(50):
        parents = [np.repeat(np.arange(4), generator.integers(1, 3, 4)).tolist() for _ in range(2)]
        links = [[Link(int(j), int(k)) for j, k in generator.integers(0, 4, (6, 2))]]
        block = corpus_of(parents)
        one, several = from_gold(links, block), from_gold(links, block, max_fertility=4)
        assert one.counts()[0] <= several.counts()[0]
        # every link of the gold is there
        surface = {(parents[0][j], parents[1][k]) for j, k in sure_of(several)}
        assert surface == {(link.source, link.target) for link in links[0]}


def best_of(cells, scores, fits):
    """The size and the total score of the best of all sets of cells that fit."""
    sets = [
        links for size in range(len(cells) + 1) for links in combinations(sorted(cells), size) if fits(links)
    ]
    return max((len(links), sum(scores[cell] for cell in links)) for links in sets)


CELLS, SEEDS = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8), st.integers(0, 2**32 - 1)


@given(CELLS, st.integers(1, 3), SEEDS)
def test_the_set_is_the_best_of_all(cells, max_fertility, seed):
    scores = np.random.default_rng(seed).random((4, 4))
    found = largest_set(sorted(cells), scores, max_fertility)
    best = best_of(
        cells,
        scores,
        lambda links: all(np.bincount(words).max() <= max_fertility for words in zip(*links, strict=True)),
    )
    assert found <= cells
    assert (len(found), sum(scores[cell] for cell in found)) == pytest.approx(best)


def test_a_link_both_sure_and_possible_is_sure():
    block = corpus_of(([0], [0]))
    assert pairs_of(from_gold([[Link(0, 0, False), Link(0, 0)]], block)) == [[(0, 0, True)]]


def test_links_and_text_must_be_of_as_many_pairs():
    with pytest.raises(ValueError, match="gold: links of 2 pairs, text of 1"):
        from_gold([[], []], corpus_of(([0], [0])))


@given(CELLS, SEEDS)
def test_the_matching_is_the_best_of_all(cells, seed):
    scores = np.random.default_rng(seed).random((4, 4))
    found = largest_matching(sorted(cells), scores)
    best = best_of(
        cells, scores, lambda links: all(len(set(words)) == len(words) for words in zip(*links, strict=True))
    )
    assert found <= cells
    assert (len(found), sum(scores[cell] for cell in found)) == pytest.approx(best)
