import numpy as np
import pytest

from align.matching import quadratic
from align.problems.matching import MatchingProblem
from align.problems.quadratic import QuadraticProblem
from tests.align.solvers.problems import Edges, MarkedLabels, bcfw, check_many_at_once


def made(shapes, d, seed=0):
    """Pairs with gold links near the diagonal, a feature that tells them and others that do not."""
    generator = np.random.default_rng(seed)
    shapes = np.array(shapes, dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    marks = []
    for n, m in shapes.tolist():
        own = (generator.random((n, m)) < 0.1).astype(int)
        start = int(generator.integers(0, max(m - n, 0) + 1))
        for j in range(n):
            if start + j < m and generator.random() < 0.8:
                own[j, start + j] = 2
        marks.append(own.ravel())
    marks = np.concatenate(marks)
    features = generator.normal(size=(offsets[-1], d)).astype(np.float32)
    features[:, 0] += marks == 2
    phi = np.stack([np.ones(offsets[-1]), generator.random(offsets[-1])], axis=1).astype(np.float32)
    return (
        Edges(shapes, offsets, features),
        MarkedLabels(np.zeros(len(shapes) + 1, dtype=np.int64), marks),
        phi,
    )


def runs(links):
    z = np.zeros(links.shape)
    z[:-1, :-1] = np.minimum(links[:-1, :-1], links[1:, 1:])
    return z.ravel()


def parts_of(edges, labels, phi, i):
    rows = slice(edges.offsets[i], edges.offsets[i + 1])
    return edges.features[rows].astype(np.float64), labels.marks[rows], phi[rows].astype(np.float64)


@pytest.mark.parametrize("size", [0.0, 0.3, 1.0, 5.0])
def test_the_oracle_maximises_over_the_linear_program(size):
    shapes = [(4, 5), (5, 4), (6, 7), (1, 3), (0, 2), (8, 8)]
    edges, labels, phi = made(shapes, 4, seed=1)
    problem = QuadraticProblem(edges, labels, phi, cost_fn=2.5, cost_fp=0.75)
    assert (problem.n, problem.d, problem.nonnegative) == (6, 6, 4)
    generator = np.random.default_rng(2)
    fractional = 0
    for i, shape in enumerate(shapes):
        x, marks, own = parts_of(edges, labels, phi, i)
        gold = (marks == 2).astype(np.float64)
        for _ in range(5):
            w = size * np.concatenate([generator.normal(size=4), generator.random(2)])
            vertex = problem.oracle(w, i)
            (links,) = problem._maxima(w, np.array([i]))
            np.testing.assert_allclose(vertex.psi[:4], x.T @ (gold - links), atol=1e-9)
            z = runs(gold.reshape(shape)) - runs(links.reshape(shape))
            np.testing.assert_allclose(vertex.psi[4:], own.T @ z, atol=1e-9)
            loss = 2.5 * (gold * (1 - links)).sum() + 0.75 * ((marks == 0) * links).sum()
            assert vertex.loss == pytest.approx(loss, abs=1e-9)
            # and its value is that of the linear program
            theta = (x @ w[:4] + 0.75 * (marks == 0) - 2.5 * gold).reshape(shape)
            bonus = (own @ w[4:]).reshape(shape)
            relaxed = quadratic.relaxation(theta, bonus)
            hinge = vertex.loss - w @ vertex.psi
            most = relaxed.value + 2.5 * gold.sum() - w[:4] @ (x.T @ gold)
            most -= w[4:] @ (own.T @ runs(gold.reshape(shape)))
            assert hinge == pytest.approx(most, rel=1e-6, abs=1e-6)
            assert hinge >= -1e-9
            fractional += not relaxed.integral
    assert fractional or size < 1.0


def test_several_weights_and_blocks_are_the_single_ones():
    edges, labels, phi = made([(5, 6), (7, 4), (3, 3), (6, 6)], 3, seed=3)
    problem = QuadraticProblem(edges, labels, phi, pairs=np.array([3, 0, 1]))
    weights = np.abs(np.random.default_rng(4).normal(size=(2, 5)))
    block = np.array([2, 0])
    check_many_at_once(problem, weights, block)


def test_without_a_bonus_it_is_the_problem_of_matchings():
    edges, labels, phi = made([(5, 6), (7, 4), (3, 3)], 3, seed=5)
    plain = MatchingProblem(edges, labels)
    problem = QuadraticProblem(edges, labels, phi)
    w = np.random.default_rng(6).normal(size=3)
    for i in range(3):
        expected, found = plain.oracle(w, i), problem.oracle(np.concatenate([w, np.zeros(2)]), i)
        np.testing.assert_allclose(found.psi[:3], expected.psi, atol=1e-9)
        assert found.loss == pytest.approx(expected.loss)


def test_training_is_certified_and_learns_the_bonus():
    edges, labels, phi = made([(8, 9)] * 12, 3, seed=7)
    phi = phi[:, :1]
    problem = QuadraticProblem(edges, labels, phi)
    fit = bcfw(problem, lam=0.05, tolerance=1e-3, passes=200)
    assert fit.status == "converged"
    assert 0 <= fit.gap <= 1e-3 * fit.primal
    assert fit.weights[3] > 0.1
    # runs of links are what tells the gold apart here: plain matchings cannot do as well
    plain = bcfw(MatchingProblem(edges, labels), lam=0.05, tolerance=1e-3, passes=200)
    assert fit.primal < plain.dual
    # the primal is the definition: the mean of the relaxed hinges and the regularisation
    hinges = [
        vertex.loss - fit.weights @ vertex.psi
        for vertex in (problem.oracle(fit.weights, i) for i in range(12))
    ]
    assert fit.primal == pytest.approx(0.025 * fit.weights @ fit.weights + np.mean(hinges), rel=1e-6)


def test_bad_features_of_bonuses_are_refused():
    edges, labels, phi = made([(2, 3)], 2)
    for bad, message in (
        (phi[:-1], "phi has shape"),
        (phi[:, 0], "phi has shape"),
        (-phi, "negative"),
        (np.where(phi == phi[0, 0], np.nan, phi), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            QuadraticProblem(edges, labels, bad)
