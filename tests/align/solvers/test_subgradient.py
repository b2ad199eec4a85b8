"""Stochastic subgradient: its iterates, and a certificate that is a dual point of the vertices it met."""

import numpy as np
import pytest
from scipy.optimize import linprog

from align.problems.triplets import TripletProblem
from align.solvers import SOLVERS
from tests.align.solvers.problems import Listed, Plain, fertile_pairs, pairs, solved_by_scipy, subgradient

ORIGIN = np.array([0.3, -0.2, 0.5, 0.1, 1.0])


class Watched(Listed):
    """It writes down each w that one block is asked at, and what was found; passes of many are not steps."""

    def __init__(self, psi, loss, nonnegative=None):
        super().__init__(psi, loss, nonnegative)
        self.met = []

    def oracle(self, w, i):
        best = int(np.argmax(self.loss[i] - self.psi[i] @ w))
        self.met.append((w.copy(), i, best))
        return super().oracle(w, i)


def watched(seed, n=7, nonnegative=5):
    listed = Listed.random(n, 5, seed=seed)
    return Watched(listed.psi, listed.loss, nonnegative=nonnegative)


@pytest.mark.parametrize(("nonnegative", "origin"), [(5, None), (5, ORIGIN), (3, ORIGIN)])
def test_the_iterates_are_the_published_steps(nonnegative, origin):
    problem, lam, states = watched(0, nonnegative=nonnegative), 0.2, []
    subgradient(
        problem, lam=lam, passes=5, tolerance=0, origin=origin,
        on_pass=lambda progress: states.append((progress.state.w.copy(), progress.state.v_average.copy())),
    )  # fmt: skip
    start = np.zeros(5) if origin is None else origin
    w, average = start.copy(), start.copy()
    for k, (asked, i, best) in enumerate(problem.met):
        np.testing.assert_allclose(np.append(w[:nonnegative], np.maximum(w[nonnegative:], 0)), asked)
        w = w - (lam * (w - start) - problem.psi[i, best]) / (lam * (k + 1))  # a subgradient step 1/(lam t)
        average = k / (k + 2) * average + 2 / (k + 2) * w
        if (k + 1) % problem.n == 0:
            told, mean = states[(k + 1) // problem.n - 1]
            np.testing.assert_allclose(told[:nonnegative], w[:nonnegative], rtol=1e-10)
            np.testing.assert_allclose(mean, average, rtol=1e-10)
            assert (told[nonnegative:] >= 0).all()
    assert sorted(i for _, i, _ in problem.met[:7]) == list(range(7))
    assert len(problem.met) == 5 * problem.n


@pytest.mark.parametrize("order", ["permutation", "cyclic"])
@pytest.mark.parametrize("nonnegative", [5, 2])
def test_the_dual_is_that_of_a_distribution_over_the_vertices_met(order, nonnegative):
    problem, lam = watched(1, nonnegative=nonnegative), 0.1
    fit = subgradient(problem, lam=lam, passes=6, tolerance=0, origin=ORIGIN, block_order=order)
    mass, best_so_far = np.zeros(problem.loss.shape), 0.0
    for step, (_, i, best) in enumerate(problem.met, 1):
        passes = -(-step // problem.n)
        mass[i, best] += passes  # in proportion to the number of its pass
        if step % problem.n:
            continue
        alpha = mass / (passes * (passes + 1) / 2)
        np.testing.assert_allclose(alpha.sum(axis=1), 1.0)
        v = ORIGIN + np.einsum("iy,iyd->d", alpha, problem.psi) / (lam * problem.n)
        w = np.append(v[:nonnegative], np.maximum(v[nonnegative:], 0))
        dual = (alpha * problem.loss).sum() / problem.n - lam / 2 * (w @ w - ORIGIN @ ORIGIN)
        best_so_far, row = max(best_so_far, dual), fit.history[passes]
        assert row.dual == pytest.approx(best_so_far, rel=1e-10)
        assert row.average_dual == row.dual
        for values in (row[3:6], row[6:9]):
            assert values[2] == pytest.approx(values[0] - values[1], abs=1e-12)
    assert fit.dual > 0.0


@pytest.mark.parametrize("lam", [0.03, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_the_mean_of_all_passes_is_a_worse_bound(seed, lam):
    """A alpha of passes that count alike is w_k itself; why those that count in proportion are kept."""
    problem, passes = watched(seed), 200
    _, maximum = solved_by_scipy(problem, lam)
    subgradient(problem, lam=lam, passes=passes, tolerance=0)
    of_pass = 1 + np.arange(len(problem.met)) // problem.n
    away = []
    for weight in (of_pass * 2 / (passes * (passes + 1)), np.full(len(of_pass), 1 / passes)):
        mass = np.zeros(problem.loss.shape)
        for (_, i, best), own in zip(problem.met, weight, strict=True):
            mass[i, best] += own
        w = np.einsum("iy,iyd->d", mass, problem.psi) / (lam * problem.n)
        away.append(maximum - ((mass * problem.loss).sum() / problem.n - lam / 2 * w @ w))
    assert min(away) >= -1e-7
    assert 4 <= away[1] / away[0] <= 45  # docs/solvers.md says so


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lam", [0.03, 0.3])
def test_two_hundred_passes_end_within_one_per_cent_of_the_minimum(seed, lam):
    problem = Listed.random(8, 5, seed=seed)
    _, minimum = solved_by_scipy(problem, lam)
    fit = subgradient(problem, lam=lam, passes=200, tolerance=0, seed=seed)
    assert minimum - 1e-7 <= fit.primal <= 1.01 * minimum
    assert fit.dual <= minimum + 1e-7
    assert fit.gap <= 0.03 * fit.primal


@pytest.mark.parametrize("kind", ["matching", "fertility", "triplets"])
def test_within_one_per_cent_on_real_oracles(kind):
    if kind == "matching":
        problem = pairs(100, 8, 10, seed=1, noise=0.5)
    elif kind == "fertility":
        problem = fertile_pairs(12, 4, 6, seed=2)
    else:
        generator = np.random.default_rng(0)
        problem = TripletProblem(generator.normal(size=(60, 3, 6)), generator.integers(0, 3, 60))
    lam = 0.05
    best = SOLVERS["bcfw-pairwise"](lam=lam, passes=500, tolerance=1e-6).run(problem)
    fit = subgradient(problem, lam=lam, passes=200, tolerance=0)
    assert best.dual - 1e-9 <= fit.primal <= 1.01 * best.primal
    assert fit.dual <= best.primal + 1e-9


def test_it_stops_by_its_certificate():
    problem = pairs(100, 8, 10, seed=1, noise=0.5)
    fit = subgradient(problem, lam=0.05, passes=1000, tolerance=0.01)
    assert fit.status == "converged"
    assert fit.gap <= 0.01 * fit.primal
    assert fit.passes < 200
    assert fit.shortfall == ""


@pytest.mark.parametrize("averaging", [True, False])
@pytest.mark.parametrize("order", ["permutation", "cyclic"])
def test_the_compiled_pass_is_the_plain_loop_to_the_bit(averaging, order):
    problem = pairs(12, 6, 5, seed=0)
    options = {"lam": 0.05, "passes": 6, "tolerance": 0, "block_order": order, "averaging": averaging}
    compiled, plain = subgradient(problem, **options), subgradient(Plain(problem), **options)
    np.testing.assert_array_equal(compiled.weights, plain.weights)
    for row, other in zip(compiled.history, plain.history, strict=True):
        np.testing.assert_array_equal(row._replace(seconds=0), other._replace(seconds=0))
    assert np.isnan(compiled.history[-1].average_gap) != averaging


def test_what_it_keeps_does_not_grow_with_the_pairs():
    sizes = []
    for n in (10, 1000):
        state = SOLVERS["subgradient"]().start(Listed.random(n, 5, seed=0), np.zeros(5))
        sizes.append(sum(value.nbytes for value in vars(state).values() if isinstance(value, np.ndarray)))
    assert sizes[0] == sizes[1]


def test_no_distribution_over_the_vertices_met_has_a_better_dual_than_the_minimum():
    """An independent bound: the linear program of the largest ell at w = 0 bounds every dual from above."""
    problem = Listed.random(5, 3, seed=2)
    n, count, d = problem.psi.shape
    columns = problem.psi.reshape(n * count, d).T
    found = linprog(
        -problem.loss.ravel() / n,
        A_eq=np.vstack([columns, np.kron(np.eye(n), np.ones(count))]),
        b_eq=np.concatenate([np.zeros(d), np.ones(n)]),
    )
    fit = subgradient(problem, lam=1e-6, passes=50, tolerance=0)
    assert found.status == 0
    # ell at A alpha = 0 is the dual that lam -> 0 leaves
    assert fit.dual <= -found.fun + 1e-6
