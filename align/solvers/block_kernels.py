"""Steps of block-coordinate Frank-Wolfe, compiled (:mod:`align.solvers.block`)."""

from __future__ import annotations

import numpy as np

from align.core.kernels import Arrays, kernel
from align.problems.objective import exact_step

# After a pass of the oracle, passes over the cached vertices until the block gaps met on the way add up to
# less than this share of those met by the oracle, but no more passes than that.
CACHE_SHARE, CACHE_PASSES = 0.3, 50


@kernel
def step(
    i: int,
    psi: np.ndarray,
    loss: float,
    nonnegative: int,
    k: int,
    stamp: int,
    lam: float,
    averaging: bool,
    iterates: Arrays,
    vertices: Arrays,
) -> float:
    """Move block i towards the oracle's vertex: iteration k of Algorithm 4; returns the block's gap."""
    _, w, _, _, w_blocks, ell_blocks = iterates
    n = len(ell_blocks)
    # step 4: the vertex
    w_s, ell_s = psi / (lam * n), loss / n
    # step 5: exact line search
    gamma, gap = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
    # steps 6 and 7: the block, and the sums over the blocks
    move(i, w_s, ell_s, gamma, nonnegative, iterates)
    remember(w_s, ell_s, stamp, vertices[0][i], vertices[1][i], vertices[2][i])
    if averaging:
        average(k, iterates)
    return max(gap, 0.0)


@kernel
def cached_passes(
    order: np.ndarray,
    target: float,
    nonnegative: int,
    stamp: int,
    lam: float,
    iterates: Arrays,
    vertices: Arrays,
) -> None:
    """Pass over the cached vertices until the block gaps met in a pass add up to ``target`` at most."""
    _, w, _, _, w_blocks, ell_blocks = iterates
    w_cache, ell_cache, stamps = vertices
    if ell_cache.shape[1] == 0:
        return
    for turn in range(CACHE_PASSES):
        met = 0.0
        for i in order:
            at = best_cached(w, lam, w_cache[i], ell_cache[i], stamps[i])
            w_s, ell_s = w_cache[i, at], ell_cache[i, at]
            gamma, gap = exact_step(w, w_blocks[i], ell_blocks[i], w_s, ell_s, lam, 1.0)
            if gap > 0.0:
                move(i, w_s, ell_s, gamma, nonnegative, iterates)
                stamps[i, at] = stamp + turn
                met += gap
        if met <= target:
            return


@kernel
def move(i: int, w_s: np.ndarray, ell_s: float, gamma: float, nonnegative: int, iterates: Arrays) -> None:
    """Move block i by ``gamma`` towards (w_s, ell_s), and the sums over the blocks with it."""
    v, w, _, ells, w_blocks, ell_blocks = iterates
    for j in range(len(w)):
        before = w_blocks[i, j]
        w_blocks[i, j] = (1.0 - gamma) * before + gamma * w_s[j]
        v[j] += w_blocks[i, j] - before
        w[j] = v[j] if j < nonnegative else max(v[j], 0.0)
    before = ell_blocks[i]
    ell_blocks[i] = (1.0 - gamma) * before + gamma * ell_s
    ells[0] += ell_blocks[i] - before


@kernel
def remember(
    w_s: np.ndarray,
    ell_s: float,
    stamp: int,
    w_cache: np.ndarray,
    ell_cache: np.ndarray,
    stamps: np.ndarray,
) -> None:
    """Put a vertex into its block's cache, in the place of the one unused for longest."""
    if len(stamps) == 0:
        return
    at = 0
    for place in range(len(stamps)):
        known = stamps[place] > 0 and ell_cache[place] == ell_s
        for j in range(len(w_s)):
            known = known and w_cache[place, j] == w_s[j]
        if known:
            stamps[place] = stamp
            return
        if stamps[place] < stamps[at]:
            at = place
    for j in range(len(w_s)):
        w_cache[at, j] = w_s[j]
    ell_cache[at] = ell_s
    stamps[at] = stamp


@kernel
def best_cached(
    w: np.ndarray, lam: float, w_cache: np.ndarray, ell_cache: np.ndarray, stamps: np.ndarray
) -> int:
    """Return the place of the cached vertex that maximises ell_s - lam <w, w_s>."""
    best, at = -np.inf, 0
    for place in range(len(stamps)):
        if stamps[place] > 0:
            value = ell_cache[place]
            for j in range(len(w)):
                value -= lam * w[j] * w_cache[place, j]
            if value > best:
                best, at = value, place
    return at


@kernel
def average(k: int, iterates: Arrays) -> None:
    """Take the iterate after step k = 0, 1, ... into the weighted average."""
    v, _, v_average, ells, _, _ = iterates
    keep, add = k / (k + 2.0), 2.0 / (k + 2.0)
    for j in range(len(v)):
        v_average[j] = keep * v_average[j] + add * v[j]
    ells[1] = keep * ells[1] + add * ells[0]
