import itertools

import numpy as np
import pytest

from tests.align.solvers.problems import Listed, bcfw, fw, pairs, solved_by_scipy


def curvature(problem, lam):
    """C_f of the dual by brute force: lam |w_s - w_x|^2, most over all vertices s and x of the domain.

    D is quadratic, so 2/gamma^2 (D(x) + <y - x, D'> - D(y)) = lam |A (s - x)|^2 for y = x + gamma (s - x),
    whose maximum over a product of simplices is at two vertices.
    """
    choices = itertools.product(range(problem.psi.shape[1]), repeat=problem.n)
    w = np.array([problem.psi[np.arange(problem.n), choice].sum(axis=0) for choice in choices])
    w /= lam * problem.n
    return lam * max(np.sum((w - each) ** 2, axis=1).max() for each in w)


@pytest.mark.parametrize("step", ["line-search", "decreasing", "curvature"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_the_dual_converges_as_the_curvature_says(step, seed, lam):
    problem = Listed.random(4, 3, seed=seed, count=4)
    c_f = curvature(problem, lam)
    largest = np.sqrt((problem.psi**2).sum(axis=2).max())
    assert 0.1 * largest**2 / lam < c_f <= 4 * largest**2 / lam
    _, minimum = solved_by_scipy(problem, lam)  # strong duality: the maximum of D
    given = c_f if step == "curvature" else None
    fit = fw(problem, lam=lam, passes=300, tolerance=0, step=step, curvature=given)
    for t, row in enumerate(fit.history[1:], 1):
        assert minimum - row.dual <= 2 * c_f / (t + 2) + 1e-7


def test_a_pass_is_one_call_of_the_oracle_for_each_block():
    fit = fw(pairs(7, 4, 3, seed=4), passes=5, tolerance=0)
    assert [row.oracle_calls for row in fit.history] == [7, 14, 21, 28, 35, 42]


def test_the_gap_is_measured_in_every_pass():
    with pytest.raises(ValueError, match="gap_every is 5; give 1, as every pass of fw measures the gap"):
        fw(Listed.random(4, 3, seed=0), gap_every=5)


def test_the_first_steps_by_hand():
    problem = Listed.random(3, 4, seed=5)
    lam = 0.1
    psi, loss = problem.oracles(np.zeros(4), np.arange(3))
    w_s, ell_s = psi.sum(axis=0) / (3 * lam), loss.mean()
    first = fw(problem, lam=lam, passes=1, tolerance=0, step="decreasing")  # 2 / (0 + 2): all the way
    np.testing.assert_allclose(first.weights, w_s, rtol=1e-14)
    gamma = min(1.0, ell_s / (lam * w_s @ w_s))
    for step in ("line-search", "curvature"):  # the curvature met first is that of the first line
        fit = fw(problem, lam=lam, passes=1, tolerance=0, step=step)
        np.testing.assert_allclose(fit.weights, gamma * w_s, rtol=1e-12)
        assert fit.dual == pytest.approx(gamma * ell_s - lam / 2 * gamma**2 * w_s @ w_s)


def test_transformed_features_lead_to_the_same_duals():
    """Rotated features are another A with the same A'A: the same problem in alpha, step by step."""
    problem = Listed.random(5, 4, seed=6)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    turned = Listed(problem.psi @ rotation, problem.loss)
    for step in ("line-search", "decreasing", "curvature"):
        fit, other = (fw(each, lam=0.1, passes=30, tolerance=0, step=step) for each in (problem, turned))
        np.testing.assert_allclose(fit.weights @ rotation, other.weights, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            [row.dual for row in fit.history], [row.dual for row in other.history], atol=1e-9
        )


def test_blocks_converge_as_their_curvatures_say():
    """Lacoste-Julien et al. 2013, Theorem 2: E h_k <= 2n / (k + 2n) (sum of curvatures + h_0)."""
    problem, lam, n = Listed.random(6, 3, seed=1, count=5), 0.05, 6
    differences = problem.psi[:, :, None] - problem.psi[:, None]
    curvatures = (differences**2).sum(axis=3).max(axis=(1, 2)) / (lam * n**2)
    largest = (problem.psi**2).sum(axis=2).max()
    assert 0 < curvatures.sum() <= 4 * largest / (lam * n)
    _, minimum = solved_by_scipy(problem, lam)
    options = {"lam": lam, "passes": 60, "tolerance": 0, "block_order": "uniform", "cache": 0}
    fits = [bcfw(problem, **options, averaging=False, seed=seed) for seed in range(30)]
    left = minimum - np.mean([[row.dual for row in fit.history] for fit in fits], axis=0)
    k = n * np.arange(61)
    assert (left <= 2 * n / (k + 2 * n) * (curvatures.sum() + minimum) + 1e-7).all()
