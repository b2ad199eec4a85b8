"""Projections onto the flow polytope of words with several links, by Euclidean distance and by entropy.

With at most K links a word, each after a word's first counted by e_j (source) and f_k (target), the
labellings of a pair of n source and m target words are the vertices that matter of

    Z = {0 <= z <= 1, 0 <= e, f <= K - 1, sum_k z_jk <= 1 + e_j, sum_j z_jk <= 1 + f_k}:

a flow, so that its vertices are integral. (At others e or f is larger than it has to be, which no cost >= 0
makes better.) As in :mod:`align.matching.projections` the projection of (a, b, c) follows from prices
u, v >= 0 of the words,

    z_jk = phi(a_jk - u_j - v_k),    e_j = phi'(b_j + u_j),    f_k = phi'(c_k + v_k),

phi(x) = min(1, max(0, x)), phi' the same up to K - 1. With entropy, of an edge that is linked or not,
1/4 (z log z + (1 - z) log(1 - z)) and the like up to K - 1, they are 1 / (1 + exp(-4 x)) and
(K - 1) / (1 + exp(-4 x / (K - 1))); without 1 - z the bound would be a kink, at which Newton's steps fail.
The prices minimise a convex dual; in turn the words of one side get the prices that are best given the
other's, and a Newton step on all prices is taken where it brings the sums nearer.
"""

from __future__ import annotations

import numpy as np

from align.core.kernels import kernel
from align.matching import fertility
from align.matching.projections import solve_semidefinite

_ROUNDS, _SHORTENINGS = 500, 5
# Steps of a single price; halving alone would need no more.
_PRICE_STEPS = 80
# A step is taken if the largest error of a sum falls by this factor; after the last round that error will do.
_LESS, _ENOUGH = 0.75, 1e-7


@kernel
def project_block(
    x: np.ndarray,
    shapes: np.ndarray,
    most: float,
    entropic: bool,
    prices: np.ndarray,
    z: np.ndarray,
    dual: np.ndarray,
) -> int:
    """Project all pairs; returns the first that was not projected, or -1.

    Parameters
    ----------
    x : ndarray of float64, shape (E + n + m,)
        What is projected: z of all pairs, then e of all source words, then f of all target words.
    shapes : ndarray of int32, shape (N, 2)
        Words of each pair.
    most : float
        K - 1 >= 1.
    entropic : bool
        The kind of projection.
    prices : ndarray of float64, shape (n + m,)
        Prices of all words, pair after pair, to start from; those that were found are left in it.
    z, dual : ndarray of float64, shape (E + n + m,)
        Overwritten by the projection and by a gradient at it.
    """
    edges, sources = 0, 0
    for i in range(len(shapes)):
        edges += shapes[i, 0] * shapes[i, 1]
        sources += shapes[i, 0]
    edge, source, target, price = 0, edges, edges + sources, 0
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        a = x[edge : edge + n * m].reshape(n, m)
        b, c = x[source : source + n], x[target : target + m]
        u, v = prices[price : price + n], prices[price + n : price + n + m]
        if not _minimise(a, b, c, most, entropic, u, v):
            return i
        links = z[edge : edge + n * m].reshape(n, m)
        e, f = z[source : source + n], z[target : target + m]
        for j in range(n):
            dual[source + j] = b[j] + u[j]
            e[j] = _entry(b[j] + u[j], most, entropic)
            for k in range(m):
                dual[edge + j * m + k] = a[j, k] - u[j] - v[k]
                links[j, k] = _entry(a[j, k] - u[j] - v[k], 1.0, entropic)
        for k in range(m):
            dual[target + k] = c[k] + v[k]
            f[k] = _entry(c[k] + v[k], most, entropic)
        _shrink(links, e, f)
        if not entropic:
            dual[edge : edge + n * m] = z[edge : edge + n * m]
            dual[source : source + n] = e
            dual[target : target + m] = f
        edge, source, target, price = edge + n * m, source + n, target + m, price + n + m
    return -1


@kernel
def _shrink(z: np.ndarray, e: np.ndarray, f: np.ndarray) -> None:
    """Bring links z (n, m), whose sums may be over 1 + e and 1 + f by what was left of errors, into Z.

    A dual value is a lower bound only for points of Z.
    """
    n, m = z.shape
    for j in range(n):
        links = 0.0
        for k in range(m):
            links += z[j, k]
        if links > 1.0 + e[j]:
            for k in range(m):
                z[j, k] *= (1.0 + e[j]) / links
    for k in range(m):
        links = 0.0
        for j in range(n):
            links += z[j, k]
        if links > 1.0 + f[k]:
            for j in range(n):
                z[j, k] *= (1.0 + f[k]) / links


@kernel
def _entry(x: float, most: float, entropic: bool) -> float:
    """Return phi of a bound: 1 for edges, K - 1 for words."""
    if entropic:
        return most / (1.0 + np.exp(min(-4.0 * x / most, 700.0)))
    return min(max(x, 0.0), most)


@kernel
def _curvature(x: float, most: float, entropic: bool) -> float:
    """Return the derivative of :func:`_entry`."""
    if entropic:
        small = np.exp(-4.0 * abs(x) / most)
        return 4.0 * small / (1.0 + small) ** 2
    return 1.0 if 0.0 < x < most else 0.0


@kernel
def _integral(x: float, most: float, entropic: bool) -> float:
    """Return the integral of :func:`_entry` up to x."""
    if entropic:
        return most * max(x, 0.0) + 0.25 * most * most * np.log1p(np.exp(-4.0 * abs(x) / most))
    return 0.0 if x <= 0.0 else 0.5 * x * x if x <= most else most * (x - 0.5 * most)


