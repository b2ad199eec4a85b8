"""Frank-Wolfe with away and pairwise steps for any smooth convex function on the hull of some atoms.

    min f(x)    over the convex hull of a finite set of atoms

The function is known by its gradient, the atoms by a linear oracle. The iterate is a convex combination of
atoms, the *active set*. With s the atom of least <grad f(x), s> and v the active atom of largest <grad, v>:

* plain: towards s, by gamma <= 1;
* away: that, or x - v, where <grad, x - v> is the steeper, by gamma <= alpha_v / (1 - alpha_v);
* pairwise: s - v, by gamma <= alpha_v.

A step away by all that is allowed drops v. With one active atom, x - v is 0 and the step is towards s. For a
strongly convex f the last two converge at a linear rate, also where the minimum lies on a face, on which
plain steps zig-zag ([1]_, Theorem 1). The gap <grad f(x), x - s> bounds f(x) - min f. Neither the gap nor the
iterates change if the domain and f are transformed by the same invertible affine map ([2]_).

The solvers for aligned pairs are :mod:`align.solvers.block` and its relatives; this is the same method with
one block, for problems small enough that Python's loops do not matter.

References
----------
.. [1] S. Lacoste-Julien and M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization
   variants", NIPS 2015, Algorithms 1 and 2. https://arxiv.org/abs/1511.05932
.. [2] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML 2013.
   https://proceedings.mlr.press/v28/jaggi13.html
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

Gradient = Callable[[np.ndarray], np.ndarray]

VARIANTS = ("plain", "away", "pairwise")
STEPS = ("line-search", "decreasing")
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


def frank_wolfe(
    gradient: Gradient,
    oracle: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    *,
    variant: str = "away",
    step: str = "line-search",
    steps: int = 1000,
    tolerance: float = 1e-6,
    on_step: Callable[[np.ndarray, float], None] | None = None,
) -> Minimum:
    """Minimise a smooth convex f over the convex hull of the atoms that ``oracle`` returns.

    Parameters
    ----------
    gradient : function
        x (d,) to the gradient of f, float64 (d,).
    oracle : function
        g (d,) to the atom s of least <g, s>, float64 (d,); the same atom is the same bits each time.
    start : ndarray of float64, shape (d,)
        The atom to start from.
    variant : str
        ``plain``, ``away`` or ``pairwise``.
    step : str
        ``line-search``: the best along the line. ``decreasing``: 2 / (k + 2) in step k = 0, 1, ..., for
        ``plain`` only.
    steps : int
        At most so many, >= 1.
    tolerance : float
        Stop when the gap is no more than that, >= 0.
    on_step : function, optional
        Called with the iterate and its gap before each step and at the end.

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
        (step == STEPS[0] or variant == "plain", f"{step} steps of the variant {variant}; give line-search"),
        (steps >= 1, f"steps is {steps}; give at least 1"),
        (tolerance >= 0, f"tolerance is {tolerance}; give 0 or more"),
    ):
        if not fits:
            raise ValueError(f"frank_wolfe: {what}")
    start = np.array(start, dtype=np.float64)
    active, gaps = ActiveSet(start.tobytes(), start), []
    for count in range(steps + 1):
        x = active.point()
        g = finite_gradient(gradient, x)
        s = np.asarray(oracle(g), dtype=np.float64)
        gaps.append(float(g @ (x - s)))
        if on_step is not None:
            on_step(x, gaps[-1])
        if gaps[-1] <= tolerance or count == steps:
            break
        fixed = 2.0 / (count + 2.0) if step == "decreasing" else None
        active.move(gradient, g, s.tobytes(), s, variant, fixed)
    return active.minimum(gaps, count, tolerance)


