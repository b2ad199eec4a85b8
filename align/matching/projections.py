"""Projections: onto the matching polytope, by Euclidean distance and by relative entropy; ball and simplex.

The matching polytope of a pair of n source and m target words is the convex hull of its matchings,

    Z = {z >= 0, row sums <= 1, column sums <= 1},    z of shape (n, m).

The Euclidean projection of a is the quadratic matching flow of [1]_, section 4; that by relative entropy
minimises sum_jk z_jk (log z_jk - a_jk) - z_jk, where a are logarithms: the I-projection of exp(a), for which
[2]_ prove that scaling with Dykstra's correction converges. Both are found by their dual
(:mod:`align.matching.projection_kernels`), until no row or column is off by more than about 1e-11.

References
----------
.. [1] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006.
.. [2] H. H. Bauschke and A. S. Lewis, "Dykstra's algorithm with Bregman projections: a convergence proof",
   Optimization 48, 2000.
"""

from __future__ import annotations

import numpy as np

from align.core.errors import WorkError
from align.matching.projection_kernels import project_block


def onto_matchings(a: np.ndarray, shapes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the nearest points of the matching polytopes of a block of pairs.

    Parameters
    ----------
    a : ndarray of float64, shape (E,)
        Points, finite; that of pair i is ``a[offsets[i]:offsets[i + 1]]``, row by row.
    shapes : ndarray of int32, shape (N, 2)
        Words (n_i, m_i) of each pair, >= 0.
    offsets : ndarray of int64, shape (N + 1,)
        ``offsets[i + 1] - offsets[i] == n_i * m_i``.

    Returns
    -------
    ndarray of float64, shape (E,)
        In [0, 1]; row and column sums <= 1 + 1e-10.

    Raises
    ------
    ValueError
        If an entry is NaN or infinite, or the arrays do not fit each other.
    WorkError
        If it is not found.
    """
    return _projected(a, shapes, offsets, entropic=False)


def onto_matchings_by_entropy(logarithms: np.ndarray, shapes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the points of the matching polytopes with the least relative entropy to exp(logarithms).

    Parameters
    ----------
    logarithms : ndarray of float64, shape (E,)
        Logarithms of positive points, not NaN and below infinity; minus infinity stands for 0. Those below
        -60 are taken for 0.
    shapes, offsets
        As of :func:`onto_matchings`.

    Returns
    -------
    ndarray of float64, shape (E,)
        In [0, 1]; row and column sums <= 1 + 1e-10.

    Raises
    ------
    ValueError, WorkError
        As :func:`onto_matchings`.
    """
    return _projected(logarithms, shapes, offsets, entropic=True)


def onto_ball(x: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest point to ``x``, of any shape, with Euclidean norm <= ``radius``; a copy."""
    if not radius >= 0:
        raise ValueError(f"projections: the radius is {radius}; give 0 or more")
    norm = float(np.linalg.norm(x))
    return x * (radius / norm) if norm > radius else x.copy()


def onto_simplex(x: np.ndarray) -> np.ndarray:
    """Return the nearest point to ``x``, float64 (k,), k >= 1, of {p >= 0, sum p = 1}.

    By sorting: p = max(0, x - t) with the t at which p adds up to 1.
    """
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError("projections: the simplex takes a vector of one finite entry or more")
    ordered = np.sort(x)[::-1]
    levels = (np.cumsum(ordered) - 1.0) / np.arange(1, len(x) + 1)
    kept = int(np.flatnonzero(ordered > levels)[-1])
    projected: np.ndarray = np.maximum(x - levels[kept], 0.0)
    return projected


def _projected(a: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, *, entropic: bool) -> np.ndarray:
    a = np.ascontiguousarray(a, dtype=np.float64)
    if not a.flags.writeable:  # another type to the compiler: a copy costs less than a second compilation
        a = a.copy()
    shapes = np.ascontiguousarray(shapes, dtype=np.int32)
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    if a.ndim != 1 or shapes.ndim != 2 or shapes.shape[1] != 2 or offsets.shape != (len(shapes) + 1,):
        raise ValueError(
            f"projections: points {a.shape}, shapes {shapes.shape} and offsets {offsets.shape} do not fit; "
            "give (E,), (N, 2) and (N + 1,)"
        )
    z = np.empty(len(a))
    outcome, pair = project_block(a, shapes, offsets, entropic, z)
    if outcome == 1:
        raise ValueError(
            f"projections: the offsets of pair {pair} do not fit its shape; give n * m entries a pair"
        )
    if outcome == 2:
        raise ValueError(f"projections: pair {pair} has an entry that is NaN or infinite; give finite ones")
    if outcome == 3:
        raise WorkError(f"projections: pair {pair} was not solved; scale its entries down")
    return z
