"""Labels that attract each other: the cut against all labellings, the projection against SLSQP."""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from align.problems.attractive import AttractiveProblem
from align.problems.multilabel import MultilabelProblem, all_edges
from tests.align.solvers.problems import solve


def problem_of(labels, n=5, p=3, seed=0, edges=None):
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=(n, p)), generator.integers(0, 2, (n, labels))
    return AttractiveProblem(x, y, edges=all_edges(labels) if edges is None else edges), x, y


def weights_of(problem, seed, scale=1.0):
    w = np.random.default_rng(seed).normal(size=problem.d) * scale
    w[problem.nonnegative :] = np.abs(w[problem.nonnegative :]) * 0.5
    return w


@pytest.mark.parametrize("labels", [1, 2, 5, 8])
def test_the_cut_is_the_best_of_all_sets(labels):
    problem, x, y = problem_of(labels)
    other = MultilabelProblem(x, y, edges=all_edges(labels), states=1)
    assert (problem.n, problem.d) == (other.n, other.d)
    assert other.nonnegative - problem.nonnegative == len(all_edges(labels))
    for seed in range(40):
        w = weights_of(problem, seed, 10.0 ** (seed % 5 - 2))
        psi, loss = problem.oracles(w, np.arange(5))
        best, its = other.oracles(w, np.arange(5))
        np.testing.assert_allclose(loss - psi @ w, its - best @ w, atol=1e-7, rtol=1e-7)
        np.testing.assert_array_equal(problem.predict(w, x), other.predict(w, x))


def test_more_labels_than_sets_can_be_tried_of():
    """Blocks of labels that stand alone: the best of 40 labels is the best of each four."""
    generator, w_pairs = np.random.default_rng(1), []
    x, y = generator.normal(size=(3, 2)), generator.integers(0, 2, (3, 40))
    edges = [(4 * k + a, 4 * k + b) for k in range(10) for a, b in all_edges(4)]
    whole = AttractiveProblem(x, y, edges=edges)
    w = weights_of(whole, 3)
    w_pairs = w[whole.nonnegative :].reshape(10, 6)
    hinges = 0.0
    for k in range(10):
        part = AttractiveProblem(x, y[:, 4 * k : 4 * k + 4], edges=all_edges(4))
        psi, loss = part.oracles(np.concatenate([w[8 * k : 8 * k + 8], w_pairs[k]]), np.arange(3))
        hinges = hinges + loss - psi @ np.concatenate([w[8 * k : 8 * k + 8], w_pairs[k]])
    psi, loss = whole.oracles(w, np.arange(3))
    np.testing.assert_allclose(loss - psi @ w, hinges, rtol=1e-7)
    fit = solve("extragradient", whole, lam=0.1, passes=300, tolerance=1e-2, gap_every=20)
    assert fit.status == "converged"


@pytest.mark.parametrize("scale", [0.3, 3.0, 300.0])
def test_the_projection_is_that_of_a_quadratic_program(scale):
    problem, _, _ = problem_of(4, n=3)
    polytope, generator = problem.polytope, np.random.default_rng(2)
    rows = []
    for pair, (a, b) in enumerate(all_edges(4)):
        for label in (a, b):
            row = np.zeros(10)
            row[4 + pair], row[label] = 1, -1
            rows.append(row)
    prices = np.zeros(polytope.prices)
    for turn in range(3):
        x = generator.normal(size=30) * scale
        z, dual = polytope.project(x, entropic=False, prices=prices)
        assert dual is z
        for i in range(3):
            own = np.concatenate([x[4 * i : 4 * i + 4], x[12 + 6 * i : 18 + 6 * i]])
            found = np.concatenate([z[4 * i : 4 * i + 4], z[12 + 6 * i : 18 + 6 * i]])
            result = minimize(
                lambda z, own=own: (0.5 * np.sum((z - own) ** 2), z - own),
                np.full(10, 0.5), jac=True, method="SLSQP", bounds=[(0, 1)] * 10,
                constraints=LinearConstraint(np.array(rows), ub=0), options={"ftol": 1e-14, "maxiter": 500},
            )  # fmt: skip
            np.testing.assert_allclose(found, result.x, atol=1e-6)
            assert (np.array(rows) @ found <= 0).all()
        # from the prices of the last point or from none: the same
        cold, _ = polytope.project(x, entropic=False, prices=np.zeros(polytope.prices))
        np.testing.assert_allclose(cold, z, atol=1e-9 * scale)
        assert turn == 0 or prices.any()


def test_many_pairs_are_projected():
    problem, _, _ = problem_of(20, n=2)
    polytope = problem.polytope
    x = 5 * np.random.default_rng(4).normal(size=len(polytope.costs))
    z, _ = polytope.project(x, entropic=False, prices=np.zeros(polytope.prices))
    # optimal: no labelling is further in the direction x - z
    generator, edges = np.random.default_rng(5), np.array(all_edges(20))
    for _ in range(200):
        y = generator.integers(0, 2, (2, 20))
        labelling = np.concatenate([y.ravel(), (y[:, edges[:, 0]] * y[:, edges[:, 1]]).ravel()])
        assert (x - z) @ (labelling - z) <= 1e-7


def test_labels_that_go_together_are_learnt():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(60, 3))
    y = np.repeat((x[:, :1] > 0).astype(int), 3, axis=1)
    x[:, 0] += generator.normal(size=60)  # what is seen of it is noisy
    problem = AttractiveProblem(x, y, edges=all_edges(3))
    fit = solve("bcfw-pairwise", problem, lam=0.05, passes=30, tolerance=1e-2)
    assert (fit.weights[problem.nonnegative :] > 0).any()
    assert set(map(tuple, problem.predict(fit.weights, x).tolist())) <= set(
        itertools.product((0, 1), repeat=3)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((2, 0))}, "give finite features"),
        ({"x": np.full((2, 1), np.nan)}, "give finite features"),
        ({"y": np.full((2, 2), 2)}, r"give \(n, L\) of 0 and 1"),
        ({"y": np.zeros((3, 2))}, r"give \(n, L\) of 0 and 1"),
        ({"edges": [(0, 0)]}, "pairs of labels"),
        ({"edges": [(0, 1), (1, 0)]}, "pairs of labels"),
        ({"edges": [(0, 2)]}, "give different ones of 0 to 1, once"),
    ],
)
def test_what_is_no_problem_is_refused(change, message):
    made = {"x": np.zeros((2, 1)), "y": np.zeros((2, 2)), "edges": [(0, 1)], **change}
    with pytest.raises(ValueError, match=f"attractive: .*{message}"):
        AttractiveProblem(made["x"], made["y"], edges=made["edges"])


def test_weights_that_repel_are_refused():
    problem, x, _ = problem_of(3)
    w = weights_of(problem, 0)
    w[-1] = -0.1
    with pytest.raises(ValueError, match="a weight of a pair of labels is negative; give weights >= 0"):
        problem.oracle(w, 0)
    with pytest.raises(ValueError, match=r"give \(N, 3\) and \(12,\)"):
        problem.predict(w[1:], x)
