"""Frank-Wolfe with away and pairwise steps for any smooth convex function on the hull of some atoms.

    min f(x)    over the convex hull of a finite set of atoms

The function is known by its gradient. The iterate is a convex combination of atoms, the *active set*. With s
the atom of least <grad f(x), s> and v the active atom of largest <grad, v>:

* plain: towards s, by gamma <= 1;
* away: that, or x - v, where <grad, x - v> is the steeper, by gamma <= alpha_v / (1 - alpha_v);
* pairwise: s - v, by gamma <= alpha_v.

A step away by all that is allowed drops v. With one active atom, x - v is 0 and the step is towards s. For a
strongly convex f the last two converge at a linear rate, also where the minimum lies on a face, on which
plain steps zig-zag ([1]_, Theorem 1). The gap <grad f(x), x - s> bounds f(x) - min f. Neither the gap nor the
iterates change if the domain and f are transformed by the same invertible affine map ([2]_).

Where looking at every atom is what costs, the oracle may see the active ones and a random sample of p others
only; the expected rate of away steps stays linear ([3]_, "RAFW"). The gap that certifies the result needs all
m atoms; it is then computed every m / p steps, so that it no more than doubles the work.

The solvers for aligned pairs are :mod:`align.solvers.block` and its relatives; this is the same method with
one block, for problems small enough that Python's loops do not matter.

References
----------
.. [1] S. Lacoste-Julien and M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization
   variants", NIPS 2015, Algorithms 1 and 2. https://arxiv.org/abs/1511.05932
.. [2] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML 2013.
   https://proceedings.mlr.press/v28/jaggi13.html
.. [3] T. Kerdreux, F. Pedregosa and A. d'Aspremont, "Frank-Wolfe with subsampling oracle", ICML 2018.
   https://proceedings.mlr.press/v80/kerdreux18a.html
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from align.solvers.generic.curvature import curvature_step

Gradient = Callable[[np.ndarray], np.ndarray]

VARIANTS = ("plain", "away", "pairwise")
STEPS = ("line-search", "decreasing", "curvature")
# Evaluations of the gradient along a line, and the share of its slope at which a point counts as the best.
_EVALUATIONS, _FLAT = 100, 1e-13


@dataclass(frozen=True)
class Minimum:
    """Where a run ended.

    Attributes
    ----------
    x : ndarray of float64, shape (d,)
        The last iterate.
    gap : float
        Its Frank-Wolfe gap, over all atoms: f(x) - min f is no more than that.
    converged : bool
        Whether the gap is within the tolerance.
    steps : int
        Steps taken.
    atoms, weights : ndarray of float64, shapes (k, d) and (k,)
        The active set: ``weights @ atoms`` is x.
    gaps : ndarray of float64, shape (c,)
        The gap each time it was computed.
    """

    x: np.ndarray
    gap: float
    converged: bool
    steps: int
    atoms: np.ndarray
    weights: np.ndarray
    gaps: np.ndarray


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
            raise ValueError(
                f"frank_wolfe: an l1 ball of radius {radius} in {d} dimensions; give both above 0"
            )
        self.count, self._d, self._radius = 2 * d, d, radius

    def atom(self, index: int) -> np.ndarray:
        """Return an atom, float64, shape (d,)."""
        atom = np.zeros(self._d)
        atom[index % self._d] = self._radius if index < self._d else -self._radius
        return atom

    def slopes(self, g: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return <g, atom> of the atoms ``indices``, int64 (k,), as float64 (k,)."""
        return np.asarray(np.where(indices < self._d, self._radius, -self._radius) * g[indices % self._d])


