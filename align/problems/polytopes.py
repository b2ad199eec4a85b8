"""Parts of polytopes that the dual extragradient method projects onto (:mod:`align.problems.protocol`).

    simplex {z >= 0, sum z = 1}    one of k labels; entropic: h = 1/2 sum z log z
    box [0, 1]^k                   labels that do not exclude each other; entropic:
                                   h = 1/4 sum z log z + (1 - z) log(1 - z)

The factors are what makes h 1-strongly convex in the Euclidean norm: that of the covariance of a random
labelling is at most 1/2 for a simplex, 1/4 for a box, and h* has it as its second derivative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

GEOMETRIES = ("euclidean", "entropic")


class MatrixPolytope:
    """A polytope whose features are a matrix; a subclass adds ``start``, ``radius`` and ``project``.

    Parameters
    ----------
    features : ndarray or scipy.sparse array, shape (E, d)
        F', a row an entry of z.
    costs, gold : ndarray of float, shape (E,)
        As of :class:`~align.problems.protocol.Polytope`.

    Attributes
    ----------
    geometries, costs, gold, prices
        As there: both projections, and no prices, unless a subclass says otherwise.
    """

    geometries: Sequence[str] = GEOMETRIES
    prices = 0

    def __init__(self, features: Any, costs: np.ndarray, gold: np.ndarray) -> None:
        self.costs, self.gold = np.asarray(costs, dtype=np.float64), np.asarray(gold, dtype=np.float64)
        if not features.shape[0] == len(self.costs) == len(self.gold):
            raise ValueError(
                f"polytope: features {features.shape}, costs of {len(self.costs)}, gold of {len(self.gold)}; "
                "give a row, a cost and a number for each entry"
            )
        self._matrix = features

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E,)."""
        return np.asarray(self._matrix @ w, dtype=np.float64)

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,)."""
        return np.asarray(self._matrix.T @ z, dtype=np.float64)

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d)."""
        product = self._matrix.T @ self._matrix
        return np.asarray(product if isinstance(product, np.ndarray) else product.todense(), dtype=np.float64)


class SimplexPolytope(MatrixPolytope):
    """One of k labels for each block: entries k i to k i + k - 1 are those of block i."""

    def __init__(self, features: Any, costs: np.ndarray, gold: np.ndarray, *, labels: int) -> None:
        super().__init__(features, costs, gold)
        self._labels = labels

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return 0, which is projected on equal shares."""
        return np.zeros(len(self.gold))

    def radius(self, *, entropic: bool) -> float:
        """Return the divergence of the vertices from equal shares."""
        k = self._labels
        return len(self.gold) / k * (0.5 * math.log(k) if entropic else 0.5 * (1.0 - 1.0 / k))

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection and a gradient of h at it, as of the protocol."""
        own = x.reshape(-1, self._labels)
        if entropic:
            z = np.exp(2.0 * (own - own.max(axis=1, keepdims=True)))
            z /= z.sum(axis=1, keepdims=True)
            return z.ravel(), x
        z = onto_simplex(own).ravel()
        return z, z


class LabelPolytope:
    """Labels that are on or off, each on its own: the box [0, 1]^(n L).

    Parameters
    ----------
    x : ndarray of float64, shape (n, p)
        Features of the examples; those of label l are weights l p to l p + p - 1.
    y : ndarray of int, shape (n, L)
        Gold labels, 0 or 1; each that is wrong costs 1.
    """

    geometries = GEOMETRIES
    prices = 0

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self._x, self._labels = x, y.shape[1]
        self.gold = y.astype(np.float64).ravel()
        self.costs = 1.0 - 2.0 * self.gold

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E,)."""
        return np.asarray(self._x @ w.reshape(self._labels, -1).T, dtype=np.float64).ravel()

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,)."""
        return np.asarray(z.reshape(-1, self._labels).T @ self._x, dtype=np.float64).ravel()

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d): two labels share no feature."""
        return np.asarray(np.kron(np.eye(self._labels), self._x.T @ self._x), dtype=np.float64)

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return what is projected on 1/2."""
        return np.full(len(self.gold), 0.0 if entropic else 0.5)

    def radius(self, *, entropic: bool) -> float:
        """Return the divergence of the vertices from 1/2."""
        return len(self.gold) * (0.25 * math.log(2.0) if entropic else 0.125)

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection and a gradient of h at it, as of the protocol."""
        if entropic:
            return 0.5 + 0.5 * np.tanh(2.0 * x), x
        z = np.clip(x, 0.0, 1.0)
        return z, z


def onto_simplex(x: np.ndarray) -> np.ndarray:
    """Return the nearest points of the simplex to the rows of x, float64 (n, k): max(0, x - price).

    With the entries of a row in falling order, the price is the largest of (sum of the first j, less 1) / j.
    """
    falling = -np.sort(-x, axis=1)
    prices = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, x.shape[1] + 1)
    return np.asarray(np.maximum(x - prices.max(axis=1, keepdims=True), 0.0), dtype=np.float64)
