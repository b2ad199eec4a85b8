"""Compiled passes of the dual extragradient method over the pairs (:mod:`align.solvers.extragradient`)."""

from __future__ import annotations

import numpy as np

from align.core.kernels import Arrays, kernel
from align.matching.projections import project_pair, scratch
from align.problems.matching import SURE, WRONG, scores


@kernel
def extrapolate(
    data: Arrays,
    v: np.ndarray,
    earlier: np.ndarray,
    t: int,
    eta: float,
    entropic: bool,
    s_edges: np.ndarray,
    prices: np.ndarray,
    price_starts: np.ndarray,
    moved_v: np.ndarray,
    moved_u: np.ndarray,
) -> float:
    """Find z of v and of u; add F z - F y of both to ``moved_v`` and ``moved_u``, return <c, z> of u.

    ``earlier`` is the sum of the w of the t iterations made, or, where s of each edge is kept in ``s_edges``,
    the last of them.
    """
    features, kinds, shapes, starts, costs = data[0], data[1], data[2], data[3], data[4]
    largest = 0
    for i in range(len(shapes)):
        largest = max(largest, shapes[i, 0] * shapes[i, 1])
    theta, before, point, z = np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest)
    work, place, cost = scratch(shapes), 0, 0.0
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        count, longer = n * m, max(n, m, 1)
        x, kind = features[starts[i] : starts[i] + count], kinds[starts[i] : starts[i] + count]
        scores(x, v, theta)
        scores(x, earlier, before)
        start = -np.log(longer) if entropic else 1.0 / longer
        for edge in range(count):
            c = costs[0] if kind[edge] == WRONG else (-costs[1] if kind[edge] == SURE else 0.0)
            theta[edge] += c
            if len(s_edges) == 0:
                point[edge] = start + eta * (before[edge] + t * c)
            else:
                if t > 0:
                    s_edges[place + edge] += before[edge] + c
                point[edge] = start + eta * s_edges[place + edge]
            if not (np.isfinite(point[edge]) and np.isfinite(theta[edge])):
                raise ValueError("a score <w, x> is NaN or infinite; give finite features and weights")
        first, last = price_starts[i], price_starts[i + 1]
        project_pair(point[:count], n, m, entropic, t > 0, prices[0, first:last], z[:count], work)
        _add(x, kind, z, moved_v)
        for edge in range(count):
            if entropic:  # z itself may be too small for a number
                j, k = edge // m, edge % m
                if n > m:
                    point[edge] -= work[2][0, k] + work[2][1, j]
                else:
                    point[edge] -= work[2][0, j] + work[2][1, k]
                point[edge] += eta * theta[edge]
            else:
                point[edge] = z[edge] + eta * theta[edge]
        project_pair(point[:count], n, m, entropic, t > 0, prices[1, first:last], z[:count], work)
        _add(x, kind, z, moved_u)
        cost += _cost(kind, z, costs)
        place += count
    return cost


@kernel
def uniform(data: Arrays, moved: np.ndarray) -> float:
    """Fill F z - F y of the start, return its <c, z>."""
    features, kinds, shapes, starts, costs = data[0], data[1], data[2], data[3], data[4]
    moved[:] = 0.0
    cost = 0.0
    for i in range(len(shapes)):
        count = int(shapes[i, 0]) * int(shapes[i, 1])
        kind = kinds[starts[i] : starts[i] + count]
        z = np.full(count, 1.0 / max(shapes[i, 0], shapes[i, 1], 1))
        _add(features[starts[i] : starts[i] + count], kind, z, moved)
        cost += _cost(kind, z, costs)
    return cost


@kernel
def _add(x: np.ndarray, kind: np.ndarray, z: np.ndarray, moved: np.ndarray) -> None:
    """Add F z - F y of one pair to ``moved``."""
    for edge in range(len(kind)):
        weight = z[edge] - 1.0 if kind[edge] == SURE else z[edge]
        if weight != 0.0:
            for k in range(len(moved)):
                moved[k] += weight * x[edge, k]


@kernel
def _cost(kind: np.ndarray, z: np.ndarray, costs: np.ndarray) -> float:
    """Return <c, z> of one pair."""
    total = 0.0
    for edge in range(len(kind)):
        if kind[edge] == WRONG:
            total += costs[0] * z[edge]
        elif kind[edge] == SURE:
            total -= costs[1] * z[edge]
    return total


@kernel
def sure_links(kinds: np.ndarray, shapes: np.ndarray, starts: np.ndarray) -> int:
    """Return the number of sure links of all pairs."""
    total = 0
    for i in range(len(shapes)):
        for edge in range(starts[i], starts[i] + shapes[i, 0] * shapes[i, 1]):
            total += kinds[edge] == SURE
    return total


@kernel
def gram_product(data: Arrays, x: np.ndarray, product: np.ndarray) -> None:
    """Add F F' x to ``product``."""
    features, shapes, starts = data[0], data[2], data[3]
    for i in range(len(shapes)):
        for edge in range(starts[i], starts[i] + shapes[i, 0] * shapes[i, 1]):
            score = 0.0
            for k in range(len(x)):
                score += features[edge, k] * x[k]
            for k in range(len(x)):
                product[k] += score * features[edge, k]


@kernel
def gram(data: Arrays, product: np.ndarray) -> None:
    """Fill ``product`` (d, d) with F F'."""
    features, shapes, starts = data[0], data[2], data[3]
    d = len(product)
    product[:] = 0.0
    for i in range(len(shapes)):
        for edge in range(starts[i], starts[i] + shapes[i, 0] * shapes[i, 1]):
            x = features[edge]
            for k in range(d):
                if x[k] != 0.0:
                    for other in range(k + 1):
                        product[k, other] += x[k] * x[other]
    for k in range(d):
        for other in range(k):
            product[other, k] = product[k, other]
