"""Curvature: its definition, its bounds, and what steps make of it."""

import itertools

import numpy as np
import pytest

from align.solvers.frank_wolfe import BatchFrankWolfe
from align.solvers.generic.away_steps import VARIANTS, Listed, frank_wolfe
from align.solvers.generic.curvature import (
    curvature_bound,
    curvature_step,
    diameter,
    dual_curvature_bounds,
    dual_curvatures,
    sampled_block_curvatures,
    sampled_curvature,
)
from tests.align.solvers.generic.test_away_steps import minimum_over, quadratic
from tests.align.solvers.problems import Listed as ListedBlocks
from tests.align.solvers.problems import bcfw


def between(atoms, matrix):
    """The curvature of |matrix x|^2 / 2: the largest |matrix (a - b)|^2."""
    return max(np.sum((matrix @ (a - b)) ** 2) for a in atoms for b in atoms)


@pytest.mark.parametrize("seed", range(4))
def test_of_a_quadratic_it_lies_between_sample_and_bound(seed):
    generator = np.random.default_rng(seed)
    atoms, matrix = generator.normal(size=(8, 3)), generator.normal(size=(5, 3))

    def value(x):
        return 0.5 * np.sum((matrix @ x) ** 2)

    def gradient(x):
        return matrix.T @ (matrix @ x)

    exact = between(atoms, matrix)
    sampled = sampled_curvature(value, gradient, atoms, samples=4000, seed=seed)
    assert 0.8 * exact < sampled <= exact * (1 + 1e-9)
    assert exact <= curvature_bound(np.linalg.norm(matrix, 2) ** 2, diameter(atoms)) * (1 + 1e-12)
    few = sampled_curvature(value, gradient, atoms, samples=20, seed=seed)
    assert few <= sampled
    # it is that of the composed function on the pre-image of an affine map; L diam^2 is not
    map_ = np.diag([0.1, 1.0, 7.0])
    images = np.linalg.solve(map_, atoms.T).T
    moved = sampled_curvature(
        lambda x: value(map_ @ x), lambda x: map_.T @ gradient(map_ @ x), images, samples=4000, seed=seed
    )
    assert moved == pytest.approx(sampled, rel=1e-6)
    assert curvature_bound(np.linalg.norm(matrix @ map_, 2) ** 2, diameter(images)) > 1.5 * exact


def test_rounding_makes_no_sample_negative():
    """Of a linear function the brackets are rounding, divided by gamma^2."""
    generator = np.random.default_rng(0)
    for seed in range(20):
        slope, atoms = 1e6 * generator.normal(size=4), generator.normal(size=(5, 4))
        found = sampled_curvature(lambda x, g=slope: g @ x, lambda x, g=slope: g, atoms, samples=1, seed=seed)
        assert 0.0 <= found < 1e-3


def test_no_atoms_have_no_diameter():
    with pytest.raises(ValueError, match="curvature: a hull of no atoms; give one or more"):
        diameter(np.zeros((0, 3)))
    assert diameter(np.ones((1, 3))) == 0.0


def test_of_a_linear_function_it_is_0_and_of_a_square_on_a_segment_its_length_squared():
    segment = np.array([[-1.0], [2.0]])
    assert sampled_curvature(lambda x: 3 * x[0], lambda x: np.array([3.0]), segment) == pytest.approx(
        0, abs=1e-9
    )
    assert sampled_curvature(lambda x: 0.5 * x @ x, lambda x: x, segment) == pytest.approx(9, rel=0.01)
    assert diameter(segment) == 3
    assert diameter(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])) == 5


def test_of_a_function_that_is_no_quadratic_the_sample_is_below_the_bound():
    atoms = 2.0 * np.concatenate([np.eye(3), -np.eye(3)])
    data = np.random.default_rng(0).normal(size=(20, 3))

    def value(x):
        return np.logaddexp(0, data @ x).sum()

    def gradient(x):
        return data.T @ (1 / (1 + np.exp(-data @ x)))

    bound = curvature_bound(0.25 * np.linalg.norm(data, 2) ** 2, diameter(atoms))
    assert 0 < sampled_curvature(value, gradient, atoms) <= bound


def test_the_blocks_of_a_product_add_up_to_the_product_curvature():
    generator = np.random.default_rng(3)
    blocks = [generator.normal(size=(m, d)) for m, d in ((4, 2), (3, 3), (5, 1))]
    matrix = generator.normal(size=(4, 6))
    found = sampled_block_curvatures(
        lambda x: 0.5 * np.sum((matrix @ x) ** 2), lambda x: matrix.T @ (matrix @ x), blocks, samples=2000
    )
    columns = np.split(matrix, [2, 5], axis=1)
    exact = np.array([between(atoms, own) for atoms, own in zip(blocks, columns, strict=True)])
    assert (found <= exact * (1 + 1e-9)).all()
    assert (found > 0.8 * exact).all()


