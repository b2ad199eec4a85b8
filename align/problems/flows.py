"""The polytope of words with several links, for the dual extragradient method.

To the edges z of a pair come, of each word, the links after its first, e and f
(:mod:`align.matching.fertility_projections`): features and loss are linear in all of them. The weights of
words may not be negative, so that no larger e or f than needed is ever better.
"""

from __future__ import annotations

import numpy as np

from align.core.errors import WorkError
from align.matching.fertility_projections import project_block
from align.problems.polytopes import GEOMETRIES


class FlowPolytope:
    """Z of some pairs: the edges of all pairs, then all source words, then all target words.

    Parameters
    ----------
    features : ndarray of float, shape (E, d_e)
        Of the edges, pair after pair, row by row.
    words : pair of ndarray of float, shapes (n, d_s) and (m, d_t)
        Of the source and the target words, pair after pair; they count negatively.
    shapes : ndarray of int, shape (N, 2)
        Words of each pair.
    costs, links : ndarray of float64, shape (E,)
        What an edge costs, and gold.
    max_fertility : int
        Links a word, K > 1.

    Attributes
    ----------
    geometries, costs, gold, prices
        As of :class:`~align.problems.protocol.Polytope`.
    """

    geometries = GEOMETRIES

    def __init__(
        self,
        features: np.ndarray,
        words: tuple[np.ndarray, np.ndarray],
        shapes: np.ndarray,
        costs: np.ndarray,
        links: np.ndarray,
        max_fertility: int,
    ) -> None:
        self._x = np.asarray(features, dtype=np.float64)
        self._words = [np.asarray(side, dtype=np.float64) for side in words]
        self._shapes, self._most = shapes, float(max_fertility - 1)
        n, m = (int(count) for count in shapes.sum(axis=0))
        self._ends = [len(costs), len(costs) + n]
        self.prices = n + m
        further = np.concatenate([np.maximum(degrees - 1.0, 0.0) for degrees in _degrees(links, shapes)])
        self.gold = np.concatenate([links, further])
        self.costs = np.concatenate([costs, np.zeros(n + m)])

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E + n + m,)."""
        d, source = self._x.shape[1], self._words[0].shape[1]
        own = self._words[0] @ w[d : d + source], self._words[1] @ w[d + source :]
        return np.concatenate([self._x @ w[:d], -own[0], -own[1]])

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,)."""
        edges, *further = np.split(z, self._ends)
        words = [-(own @ side) for own, side in zip(further, self._words, strict=True)]
        return np.concatenate([edges @ self._x, *words])

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d): edges and the words of either side share no feature."""
        parts = [side.T @ side for side in (self._x, *self._words)]
        product, at = np.zeros((sum(map(len, parts)),) * 2), 0
        for part in parts:
            product[at : at + len(part), at : at + len(part)] = part
            at += len(part)
        return product

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return what is projected on links of 1 / max(n_i, m_i), and half of all further links of a word."""
        shares = 1.0 / np.repeat(self._shapes.max(axis=1, initial=1), self._shapes.prod(axis=1))
        further = np.full(self.prices, 0.5 * self._most)
        if entropic:
            # one word beside one: a share of 1 would be infinitely far out
            shares = np.minimum(shares, 0.5)
            return np.concatenate([0.25 * np.log(shares / (1.0 - shares)), np.zeros(self.prices)])
        return np.concatenate([shares, further])

    def radius(self, *, entropic: bool) -> float:
        """Return a bound of the divergence from the start: as if all words had all their links."""
        n, m = self._shapes.astype(np.float64).T
        longer, most = np.maximum(np.maximum(n, m), 1.0), self._most
        links = np.minimum((most + 1.0) * np.minimum(n, m), n * m)
        if entropic:
            share = np.minimum(1.0 / longer, 0.5)
            edges = 0.25 * (links * -np.log(share) + (n * m - links) * -np.log1p(-share))
            return float((edges + (n + m) * 0.25 * most**2 * np.log(2.0)).sum())
        edges = 0.5 * n * m / longer**2 + links * np.maximum(0.5 - 1.0 / longer, 0.0)
        return float((edges + (n + m) * 0.125 * most**2).sum())

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection and a gradient of h at it, as of the protocol.

        h is a quarter of the negative entropy of edges that are linked or not; for what is up to K - 1, in
        units of that, (K - 1)^2 / 4 times it.
        """
        z, dual = np.empty(len(x)), np.empty(len(x))
        failed = project_block(x, self._shapes, self._most, entropic, prices, z, dual)
        if failed >= 0:
            raise WorkError(f"flows: pair {failed} was not projected; scale its features down")
        return z, dual


def _degrees(links: np.ndarray, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the links of all source and of all target words."""
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([np.zeros(0)], [np.zeros(0)])
    first = 0
    for n, m in shapes.tolist():
        own = links[first : first + n * m].reshape(n, m)
        sides[0].append(own.sum(axis=1))
        sides[1].append(own.sum(axis=0))
        first += n * m
    return np.concatenate(sides[0]), np.concatenate(sides[1])
