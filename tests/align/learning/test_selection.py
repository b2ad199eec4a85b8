"""The choice of lam and costs: counts by hand, ties, what is worth choosing."""

from dataclasses import replace

import numpy as np
import pytest

from align.core.ragged import edge_offsets
from align.evaluation.metrics import score, statistics
from align.features import Edges
from align.learning.heldout import Learner, folds
from align.learning.selection import Setting, grid_around, select, with_setting
from align.links import Link
from align.problems.labels import Labels


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
    chosen, table = select(learner, [Setting(lam, 1.0) for lam in (1e-4, 1.0, 1e4)], parts_of(learner))
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