@kernel
def _minimise(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, most: float, entropic: bool, u: np.ndarray, v: np.ndarray
) -> bool:
    """Find the best prices from ``u`` (n,) and ``v`` (m,) on, in place; returns whether that succeeds."""
    n, m = a.shape
    scale = 1.0
    for j in range(n):
        for k in range(m):
            scale = max(scale, a[j, k])
    tolerance = 1e-10 + 4e-15 * scale
    if scale > 1.0 and not u.any() and not v.any():
        _flow_prices(a, b, c, most, u, v)
    p, balance, off, value = np.concatenate((u, v)), True, np.inf, np.inf
    for _ in range(_ROUNDS):
        if balance:
            _best_prices(a, b, most, entropic, p[:n], p[n:])
            _best_prices(a.T, c, most, entropic, p[n:], p[:n])
            off, value, sums = _measure(a, b, c, most, entropic, p)
        if off <= tolerance:
            break
        step, share, balance = _newton_step(a, b, c, most, entropic, p, sums), 1.0, True
        for _ in range(_SHORTENINGS):
            following = np.maximum(0.0, p + share * step)
            off_next, value_next, sums_next = _measure(a, b, c, most, entropic, following)
            if off_next <= _LESS * off or value_next < value - 1e-10 * (1.0 + abs(value)):
                balance = off_next > _LESS * off
                p, off, value, sums = following, off_next, value_next, sums_next
                break
            share *= 0.25
    u[:], v[:] = p[:n], p[n:]
    return off <= max(_ENOUGH, tolerance)


@kernel
def _flow_prices(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, most: float, u: np.ndarray, v: np.ndarray
) -> None:
    """Fill ``u`` and ``v`` with the prices of the best flow: near the solution of a point that is far out."""
    n, m = a.shape
    work, links = fertility.scratch(np.array([[n, m]])), np.empty(n * m, dtype=np.bool_)
    costs_u, costs_v = np.maximum(-b, 0.0), np.maximum(-c, 0.0)
    fertility.solve_pair(a.copy().ravel(), n, m, costs_u, costs_v, int(most) + 1, links, work)
    rows, columns = (v, u) if n > m else (u, v)  # the shorter side's words are the rows
    rows[:] = np.maximum(work.prices[0, : len(rows)], 0.0)
    columns[:] = np.maximum(work.prices[1, : len(columns)], 0.0)


@kernel
def _best_prices(
    a: np.ndarray, b: np.ndarray, most: float, entropic: bool, own: np.ndarray, other: np.ndarray
) -> None:
    """Give each word of the rows the least price >= 0 at which its links are 1 + e_j at most.

    Their excess falls with the price: Newton's steps between bounds, halved where they lead out of these.
    """
    n, m = a.shape
    for j in range(n):
        top = -np.inf
        for k in range(m):
            top = max(top, a[j, k] - other[k])
        low, high = 0.0, max(0.0, top + 0.25 * np.log(m) if entropic and m > 0 else top)
        price = min(own[j], high)
        for _ in range(_PRICE_STEPS):
            excess, slope = (
                -1.0 - _entry(b[j] + price, most, entropic),
                _curvature(b[j] + price, most, entropic),
            )
            for k in range(m):
                excess += _entry(a[j, k] - other[k] - price, 1.0, entropic)
                slope += _curvature(a[j, k] - other[k] - price, 1.0, entropic)
            if abs(excess) <= 1e-13 or (excess < 0.0 and price == 0.0) or high - low <= 1e-15 * high:
                break
            if excess > 0.0:
                low = price
            else:
                high = price
            price += excess / slope if slope > 0.0 else np.inf
            if not low < price < high:
                # the least price itself is one to try, before the middle
                price = 0.0 if low == 0.0 and price <= 0.0 else 0.5 * (low + high)
        own[j] = price


@kernel
def _measure(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, most: float, entropic: bool, p: np.ndarray
) -> tuple[float, float, np.ndarray]:
    """Return how far a sum is off, the dual, and by how much the links of each word are over 1 + e."""
    n, m = a.shape
    over, value = np.empty(n + m), p.sum()
    for j in range(n):
        over[j] = -1.0 - _entry(b[j] + p[j], most, entropic)
        value += _integral(b[j] + p[j], most, entropic)
    for k in range(m):
        over[n + k] = -1.0 - _entry(c[k] + p[n + k], most, entropic)
        value += _integral(c[k] + p[n + k], most, entropic)
    for j in range(n):
        for k in range(m):
            own = a[j, k] - p[j] - p[n + k]
            z = _entry(own, 1.0, entropic)
            over[j] += z
            over[n + k] += z
            value += _integral(own, 1.0, entropic)
    off = 0.0
    for word in range(n + m):
        off = max(off, over[word] if p[word] == 0.0 else abs(over[word]))
    return off, value, over


@kernel
def _newton_step(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, most: float, entropic: bool, p: np.ndarray, over: np.ndarray
) -> np.ndarray:
    """Return the Newton step of all prices; those at 0 that do not want to rise stay."""
    n, m = a.shape
    system, step = np.zeros((n + m, n + m)), over.copy()
    for j in range(n):
        system[j, j] += _curvature(b[j] + p[j], most, entropic)
        for k in range(m):
            curve = _curvature(a[j, k] - p[j] - p[n + k], 1.0, entropic)
            system[j, j] += curve
            system[n + k, n + k] += curve
            system[n + k, j] = curve  # the lower triangle
    for k in range(m):
        system[n + k, n + k] += _curvature(c[k] + p[n + k], most, entropic)
    for word in range(n + m):
        if p[word] == 0.0 and over[word] <= 0.0:
            system[word, :] = 0.0
            system[:, word] = 0.0
            system[word, word] = 1.0
            step[word] = 0.0
    solve_semidefinite(system, step)
    return step
