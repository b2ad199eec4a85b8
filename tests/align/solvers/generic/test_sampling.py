import numpy as np
import pytest

from align.solvers.generic.away_steps import L1Ball, Listed, _seen, frank_wolfe


def soft_threshold(z, radius):
    """The point of the l1 ball nearest to z, |z|_1 > radius: entries shrunk towards 0 by one tau."""
    sizes = np.sort(np.abs(z))[::-1]
    taus = (np.cumsum(sizes) - radius) / np.arange(1, len(z) + 1)
    tau = taus[np.flatnonzero(sizes > taus)[-1]]
    return np.sign(z) * np.maximum(np.abs(z) - tau, 0)


def lasso(d, seed, radius=3.0):
    """Observations of a sparse x through an orthonormal design; gradient, and the solution."""
    generator = np.random.default_rng(seed)
    design, _ = np.linalg.qr(generator.normal(size=(d + 10, d)))
    truth = np.where(np.arange(d) < 8, generator.normal(size=d), 0.0)
    seen = design @ truth + 0.05 * generator.normal(size=d + 10)
    assert np.abs(design.T @ seen).sum() > radius
    return (lambda x: design.T @ (design @ x - seen)), soft_threshold(design.T @ seen, radius)


@pytest.mark.parametrize("sample", [3, 20, 400])
@pytest.mark.parametrize("seed", range(3))
def test_a_lasso_with_an_orthonormal_design_is_soft_thresholding(sample, seed):
    gradient, solution = lasso(100, seed)
    found = frank_wolfe(gradient, L1Ball(100, 3.0), sample=sample, steps=10000, tolerance=1e-13, seed=seed)
    assert found.converged
    assert np.abs(found.x - solution).max() < 1e-6
    assert len(found.atoms) <= 40  # far fewer than 200: atoms that were wrong are dropped
    np.testing.assert_allclose(found.weights @ found.atoms, found.x, atol=1e-13)


def test_seeing_every_atom_it_is_the_method_without_samples():
    atoms = np.random.default_rng(0).normal(size=(12, 4))

    def gradient(x):
        return x - np.array([0.1, 0.5, -0.2, 0.3])

    mine = frank_wolfe(gradient, Listed(atoms), sample=12, tolerance=1e-10)
    theirs = frank_wolfe(gradient, Listed(atoms), tolerance=1e-10)
    np.testing.assert_allclose(mine.x, theirs.x, atol=1e-12)
    assert mine.steps == theirs.steps
    np.testing.assert_allclose(mine.gaps, theirs.gaps, atol=1e-12)


def test_the_gap_is_over_all_atoms():
    gradient, _ = lasso(50, 4)
    found = frank_wolfe(gradient, L1Ball(50, 3.0), sample=5, steps=37, tolerance=0)
    assert found.steps == 37
    assert not found.converged
    g = gradient(found.x)
    assert found.gap == pytest.approx(g @ found.x + 3.0 * np.abs(g).max())
    assert len(found.gaps) == 3  # at 0, 20, and the end


def test_the_oracle_sees_the_active_atoms_and_a_sample():
    looked = []

    class Watched(L1Ball):
        def slopes(self, g, indices):
            looked.append(np.array(indices))
            return super().slopes(g, indices)

    gradient, _ = lasso(50, 1)
    frank_wolfe(gradient, Watched(50, 3.0), sample=7, steps=60, tolerance=0)
    parts = [indices for indices in looked if len(indices) < 100]
    assert len(parts) == 60
    for indices in parts:
        assert len(set(indices)) == len(indices)
        assert 8 <= len(indices) <= 7 + 30
    assert len(np.unique(np.concatenate(parts))) > 90


def test_the_sample_is_drawn_from_the_other_atoms():
    class Active:
        numbers = (3, 5)

    generator, counts = np.random.default_rng(0), np.zeros(10)
    for _ in range(4000):
        seen = _seen(Active(), 10, 4, generator)
        assert seen[:2].tolist() == [3, 5]
        assert len(set(seen.tolist())) == 6
        counts[seen] += 1
    others = np.delete(counts, [3, 5])
    assert np.abs(others / 4000 - 0.5).max() < 0.03  # four of eight
    assert _seen(Active(), 6, 4, generator).tolist() == list(range(6))


def test_one_seed_one_result():
    gradient, _ = lasso(50, 4)
    first, again, other = (
        frank_wolfe(gradient, L1Ball(50, 3.0), sample=5, steps=50, tolerance=0, seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.x, again.x)
    assert not np.array_equal(first.x, other.x)


def test_options_out_of_range_are_refused():
    gradient, _ = lasso(20, 4)
    for option, message in (
        ({"sample": 0}, "sample is 0; give at least 1"),
        ({"sample": 1, "steps": 0}, "steps is 0; give at least 1"),
        ({"sample": 1, "tolerance": -1.0}, r"tolerance is -1\.0; give 0 or more"),
    ):
        with pytest.raises(ValueError, match=f"frank_wolfe: {message}"):
            frank_wolfe(gradient, L1Ball(20, 3.0), **option)
    with pytest.raises(ValueError, match="give both above 0"):
        L1Ball(3, 0.0)
