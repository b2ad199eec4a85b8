import threading

import numpy as np
import pytest

from align.problems import objective
from align.problems.objective import (
    WeakDualityError,
    batch_vertex,
    dual,
    evaluate,
    exact_step,
    piece_sums,
    threaded,
    value,
)
from align.problems.protocol import Vertex
from align.problems.triplets import TripletProblem
from align.solvers.block import BlockFrankWolfe


class Listed:
    """A problem whose blocks list their labellings: psi (k, d) and loss (k,), the first of them gold."""

    def __init__(self, n, d, seed, count=6):
        generator = np.random.default_rng(seed)
        self.n, self.d = n, d
        self.psi = generator.normal(size=(n, count, d))
        self.loss = generator.random((n, count)) * 3
        self.psi[:, 0], self.loss[:, 0] = 0.0, 0.0

    def gold(self, i):
        return Vertex(self.psi[i, 0], 0.0)

    def oracle(self, w, i):
        best = int(np.argmax(self.loss[i] - self.psi[i] @ w))
        return Vertex(self.psi[i, best], float(self.loss[i, best]))

    def oracles(self, w, block):
        rows = [[self.oracle(each, i)[:2] for i in block] for each in np.atleast_2d(w)]
        psi = np.array([[psi for psi, _ in row] for row in rows])
        loss = np.array([[loss for _, loss in row] for row in rows])
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])

    def primal(self, w, lam):
        """The definition."""
        hinges = (self.loss - self.psi @ w).max(axis=1)
        return lam / 2 * w @ w + hinges.mean()


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_primal_dual_and_gap_are_those_of_the_definitions(lam):
    problem = Listed(7, 4, seed=0)
    generator = np.random.default_rng(1)
    alpha = generator.dirichlet(np.ones(6), size=7)
    w = np.einsum("ik,ikd->d", alpha, problem.psi) / (lam * 7)
    ell = (alpha * problem.loss).sum() / 7
    weights, ells = np.array([w, np.zeros(4)]), np.array([ell, 0.0])
    for got, at, mass in zip(evaluate(problem, weights, ells, lam), weights, ells, strict=True):
        assert got.primal == pytest.approx(problem.primal(at, lam), rel=1e-12)
        assert got.dual == pytest.approx(mass - lam / 2 * at @ at, rel=1e-12)
        assert got.gap == pytest.approx(got.primal - got.dual, rel=1e-12)
        assert got.gap >= 0


def test_the_batch_vertex_is_the_sum_of_the_vertices(monkeypatch):
    problem = Listed(10, 3, seed=2)
    w, lam = np.array([0.3, -0.2, 0.5]), 0.5
    vertices = [problem.oracle(w, i) for i in range(10)]
    for piece in (4096, 3):
        monkeypatch.setattr(objective, "PIECE", piece)
        w_s, ell_s = batch_vertex(problem, w, lam)
        np.testing.assert_allclose(w_s, sum(vertex.psi for vertex in vertices) / (lam * 10), rtol=1e-13)
        assert ell_s == pytest.approx(sum(vertex.loss for vertex in vertices) / 10, rel=1e-13)


def test_a_problem_may_sum_its_pieces_elsewhere(monkeypatch):
    """It is told w and the pieces, and they are added in their order: rounding shows another one."""
    monkeypatch.setattr(objective, "PIECE", 3)
    problem = Listed(10, 3, seed=2)
    weights = np.random.default_rng(0).normal(size=(2, 3))
    expected = batch_vertex(problem, weights, 0.5)
    told = []

    def summing(problem, w, pieces):
        told.append((w, list(pieces)))
        return [piece_sums(problem, w, piece) for piece in pieces]

    problem.summing = summing
    for got, by_itself in zip(batch_vertex(problem, weights, 0.5), expected, strict=True):
        np.testing.assert_array_equal(got, by_itself)
    ((w, pieces),) = told
    np.testing.assert_array_equal(w, weights)
    assert pieces == [range(3), range(3, 6), range(6, 9), range(9, 10)]
    great = np.array([1.0, 1e16, -1e16])
    problem.summing = lambda problem, w, pieces: [(np.zeros(3), loss) for loss in great]
    assert batch_vertex(problem, weights[0], 0.5)[1] == 0.0


