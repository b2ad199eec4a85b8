"""Decoding: scores of links sum to the value of the labelling, costs are carried by the weaker links."""

from dataclasses import replace

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.features import Edges, WordFeatures
from align.features.scoring import UNSCORED, Scores, score_edges
from align.matching import assignment as matching
from align.matching import fertility, linear_program
from align.matching.decoding import decode, places, score


def block(seed, count=40):
    """Pairs with features, and features of words."""
    generator = np.random.default_rng(seed)
    shapes = generator.integers(0, 7, (count, 2)).astype(np.int32)
    offsets = edge_offsets(shapes)
    words = [generator.random((total, 2)).astype(np.float32) for total in shapes.sum(axis=0)]
    features = generator.normal(size=(offsets[-1], 5)).astype(np.float32)
    return Edges(shapes, offsets, features, tuple("abcde"), WordFeatures(*words, tuple("vwxy")))


WEIGHTS = np.array([0.8, -0.3, 0.4, 1.0, 0.2, 0.5, 0.1, 0.3, 0.4])


def test_one_link_a_word_is_the_matching():
    edges = block(0)
    found = decode(score(edges, WEIGHTS[:5]), bias=0.25)
    scores = score_edges(edges.features, WEIGHTS[:5])
    assert np.array_equal(found.scores, scores[found.linked])
    assert np.array_equal(
        found.linked, np.flatnonzero(matching.solve(scores + 0.25, edges.shapes, edges.offsets))
    )
    assert not found.charges.any()


@pytest.mark.parametrize("max_fertility", [1, 2])
def test_edges_that_are_not_likely_stay_without_a_link(max_fertility):
    edges = block(4)
    weights = WEIGHTS[:5] if max_fertility == 1 else WEIGHTS
    free = decode(score(edges, weights), max_fertility=max_fertility)
    likely = np.random.default_rng(4).random(len(edges.features)) < 0.6
    edges = replace(edges, likely=likely)
    scored = score(edges, weights)
    assert np.array_equal(scored.scores == UNSCORED, ~likely)
    assert np.array_equal(scored.scores[likely], score_edges(edges.features, WEIGHTS[:5])[likely])
    # As if the others had a weight of 0, with which nothing is linked.
    zero = replace(scored, scores=np.where(likely, scored.scores, 0.0))
    found = decode(scored, max_fertility=max_fertility)
    assert np.array_equal(found.linked, decode(zero, max_fertility=max_fertility).linked)
    assert not np.array_equal(found.linked, free.linked)
    for bias in (-0.3, 0.3):
        assert likely[decode(scored, max_fertility=max_fertility, bias=bias).linked].all()


@pytest.mark.parametrize("max_fertility", [2, 3])
def test_the_scores_of_links_sum_to_the_value_of_the_labelling(max_fertility):
    edges = block(max_fertility)
    found = decode(score(edges, WEIGHTS), max_fertility=max_fertility)
    raw = score_edges(edges.features, WEIGHTS[:5])
    costs = edges.word_features.costs(WEIGHTS[5:])
    links, scores = np.zeros(len(raw), dtype=bool), np.zeros(len(raw))
    links[found.linked], scores[found.linked] = True, found.scores
    first = np.zeros(2, dtype=np.int64)
    charged = 0
    for i, (n, m) in enumerate(edges.shapes):
        here = slice(*edges.offsets[i : i + 2])
        s, t = costs[0][first[0] : first[0] + n], costs[1][first[1] : first[1] + m]
        y, theta = links[here].reshape(n, m), raw[here].reshape(n, m)
        value = fertility.total(theta, s, t, y)
        assert value == pytest.approx(
            fertility.total(theta, s, t, linear_program.solve(theta, s, t, max_fertility=max_fertility))
        )
        assert scores[here].sum() == pytest.approx(value, abs=1e-12)
        # slowly: the strongest link of a word is free, the others pay for it
        for j, k in np.argwhere(y):
            cost = (s[j] if theta[j, k] < theta[j][y[j]].max() else 0) + (
                t[k] if theta[j, k] < theta[:, k][y[:, k]].max() else 0
            )
            assert scores[here].reshape(n, m)[j, k] == pytest.approx(theta[j, k] - cost, abs=1e-12)
            charged += cost > 0
        first += (n, m)
    assert charged > 10
    np.testing.assert_allclose(raw[found.linked] - found.charges, found.scores, atol=1e-12)


def test_of_equal_links_the_first_is_free():
    """One source word with three target words, then one target word with two source words."""
    shapes = np.array([[1, 3], [2, 1]], dtype=np.int32)
    costs = np.array([0.25, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.5])
    scores = np.array([1.0, 2.0, 2.0, 3.0, 3.0])
    found = decode(Scores(shapes, edge_offsets(shapes), scores, costs), max_fertility=3)
    assert found.linked.tolist() == [0, 1, 2, 3, 4]
    assert found.charges.tolist() == [0.25, 0.0, 0.25, 0.0, 0.5]
    assert found.scores.tolist() == [0.75, 2.0, 1.75, 3.0, 2.5]
    assert scores.tolist() == [1.0, 2.0, 2.0, 3.0, 3.0]


def test_the_places_of_links_are_their_pairs_and_words():
    edges = block(7)
    scored = score(edges, WEIGHTS)
    linked = decode(scored, max_fertility=2).linked
    expected, source, target = [], 0, 0
    for i, (n, m) in enumerate(edges.shapes):
        own = linked[(linked >= edges.offsets[i]) & (linked < edges.offsets[i + 1])] - edges.offsets[i]
        expected += [(i, source + edge // m, target + edge % m) for edge in own]
        source, target = source + n, target + m
    assert len(expected) == len(linked) > 20
    assert places(scored, linked).T.tolist() == [list(each) for each in expected]
    assert places(scored, linked[:0]).shape == (3, 0)


def test_a_bias_gives_more_links_at_the_same_scores():
    edges = block(5)
    few, many = (
        decode(score(edges, WEIGHTS), max_fertility=2),
        decode(score(edges, WEIGHTS), max_fertility=2, bias=0.5),
    )
    assert len(many.linked) > len(few.linked)
    raw = score_edges(edges.features, WEIGHTS[:5])
    np.testing.assert_allclose(many.scores, raw[many.linked] - many.charges, atol=1e-12)


def test_words_need_features():
    edges = block(0)
    bare = Edges(edges.shapes, edges.offsets, edges.features, edges.names)
    with pytest.raises(ValueError, match="no features of words"):
        decode(score(bare, WEIGHTS), max_fertility=2)


def test_weights_of_edges_alone_go_with_features_of_words():
    edges = block(0)
    scored = score(edges, WEIGHTS[:5])
    assert scored.costs is None
    bare = Edges(edges.shapes, edges.offsets, edges.features, edges.names)
    assert np.array_equal(decode(scored).linked, decode(score(bare, WEIGHTS[:5])).linked)
    with pytest.raises(ValueError, match="give one a column"):
        score(edges, WEIGHTS[:4])
