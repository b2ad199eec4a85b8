"""Classification with several labels at once, in which labels attract each other: minimum cuts as the oracle.

As :class:`align.problems.multilabel.MultilabelProblem` with one weight for two labels being set together,

    <w, F_i y> = sum_l y_l <w_l, x_i> + sum_(a, b) w_ab y_a y_b,    w_ab >= 0,

the loss the number of labels that are wrong. For w_ab >= 0 the best labelling is a minimum cut ([1]_): with
the weights theta_l of the labels, a set S of labels is worth

    sum_(l in S) (theta_l + 1/2 sum_b w_lb) - 1/2 sum_(a in S, b not in S) w_ab,

so that any number of labels can be learnt, not the few of which all sets can be tried. With z_ab for y_a y_b
its linear program

    0 <= z_ab <= z_a, z_b <= 1

has integral vertices ([2]_, of min-cuts): the polytope that the dual extragradient method projects onto. The
nearest point to x in it is a regression with an order, z_ab below z_a and z_b, cut to [0, 1] at the end
([3]_).

References
----------
.. [1] V. Kolmogorov and R. Zabih, "What energy functions can be minimized via graph cuts?", IEEE Transactions
   on Pattern Analysis and Machine Intelligence 26, 2004.
.. [2] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006. https://jmlr.org/papers/v7/taskar06a.html
.. [3] T. Robertson, F. T. Wright and R. L. Dykstra, "Order restricted statistical inference", Wiley, 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from align.core.errors import WorkError
from align.core.kernels import kernel
from align.problems.polytopes import LabelPolytope
from align.problems.protocol import Summing, Vertex

# Capacities are whole numbers, below 2^31 in sum.
_WHOLE = 2.0**31 - 1024.0
# The prices of a projection are good when no constraint is off by more than that share of the largest entry.
_OFF, _SWEEPS = 1e-12, 100_000


class AttractiveProblem:
    """Examples with several labels that attract each other as a structured problem.

    The L p + len(edges) features are those of label 0, of label 1, ..., of each pair of labels. The weights
    of pairs may not be negative.

    Parameters
    ----------
    x : ndarray of float, shape (n, p)
        Features of the examples, finite.
    y : ndarray of int or bool, shape (n, L)
        Their labels, 0 or 1; L >= 1.
    edges : sequence of (int, int)
        Pairs of different labels that may attract each other
        (:func:`align.problems.multilabel.all_edges`).

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    summing: Summing | None = None

    def __init__(self, x: np.ndarray, y: np.ndarray, *, edges: Sequence[tuple[int, int]]) -> None:
        x, y = np.array(x, dtype=np.float64, order="C"), np.asarray(y)
        if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
            raise ValueError(f"attractive: examples of shape {x.shape}; give finite features (n, p), p >= 1")
        if y.ndim != 2 or not y.shape[1] or len(y) != len(x) or not len(x) or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"attractive: labels of shape {y.shape} for {len(x)} examples; give (n, L) of 0 and 1, n >= 1"
            )
        labels = y.shape[1]
        known = sorted((min(edge), max(edge)) for edge in edges)
        if len(set(known)) < len(known) or not all(0 <= a < b < labels for a, b in known):
            raise ValueError(
                f"attractive: pairs of labels {list(edges)}; give different ones of 0 to {labels - 1}, once"
            )
        self.n, self.nonnegative = len(x), labels * x.shape[1]
        self.d = self.nonnegative + len(known)
        self._x, self._y = x, y.astype(np.int64)
        self._edges = np.array(known, dtype=np.int64).reshape(-1, 2)

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a maximising vertex of example i, as of :class:`~align.problems.protocol.Problem`.

        Capacities are rounded to whole numbers: the labelling may be worse than the best one by 5e-10 of
        the sum of all weights for each label and each pair of labels. By so much a primal, and with it a
        duality gap, may be too low: with 100 labels and all pairs of them by 2.5e-6 of the sum. A smaller
        tolerance than that certifies less than it says.

        Raises
        ------
        ValueError
            If a score under ``w`` is NaN or infinite, or a weight of a pair of labels negative.
        """
        gold = self._y[i]
        found = self._best(w, i, 1.0)
        signs = (gold - found).astype(np.float64)
        a, b = self._edges.T
        psi = np.concatenate([np.outer(signs, self._x[i]).ravel(), gold[a] * gold[b] - found[a] * found[b]])
        loss = float(np.abs(signs).sum())
        if loss < float(w @ psi):  # no worse than gold in spite of rounding
            return Vertex(np.zeros(self.d), 0.0)
        return Vertex(psi, loss)

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi and loss of maximising vertices, as of :class:`~align.problems.protocol.Problem`."""
        weights = np.atleast_2d(w)
        psi, loss = np.empty((len(weights), len(block), self.d)), np.empty((len(weights), len(block)))
        for place, i in enumerate(block.tolist()):
            for r, own in enumerate(weights):
                psi[r, place], loss[r, place] = self.oracle(own, i)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])

    @cached_property
    def polytope(self) -> AttractivePolytope:
        """Its linear program, as of :class:`~align.problems.protocol.Polytope`."""
        return AttractivePolytope(self._x, self._y, self._edges)

    def predict(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the best labels of examples x, float (N, p), under w, (d,): int8, shape (N, L)."""
        x = np.asarray(x, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self._x.shape[1] or w.shape != (self.d,):
            raise ValueError(
                f"attractive: examples {x.shape}, weights {w.shape}; give (N, {self._x.shape[1]}) "
                f"and ({self.d},)"
            )
        other = AttractiveProblem(
            x, np.zeros((len(x), self._y.shape[1])), edges=[(int(a), int(b)) for a, b in self._edges]
        )
        return np.array([other._best(w, i, 0.0) for i in range(len(x))], dtype=np.int8)

    def _best(self, w: np.ndarray, i: int, cost: float) -> np.ndarray:
        """Return the labels of example i, int64 (L,), that maximise score and ``cost`` times loss."""
        # a third of a second to load, and nothing else needs it
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, maximum_flow

        labels, pairs = self._y.shape[1], w[self.nonnegative :]
        theta = w[: self.nonnegative].reshape(labels, -1) @ self._x[i] + cost * (1.0 - 2.0 * self._y[i])
        if not (np.isfinite(theta).all() and np.isfinite(pairs).all()):
            raise ValueError("oracle: a score is NaN or infinite; give finite weights")
        if pairs.min(initial=0.0) < 0:
            raise ValueError("oracle: a weight of a pair of labels is negative; give weights >= 0")
        ends, halves = self._edges.ravel(), np.repeat(0.5 * pairs, 2)
        np.add.at(theta, ends, halves)
        # from the source, label L, to labels that pay; from those that do not to the sink, L + 1
        own = np.arange(labels)
        tails = np.concatenate([np.where(theta > 0, labels, own), ends])
        heads = np.concatenate([np.where(theta > 0, own, labels + 1), self._edges[:, ::-1].ravel()])
        sizes = np.concatenate([np.abs(theta), halves])
        total = float(sizes.sum())
        if total == 0.0:
            return np.zeros(labels, dtype=np.int64)
        whole = np.round(sizes * (_WHOLE / total)).astype(np.int32)
        graph: Any = csr_array((whole, (tails, heads)), shape=(labels + 2, labels + 2))
        left: Any = graph - maximum_flow(graph, labels, labels + 1).flow
        left.eliminate_zeros()
        reached = breadth_first_order(left, labels, return_predecessors=False)
        found = np.zeros(labels + 2, dtype=np.int64)
        found[reached] = 1
        return found[:labels]


class AttractivePolytope:
    """0 <= z_ab <= z_a, z_b <= 1: for all examples the labels first, then for all examples the pairs."""

    geometries = ("euclidean",)

    def __init__(self, x: np.ndarray, y: np.ndarray, edges: np.ndarray) -> None:
        self._own, self._edges, self._shape = LabelPolytope(x, y), edges, (len(x), len(edges))
        self._labels = y.size
        self.gold = np.concatenate([self._own.gold, (y[:, edges[:, 0]] * y[:, edges[:, 1]]).ravel()])
        self.costs = np.concatenate([self._own.costs, np.zeros(len(x) * len(edges))])
        self.prices = 2 * len(x) * len(edges)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E,)."""
        n, pairs = self._shape
        own = len(w) - pairs
        return np.concatenate([self._own.scores(w[:own]), np.tile(w[own:], n)])

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,)."""
        joint = z[self._labels :].reshape(self._shape)
        return np.concatenate([self._own.features(z[: self._labels]), joint.sum(axis=0)])

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d): labels and pairs share no feature."""
        labels, (n, pairs) = self._own.gram(), self._shape
        product = np.zeros((len(labels) + pairs,) * 2)
        product[: len(labels), : len(labels)] = labels
        product[len(labels) :, len(labels) :] = n * np.eye(pairs)
        return product

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return 1/2."""
        return np.full(len(self.gold), 0.5)

    def radius(self, *, entropic: bool) -> float:
        """Return the largest divergence from 1/2: 1/8 for each entry."""
        return 0.125 * len(self.gold)

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection, twice, as of the protocol."""
        n, pairs = self._shape
        z = x.copy()
        nodes, joint = z[: self._labels].reshape(n, -1), z[self._labels :].reshape(n, pairs)
        failed = _in_order(nodes, joint, self._edges, prices.reshape(n, pairs, 2))
        if failed >= 0:
            raise WorkError(f"attractive: example {failed} was not projected; take fewer pairs of labels")
        np.clip(z, 0.0, 1.0, out=z)
        return z, z


