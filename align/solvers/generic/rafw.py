"""Randomised away-step Frank-Wolfe: the linear oracle sees only some of the atoms.

Where the linear oracle must look at every atom, looking is what costs. In each step it sees the active set
and a random sample of p other atoms instead; the step is towards the best it sees or away from the worst
active one, and on polytopes the expected rate stays linear for a strongly convex f ([1]_). The gap that
certifies the result needs all m atoms; it is computed every m / p steps, so that it no more than doubles the
work.

The domain need not be a product of blocks: for the lasso it is the l1 ball, whose 2 d atoms
(:class:`L1Ball`) cost one entry of the gradient each.

References
----------
.. [1] T. Kerdreux, F. Pedregosa and A. d'Aspremont, "Frank-Wolfe with subsampling oracle", ICML 2018.
   https://proceedings.mlr.press/v80/kerdreux18a.html
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from align.solvers.generic.away_steps import ActiveSet, Gradient, Minimum, finite_gradient


class Atoms(Protocol):
    """A finite set of atoms, by number."""

    @property
    def count(self) -> int:
        """Number of atoms m, >= 1."""
        ...

    def atom(self, index: int) -> np.ndarray:
        """Return an atom, float64, shape (d,)."""
        ...

    def slopes(self, g: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return <g, atom> of the atoms ``indices``, int64 (k,), as float64 (k,)."""
        ...


class Listed:
    """Atoms that are listed.

    Parameters
    ----------
    atoms : ndarray of float64, shape (m, d)
    """

    def __init__(self, atoms: np.ndarray) -> None:
        self.count = len(atoms)
        self._atoms = atoms

    def atom(self, index: int) -> np.ndarray:
        """Return an atom, float64, shape (d,)."""
        return np.asarray(self._atoms[index], dtype=np.float64)

    def slopes(self, g: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return <g, atom> of the atoms ``indices``, int64 (k,), as float64 (k,)."""
        return np.asarray(self._atoms[indices] @ g)


class L1Ball:
    """The vertices of {x: sum |x_j| <= radius}: radius e_j is atom j, -radius e_j is atom d + j.

    Parameters
    ----------
    d : int
        Dimension, >= 1.
    radius : float
        > 0.
    """

    def __init__(self, d: int, radius: float) -> None:
        if d < 1 or not 0 < radius < np.inf:
            raise ValueError(f"rafw: an l1 ball of radius {radius} in {d} dimensions; give both above 0")
        self.count, self._d, self._radius = 2 * d, d, radius

    def atom(self, index: int) -> np.ndarray:
        """Return an atom, float64, shape (d,)."""
        atom = np.zeros(self._d)
        atom[index % self._d] = self._radius if index < self._d else -self._radius
        return atom

    def slopes(self, g: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return <g, atom> of the atoms ``indices``, int64 (k,), as float64 (k,)."""
        return np.asarray(np.where(indices < self._d, self._radius, -self._radius) * g[indices % self._d])


def rafw(
    gradient: Gradient,
    atoms: Atoms,
    *,
    sample: int,
    steps: int = 10000,
    tolerance: float = 1e-6,
    seed: int = 0,
) -> Minimum:
    """Minimise a smooth convex f over the convex hull of atoms.

    Parameters
    ----------
    gradient : function
        x (d,) to the gradient of f, float64 (d,).
    atoms : Atoms
        m atoms; the first is the start.
    sample : int
        Atoms p besides the active ones that the oracle sees in a step, >= 1. With m or more it sees all: this
        is away-step Frank-Wolfe.
    steps : int
        At most so many, >= 1.
    tolerance : float
        Stop when the gap is found to be no more than that, >= 0.
    seed : int
        Seed of the samples, >= 0.

    Returns
    -------
    Minimum

    Raises
    ------
    ValueError
        If an option is out of its range, or a gradient is not finite.
    """
    for name, given, fits, wanted in (
        ("sample", sample, sample >= 1, "at least 1"),
        ("steps", steps, steps >= 1, "at least 1"),
        ("tolerance", tolerance, tolerance >= 0, "0 or more"),
    ):
        if not fits:
            raise ValueError(f"rafw: {name} is {given}; give {wanted}")
    generator = np.random.default_rng(seed)
    everything = np.arange(atoms.count)
    every = -(-atoms.count // sample)
    active, gaps = ActiveSet(0, atoms.atom(0)), []
    for count in range(steps + 1):
        x = active.point()
        g = finite_gradient(gradient, x)
        if count % every == 0 or count == steps:
            gaps.append(float(g @ x - atoms.slopes(g, everything).min()))
            if gaps[-1] <= tolerance or count == steps:
                break
        seen = _seen(active, atoms.count, sample, generator)
        s = int(seen[np.argmin(atoms.slopes(g, seen))])
        active.move(gradient, g, s, atoms.atom(s), "away")
    return active.minimum(gaps, count, tolerance)


def _seen(active: ActiveSet, count: int, sample: int, generator: np.random.Generator) -> np.ndarray:
    """Return the active atoms, then at most ``sample`` others, drawn without replacement; int64."""
    known = np.array(active.keys, dtype=np.int64)
    if sample + len(known) >= count:
        return np.arange(count)
    # so many of all atoms that enough are left when the active ones are taken out
    drawn = generator.choice(count, size=sample + len(known), replace=False)
    return np.concatenate([known, drawn[~np.isin(drawn, known)][:sample]])
