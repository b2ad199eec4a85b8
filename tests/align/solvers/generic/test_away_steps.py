import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from align.solvers.generic.away_steps import ActiveSet, Listed, best_step, frank_wolfe


def quadratic(seed, d, *, target=None):
    """f(x) = |B x - c|^2 / 2 with a random B, whose minimum over all x is ``target`` if given."""
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(d + 2, d))
    aim = generator.normal(size=d + 2) if target is None else matrix @ target
    return (lambda x: 0.5 * np.sum((matrix @ x - aim) ** 2)), (lambda x: matrix.T @ (matrix @ x - aim))


def minimum_over(atoms, value):
    """The minimum over the hull, by another method: over the weights of all atoms."""
    m = len(atoms)
    result = minimize(
        lambda weights: value(weights @ atoms),
        np.full(m, 1 / m),
        method="SLSQP",
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert result.success
    return result.fun


@pytest.mark.parametrize("variant", ["plain", "away", "pairwise"])
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_bounds_the_suboptimality_and_f_never_rises(variant, seed):
    atoms = np.random.default_rng(seed).normal(size=(9, 4))
    value, gradient = quadratic(seed, 4)
    minimum, values = minimum_over(atoms, value), []

    def watch(x, gap):
        values.append(value(x))
        assert minimum - 1e-8 <= values[-1] <= minimum + gap + 1e-8

    found = frank_wolfe(gradient, Listed(atoms), variant=variant, steps=3000, tolerance=1e-9, on_step=watch)
    assert (np.diff(values) <= 1e-13).all()
    assert found.converged == (variant != "plain")
    assert found.gap == found.gaps[-1]
    assert len(found.gaps) == len(values) == found.steps + 1
    np.testing.assert_allclose(found.weights @ found.atoms, found.x, atol=1e-13)
    assert found.weights.min() > 0
    assert found.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_linear_rate_where_plain_steps_zig_zag(variant):
    """The minimum lies inside a face of a cube: plain steps go to and fro between its corners."""
    atoms = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    target = np.array([0.3, -0.2, 1.0])
    options = {"steps": 400, "tolerance": 1e-13}

    def gradient(x):
        return x - target

    plain = frank_wolfe(gradient, Listed(atoms), variant="plain", **options)
    assert plain.steps == 400
    assert plain.gap > 1e-4
    found = frank_wolfe(gradient, Listed(atoms), variant=variant, **options)
    assert found.converged
    assert found.steps < 100
    np.testing.assert_allclose(found.x, target, atol=1e-6)
    assert found.weights[found.atoms[:, 2] < 1].sum() < 1e-9  # the atoms off the face
    # sublinear: a hundred times as many steps divide the gap by about a hundred
    gaps = np.minimum.accumulate(plain.gaps)
    assert gaps[400] > 1e-3 * gaps[4]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", ["line-search", "decreasing"])
def test_the_rate_of_plain_steps_is_that_of_the_curvature(step, seed):
    atoms = np.random.default_rng(seed).normal(size=(7, 3))
    value, gradient = quadratic(seed, 3)
    offsets = [gradient(a) - gradient(b) for a in atoms for b in atoms]
    differences = [a - b for a in atoms for b in atoms]
    c_f = max(g @ x for g, x in zip(offsets, differences, strict=True))  # |B (a - b)|^2
    minimum, values = minimum_over(atoms, value), []
    frank_wolfe(
        gradient, Listed(atoms), variant="plain", step=step, steps=200, tolerance=0,
        on_step=lambda x, gap: values.append(value(x)),
    )  # fmt: skip
    for t, found in enumerate(values[1:], 1):
        assert found - minimum <= 2 * c_f / (t + 2) + 1e-8


@pytest.mark.parametrize(
    ("variant", "step"),
    [("plain", "line-search"), ("plain", "decreasing"), ("away", "line-search"), ("pairwise", "line-search")],
)
def test_affine_covariance(variant, step):
    """f(A . + b) over the pre-image of the domain: the same steps, seen through the map."""
    # an exact pairwise step may leave two atoms equally good, and rounding then decides: here none does
    generator = np.random.default_rng(9)
    atoms = generator.normal(size=(10, 4))
    _, gradient = quadratic(9, 4)
    matrix, shift = np.diag([0.1, 1.0, 3.0, 20.0]) @ generator.normal(size=(4, 4)), generator.normal(size=4)
    images = np.linalg.solve(matrix, (atoms - shift).T).T
    traces = [[], []]
    for trace, mine, vertices in (
        (traces[0], gradient, atoms),
        (traces[1], lambda y: matrix.T @ gradient(matrix @ y + shift), images),
    ):
        frank_wolfe(
            mine, Listed(vertices), variant=variant, step=step, steps=40, tolerance=1e-9,
            on_step=lambda x, gap, trace=trace: trace.append((x, gap)),
        )  # fmt: skip
    assert len(traces[0]) == len(traces[1]) > 5
    for (x, gap), (y, other) in zip(*traces, strict=True):
        np.testing.assert_allclose(matrix @ y + shift, x, atol=1e-8)
        assert gap == pytest.approx(other, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_where_f_is_not_convex_the_smallest_gap_falls_as_one_by_root_t(seed):
    """Lacoste-Julien 2016, "Convergence rate of Frank-Wolfe for non-convex objectives", Theorem 1."""
    generator = np.random.default_rng(seed)
    atoms = generator.normal(size=(12, 5))
    turn, _ = np.linalg.qr(generator.normal(size=(5, 5)))
    matrix = turn @ np.diag([3.0, 2.0, 0.5, -0.3, -1.0]) @ turn.T

    def value(x):
        return 0.5 * x @ matrix @ x

    found = frank_wolfe(lambda x: matrix @ x, Listed(atoms), variant="plain", steps=300, tolerance=0)
    c_f = max((a - b) @ matrix @ (a - b) for a in atoms for b in atoms)
    bound = 0.5 * -1.0 * (atoms**2).sum(axis=1).max()  # of f from below, by the least eigenvalue
    constant = max(2 * (value(atoms[0]) - bound), c_f)
    smallest = np.minimum.accumulate(found.gaps)
    assert (smallest <= constant / np.sqrt(np.arange(len(smallest)) + 1)).all()


def test_a_smooth_function_that_is_no_quadratic():
    """Logistic loss over the l1 ball: the line search finds the root of the slope."""
    generator = np.random.default_rng(1)
    data, signs = generator.normal(size=(30, 5)), generator.choice([-1.0, 1.0], 30)
    atoms = 2.0 * np.concatenate([np.eye(5), -np.eye(5)])

    def value(x):
        return np.logaddexp(0, -signs * (data @ x)).sum()

    def gradient(x):
        return -data.T @ (signs / (1 + np.exp(signs * (data @ x))))

    found = frank_wolfe(gradient, Listed(atoms), tolerance=1e-8)
    assert found.converged
    assert value(found.x) == pytest.approx(minimum_over(atoms, value), abs=1e-6)


def test_the_best_step_is_the_root_of_the_slope():
    def gradient(x):
        return np.sinh(x - 0.7)

    x, direction = np.zeros(1), np.ones(1)
    assert best_step(gradient, x, gradient(x), direction, 5.0) == pytest.approx(0.7, abs=1e-10)
    assert best_step(gradient, x, gradient(x), direction, 0.5) == 0.5
    assert best_step(gradient, x, gradient(x), -direction, 5.0) == 0.0


def test_a_vertex_that_is_best_is_found_at_once():
    atoms = np.eye(3)
    found = frank_wolfe(lambda x: np.array([3.0, 1.0, 2.0]), Listed(atoms))
    assert (found.steps, found.gap, found.converged) == (1, 0.0, True)
    assert found.x.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "best"}, "variant is 'best'; give one of plain, away, pairwise"),
        ({"step": "long"}, "step is 'long'; give one of line-search, decreasing"),
        ({"step": "decreasing"}, "decreasing steps of the variant away; give line-search"),
        ({"steps": 0}, "steps is 0; give at least 1"),
        ({"tolerance": -1.0}, r"tolerance is -1\.0; give 0 or more"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=f"frank_wolfe: {message}"):
        frank_wolfe(lambda x: x, Listed(np.eye(2)), **options)


def test_a_gradient_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="a gradient is not"):
        frank_wolfe(lambda x: x * np.nan, Listed(np.eye(2)))


def test_a_step_away_may_use_alpha_over_one_less_alpha():
    for target, left in ((0.9945, 2), (1.5, 1)):  # inside the segment, at gamma = 0.105; beyond its end
        active = ActiveSet(0, np.array([0.0]))
        active.numbers, active.atoms, active.weights = [0, 1], np.array([[0.0], [1.0]]), np.array([0.1, 0.9])
        active.move(lambda x, t=target: x - t, np.array([0.9 - target]), 1, np.array([1.0]), "away")
        assert active.point()[0] == pytest.approx(min(target, 1.0), abs=1e-12)
        assert active.numbers == [0, 1][-left:]
        assert active.weights.sum() == pytest.approx(1.0)