@kernel
def _in_order(nodes: np.ndarray, joint: np.ndarray, edges: np.ndarray, prices: np.ndarray) -> int:
    """Project every example, labels (n, L) and pairs (n, e), onto z_ab <= z_a, z_b, in place.

    Each of the constraints has a price >= 0, by which z_ab falls and its other side rises; in turn each gets
    the price that is best given the others ([3]_, section 6: Hildreth's method), until none is off. Returned
    is the first example for which there were not enough turns, or -1.
    """
    for i in range(len(nodes)):
        z, both, price, largest = nodes[i], joint[i], prices[i], 1.0
        for label in range(len(z)):
            largest = max(largest, abs(z[label]))
        for pair in range(len(both)):
            largest = max(largest, abs(both[pair]))
            for side in range(2):
                both[pair] -= price[pair, side]
                z[edges[pair, side]] += price[pair, side]
        for _ in range(_SWEEPS):
            off = 0.0
            for pair in range(len(both)):
                for side in range(2):
                    label = edges[pair, side]
                    change = max(0.5 * (both[pair] - z[label]), -price[pair, side])
                    price[pair, side] += change
                    both[pair] -= change
                    z[label] += change
                    off = max(off, abs(change))
            if off <= _OFF * largest:
                break
        else:
            return i
        for pair in range(len(both)):  # what rounding left
            both[pair] = min(both[pair], z[edges[pair, 0]], z[edges[pair, 1]])
    return -1
