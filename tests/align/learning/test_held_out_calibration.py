"""The calibration of a model: whose links it is fitted to."""

import numpy as np

from align.core.ragged import edge_offsets
from align.features import Edges
from align.learning import held_out_calibration
from align.learning.calibration import confidence, fit_calibration
from align.learning.cross_validation import Learner, folds, held_out
from align.learning.held_out_calibration import calibrate
from align.links import Link
from align.problems.labels import Labels
from align.solvers.block import BlockFrankWolfe

NO_COUNTS = (np.zeros(1000, dtype=bool),) * 2


def learner_of(count, seed=0, width=8):
    """Return pairs of 3 x 3 words whose diagonal the first feature tells, all others are noise."""
    generator = np.random.default_rng(seed)
    shapes = np.full((count, 2), 3, dtype=np.int32)
    features = generator.normal(size=(9 * count, width))
    features[:, 0] += 1.5 * np.tile(np.eye(3).ravel(), count)
    links = [[Link(0, 0), Link(1, 1), Link(2, 2, False)]] * count
    names = tuple(f"x{column}" for column in range(width))
    edges = Edges(shapes, edge_offsets(shapes), features.astype(np.float32), names)
    return Learner(
        edges,
        Labels.from_lists(links),
        solver=BlockFrankWolfe(lam=1e-3, passes=6, tolerance=0.1),
        cost_fn=1.0,
    )


def test_few_pairs_are_calibrated_by_links_of_weights_from_others():
    learner = learner_of(20)
    weights = learner.weights(np.arange(20))
    found = calibrate(learner, weights, pairs=np.arange(20), texts=range(20), seen=NO_COUNTS)
    links = held_out(learner, folds(range(20), 5, 0))
    assert found == fit_calibration(links.scores, links.sure | links.free)
    own = learner.links(weights, np.arange(20))
    assert found != fit_calibration(own.scores, own.sure | own.free)


def test_equal_pairs_do_not_teach_each_other():
    learner = learner_of(20)
    weights = learner.weights(np.arange(20))
    texts = [pair % 10 for pair in range(20)]
    found = calibrate(learner, weights, pairs=np.arange(20), texts=texts, seen=NO_COUNTS)
    links = held_out(learner, folds(texts, 5, 0))
    assert found == fit_calibration(links.scores, links.sure | links.free)
    assert found != calibrate(learner, weights, pairs=np.arange(20), texts=range(20), seen=NO_COUNTS)


def test_many_pairs_or_one_are_calibrated_by_the_links_of_the_model(monkeypatch):
    learner = learner_of(20)
    weights = learner.weights(np.arange(20))
    for pairs, few, chosen in ((np.arange(1, 20), 6, [1, 4, 7, 10, 13, 16]), (np.array([3]), 6, [3])):
        monkeypatch.setattr(held_out_calibration, "FEW_PAIRS", few)
        links = learner.links(weights, np.array(chosen))
        expected = fit_calibration(links.scores, links.sure | links.free)
        assert calibrate(learner, weights, pairs=pairs, texts=range(20), seen=NO_COUNTS) == expected
    same = calibrate(learner, weights, pairs=np.array([3, 4]), texts=[0] * 20, seen=NO_COUNTS)
    links = learner.links(weights, np.array([3, 4]))
    assert same == fit_calibration(links.scores, links.sure | links.free)


def test_links_of_rare_words_are_told_apart():
    learner = learner_of(30, seed=3)
    weights = np.eye(8)[0]
    seen = np.full(90, 20), np.full(90, 20)
    links = held_out(learner, folds(range(30), 5, 0))
    wrong = links.edges[~(links.sure | links.free)]
    assert len(wrong) > 3
    seen[0][3 * (wrong // 9) + wrong % 9 // 3] = 1
    rarer = seen[0][3 * (links.edges // 9) + links.edges % 9 // 3]
    found = calibrate(learner, weights, pairs=np.arange(30), texts=range(30), seen=seen)
    assert found == fit_calibration(links.scores, links.sure | links.free, rarer)
    rare, known = confidence(np.zeros(2), found, np.array([1, 20]))
    assert rare < 0.6 * known
