"""Folds, what is learnt from all pairs but some, and the choice of lam and costs by it."""

from dataclasses import replace

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.data.corpus import Corpus, Sentences
from align.evaluation.metrics import score, statistics
from align.features import Edges
from align.learning.cross_validation import (
    Found,
    Learner,
    Setting,
    folds,
    grid_around,
    held_out,
    select,
    texts_of,
    with_setting,
)
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


def test_a_copy_is_learnt_from_with_its_pair_and_with_no_other():
    edges, labels = pairs_of(8)
    learner = Learner(edges, labels, copies=np.array([4, 5, 6, -1]))
    assert learner.problem(np.array([0, 2, 3])).n == 5
    plain, parts = replace(learner, copies=None), [np.array([0, 1]), np.array([2, 3])]
    assert np.array_equal(learner.weights(parts[0]), plain.weights(np.array([0, 1, 4, 5])))
    found = held_out(learner, parts)
    assert found.edges.max() < edges.offsets[4]
    assert np.array_equal(
        found.scores[found.edges >= edges.offsets[2]],
        plain.links(plain.weights(np.array([0, 1, 4, 5])), parts[1]).scores,
    )


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


def test_all_edges_are_learnt_from_and_likely_ones_linked():
    edges, labels = pairs_of(6)
    pairs = np.arange(6)
    free = Learner(edges, labels, solver=BlockFrankWolfe(lam=0.05, passes=3))
    likely = np.random.default_rng(1).random(len(edges.features)) < 0.5
    bound = replace(free, edges=replace(edges, likely=likely))
    weights = free.weights(pairs)
    np.testing.assert_array_equal(bound.weights(pairs), weights)
    assert likely[bound.links(weights, pairs).edges].all()
    assert not likely[free.links(weights, pairs).edges].all()


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


def noisy(count=30, seed=1, width=12):
    """Return pairs whose diagonal two of many features tell: with few pairs the others mislead."""
    generator = np.random.default_rng(seed)
    shapes = np.full((count, 2), 4, dtype=np.int32)
    diagonal = np.tile(np.eye(4).ravel(), count)
    features = generator.normal(size=(16 * count, width))
    features[:, :2] = 1.2 * diagonal[:, None] + 0.5 * features[:, :2]
    links = [[Link(0, 0), Link(1, 1), Link(2, 2, False), Link(3, 3)]] * count
    names = tuple(f"x{column}" for column in range(width))
    return Learner(
        Edges(shapes, edge_offsets(shapes), features.astype(np.float32), names), Labels.from_lists(links)
    )


def parts_of(learner, count=3):
    return folds(range(len(learner.labels)), count, 0)


def test_the_grid_lies_around_the_given_values_and_holds_them_once():
    grid = grid_around(0.01, 3.0)
    assert Setting(0.01, 3.0) in grid
    assert len(set(grid)) == len(grid) == 15
    assert min(grid).lam == pytest.approx(0.001)
    assert max(grid).lam == pytest.approx(0.1)
    assert {round(each.cost_fn, 9) for each in grid} == {1.0, 3.0, 9.0}
    assert len(grid_around(0.01, 0.0)) == 5  # three times nothing is nothing


def test_the_error_is_that_of_the_metrics_over_all_folds():
    learner = noisy(12)
    parts, settings = parts_of(learner), [Setting(0.3, 1.0)]
    _, ((_, aer, links, sure, *_),) = select(learner, settings, parts)
    hypothesis, gold = [], []
    for fold, part in enumerate(parts):
        others = np.sort(np.concatenate([each for other, each in enumerate(parts) if other != fold]))
        weights = with_setting(learner, Setting(0.3, 1.0)).weights(others)
        for pair in part.tolist():
            found = learner.links(weights, np.array([pair]))
            hypothesis.append([Link(*divmod(edge - 16 * pair, 4)) for edge in found.edges.tolist()])
            gold.append([Link(0, 0), Link(1, 1), Link(2, 2, False), Link(3, 3)])
    expected = score(statistics(hypothesis, gold))
    assert 0 < aer < 1
    assert (aer, links, sure) == (expected.aer, expected.links, expected.sure)


def test_the_lowest_error_is_chosen():
    learner = noisy()
    chosen, table = select(learner, [Setting(0.01, cost) for cost in (0.01, 1.0, 100.0)], parts_of(learner))
    errors = {row.setting: row.aer for row in table}
    assert errors[chosen] == min(errors.values())
    assert len(set(errors.values())) > 1


def test_of_equal_errors_the_largest_lam_is_taken_then_the_first():
    learner = noisy(width=2)
    clear = replace(
        learner, edges=replace(learner.edges, features=np.tile(np.eye(4).ravel()[:, None], (30, 2)))
    )
    grid = [Setting(0.1, 1.0), Setting(0.2, 5.0), Setting(0.2, 1.0), Setting(0.05, 1.0)]
    chosen, table = select(clear, grid, parts_of(clear))
    assert [row.aer for row in table] == [0.0] * 4
    assert chosen == Setting(0.2, 5.0)


def test_the_same_call_gives_the_same_and_tells_each_setting():
    learner, told = noisy(), []
    grid = grid_around(0.1, 1.0)[:4]
    once = select(learner, grid, parts_of(learner), on_setting=told.append)
    assert once == select(learner, grid, parts_of(learner))
    assert told == once[1]
    assert [row.setting for row in told] == grid
    assert told[0].as_dict() == {
        "lam": grid[0].lam, "cost_fn": grid[0].cost_fn, "aer": told[0].aer, "links": told[0].links,
        "sure": 90, "sure_matched": told[0].sure_matched, "possible_matched": told[0].possible_matched,
    }  # fmt: skip
