import itertools

import numpy as np
import pytest

from align.problems.sequences import ChainProblem
from tests.align.solvers.problems import bcfw


def made(lengths, p=3, labels=3, seed=0):
    generator = np.random.default_rng(seed)
    chains = [generator.normal(size=(length, p)) for length in lengths]
    return ChainProblem(chains, [generator.integers(0, labels, len(x)) for x in chains], labels=labels)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_best_labels_are_found_among_all(length):
    problem, generator = made([2, 7]), np.random.default_rng(1)
    for _ in range(20):
        w, x = generator.normal(size=problem.d), generator.normal(size=(length, 3))
        unary, pairwise = x @ w[:9].reshape(3, 3).T, w[9:].reshape(3, 3)
        scores = {
            y: sum(unary[t, label] for t, label in enumerate(y))
            + sum(pairwise[pair] for pair in itertools.pairwise(y))
            for y in itertools.product(range(3), repeat=length)
        }
        assert tuple(problem.predict(w, x)) == max(scores, key=scores.get)


def test_neighbours_tell_what_a_place_does_not():
    """Labels that alternate, and features that show only the first."""
    generator = np.random.default_rng(2)
    gold = [(np.arange(6) + first) % 2 for first in generator.integers(0, 2, 40)]
    chains = []
    for own in gold:
        x = 0.1 * generator.normal(size=(6, 2))
        x[0, own[0]] += 1
        chains.append(x)
    problem = ChainProblem(chains, gold, labels=2)
    fit = bcfw(problem, lam=0.01, passes=100, tolerance=0.01)
    assert fit.status == "converged"
    found = [problem.predict(fit.weights, x) for x in chains]
    assert np.mean(np.array(found) == np.array(gold)) > 0.98


@pytest.mark.parametrize(
    ("chains", "gold", "told"),
    [
        ([], [], "chains and labels do not fit"),
        ([np.ones((2, 1))], [np.zeros(3)], "chains and labels do not fit"),
        ([np.ones((0, 1))], [np.zeros(0)], "no empty chain"),
        ([np.ones((2, 1))], [np.array([0, 3])], "labels from 0 to 3; give 0 to 2"),
        ([np.ones((2, 1))], [np.array([0, -1])], "labels from -1 to 0"),
        ([np.full((2, 1), np.nan)], [np.zeros(2)], "finite features"),
        ([np.ones(2)], [np.zeros(2)], r"places of shape \(2,\)"),
    ],
)
def test_wrong_input_is_refused(chains, gold, told):
    with pytest.raises(ValueError, match=told):
        ChainProblem(chains, gold, labels=3)


def test_prediction_needs_the_features_of_training():
    problem = made([2])
    for w, x in (
        (np.zeros(18), np.ones((2, 2))),
        (np.zeros(17), np.ones((2, 3))),
        (np.zeros(18), np.ones((0, 3))),
    ):
        with pytest.raises(ValueError, match=r"give \(T, 3\), \(18,\)"):
            problem.predict(w, x)
