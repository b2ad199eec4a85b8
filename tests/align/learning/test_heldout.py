"""Folds, and what is learnt from all pairs but some."""

from dataclasses import replace

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.features import Edges
from align.learning.heldout import Found, Learner, folds, held_out, texts_of
from align.links import Link
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from align.solvers.block import BlockFrankWolfe
from tests.align.solvers.problems import bcfw


def pairs_of(count, seed=0, noise=0.6):
    """Return pairs of three words a side, linked on the diagonal, of which two features tell, but badly."""
    generator = np.random.default_rng(seed)
    shapes = np.full((count, 2), 3, dtype=np.int32)
    diagonal = np.tile(np.eye(3).ravel(), count)
    features = np.stack([diagonal + noise * generator.normal(size=9 * count) for _ in range(2)], axis=1)
    labels = Labels.from_lists([[Link(0, 0), Link(1, 1, False), Link(2, 2)]] * count)
    return Edges(shapes, edge_offsets(shapes), features.astype(np.float32), ("x", "y")), labels


def test_folds_part_the_pairs_and_keep_equal_ones_together():
    texts = [f"text {index % 20}" for index in range(43)]
    parts = folds(texts, 5, 0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(43))
    assert max(map(len, parts)) <= 12
    of = {pair: fold for fold, pairs in enumerate(parts) for pair in pairs.tolist()}
    assert all(of[pair] == of[pair + 20] for pair in range(23))
    assert [part.tolist() for part in folds(texts, 5, 0)] == [part.tolist() for part in parts]
    assert [part.tolist() for part in folds(texts, 5, 1)] != [part.tolist() for part in parts]


def test_pairs_are_told_apart_by_the_words_of_both_sides():
    source = Sentences.from_lists([[1, 2], [1, 2], [1], [1, 2]])
    target = Sentences.from_lists([[3], [3], [2, 3], [4]])
    texts = texts_of(Corpus(source, target))
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_links_are_told_by_their_edge_and_label():
    edges, labels = pairs_of(4, noise=0)
    found = Learner(edges, labels).links(np.array([1.0, 0.0]), np.array([3, 1]))
    assert found.edges.tolist() == [27, 31, 35, 9, 13, 17]
    assert found.sure.tolist() == [True, False, True] * 2
    assert found.free.tolist() == [False, True, False] * 2
    assert found.scores.tolist() == [1.0] * 6
    # links, sure, sure and linked, sure or free and linked
    assert found.counts()[:4].tolist() == [6, 4, 4, 6]


def test_held_out_links_are_those_of_weights_from_the_other_folds():
    edges, labels = pairs_of(12)
    learner = Learner(edges, labels, solver=BlockFrankWolfe(lam=0.1, seed=2), origin=np.array([0.5, 0.0]))
    parts = [np.array([0, 5, 7, 11]), np.array([1, 2, 3, 4]), np.array([6, 8, 9, 10])]
    expected = []
    for fold, part in enumerate(parts):
        others = np.sort(np.concatenate(parts[:fold] + parts[fold + 1 :]))
        problem = MatchingProblem(edges.take(others), labels.take(others))
        fit = bcfw(problem, lam=0.1, seed=2, origin=np.array([0.5, 0.0]))
        expected.append(learner.links(fit.weights, part))
    for ours, theirs in zip(held_out(learner, parts), Found.join(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # From another origin there is something else to find.
    assert not np.array_equal(
        held_out(replace(learner, origin=None), parts).scores, Found.join(expected).scores
    )


@pytest.mark.parametrize("most", [1, 2])
def test_a_learner_learns_with_all_its_options(most):
    from align.features import WordFeatures

    edges, labels = pairs_of(6)
    edges = replace(
        edges, word_features=WordFeatures(*(np.ones((18, 1), dtype=np.float32) for _ in range(2)), ("s", "t"))
    )
    options = {"lam": 0.05, "passes": 3, "tolerance": 0.0, "seed": 4}
    chosen = np.array([0, 2, 5])
    problem = MatchingProblem(edges, labels, cost_fn=2.0, cost_fp=0.5, pairs=chosen, max_fertility=most)
    learner = Learner(
        edges, labels, cost_fn=2.0, cost_fp=0.5, max_fertility=most, solver=BlockFrankWolfe(**options)
    )
    np.testing.assert_array_equal(learner.weights(chosen), bcfw(problem, **options).weights)