def test_threads_change_no_bit(monkeypatch):
    """Of a compiled oracle; one without the interpreter's leave, or a single piece, gets no threads."""
    generator = np.random.default_rng(4)
    problem = TripletProblem(generator.normal(size=(50, 3, 7)), generator.integers(0, 3, 50))
    assert threaded(problem, 3) is None
    monkeypatch.setattr(objective, "PIECE", 8)
    assert threaded(problem, 1) is None
    assert threaded(Listed(50, 3, seed=2), 3) is None
    weights = generator.normal(size=(2, problem.d))
    psi, loss = (values.sum(axis=1) for values in problem.oracles(weights, np.arange(50)))
    expected = batch_vertex(problem, weights, 0.5)
    np.testing.assert_allclose(expected[0], psi / 25, rtol=1e-12)
    np.testing.assert_allclose(expected[1], loss / 50, rtol=1e-12)
    where = set()
    own = problem.oracles

    def oracles(w, block):
        where.add(threading.get_ident())
        return own(w, block)

    problem.oracles, problem.summing = oracles, threaded(problem, 3)
    for got, by_itself in zip(batch_vertex(problem, weights, 0.5), expected, strict=True):
        np.testing.assert_array_equal(got, by_itself)
    assert where
    assert threading.get_ident() not in where


def test_a_gap_below_zero_by_rounding_is_zero():
    w = np.array([1.0])
    got = value(w, 1.0 + 1e-12, w, 1.0, 0.5)
    assert got.gap == 0.0
    assert got.primal == got.dual == 1.0 + 1e-12 - 0.25


def test_a_gap_below_zero_by_more_is_an_error():
    w = np.array([1.0])
    with pytest.raises(
        WeakDualityError, match=r"weak duality is broken: gap -0\.1, primal 0\.75.*; compare orac"
    ):
        value(w, 1.1, w, 1.0, 0.5)


def test_an_oracle_that_misses_the_maximum_is_told_by_a_solver():
    class Wrong(Listed):
        """Measures by the second best labelling, which is none that could certify."""

        def oracles(self, w, block):
            order = [np.argsort(self.loss[i] - self.psi[i] @ w[0])[-2] for i in block]
            return self.psi[None, block, order], self.loss[None, block, order]

    problem = Wrong(7, 4, seed=0)
    problem.nonnegative = problem.d
    solver = BlockFrankWolfe(lam=0.1, cache=0, averaging=False, tolerance=0, passes=20)
    with pytest.raises(ValueError, match=r"weak duality is broken: .*the oracle does not find the maximum"):
        solver.run(problem)


@pytest.mark.parametrize("gamma_max", [1.0, 0.3, 5.0])
def test_the_exact_step_is_the_best_of_all_steps(gamma_max):
    generator = np.random.default_rng(3)
    lam = 0.2
    for _ in range(200):
        w, w_from, w_to = generator.normal(size=(3, 5))
        ell, ell_from, ell_to = generator.random(3)
        gamma, gap = exact_step(w, w_from, ell_from, w_to, ell_to, lam, gamma_max)
        assert gap == pytest.approx(lam * (w_from - w_to) @ w - ell_from + ell_to)

        def after(step, w=w, move=w_to - w_from, ell=ell, rise=ell_to - ell_from):
            return dual(w + step * move, ell + step * rise, lam)

        steps = np.linspace(0, gamma_max, 1001)
        assert 0 <= gamma <= gamma_max
        assert after(gamma) >= max(after(step) for step in steps) - 1e-12


def test_the_exact_step_where_only_the_loss_differs():
    w = np.zeros(2)
    assert exact_step(w, w, 0.0, w, 1.0, 0.1, 1.0) == (1.0, 1.0)
    assert exact_step(w, w, 1.0, w, 0.0, 0.1, 1.0) == (0.0, -1.0)
    assert exact_step(w, w, 1.0, w, 1.0, 0.1, 1.0) == (0.0, 0.0)
