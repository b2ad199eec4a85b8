"""Constants of a small polytope that tell the linear rate of away and pairwise steps on it.

    pyramidal width delta    min over the faces F of conv(A), none and all left out, of the distance of
                             conv(F) from conv(A without F)
    vertex-facet distance    min over the facets, and the vertices off each, of the distance of the vertex
                             from the facet's hyperplane

[1]_ define the first, as a minimum over directions, and bound the rate with it; that it is the distance above
is [2]_, Theorem 2. The second is that of [3]_, with which they bound the rate for functions
g(A x) + <b, x>. For a mu-strongly convex f with an L-Lipschitz gradient, M the diameter,

    h_(t+1) <= (1 - rho) h_t,    rho = mu/(4 L) (delta / M)^2,

in every step that drops no atom, of which away steps make at least t/2 in t ([1]_, Theorem 1). None of these
constants is affine invariant, though the iterates are.

All faces are listed: for polytopes of some dozen vertices in a few dimensions.

References
----------
.. [1] S. Lacoste-Julien and M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization
   variants", NIPS 2015. https://arxiv.org/abs/1511.05932
.. [2] J. Pena and D. Rodriguez, "Polytope conditioning and linear convergence of the Frank-Wolfe algorithm",
   Mathematics of Operations Research 44, 2019. https://arxiv.org/abs/1512.06142
.. [3] A. Beck and S. Shtern, "Linearly convergent away-step conditional gradient for non-strongly convex
   functions", Mathematical Programming 164, 2017. https://arxiv.org/abs/1504.05002
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from align.solvers.generic.away_steps import frank_wolfe

# What counts as on a facet, as a share of the size of the polytope.
_ON = 1e-9
# Faces that are listed at most, and steps that a distance of two hulls takes at most.
_FACES, _STEPS = 100_000, 100_000
# |x|^2 is above the least by twice the gap at most: by how much of itself, or of the squared size, it may.
_NEAR, _NOTHING = 1e-6, 1e-12


def pyramidal_width(atoms: np.ndarray) -> float:
    """Return the pyramidal width of a set of atoms.

    Parameters
    ----------
    atoms : ndarray of float64, shape (m, d)
        Vertices, m >= 2, no two the same; their hull may be flat.

    Raises
    ------
    ValueError
        If there are no two atoms, one is not finite or no vertex, it has too many faces, or a distance is not
        found.
    """
    points, facets = _facets(atoms)
    faces = _faces([frozenset(np.flatnonzero(on).tolist()) for _, _, on in facets])
    least = math.inf
    for face in faces:
        inside = np.zeros(len(points), dtype=bool)
        inside[list(face)] = True
        least = min(least, hull_distance(points[inside], points[~inside]))
    return least


def vertex_facet_distance(atoms: np.ndarray) -> float:
    """Return the least distance of a vertex from the hyperplane of a facet that it is not on.

    Arguments and errors are those of :func:`pyramidal_width`; the hyperplane is one within the affine hull.
    """
    points, facets = _facets(atoms)
    return min(float((offset - points @ normal)[~on].min()) for normal, offset, on in facets)


def linear_rate(mu: float, lipschitz: float, width: float, diameter: float) -> float:
    """Return rho of a good step: mu/(4 L) (delta / M)^2, in (0, 1/4].

    Parameters
    ----------
    mu, lipschitz : float
        Strong convexity of f, and the Lipschitz constant of its gradient: mu <= L.
    width, diameter : float
        The pyramidal width and the diameter of the domain (:func:`align.solvers.generic.curvature.diameter`).
    """
    return mu / (4.0 * lipschitz) * (width / diameter) ** 2


def hull_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the least Euclidean distance of points of two hulls, atoms (m, d) and (k, d).

    It is |x| of the x of least norm in the hull of all differences, found by pairwise steps.

    Raises
    ------
    ValueError
        If it is not found within a millionth of itself, or of the size of the hulls where it is as good as 0.
    """
    low, high = (np.vstack([part.min(axis=0), part.max(axis=0)]) for part in (first, second))
    scale = float(np.abs(np.array([high[1] - low[0], low[1] - high[0]])).max())
    if scale == 0.0:
        return 0.0
    middle = 0.5 * (first.mean(axis=0) + second.mean(axis=0))  # so that little is lost in the differences
    found = frank_wolfe(
        lambda x: x,
        _Differences((first - middle) / scale, (second - middle) / scale),
        variant="pairwise",
        steps=_STEPS,
        tolerance=1e-14,
    )
    square = float(found.x @ found.x)
    if 2.0 * found.gap > max(_NEAR * square, _NOTHING):
        least = math.sqrt(max(0.0, square - 2.0 * found.gap))
        raise ValueError(
            f"geometry: the distance of two hulls was not found in {_STEPS} steps: {scale * least:g} at "
            f"least, {scale * math.sqrt(square):g} at most; give a polytope with fewer vertices"
        )
    return scale * math.sqrt(square)


