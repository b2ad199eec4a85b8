"""Away-step and pairwise steps over the atoms of a block, compiled (:mod:`align.solvers.block_away`)."""

from __future__ import annotations

import numpy as np

from align.core.kernels import Arrays, kernel
from align.problems.objective import exact_step

# As CACHE_SHARE and CACHE_PASSES of align.solvers.block_kernels; these steps go further, so more of them pay.
KNOWN_SHARE, KNOWN_PASSES = 0.1, 100


@kernel
def has_room(i: int, atoms: Arrays) -> bool:
    """Return whether a place of block i is free, or its atom without weight."""
    alphas = atoms[2]
    return bool(alphas[i].min() == 0.0)


@kernel
def insert(i: int, w_s: np.ndarray, ell_s: float, stamp: int, atoms: Arrays) -> int:
    """Return the place of an atom of block i: where it is, or that of the atom of weight 0 unused longest."""
    w_atoms, ell_atoms, alphas, stamps = atoms
    at, oldest = -1, 0
    for place in range(alphas.shape[1]):
        known = stamps[i, place] > 0 and ell_atoms[i, place] == ell_s
        for j in range(len(w_s)):
            known = known and w_atoms[i, place, j] == w_s[j]
        if known:
            stamps[i, place] = stamp
            return place
        if alphas[i, place] == 0.0 and (at < 0 or stamps[i, place] < oldest):
            at, oldest = place, stamps[i, place]
    w_atoms[i, at] = w_s
    ell_atoms[i, at] = ell_s
    stamps[i, at] = stamp
    return at


@kernel
def step_towards(
    i: int, s: int, pairwise: bool, nonnegative: int, lam: float, iterates: Arrays, atoms: Arrays
) -> float:
    """Move block i, given the place ``s`` of its best atom; returns the block's gap, >= 0.

    The worst atom v is that of least ell_v - lam <w, w_v> among those with a weight. A pairwise step moves
    weight from v to s, at most all it has. Else the step is towards s, by 1 at most, or, where that is
    steeper and v is not alone, away from v, by alpha_v / (1 - alpha_v) at most, at which v is dropped.
    """
    w_atoms, ell_atoms, alphas, _ = atoms
    _, w, _, w_blocks, ell_blocks = iterates
    v, worst, active = s, np.inf, 0
    for place in range(alphas.shape[1]):
        if alphas[i, place] > 0.0:
            active += 1
            value = _value(w, lam, w_atoms[i, place], ell_atoms[i, place])
            if value < worst:
                v, worst = place, value
    mean = _value(w, lam, w_blocks[i], ell_blocks[i])
    gap = _value(w, lam, w_atoms[i, s], ell_atoms[i, s]) - mean
    w_s, ell_s, w_v, ell_v, alpha = (
        w_atoms[i, s],
        ell_atoms[i, s],
        w_atoms[i, v],
        ell_atoms[i, v],
        alphas[i, v],
    )
    if pairwise:
        if s != v:
            gamma, _ = exact_step(w, w_v, ell_v, w_s, ell_s, lam, alpha)
            alphas[i, s] += gamma
            alphas[i, v] = alpha - gamma if gamma < alpha else 0.0
            _shift(i, w_v, ell_v, w_s, ell_s, gamma, nonnegative, iterates)
    elif active > 1 and mean - worst > gap:
        most = alpha / (1.0 - alpha)
        gamma, _ = exact_step(w, w_v, ell_v, w_blocks[i], ell_blocks[i], lam, most)
        for place in range(alphas.shape[1]):
            alphas[i, place] *= 1.0 + gamma
        alphas[i, v] = alphas[i, v] - gamma if gamma < most else 0.0
        _shift(i, w_v, ell_v, w_blocks[i], ell_blocks[i], gamma, nonnegative, iterates)
    else:
        gamma, _ = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
        for place in range(alphas.shape[1]):
            alphas[i, place] *= 1.0 - gamma
        alphas[i, s] += gamma
        _shift(i, w_blocks[i], ell_blocks[i], w_s, ell_s, gamma, nonnegative, iterates)
    return max(gap, 0.0)


@kernel
def known_passes(
    order: np.ndarray,
    target: float,
    stamp: int,
    pairwise: bool,
    nonnegative: int,
    lam: float,
    iterates: Arrays,
    atoms: Arrays,
) -> None:
    """Pass over the known atoms until the block gaps met in a pass add up to ``target`` at most."""
    w, stamps = iterates[1], atoms[3]
    for turn in range(KNOWN_PASSES):
        met = 0.0
        for i in order:
            at, best = -1, -np.inf
            for place in range(stamps.shape[1]):
                if stamps[i, place] > 0:
                    value = _value(w, lam, atoms[0][i, place], atoms[1][i, place])
                    if value > best:
                        at, best = place, value
            met += step_towards(i, at, pairwise, nonnegative, lam, iterates, atoms)
            stamps[i, at] = stamp + turn
        if met <= target:
            return


@kernel
def settle(origin: np.ndarray, nonnegative: int, iterates: Arrays, atoms: Arrays) -> None:
    """Sum everything up anew from the atoms, so that rounding of many small steps cannot build up."""
    w_atoms, ell_atoms, alphas, _ = atoms
    v, w, ells, w_blocks, ell_blocks = iterates
    v[:] = origin
    ells[:] = 0.0
    for i in range(len(alphas)):
        total = alphas[i].sum()
        w_blocks[i] = 0.0
        ell_blocks[i] = 0.0
        for place in range(alphas.shape[1]):
            if alphas[i, place] > 0.0:
                alphas[i, place] /= total
                ell_blocks[i] += alphas[i, place] * ell_atoms[i, place]
                for j in range(len(v)):
                    w_blocks[i, j] += alphas[i, place] * w_atoms[i, place, j]
        ells[0] += ell_blocks[i]
        for j in range(len(v)):
            v[j] += w_blocks[i, j]
    for j in range(len(v)):
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)


@kernel
def _value(w: np.ndarray, lam: float, w_a: np.ndarray, ell_a: float) -> float:
    """Return ell_a - lam <w, w_a>: the slope of the dual towards a point of a block, up to a constant."""
    inner = 0.0
    for j in range(len(w)):
        inner += w[j] * w_a[j]
    return ell_a - lam * inner


@kernel
def _shift(
    i: int,
    w_from: np.ndarray,
    ell_from: float,
    w_to: np.ndarray,
    ell_to: float,
    gamma: float,
    nonnegative: int,
    iterates: Arrays,
) -> None:
    """Add gamma ((w_to, ell_to) - (w_from, ell_from)) to block i and the sums; one may be block i."""
    v, w, ells, w_blocks, ell_blocks = iterates
    for j in range(len(w)):
        change = gamma * (w_to[j] - w_from[j])
        w_blocks[i, j] += change
        v[j] += change
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)
    change = gamma * (ell_to - ell_from)
    ell_blocks[i] += change
    ells[0] += change
