"""What the dual extragradient method measures weights by, and the norm of the features in these units.

Divergence (w - x)' M^-1 (w - x) / 2 with M = V diag(units) V'. As published M is rho^2 times the identity.
With many features that vary together F is much longer in a few directions of w than in all others, and the
step, made for the longest, is too short for these. M = rho^2 (F F' / |F|^2 + kappa)^-1 makes them more equal.

rho^2 = D_w / D_z makes both terms of the bound on the gap equal: ``ratio``, what is known of D_w / D_z in
Euclidean units, for the identity; kappa times that for the other, whose divergence is the smaller by about
this in most directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from align.solvers.saddle import Saddle

METRICS = ("gram", "identity")
# A choice: the larger, the nearer to the identity. Above 0, for features do not reach all directions.
_KAPPA = 0.03
# Power iteration starts at random: from a point without a share in the longest direction it would find the
# norm of another, and stop by it.
_POWER_STEPS, _POWER_ACCURACY = 300, 1e-6
_SECULAR_STEPS = 100


@dataclass(frozen=True)
class Metric:
    """The metric M of weights.

    Attributes
    ----------
    axes : ndarray of float64, shape (d, d) or (0, 0)
        V, orthogonal, a column an axis; with no entries V = I.
    units : ndarray of float64, shape (d,)
        Squared units of the axes, > 0.
    norm : float
        |M^1/2 F|.
    """

    axes: np.ndarray
    units: np.ndarray
    norm: float

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return M x; x float64, shape (d,)."""
        if not self.axes.size:
            return self.units * x
        moved: np.ndarray = self.axes @ (self.units * (self.axes.T @ x))
        return moved

    def onto_ball(self, x: np.ndarray, radius: float) -> np.ndarray:
        """Return the nearest point of {|w| <= radius} to x, in this metric.

        It is (I + mu M)^-1 x with the mu >= 0 at which its norm is the radius: Newton's method on the inverse
        of the norm, concave in mu, from the left.
        """
        if float(np.linalg.norm(x)) <= radius:
            return x
        along = self.axes.T @ x if self.axes.size else x
        mu, near = 0.0, along
        for _ in range(_SECULAR_STEPS):
            norm = float(np.linalg.norm(near))
            if norm <= radius * (1.0 + 1e-15):
                break
            slope = float((self.units * near**2 / (1.0 + mu * self.units)).sum())
            mu += (norm / radius - 1.0) * norm**2 / slope
            near = along / (1.0 + mu * self.units)
        near = near * (radius / float(np.linalg.norm(near)))
        moved: np.ndarray = self.axes @ near if self.axes.size else near
        return moved


def identity_metric(saddle: Saddle, ratio: float) -> Metric:
    """Return ``ratio`` times the identity; the norm is measured by power iteration."""
    return Metric(np.zeros((0, 0)), np.full(saddle.d, ratio), math.sqrt(ratio) * operator_norm(saddle))


def gram_metric(saddle: Saddle, ratio: float) -> Metric:
    """Return kappa ``ratio`` (F F' / |F|^2 + kappa)^-1; the norm is that of an eigenvalue decomposition.

    Weights that may not be negative are projected by cutting, which takes an axis for each of them: of F F'
    then only what is beside them counts, and their own second moments.
    """
    product = saddle.gram()
    if not np.isfinite(product).all():
        raise ValueError("extragradient: a feature is NaN or infinite; give finite features")
    free = saddle.nonnegative
    if free < saddle.d:
        return _parted(product, free, ratio)
    squares, axes = np.linalg.eigh(product)
    squares = np.maximum(squares, 0.0)
    units = _KAPPA * ratio / (squares / (squares[-1] or 1.0) + _KAPPA)
    return Metric(axes, units, math.sqrt(float((units * squares).max())))


def _parted(product: np.ndarray, free: int, ratio: float) -> Metric:
    """Return the metric of the first ``free`` weights together, and of each other one by itself."""
    axes = np.eye(len(product))
    squares = np.maximum(product.diagonal(), 0.0)
    squares[:free], axes[:free, :free] = np.linalg.eigh(product[:free, :free])
    squares = np.maximum(squares, 0.0)
    units = _KAPPA * ratio / (squares / (squares.max() or 1.0) + _KAPPA)
    half = np.sqrt(units) * axes
    largest = float(np.linalg.eigvalsh(half.T @ product @ half)[-1])
    return Metric(axes, units, math.sqrt(max(largest, 0.0)))


def operator_norm(saddle: Saddle) -> float:
    """Return |F|, the largest singular value of the features of all pairs side by side, by power iteration.

    For a unit vector x the value <x, F F' x> is below |F|^2 and, once x is near, |F F' x - value x| more is
    above. The root of the latter is returned: 1 / norm is then a safe step.

    Raises
    ------
    ValueError
        If a feature is NaN or infinite.
    """
    x = np.random.default_rng(0).normal(size=(saddle.d,))
    value, off, before = 0.0, 0.0, 0.0
    for _ in range(_POWER_STEPS):
        x = np.divide(x, np.linalg.norm(x))
        after = saddle.gram_times(x)
        value = float(x @ after)
        if not math.isfinite(value):
            raise ValueError("extragradient: a feature is NaN or infinite; give finite features")
        off = float(np.linalg.norm(after - value * x))
        if value == 0.0 or (off <= 1e-2 * value and value - before <= _POWER_ACCURACY * value):
            break
        x, before = after, value
    return math.sqrt(value + off)