@pytest.mark.parametrize("lam", [0.05, 2.0])
def test_the_dual_of_a_structured_svm(lam):
    problem = ListedBlocks.random(4, 3, seed=1, count=3)
    n, d = problem.n, problem.d
    exact = dual_curvatures(problem.psi, lam)
    # by the definition, over the simplices: the dual as a function of alpha
    matrix = problem.psi.reshape(-1, d).T / (lam * n)
    losses = problem.loss.ravel() / n

    def value(alpha):
        return lam / 2 * np.sum((matrix @ alpha) ** 2) - losses @ alpha

    def gradient(alpha):
        return lam * matrix.T @ (matrix @ alpha) - losses

    simplices = [np.eye(3)] * n
    sampled = sampled_block_curvatures(value, gradient, simplices, samples=500)
    assert (sampled <= exact * (1 + 1e-9)).all()
    assert (sampled > 0.9 * exact).all()
    radius = np.linalg.norm(problem.psi, axis=2).max()
    whole, blocks = dual_curvature_bounds(radius, lam, n)
    assert exact.sum() <= blocks
    assert whole == pytest.approx(n * blocks)
    vertices = [matrix @ np.concatenate(own) for own in itertools.product(np.eye(3), repeat=n)]
    batch = lam * max(np.sum((a - b) ** 2) for a in vertices for b in vertices)
    assert batch <= np.sqrt(exact).sum() ** 2 * (1 + 1e-12) <= whole * (1 + 1e-12)
    # the rates that go with them: 2 C_f / (t + 2) of all blocks together, in the dual
    best = bcfw(problem, lam=lam, passes=3000, tolerance=1e-9).dual
    for step in ("line-search", "decreasing", "curvature"):
        given = {"curvature": batch} if step == "curvature" else {}
        fit = BatchFrankWolfe(lam=lam, passes=60, tolerance=0, step=step, **given).run(problem)
        for t, row in enumerate(fit.history[1:], 1):
            assert best - row.dual <= 2 * batch / (t + 2) + 1e-9


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_with_steps_of_the_curvature_f_never_rises_and_the_rate_holds(variant, seed):
    generator = np.random.default_rng(seed)
    atoms = generator.normal(size=(7, 3))
    value, gradient = quadratic(seed, 3)
    matrix = np.linalg.cholesky(np.stack([gradient(e) - gradient(0 * e) for e in np.eye(3)])).T
    c_f = between(atoms, matrix)
    minimum, values = minimum_over(atoms, value), []
    options = {"variant": variant, "step": "curvature", "curvature": c_f, "tolerance": 1e-9, "steps": 3000}
    found = frank_wolfe(gradient, Listed(atoms), **options, on_step=lambda x, gap: values.append(value(x)))
    assert (np.diff(values) <= 1e-12).all()
    assert found.gaps.min() < (0.02 if variant == "plain" else 1e-3) * found.gaps[0]
    for t, h in enumerate(values[1:], 1):
        if variant == "plain":
            assert h - minimum <= 2 * c_f / (t + 2) + 1e-8
    # the promise of the step: a fall of g^2 / (2 C) at least, where it is not cut
    if variant == "plain":
        for gap, before, after in zip(found.gaps, values, values[1:], strict=False):
            if gap <= c_f:
                assert after <= before - gap**2 / (2 * c_f) + 1e-9


def test_the_step_is_clipped():
    assert curvature_step(1.0, 4.0) == 0.25
    assert curvature_step(9.0, 4.0) == 1.0
    assert curvature_step(9.0, 0.0) == 1.0
    assert curvature_step(-1.0, 4.0) == curvature_step(0.0, 0.0) == 0.0
    assert curvature_step(1.0, 4.0, 0.1) == 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"step": "curvature"},
            "step is 'curvature', curvature None; give a curvature above 0 with the step",
        ),
        (
            {"curvature": 1.0},
            r"step is 'line-search', curvature 1\.0; give a curvature above 0 with the step",
        ),
        ({"step": "curvature", "curvature": 0.0}, r"curvature 0\.0; give a curvature above 0"),
    ],
)
def test_curvatures_that_are_none_are_refused(options, message):
    with pytest.raises(ValueError, match=f"frank_wolfe: .*{message}"):
        frank_wolfe(lambda x: x, Listed(np.eye(2)), **options)


def test_samples_out_of_range_are_refused():
    for atoms, samples in ((np.eye(2), 0), (np.zeros((0, 2)), 1), (np.zeros(3), 1)):
        with pytest.raises(ValueError, match="give 1 or more of both, atoms"):
            sampled_curvature(lambda x: 0.0, lambda x: x, atoms, samples=samples)
