"""Projections onto the flows of words with several links: against a quadratic program, and optimal."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from align.core.errors import WorkError
from align.matching.fertility_projections import _shrink, project_block
from align.problems import flows
from align.problems.flows import FlowPolytope

BOTH = pytest.mark.parametrize("entropic", [False, True], ids=["euclidean", "entropic"])


def polytope_of(shapes, most):
    shapes = np.array(shapes, dtype=np.int32)
    edges, (n, m) = int(shapes.prod(axis=1).sum()), shapes.sum(axis=0)
    words = np.zeros((n, 1)), np.zeros((m, 1))
    return FlowPolytope(np.zeros((edges, 1)), words, shapes, np.zeros(edges), np.zeros(edges), most)


def sums(n, m):
    """The rows of sum_k z_jk - e_j and sum_j z_jk - f_k of one pair."""
    rows = np.zeros((n + m, n * m + n + m))
    for j in range(n):
        for k in range(m):
            rows[j, j * m + k] = rows[n + k, j * m + k] = 1
    rows[:, n * m :] = -np.eye(n + m)
    return rows


@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 1)])
@pytest.mark.parametrize("scale", [0.5, 3.0, 50.0])
def test_it_is_the_minimum_of_a_quadratic_program(most, shape, scale):
    polytope, generator = polytope_of([shape], most), np.random.default_rng(0)
    n, m = shape
    for _ in range(3):
        x = generator.normal(size=n * m + n + m) * scale
        z, dual = polytope.project(x, entropic=False, prices=np.zeros(n + m))
        np.testing.assert_array_equal(z, dual)
        result = minimize(
            lambda z, x=x: (0.5 * np.sum((z - x) ** 2), z - x), np.full(len(x), 0.3), jac=True,
            method="SLSQP", bounds=[(0, 1)] * (n * m) + [(0, most - 1)] * (n + m),
            constraints=LinearConstraint(sums(n, m), ub=1), options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        np.testing.assert_allclose(z, result.x, atol=2e-6)


@BOTH
@pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
@pytest.mark.parametrize("most", [2, 4])
def test_sums_are_kept_and_prices_are_optimal(entropic, scale, most):
    """z, e, f follow from prices; a word whose links are below 1 + e pays nothing."""
    shapes = np.array([[9, 13], [20, 6], [1, 1], [0, 3], [7, 7]], dtype=np.int32)
    generator = np.random.default_rng(1)
    polytope = polytope_of(shapes, most)
    for turn in range(3):
        x = generator.normal(size=len(polytope.costs)) * scale
        prices = np.zeros(polytope.prices) if turn == 0 else np.abs(generator.normal(size=polytope.prices))
        z, _ = polytope.project(x, entropic=entropic, prices=prices)
        assert (prices >= 0).all()
        assert z.min() >= 0
        edges, sources = int(shapes.prod(axis=1).sum()), int(shapes[:, 0].sum())
        assert z[:edges].max() <= 1
        assert z[edges:].max() <= most - 1
        first, source, target, price = 0, edges, edges + sources, 0
        for n, m in shapes.tolist():
            own = np.concatenate([z[first : first + n * m], z[source : source + n], z[target : target + m]])
            over = sums(n, m) @ own - 1
            paid = prices[price : price + n + m]
            assert over.max(initial=0) <= 1e-14 * (n + m)  # in Z, so that its dual value is a bound
            assert np.abs(paid * over).max(initial=0) <= 1e-5 * (1 + scale)
            first, source, target, price = first + n * m, source + n, target + m, price + n + m


def test_sums_that_are_over_are_divided_away():
    generator = np.random.default_rng(3)
    e, f = generator.random(4), generator.random(6)
    z = generator.random((4, 6)) ** 2
    before = z.copy()
    _shrink(z, e, f)
    assert (z.sum(axis=1) <= (1 + e) * (1 + 1e-15)).all()
    assert (z.sum(axis=0) <= (1 + f) * (1 + 1e-15)).all()
    assert ((z > 0) & (z <= before)).all()
    again = z * (1 - 1e-12)
    _shrink(again, e, f)
    np.testing.assert_array_equal(again, z * (1 - 1e-12))  # what is in Z stays


def test_what_is_not_found_is_told(monkeypatch):
    polytope = polytope_of([(2, 2), (1, 2)], 2)
    monkeypatch.setattr(flows, "project_block", lambda *_: 1)
    with pytest.raises(WorkError, match="flows: pair 1 was not projected; scale its features down"):
        polytope.project(np.zeros(13), entropic=False, prices=np.zeros(7))
    assert callable(project_block)
