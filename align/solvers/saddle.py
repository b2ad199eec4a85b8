"""A problem as the dual extragradient method meets it: the bilinear part of the saddle point.

:class:`MatchingSaddle` is that of matchings, its passes compiled: scores, both projections and sums of a pair
while its features are in the processor's cache. :class:`PolytopeSaddle` is that of any problem which has a
polytope (:class:`align.problems.protocol.Polytope`), in whole arrays.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import offsets_of
from align.matching.assignment import largest
from align.matching.projections import project_pair
from align.problems.matching import SURE, WRONG, MatchingData, MatchingProblem, scores
from align.problems.protocol import Polytope


class Saddle(Protocol):
    """The bilinear part of the saddle point, <w, F z - F y> + <c, z> with z in Z."""

    n: int
    d: int
    nonnegative: int
    # where in the prices those of each block start; the last is their number
    price_starts: np.ndarray

    @property
    def constant(self) -> float:
        """The mean over the blocks of -<c_i, y_i>."""
        ...

    @property
    def entries(self) -> int:
        """E."""
        ...

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d)."""
        ...

    def gram_times(self, x: np.ndarray) -> np.ndarray:
        """Return F F' x, float64 (d,)."""
        ...

    def radius(self, *, entropic: bool) -> float:
        """Return D_z: the largest divergence of a point of Z from the start, or more."""
        ...

    def begin(self, *, entropic: bool) -> tuple[float, np.ndarray]:
        """Return <c, z> and F z - F y of the start."""
        ...

    def extrapolate(
        self,
        v: np.ndarray,
        earlier: np.ndarray,
        t: int,
        eta: float,
        entropic: bool,
        edges: np.ndarray,
        prices: np.ndarray,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Find z of v and of u; return <c, z> of u, and F z - F y of both.

        ``earlier`` is the sum of the w of the t iterations made, or, where s of each entry is kept in
        ``edges``, (E,), the last of them. ``prices``, (2, P), are those that projections start from.
        """
        ...


class PolytopeSaddle:
    """The saddle point of a problem of n blocks over its polytope."""

    def __init__(self, polytope: Polytope, n: int, d: int, nonnegative: int) -> None:
        self.n, self.d, self.nonnegative = n, d, nonnegative
        self.price_starts = np.array([0, polytope.prices])
        self._polytope = polytope

    @property
    def entries(self) -> int:
        """E."""
        return len(self._polytope.costs)

    @property
    def constant(self) -> float:
        """The mean over the blocks of -<c_i, y_i>."""
        return -float(self._polytope.costs @ self._polytope.gold) / self.n

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d)."""
        return self._polytope.gram()

    def gram_times(self, x: np.ndarray) -> np.ndarray:
        """Return F F' x, float64 (d,)."""
        return self._polytope.features(self._polytope.scores(x))

    def radius(self, *, entropic: bool) -> float:
        """Return D_z, as of :class:`Saddle`."""
        return self._polytope.radius(entropic=entropic)

    def begin(self, *, entropic: bool) -> tuple[float, np.ndarray]:
        """Return <c, z> and F z - F y of the start."""
        polytope = self._polytope
        start = polytope.start(entropic=entropic)
        z, _ = polytope.project(start, entropic=entropic, prices=np.zeros(polytope.prices))
        return float(polytope.costs @ z), polytope.features(z - polytope.gold)

    def extrapolate(
        self,
        v: np.ndarray,
        earlier: np.ndarray,
        t: int,
        eta: float,
        entropic: bool,
        edges: np.ndarray,
        prices: np.ndarray,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Find z of v and of u, as of :class:`Saddle`."""
        polytope = self._polytope
        theta, before = polytope.scores(v) + polytope.costs, polytope.scores(earlier)
        if not len(edges):
            before += t * polytope.costs
        else:
            if t > 0:
                edges += before + polytope.costs
            before = edges
        if not (np.isfinite(theta).all() and np.isfinite(before).all()):
            raise ValueError("a score <w, x> is NaN or infinite; give finite features and weights")
        point = polytope.start(entropic=entropic) + eta * before
        z, point = polytope.project(point, entropic=entropic, prices=prices[0])
        moved_v = polytope.features(z - polytope.gold)
        z, _ = polytope.project(point + eta * theta, entropic=entropic, prices=prices[1])
        return float(polytope.costs @ z), moved_v, polytope.features(z - polytope.gold)


class MatchingSaddle:
    """The saddle point of matchings, compiled."""

    def __init__(self, problem: MatchingProblem) -> None:
        shapes = problem.data.shapes
        self.n, self.d, self.nonnegative = problem.n, problem.d, problem.nonnegative
        self.price_starts = offsets_of(shapes.max(axis=1))
        self._problem, self._data = problem, problem.data

    @property
    def entries(self) -> int:
        """The edges of all pairs."""
        return int(self._data.shapes.prod(axis=1, dtype=np.int64).sum())

    @property
    def constant(self) -> float:
        """c_fn mean |y_i|."""
        _, kinds, shapes, starts, costs = self._data[:5]
        counts = shapes.prod(axis=1, dtype=np.int64)
        sure = sum(
            np.count_nonzero(kinds[first : first + count] == SURE)
            for first, count in zip(starts, counts, strict=True)
        )
        return float(costs[1]) * int(sure) / self.n

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d)."""
        product = np.empty((self.d, self.d))
        _gram(self._data, product)
        return product

    def gram_times(self, x: np.ndarray) -> np.ndarray:
        """Return F F' x, float64 (d,)."""
        product = np.zeros(self.d)
        _gram_product(self._data, x, product)
        return product

    def radius(self, *, entropic: bool) -> float:
        """Return D_z, as of :func:`divergence`."""
        return divergence(self._problem, entropic=entropic)

    def begin(self, *, entropic: bool) -> tuple[float, np.ndarray]:
        """Return <c, z> and F z - F y of the start, 1 / max(n_i, m_i)."""
        moved = np.zeros(self.d)
        return _uniform(self._data, moved), moved

    def extrapolate(
        self,
        v: np.ndarray,
        earlier: np.ndarray,
        t: int,
        eta: float,
        entropic: bool,
        edges: np.ndarray,
        prices: np.ndarray,
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Find z of v and of u, as of :class:`Saddle`."""
        return _extrapolate(self._data, v, earlier, t, eta, entropic, edges, prices, self.price_starts)


def divergence(problem: MatchingProblem, *, entropic: bool) -> float:
    """Return D_z: the largest divergence of a point of all polytopes from the start, 1 / max(n_i, m_i).

    It is convex, so largest at a matching: of k links, k (1/2 - 1/M) + k_max / (2 M) (Euclidean) or
    k (log M - 1) + k_max (entropy), M and k_max the words of the longer and the shorter side.
    """
    shapes = problem.data.shapes.astype(np.float64)
    longer, shorter = np.maximum(shapes.max(axis=1), 1.0), shapes.min(axis=1)
    if entropic:
        per_link, always = np.log(longer) - 1.0, 1.0
    else:
        per_link, always = 0.5 - 1.0 / longer, 0.5 / longer
    return float((shorter * (np.maximum(per_link, 0.0) + always)).sum())


@kernel
def _extrapolate(
    data: MatchingData,
    v: np.ndarray,
    earlier: np.ndarray,
    t: int,
    eta: float,
    entropic: bool,
    s_edges: np.ndarray,
    prices: np.ndarray,
    price_starts: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Find z of v and of u; return <c, z> of u, and F z - F y of both.

    ``earlier`` is the sum of the w of the t iterations made, or, where s of each edge is kept in ``s_edges``,
    the last of them.
    """
    features, kinds, shapes, starts, costs = data.features, data.kinds, data.shapes, data.starts, data.costs
    _, most = largest(shapes)
    theta, before, point, z = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    place, cost, moved_v, moved_u, cold = 0, 0.0, np.zeros(len(v)), np.zeros(len(v)), np.empty(0)
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        count, longer = n * m, max(n, m, 1)
        x, kind = features[starts[i] : starts[i] + count], kinds[starts[i] : starts[i] + count]
        scores(x, v, theta)
        scores(x, earlier, before)
        origin = -np.log(longer) if entropic else 1.0 / longer
        for edge in range(count):
            c = costs[0] if kind[edge] == WRONG else (-costs[1] if kind[edge] == SURE else 0.0)
            theta[edge] += c
            if len(s_edges) == 0:
                point[edge] = origin + eta * (before[edge] + t * c)
            else:
                if t > 0:
                    s_edges[place + edge] += before[edge] + c
                point[edge] = origin + eta * s_edges[place + edge]
            if not (np.isfinite(point[edge]) and np.isfinite(theta[edge])):
                raise ValueError("a score <w, x> is NaN or infinite; give finite features and weights")
        known_v = prices[0, price_starts[i] : price_starts[i + 1]]
        known_u = prices[1, price_starts[i] : price_starts[i + 1]]
        _, short, long = project_pair(point[:count], n, m, entropic, known_v if t > 0 else cold, z[:count])
        known_v[:] = long
        _add(x, kind, z, moved_v)
        for edge in range(count):
            if entropic:  # z itself may be too small for a number
                j, k = edge // m, edge % m
                point[edge] -= short[k] + long[j] if n > m else short[j] + long[k]
                point[edge] += eta * theta[edge]
            else:
                point[edge] = z[edge] + eta * theta[edge]
        _, _, long = project_pair(point[:count], n, m, entropic, known_u if t > 0 else cold, z[:count])
        known_u[:] = long
        _add(x, kind, z, moved_u)
        cost += _cost(kind, z, costs)
        place += count
    return cost, moved_v, moved_u


@kernel
def _uniform(data: MatchingData, moved: np.ndarray) -> float:
    """Fill F z - F y of the start, return its <c, z>."""
    features, kinds, shapes, starts, costs = data.features, data.kinds, data.shapes, data.starts, data.costs
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
def _gram_product(data: MatchingData, x: np.ndarray, product: np.ndarray) -> None:
    """Add F F' x to ``product``."""
    features, shapes, starts = data.features, data.shapes, data.starts
    for i in range(len(shapes)):
        for edge in range(starts[i], starts[i] + shapes[i, 0] * shapes[i, 1]):
            score = 0.0
            for k in range(len(x)):
                score += features[edge, k] * x[k]
            for k in range(len(x)):
                product[k] += score * features[edge, k]


@kernel
def _gram(data: MatchingData, product: np.ndarray) -> None:
    """Fill ``product`` (d, d) with F F'."""
    features, shapes, starts = data.features, data.shapes, data.starts
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
