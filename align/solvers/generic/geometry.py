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

from align.solvers.generic.away_steps import Listed, frank_wolfe

# What counts as on a facet, as a share of the size of the polytope.
_ON = 1e-9
# Faces that are listed at most, and steps that a distance of two hulls takes at most.
_FACES, _STEPS = 100_000, 100_000


def pyramidal_width(atoms: np.ndarray) -> float:
    """Return the pyramidal width of a set of atoms.

    Parameters
    ----------
    atoms : ndarray of float64, shape (m, d)
        Vertices, m >= 2, no two the same; their hull may be flat.

    Raises
    ------
    ValueError
        If there are no two atoms, one is not finite, or it has too many faces.
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
    """
    differences = (first[:, None] - second[None]).reshape(-1, first.shape[1])
    scale = float(np.abs(differences).max())
    if scale == 0.0:
        return 0.0
    differences = differences[np.argsort((differences**2).sum(axis=1), kind="stable")] / scale
    found = frank_wolfe(lambda x: x, Listed(differences), variant="pairwise", steps=_STEPS, tolerance=1e-14)
    return scale * float(np.linalg.norm(found.x))


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
    return points, [
        (plane[:-1], -float(plane[-1]), points @ plane[:-1] >= -plane[-1] - far) for plane in planes
    ]


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
