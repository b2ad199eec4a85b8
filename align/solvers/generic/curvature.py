"""The curvature of a function over a polytope: how far it bends, and the step that this makes safe.

    C_f = sup  2/gamma^2 [ f(y) - f(x) - <grad f(x), y - x> ],    y = x + gamma (s - x),

over x, s in the domain and gamma in (0, 1] ([1]_, equation 3). It is all that a Frank-Wolfe step needs to
know of f: with g the gap,

    f(x + gamma (s - x)) <= f(x) - gamma g + gamma^2/2 C_f,

least at gamma = g / C_f, clipped to [0, 1] (:func:`curvature_step`), and then f - min f <= 2 C_f / (t + 2)
after t steps. It is the same for f(A .) on the pre-image of the domain under an affine map A; L diam^2, which
bounds it, is not. Of a quadratic it is the largest <a - b, H (a - b)> of two vertices, exactly.

Over a product of n domains each block has a curvature C_f^(i), s differing from x in block i alone; their
sum is the product curvature of block-coordinate steps ([2]_, section 4).

References
----------
.. [1] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML 2013.
   https://proceedings.mlr.press/v28/jaggi13.html
.. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

# Shorter steps than that say nothing that longer ones do not, but for rounding, which gamma^2 divides.
_SHORTEST = 0.01


def sampled_curvature(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    atoms: np.ndarray,
    *,
    samples: int = 1000,
    seed: int = 0,
) -> float:
    """Return the largest bracket of C_f met at random x, s and gamma: a lower bound of C_f.

    Parameters
    ----------
    value, gradient : function
        x (d,) to f(x), and to its gradient, float64 (d,).
    atoms : ndarray of float64, shape (m, d)
        The domain is their hull; s is one of them, x a random mixture of a few of them.
    samples : int
        Triples to look at, >= 1.
    seed : int
        >= 0.

    Returns
    -------
    float
        >= 0, for y may be x.
    """
    return float(sampled_block_curvatures(value, gradient, [atoms], samples=samples, seed=seed)[0])


def sampled_block_curvatures(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    blocks: Sequence[np.ndarray],
    *,
    samples: int = 1000,
    seed: int = 0,
) -> np.ndarray:
    """Return lower bounds of all C_f^(i), as :func:`sampled_curvature` finds them.

    Parameters
    ----------
    value, gradient
        Of x, the blocks one after the other, float64 (sum d_i,).
    blocks : sequence of ndarray of float64, shapes (m_i, d_i)
        The atoms of each block.
    samples : int
        Triples to look at for each block, >= 1.
    seed : int
        >= 0.

    Returns
    -------
    ndarray of float64, shape (n,)
        >= 0. Their sum is a lower bound of the product curvature.

    Raises
    ------
    ValueError
        If there are no samples or an array has not the shape told.
    """
    if samples < 1 or not len(blocks) or any(atoms.ndim != 2 or not len(atoms) for atoms in blocks):
        raise ValueError(
            f"curvature: {samples} samples of {len(blocks)} blocks; give 1 or more of both, atoms (m, d) each"
        )
    generator = np.random.default_rng(seed)
    ends = np.cumsum([atoms.shape[1] for atoms in blocks])
    found = np.zeros(len(blocks))  # the bracket of y = x, and what rounding makes of others is left out
    for i, atoms in enumerate(blocks):
        own = slice(ends[i] - atoms.shape[1], ends[i])
        for sample in range(samples):
            x = np.concatenate([_mixture(each, generator) for each in blocks])
            # every other time the whole step: there the brackets of many functions are largest
            gamma = 1.0 if sample % 2 else generator.uniform(_SHORTEST, 1.0)
            step = np.zeros(len(x))
            step[own] = gamma * (atoms[generator.integers(len(atoms))] - x[own])
            bend = float(value(x + step)) - float(value(x)) - float(np.asarray(gradient(x)) @ step)
            found[i] = max(found[i], 2.0 / gamma**2 * bend)
    return found


def _mixture(atoms: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return a random point of the hull: an atom, or a mixture of some."""
    count = min(int(generator.integers(1, 5)), len(atoms))
    chosen = generator.choice(len(atoms), size=count, replace=False)
    return np.asarray(generator.dirichlet(np.ones(count)) @ atoms[chosen], dtype=np.float64)


def diameter(atoms: np.ndarray) -> float:
    """Return the largest Euclidean distance of two points of the hull of ``atoms``, (m, d), m >= 1.

    Raises
    ------
    ValueError
        If there is no atom.
    """
    if not len(atoms):
        raise ValueError("curvature: a hull of no atoms; give one or more, (m, d)")
    # row by row: m^2 d numbers at once may be too many
    return math.sqrt(max(float(((atoms[k:] - own) ** 2).sum(axis=1).max()) for k, own in enumerate(atoms)))


def curvature_bound(lipschitz: float, diameter: float) -> float:
    """Return L diam^2 >= C_f ([1]_, Lemma 7); L the Lipschitz constant of the gradient over the domain.

    In the same way L_i diam_i^2 >= C_f^(i), L_i that of the gradient in block i.
    """
    return lipschitz * diameter**2


def dual_curvatures(psi: Sequence[np.ndarray], lam: float) -> np.ndarray:
    """Return all C_f^(i) of the dual of a structured SVM, exactly.

    The dual is a quadratic, - lam/2 |w|^2 its part that bends, and w_i of block i moves between the vertices
    psi_i(y) / (lam n): C_f^(i) is lam times the largest squared distance of two of them ([2]_, appendix A).

    Parameters
    ----------
    psi : sequence of ndarray of float64, shapes (k_i, d)
        psi_i(y) of all labellings of each block, gold's 0 among them.
    lam : float
        Regularisation, > 0.

    Returns
    -------
    ndarray of float64, shape (n,)
        Their sum is the product curvature; that of one step for all blocks together is no more than
        ``np.sqrt(curvatures).sum() ** 2``.
    """
    n = len(psi)
    return np.array([lam * (diameter(own) / (lam * n)) ** 2 for own in psi])


def dual_curvature_bounds(radius: float, lam: float, n: int) -> tuple[float, float]:
    """Return 4 R^2 / lam and 4 R^2 / (lam n): bounds of C_f and of the product curvature of the dual.

    Parameters
    ----------
    radius : float
        R, the largest |psi_i(y)|, or more.
    lam : float
        Regularisation, > 0.
    n : int
        Blocks, >= 1.
    """
    return 4.0 * radius**2 / lam, 4.0 * radius**2 / (lam * n)


def curvature_step(gap: float, curvature: float, largest: float = 1.0) -> float:
    """Return g / C_f clipped to [0, largest]: the best step for what C_f promises.

    For a step along another direction than s - x, as away from an atom or from one atom to another, ``gap``
    is the slope along it and ``curvature`` has to bound the bending along it, as L diam^2 does.
    """
    if gap <= 0.0:
        return 0.0
    return largest if gap >= largest * curvature else gap / curvature
