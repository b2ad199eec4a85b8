import time
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from align.matching.assignment import solve
from align.matching.projections import onto_matchings, project_pair

SHAPES = [(1, 1), (1, 4), (3, 2), (4, 4), (5, 7), (9, 6)]
onto_matchings_by_entropy = partial(onto_matchings, entropic=True)
PROJECTIONS = [onto_matchings, onto_matchings_by_entropy]


def one(project, a):
    """Project one pair given as a matrix."""
    n, m = a.shape
    return project(a.ravel(), np.array([[n, m]]), np.array([0, n * m])).reshape(n, m)


def sums_to_one_at_most(n, m):
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    matrix = np.concatenate([rows, columns])
    return {"type": "ineq", "fun": lambda z: 1 - matrix @ z, "jac": lambda z: -matrix}


def by_scipy(a, entropic):
    """The projection of one pair by sequential quadratic programming."""

    def value(z):
        if entropic:
            return np.sum(z * (np.log(z) - a.ravel()) - z), np.log(z) - a.ravel()
        return 0.5 * np.sum((z - a.ravel()) ** 2), z - a.ravel()

    n, m = a.shape
    result = minimize(
        value,
        np.full(n * m, 0.5 / max(n, m)),
        jac=True,
        method="SLSQP",
        bounds=[(1e-14 if entropic else 0, 1)] * (n * m),
        constraints=[sums_to_one_at_most(n, m)],
        options={"ftol": 1e-16, "maxiter": 2000},
    )
    return result.x.reshape(n, m)


def onto_simplex(x):
    """The nearest point of {p >= 0, sum p = 1}: max(0, x - t) with the t at which it adds up to 1."""
    ordered = np.sort(x)[::-1]
    levels = (np.cumsum(ordered) - 1.0) / np.arange(1, len(x) + 1)
    return np.maximum(x - levels[np.flatnonzero(ordered > levels)[-1]], 0.0)


def by_dykstra(a, rounds=20000):
    """The Euclidean projection by Dykstra's algorithm: slow, plain and sure."""
    z, row_part, column_part = a.copy(), np.zeros_like(a), np.zeros_like(a)

    def onto_rows(x):
        positive = np.maximum(x, 0)
        return np.array(
            [row if row.sum() <= 1 else onto_simplex(given) for row, given in zip(positive, x, strict=True)]
        )

    for _ in range(rounds):
        before = row_part, column_part
        y = onto_rows(z + row_part)
        row_part = z + row_part - y
        z = onto_rows((y + column_part).T).T
        column_part = y + column_part - z
        # z itself may rest for a while
        if max(np.abs(row_part - before[0]).max(), np.abs(column_part - before[1]).max()) < 1e-12:
            break
    return z