def listed(atoms: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the linear oracle of atoms that are listed, float64 (m, d)."""
    return lambda g: atoms[int(np.argmin(atoms @ g))]


def finite_gradient(gradient: Gradient, x: np.ndarray) -> np.ndarray:
    """Return the gradient at x, after a check."""
    g = np.asarray(gradient(x), dtype=np.float64)
    if g.shape != x.shape or not np.isfinite(g).all():
        raise ValueError(f"frank_wolfe: a gradient is not {x.shape} finite numbers")
    return g


class ActiveSet:
    """Atoms with weights above 0 that add up to 1.

    Parameters
    ----------
    key : hashable
        Names the first atom; equal for equal atoms.
    atom : ndarray of float64, shape (d,)
        The first atom; it has all the weight.
    """

    def __init__(self, key: Hashable, atom: np.ndarray) -> None:
        self.keys: list[Hashable] = [key]
        self.atoms = atom[None].copy()
        self.weights = np.ones(1)

    def point(self) -> np.ndarray:
        """Return the weighted sum of the atoms."""
        return np.asarray(self.weights @ self.atoms)

    def move(
        self,
        gradient: Gradient,
        g: np.ndarray,
        key: Hashable,
        atom: np.ndarray,
        variant: str,
        fixed: float | None = None,
    ) -> None:
        """Take one step, given the gradient ``g`` at the point and the atom s to go to.

        Without ``fixed`` the step is the best along its line.
        """
        x, slopes = self.point(), self.atoms @ g
        v = int(np.argmax(slopes))
        alpha = float(self.weights[v])
        towards, away = float(g @ (atom - x)), float(g @ x) - float(slopes[v])
        if variant == "pairwise":
            direction, most = atom - self.atoms[v], alpha
        elif variant == "away" and len(self.keys) > 1 and away < towards:
            direction, most = x - self.atoms[v], alpha / (1.0 - alpha)
            gamma = best_step(gradient, x, g, direction, most)
            self.weights *= 1.0 + gamma
            self.weights[v] = self.weights[v] - gamma if gamma < most else 0.0
            self._drop()
            return
        else:
            direction, most = atom - x, 1.0
        gamma = best_step(gradient, x, g, direction, most) if fixed is None else fixed
        if variant == "pairwise":
            self.weights[v] = alpha - gamma if gamma < most else 0.0
        else:
            self.weights *= 1.0 - gamma
        self._add(key, atom, gamma)
        self._drop()

    def minimum(self, gaps: list[float], steps: int, tolerance: float) -> Minimum:
        """Return the result of a run that ends here, the last of ``gaps`` being that of the point."""
        return Minimum(
            x=self.point(),
            gap=gaps[-1],
            converged=gaps[-1] <= tolerance,
            steps=steps,
            atoms=self.atoms,
            weights=self.weights,
            gaps=np.array(gaps),
        )

    def _add(self, key: Hashable, atom: np.ndarray, weight: float) -> None:
        if key in self.keys:
            self.weights[self.keys.index(key)] += weight
        elif weight > 0.0:
            self.keys.append(key)
            self.atoms = np.concatenate([self.atoms, atom[None]])
            self.weights = np.append(self.weights, weight)

    def _drop(self) -> None:
        """Leave out the atoms without weight; what is left adds up to 1 again, whatever was rounded."""
        kept = self.weights > 0.0
        if not kept.all():
            self.keys = [key for key, stays in zip(self.keys, kept, strict=True) if stays]
            self.atoms, self.weights = self.atoms[kept], self.weights[kept]
        self.weights = self.weights / self.weights.sum()


def best_step(gradient: Gradient, x: np.ndarray, g: np.ndarray, direction: np.ndarray, most: float) -> float:
    """Return the gamma in [0, most] that minimises a convex f(x + gamma direction), g its gradient at x.

    The root of the slope, by false position with halving (the Illinois rule): exact at once for a quadratic.
    """
    first = float(g @ direction)
    if first >= 0.0:
        return 0.0
    slope = float(finite_gradient(gradient, x + most * direction) @ direction)
    if slope <= 0.0:
        return most
    low, high, slope_low, slope_high, side = 0.0, most, first, slope, 0
    gamma = most
    for _ in range(_EVALUATIONS):
        gamma = low - slope_low * (high - low) / (slope_high - slope_low)
        slope = float(finite_gradient(gradient, x + gamma * direction) @ direction)
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
    return min(max(gamma, 0.0), most)
