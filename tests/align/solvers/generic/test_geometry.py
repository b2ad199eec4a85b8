"""Widths of polytopes that are known, and the linear rate that they promise."""

import itertools
import re

import numpy as np
import pytest
from scipy.optimize import minimize

from align.solvers.generic import geometry
from align.solvers.generic.away_steps import Listed, frank_wolfe
from align.solvers.generic.curvature import diameter
from align.solvers.generic.geometry import (
    hull_distance,
    linear_rate,
    pyramidal_width,
    vertex_facet_distance,
)


def cube(d):
    return np.array(list(itertools.product((0.0, 1.0), repeat=d)))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_the_cube(d):
    """Lacoste-Julien and Jaggi 2015, Lemma 4."""
    assert pyramidal_width(cube(d)) == pytest.approx(1 / np.sqrt(d), rel=1e-6)
    assert vertex_facet_distance(cube(d)) == pytest.approx(1)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_the_simplex(d):
    """Pena and Rodriguez 2019: 2 / sqrt(d), for odd d 2 / sqrt(d - 1/d)."""
    width = 2 / np.sqrt(d if d % 2 == 0 else d - 1 / d)
    assert pyramidal_width(np.eye(d)) == pytest.approx(width, rel=1e-6)
    # a vertex above the centre of the others
    assert vertex_facet_distance(np.eye(d)) == pytest.approx(np.sqrt(d / (d - 1)), rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_l1_ball(d):
    """A facet is as far from the opposite one as its hyperplanes; a subset of it from the rest is nearer."""
    atoms = np.concatenate([np.eye(d), -np.eye(d)])
    # any face, a set of signed units, from the hull of the others: by the distance alone, over all of them
    least = np.inf
    for signs in itertools.product((-1, 0, 1), repeat=d):
        face = np.array([s * np.eye(d)[k] for k, s in enumerate(signs) if s])
        if len(face):
            rest = np.array([a for a in atoms if not (a == face).all(axis=1).any()])
            least = min(least, hull_distance(face, rest))
    assert pyramidal_width(atoms) == pytest.approx(least, rel=1e-9)
    assert vertex_facet_distance(atoms) == pytest.approx(2 / np.sqrt(d))


def test_it_is_a_length_and_turns_with_the_polytope():
    generator = np.random.default_rng(0)
    atoms = generator.normal(size=(7, 3))
    turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    for width in (pyramidal_width, vertex_facet_distance):
        assert width(5 * atoms @ turn + 2) == pytest.approx(5 * width(atoms), rel=1e-6)
        # flat in more dimensions
        assert width(np.pad(atoms, ((0, 0), (0, 2)))) == pytest.approx(width(atoms), rel=1e-6)
    # no facet is nearer than the width says: the definitions' order on every polytope
    assert pyramidal_width(atoms) <= vertex_facet_distance(atoms) * (1 + 1e-9)


def test_a_thin_triangle_is_thin():
    atoms = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.01]])
    assert pyramidal_width(atoms) == pytest.approx(0.01 / np.hypot(1, 0.01), rel=1e-6)


def test_two_hulls_by_hand():
    square = cube(2)
    assert hull_distance(square, square + np.array([3, 0])) == pytest.approx(2)
    assert hull_distance(square, square + np.array([4, 5])) == pytest.approx(5)
    assert hull_distance(square, square + 0.5) == pytest.approx(0, abs=1e-6)
    assert hull_distance(square[:1], square[:1]) == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [lambda: cube(3), lambda: np.eye(4)])
def test_away_steps_keep_the_rate(make, seed):
    atoms, generator = make(), np.random.default_rng(seed)
    d = atoms.shape[1]
    scales = np.geomspace(0.5, 2.0, d)
    target = generator.dirichlet(np.ones(len(atoms))) @ atoms + 0.5 * generator.normal(size=d)
    values, good = [], []
    found = frank_wolfe(
        lambda x: scales * (x - target), Listed(atoms), variant="away", tolerance=1e-13,
        on_step=lambda x, gap: values.append(0.5 * scales @ (x - target) ** 2),
    )  # fmt: skip
    assert found.converged
    rho = linear_rate(0.5, 2.0, pyramidal_width(atoms), diameter(atoms))
    assert 0 < rho <= 0.25
    h = np.array(values) - values[-1]
    # half the steps are good ones at least
    for t in range(len(h) - 2):
        good.append(h[t] <= h[0] * (1 - rho) ** (t / 2) + 1e-12)
    assert all(good)


@pytest.mark.parametrize(
    ("atoms", "message"),
    [
        (np.zeros((2, 2)), "two different ones"),
        (np.zeros((1, 2)), "two different ones"),
        (np.zeros(3), "two different ones"),
        (np.array([[0.0], [np.nan]]), "NaN or infinite"),
        (np.array([[0.0], [1.0], [0.5]]), "atom 2 is no vertex of the hull of all; leave it out"),
        (np.vstack([cube(2), [[0.5, 0.25]]]), "atom 4 is no vertex"),
        (np.vstack([[[0.5, 0.5, 1.0]], cube(3)]), "atom 0 is no vertex"),
        (np.vstack([cube(3), [[0.5, 1.0, 1.0]]]), "atom 8 is no vertex"),
    ],
)
def test_what_is_no_polytope_is_refused(atoms, message):
    for width in (pyramidal_width, vertex_facet_distance):
        with pytest.raises(ValueError, match=f"geometry: .*{message}"):
            width(atoms)


def test_a_distance_that_was_not_found_is_told_with_its_bounds(monkeypatch):
    """An upper bound taken for the distance would promise too fast a rate."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(30, 6)), generator.normal(size=(30, 6)) + 3.0
    true = hull_distance(first, second)
    monkeypatch.setattr(geometry, "_STEPS", 3)
    with pytest.raises(
        ValueError, match="was not found in 3 steps: .* give a polytope with fewer vertices"
    ) as told:
        hull_distance(first, second)
    least, most = (float(each) for each in re.findall(r"([\d.]+) at", str(told.value)))
    assert least <= true <= most


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_is_that_of_a_quadratic_program(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(6, 3)), generator.normal(size=(5, 3)) + generator.uniform(0, 3, 3)

    def square(x):
        return float(np.sum((x[:6] @ first - x[6:] @ second) ** 2))

    sums = [
        {"type": "eq", "fun": lambda x: x[:6].sum() - 1},
        {"type": "eq", "fun": lambda x: x[6:].sum() - 1},
    ]
    start = np.concatenate([np.full(6, 1 / 6), np.full(5, 1 / 5)])
    result = minimize(
        square,
        start,
        method="SLSQP",
        bounds=[(0, 1)] * 11,
        constraints=sums,
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert hull_distance(first, second) == pytest.approx(np.sqrt(result.fun), abs=1e-5)