def frank_wolfe(
    gradient: Gradient,
    atoms: Atoms,
    *,
    variant: str = "away",
    step: str = "line-search",
    curvature: float | None = None,
    sample: int | None = None,
    steps: int = 1000,
    tolerance: float = 1e-6,
    seed: int = 0,
    on_step: Callable[[np.ndarray, float], None] | None = None,
) -> Minimum:
    """Minimise a smooth convex f over the convex hull of atoms.

    Parameters
    ----------
    gradient : function
        x (d,) to the gradient of f, float64 (d,).
    atoms : Atoms
        m atoms; the first is the start.
    variant : str
        ``plain``, ``away`` or ``pairwise``.
    step : str
        ``line-search``: the best along the line. ``decreasing``: 2 / (k + 2) in step k = 0, 1, ..., for
        ``plain`` only. ``curvature``: the slope along the line over C, cut where the step has to end; it
        needs no more gradients than one a step.
    curvature : float, optional
        C > 0 for the step ``curvature``: C_f for ``plain``, for the others the bending along x - v or s - v,
        too, which L diam^2 bounds (:mod:`align.solvers.generic.curvature`).
    sample : int, optional
        Atoms p besides the active ones that the oracle sees in a step, >= 1. Default: it sees all.
    steps : int
        At most so many, >= 1.
    tolerance : float
        Stop when the gap is found to be no more than that, >= 0.
    seed : int
        Seed of the samples, >= 0.
    on_step : function, optional
        Called with the iterate and its gap each time that is computed: without samples before each step and
        at the end.

    Returns
    -------
    Minimum

    Raises
    ------
    ValueError
        If an option is out of its range, or a gradient is not finite.
    """
    for fits, what in (
        (variant in VARIANTS, f"variant is {variant!r}; give one of {', '.join(VARIANTS)}"),
        (step in STEPS, f"step is {step!r}; give one of {', '.join(STEPS)}"),
        (
            step != "decreasing" or variant == "plain",
            f"{step} steps of the variant {variant}; give line-search",
        ),
        (
            (step == "curvature") == (curvature is not None)
            and (curvature is None or 0 < curvature < np.inf),
            f"step is {step!r}, curvature {curvature}; give a curvature above 0 with the step curvature only",
        ),
        (sample is None or sample >= 1, f"sample is {sample}; give at least 1"),
        (steps >= 1, f"steps is {steps}; give at least 1"),
        (tolerance >= 0, f"tolerance is {tolerance}; give 0 or more"),
    ):
        if not fits:
            raise ValueError(f"frank_wolfe: {what}")
    generator, everything = np.random.default_rng(seed), np.arange(atoms.count)
    gap_every = 1 if sample is None else -(-atoms.count // sample)
    active, gaps = ActiveSet(0, atoms.atom(0)), []
    for count in range(steps + 1):
        x = active.point()
        g = _finite_gradient(gradient, x)
        if count % gap_every == 0 or count == steps:
            gaps.append(float(g @ x - atoms.slopes(g, everything).min()))
            if on_step is not None:
                on_step(x, gaps[-1])
            if gaps[-1] <= tolerance or count == steps:
                break
        seen = everything if sample is None else _seen(active, atoms.count, sample, generator)
        s = int(seen[np.argmin(atoms.slopes(g, seen))])
        fixed = 2.0 / (count + 2.0) if step == "decreasing" else None
        active.move(gradient, g, s, atoms.atom(s), variant, fixed, curvature)
    return Minimum(
        x=x,
        gap=gaps[-1],
        converged=gaps[-1] <= tolerance,
        steps=count,
        atoms=active.atoms,
        weights=active.weights,
        gaps=np.array(gaps),
    )


def _seen(active: ActiveSet, count: int, sample: int, generator: np.random.Generator) -> np.ndarray:
    """Return the active atoms, then at most ``sample`` others, drawn without replacement; int64."""
    known = np.array(active.numbers, dtype=np.int64)
    if sample + len(known) >= count:
        return np.arange(count)
    # so many of all atoms that enough are left when the active ones are taken out
    drawn = generator.choice(count, size=sample + len(known), replace=False)
    return np.concatenate([known, drawn[~np.isin(drawn, known)][:sample]])


def _finite_gradient(gradient: Gradient, x: np.ndarray) -> np.ndarray:
    """Return the gradient at x, after a check."""
    g = np.asarray(gradient(x), dtype=np.float64)
    if g.shape != x.shape or not np.isfinite(g).all():
        raise ValueError(f"frank_wolfe: a gradient is not {x.shape} finite numbers")
    return g


class ActiveSet:
    """Atoms with weights above 0 that add up to 1.

    Parameters
    ----------
    number : int
        Of the first atom.
    atom : ndarray of float64, shape (d,)
        The first atom; it has all the weight.
    """

    def __init__(self, number: int, atom: np.ndarray) -> None:
        self.numbers: list[int] = [number]
        self.atoms = atom[None].copy()
        self.weights = np.ones(1)

    def point(self) -> np.ndarray:
        """Return the weighted sum of the atoms."""
        return np.asarray(self.weights @ self.atoms)

    def move(
        self,
        gradient: Gradient,
        g: np.ndarray,
        number: int,
        atom: np.ndarray,
        variant: str,
        fixed: float | None = None,
        curvature: float | None = None,
    ) -> None:
        """Take one step, given the gradient ``g`` at the point and the atom s to go to.

        With neither ``fixed`` nor ``curvature`` the step is the best along its line.
        """

        def length(direction: np.ndarray, largest: float) -> float:
            if curvature is not None:
                return curvature_step(-float(g @ direction), curvature, largest)
            return best_step(gradient, x, g, direction, largest) if fixed is None else fixed

        x, slopes = self.point(), self.atoms @ g
        v = int(np.argmax(slopes))
        alpha = float(self.weights[v])
        towards, away = float(g @ (atom - x)), float(g @ x) - float(slopes[v])
        # summed, for beside atoms of little weight alpha may be rounded to 1
        rest = float(np.delete(self.weights, v).sum())
        if variant == "pairwise":
            direction, largest = atom - self.atoms[v], alpha
        elif variant == "away" and away < towards and rest > 0.0 and alpha / rest < math.inf:
            direction, largest = x - self.atoms[v], alpha / rest
            gamma = length(direction, largest)
            self.weights *= 1.0 + gamma
            self.weights[v] = max(alpha - gamma * rest, 0.0) if gamma < largest else 0.0
            self._drop()
            return
        else:
            direction, largest = atom - x, 1.0
        gamma = length(direction, largest)
        if variant == "pairwise":
            self.weights[v] = alpha - gamma if gamma < largest else 0.0
        else:
            self.weights *= 1.0 - gamma
        self._add(number, atom, gamma)
        self._drop()

    def _add(self, number: int, atom: np.ndarray, weight: float) -> None:
        if number in self.numbers:
            self.weights[self.numbers.index(number)] += weight
        elif weight > 0.0:
            self.numbers.append(number)
            self.atoms = np.concatenate([self.atoms, atom[None]])
            self.weights = np.append(self.weights, weight)

    def _drop(self) -> None:
        """Leave out the atoms without weight; what is left adds up to 1 again, whatever was rounded."""
        kept = self.weights > 0.0
        if not kept.all():
            self.numbers = [number for number, stays in zip(self.numbers, kept, strict=True) if stays]
            self.atoms, self.weights = self.atoms[kept], self.weights[kept]
        self.weights = self.weights / self.weights.sum()


def best_step(
    gradient: Gradient, x: np.ndarray, g: np.ndarray, direction: np.ndarray, largest: float
) -> float:
    """Return the gamma in [0, largest] that minimises a convex f(x + gamma direction), g its gradient at x.

    The root of the slope, by false position with halving (the Illinois rule): exact at once for a quadratic.
    """
    first = float(g @ direction)
    if first >= 0.0:
        return 0.0
    slope = float(_finite_gradient(gradient, x + largest * direction) @ direction)
    if slope <= 0.0:
        return largest
    low, high, slope_low, slope_high, side = 0.0, largest, first, slope, 0
    gamma = largest
    for _ in range(_EVALUATIONS):
        gamma = low - slope_low * (high - low) / (slope_high - slope_low)
        slope = float(_finite_gradient(gradient, x + gamma * direction) @ direction)
        if abs(slope) <= _FLAT * -first or not low < gamma < high:
            break
        if slope < 0.0:
            low, slope_low = gamma, slope
            slope_high = 0.5 * slope_high if side < 0 else slope_high
            side = -1
        else:
            high, slope_high = gamma, slope
            slope_low = 0.5 * slope_low if side > 0 else slope_low
            side = 1
    return min(max(gamma, 0.0), largest)