def by_scaling(logarithms, rounds=200000):
    """The projection by entropy by scaling rows and columns in turn with Dykstra's correction."""
    a = np.exp(logarithms)
    p, q = np.ones(a.shape[0]), np.ones(a.shape[1])
    for _ in range(rounds):
        before = p
        p = np.minimum(1, 1 / (a @ q))
        q = np.minimum(1, 1 / (p @ a))
        if np.abs(p - before).max() < 1e-15:
            break
    return p[:, None] * a * q


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_both_agree_with_a_program_solver(shape, scale):
    generator = np.random.default_rng(sum(shape))
    for _ in range(3 if np.prod(shape) < 30 else 1):  # the solver takes a second for each of the large ones
        a = scale * generator.normal(size=shape)
        np.testing.assert_allclose(one(onto_matchings, a), by_scipy(a, False), atol=1e-6)
        np.testing.assert_allclose(one(onto_matchings_by_entropy, a), by_scipy(a, True), atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_both_agree_with_dykstras_algorithm(shape, scale):
    generator = np.random.default_rng(sum(shape))
    a = scale * generator.normal(size=shape)
    np.testing.assert_allclose(one(onto_matchings, a), by_dykstra(a), atol=1e-7)
    np.testing.assert_allclose(one(onto_matchings_by_entropy, a), by_scaling(a), atol=1e-7)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("rounded", [False, True])
def test_what_is_found_meets_the_conditions_of_the_minimum(scale, rounded):
    """z = phi(a - u - v), u, v >= 0, and a price above 0 only of a word whose entries add up to 1."""
    generator = np.random.default_rng(3)
    for n, m in [(6, 6), (25, 25), (20, 31), (31, 20), (2, 40)]:
        a = scale * generator.normal(size=(n, m))
        if rounded:  # ties
            a = scale * np.round(2 * a / scale)
        for entropic in (False, True):
            z = np.empty((n, m))
            solved, u, v = project_pair(a.ravel(), n, m, entropic, np.empty(0), z.ravel())
            assert solved
            if n > m:
                u, v = v, u
            x = a - u[:, None] - v
            expected = np.where(x > -60, np.exp(np.minimum(x, 1)), 0) if entropic else np.maximum(x, 0)
            np.testing.assert_allclose(z, expected, atol=1e-9 + 1e-15 * scale)
            for prices, sums in ((u, z.sum(axis=1)), (v, z.sum(axis=0))):
                assert (prices >= 0).all()
                assert sums.max() <= 1 + 1e-14  # in the polytope, so that its dual value is a bound
                assert np.abs(sums[prices > 0] - 1).max(initial=0) <= 1e-9 + 1e-14 * scale


@pytest.mark.parametrize("shape", [(4, 4), (7, 12), (25, 25)])
def test_points_of_the_polytope_stay(shape):
    a = np.random.default_rng(0).normal(size=shape)
    z = one(onto_matchings, a)
    np.testing.assert_allclose(one(onto_matchings, z), z, atol=1e-9)
    z = one(onto_matchings_by_entropy, a)
    np.testing.assert_allclose(one(onto_matchings_by_entropy, np.log(z)), z, atol=1e-9)


def test_far_outside_it_is_the_matching():
    theta = 1e4 * np.random.default_rng(1).normal(size=(8, 9))
    links = solve(theta.ravel(), np.array([[8, 9]]), np.array([0, 72])).reshape(8, 9)
    for project in PROJECTIONS:
        np.testing.assert_allclose(one(project, theta), links, atol=1e-9)


def test_no_two_points_come_apart():
    generator = np.random.default_rng(2)
    for _ in range(20):
        a, b = 2 * generator.normal(size=(2, 6, 8))
        apart = np.linalg.norm(one(onto_matchings, a) - one(onto_matchings, b))
        assert apart <= np.linalg.norm(a - b) + 1e-9


@pytest.mark.parametrize("project", PROJECTIONS)
def test_a_block_is_its_pairs(project):
    shapes = np.array([[3, 4], [0, 5], [2, 2], [6, 1]], dtype=np.int32)
    offsets = np.array([0, 12, 12, 16, 22])
    a = np.random.default_rng(5).normal(size=22)
    whole = project(a, shapes, offsets)
    for i, (n, m) in enumerate(shapes):
        part = slice(offsets[i], offsets[i + 1])
        np.testing.assert_array_equal(whole[part], one(project, a[part].reshape(n, m)).ravel())


def test_zero_has_a_logarithm():
    logarithms = np.array([[0.5, -np.inf], [-np.inf, -np.inf]])
    assert one(onto_matchings_by_entropy, logarithms).tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("entropic", [False, True])
def test_known_prices_save_work_and_change_nothing(entropic):
    generator = np.random.default_rng(7)
    a = generator.normal(size=20 * 20)
    first, again = np.empty(400), np.empty(400)
    solved, _, known = project_pair(a, 20, 20, entropic, np.empty(0), first)
    solved_again, _, prices = project_pair(a, 20, 20, entropic, known, again)
    assert solved
    assert solved_again
    assert prices.max() > 0
    np.testing.assert_allclose(again, first, atol=1e-9)
    np.testing.assert_allclose(prices, known, atol=1e-9)


def test_both_cost_fifty_assignments_at_most():
    generator = np.random.default_rng(0)
    shapes, offsets = np.full((60, 2), 25, dtype=np.int32), np.arange(61) * 625
    for scale in (0.3, 1.0, 3.0):
        a = scale * generator.normal(size=60 * 625)

        def seconds(function, a=a):
            function(a, shapes, offsets)
            taken = []
            for _ in range(3):
                began = time.process_time()
                function(a, shapes, offsets)
                taken.append(time.process_time() - began)
            return min(taken)

        assignment = seconds(solve)
        for project in PROJECTIONS:
            assert seconds(project) <= 50 * assignment


@pytest.mark.parametrize("project", PROJECTIONS)
def test_wrong_input_is_told(project):
    shapes, offsets = np.array([[1, 2]]), np.array([0, 2])
    for wrong in (np.nan, np.inf):
        with pytest.raises(
            ValueError, match="projections: pair 0 has a weight that is NaN or infinite; give"
        ):
            project(np.array([0.0, wrong]), shapes, offsets)
    with pytest.raises(ValueError, match="the offsets of pair 0 do not fit its shape; give n"):
        project(np.zeros(3), shapes, np.array([0, 3]))
    with pytest.raises(
        ValueError, match=r"values \(2,\), shapes \(1, 2\) and offsets \(1,\) do not fit; give"
    ):
        project(np.zeros(2), shapes, np.array([0]))


def test_minus_infinity_is_no_point():
    with pytest.raises(ValueError, match="NaN or infinite"):
        onto_matchings(np.array([-np.inf]), np.array([[1, 1]]), np.array([0, 1]))