class _Differences:
    """The atoms a - b, the nearest two first, none of them kept: atom i k + j is a_i - b_j.

    Of (m, d) and (k, d) atoms there are m k.
    """

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        self.count = len(first) * len(second)
        self._first, self._second = _nearest_first(first, second)

    def atom(self, index: int) -> np.ndarray:
        """Return an atom, float64, shape (d,)."""
        i, j = divmod(int(index), len(self._second))
        return np.asarray(self._first[i] - self._second[j], dtype=np.float64)

    def slopes(self, g: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return <g, atom> of the atoms ``indices``, int64 (c,), as float64 (c,)."""
        i, j = np.divmod(indices, len(self._second))
        return np.asarray((self._first @ g)[i] - (self._second @ g)[j], dtype=np.float64)


def _nearest_first(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both sets of atoms, their two nearest atoms (the first of equals) in front."""
    least, pair = math.inf, (0, 0)
    for i, own in enumerate(first):
        squares = ((own - second) ** 2).sum(axis=1)
        if float(squares.min()) < least:
            least, pair = float(squares.min()), (i, int(squares.argmin()))
    found = [np.roll(part, -at, axis=0) for part, at in zip((first, second), pair, strict=True)]
    return found[0], found[1]


def _facets(atoms: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, float, np.ndarray]]]:
    """Return the atoms in their affine hull, and of each facet the normal, the offset, and who is on it."""
    atoms = np.asarray(atoms, dtype=np.float64)
    if atoms.ndim != 2 or len(np.unique(atoms, axis=0)) != len(atoms) or len(atoms) < 2:
        raise ValueError(f"geometry: atoms of shape {atoms.shape}; give two different ones or more, (m, d)")
    if not np.isfinite(atoms).all():
        raise ValueError("geometry: an atom is NaN or infinite; give finite ones")
    centred = atoms - atoms.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    points = centred @ axes[sizes > _ON * sizes[0]].T
    if points.shape[1] == 1:
        planes = np.array([[1.0, -points.max()], [-1.0, points.min()]])
    else:
        from scipy.spatial import ConvexHull  # nothing else needs it

        # the triangles of one facet have the same plane
        planes = _different(ConvexHull(points).equations, float(np.abs(points).max()))
    far = _ON * float(np.abs(points).max()) * 10.0
    facets = [(plane[:-1], -float(plane[-1]), points @ plane[:-1] >= -plane[-1] - far) for plane in planes]
    beside = _no_vertex(np.array([on for _, _, on in facets]))
    if beside >= 0:
        raise ValueError(f"geometry: atom {beside} is no vertex of the hull of all; leave it out")
    return points, facets


def _no_vertex(on: np.ndarray) -> int:
    """Return the first atom that is no vertex, -1 for none; ``on`` (facets, m) tells who is on which.

    A vertex is the only atom that is on all of its facets.
    """
    for k in range(on.shape[1]):
        own = on[on[:, k]]
        if not len(own) or int(own.all(axis=0).sum()) != 1:
            return k
    return -1


def _different(planes: np.ndarray, scale: float) -> np.ndarray:
    """Return the planes (unit normal, then offset) without those that are there already."""
    kept: list[np.ndarray] = []
    for plane in planes:
        if not any(np.abs(plane - other).max() <= 1e-7 * (1.0 + scale) for other in kept):
            kept.append(plane)
    return np.array(kept)


def _faces(facets: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """Return all faces but none and all, as sets of vertices: the intersections of facets."""
    faces, new = set(facets), set(facets)
    while new:
        new = {face & facet for face in new for facet in facets} - faces - {frozenset()}
        faces |= new
        if len(faces) > _FACES:
            raise ValueError(f"geometry: more than {_FACES} faces; give a smaller polytope")
    return faces
