"""Labelling of chains as a structured problem: Viterbi's algorithm as the oracle, compiled.

Chain i has T_i places with features x_t in R^p and labels y_t in 0..S-1. The score of a labelling is

    <w, F_i y> = sum_t <w_(y_t), x_t> + sum_t v_(y_t, y_(t+1)),

the loss the number of places with a wrong label; both are sums over places and neighbours, so that the oracle
is a longest path ([1]_, section 6, does so for handwritten words). The dual extragradient method asks for the
marginals of places and neighbours in place of the longest path ([2]_, by dynamic programming).

References
----------
.. [1] B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks", NIPS 2003.
.. [2] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006. https://jmlr.org/papers/v7/taskar06a.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import offsets_of
from align.problems.compiled import CompiledProblem, register


class ChainData(NamedTuple):
    """What the kernels read of T places in all; chain i is ``offsets[i]`` to ``offsets[i + 1]``."""

    x: np.ndarray  # float64, shape (T, p)
    gold: np.ndarray  # int64, shape (T,)
    offsets: np.ndarray  # int64, shape (n + 1,)
    labels: np.ndarray  # int64, shape (1,): S


class ChainProblem(CompiledProblem):
    """Labelled chains as a structured problem; all weights are free.

    The S p + S^2 features are those of label 0, of label 1, ..., then those of neighbours, row by row.

    Parameters
    ----------
    chains : sequence of ndarray of float, shapes (T_i, p)
        Features of the places, finite; T_i >= 1.
    gold : sequence of ndarray of int, shapes (T_i,)
        Their labels, 0 to ``labels - 1``.
    labels : int
        S >= 1.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    def __init__(self, chains: Sequence[np.ndarray], gold: Sequence[np.ndarray], *, labels: int) -> None:
        lengths = [len(chain) for chain in chains]
        if not lengths or lengths != [len(own) for own in gold] or not min(lengths):
            raise ValueError("chains: chains and labels do not fit; give one label a place, no empty chain")
        x = np.concatenate([np.asarray(chain, dtype=np.float64) for chain in chains])
        known = np.concatenate([np.asarray(own, dtype=np.int64) for own in gold])
        if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
            raise ValueError(f"chains: places of shape {x.shape}; give finite features (T, p), p >= 1")
        if known.min() < 0 or known.max() >= labels:
            raise ValueError(f"chains: labels from {known.min()} to {known.max()}; give 0 to {labels - 1}")
        self.n, self.d = len(lengths), labels * x.shape[1] + labels**2
        self.nonnegative = self.d
        self.data = ChainData(x, known, offsets_of(lengths), np.array([labels]))

    @cached_property
    def polytope(self) -> ChainPolytope:
        """The marginals of all chains, as of :class:`~align.problems.protocol.Polytope`."""
        return ChainPolytope(self.data)

    def predict(self, w: np.ndarray, chain: np.ndarray) -> np.ndarray:
        """Return the best labels of a chain, float (T, p), T >= 1, under w, (d,): int64, shape (T,)."""
        x = np.array(chain, dtype=np.float64, order="C")
        if x.ndim != 2 or not len(x) or x.shape[1] != self.data.x.shape[1] or w.shape != (self.d,):
            raise ValueError(
                f"chains: a chain {x.shape}, weights {w.shape}; give (T, {self.data.x.shape[1]}), ({self.d},)"
            )
        data = self.data._replace(x=x, offsets=np.array([0, len(x)]))
        work = _workspace(data)
        _viterbi(data, w, 0, 0.0, work)
        return work[2]


class ChainPolytope:
    """The marginals of all chains: those of the labels of each place, then those of each two neighbours.

    A projection by entropy gives the marginals of the distribution of labellings in proportion to the
    exponential of their scores, by forward and backward sums; h is the negative entropy of a distribution,
    for a chain of T places times (2 T - 1) / 2. For the covariance of the 2 T - 1 ones of a labelling is at
    most half of that, and h* has it as its second derivative. The nearest point in the Euclidean norm has no
    such form.
    """

    geometries = ("entropic",)
    prices = 0

    def __init__(self, data: ChainData) -> None:
        x, gold, offsets, (labels,) = data
        places = np.arange(len(x))
        inner = np.delete(places, offsets[:-1])  # places with one before
        y, pairs = np.zeros((len(x), labels)), np.zeros((len(inner), labels**2))
        y[places, gold] = 1.0
        pairs[np.arange(len(inner)), gold[inner - 1] * labels + gold[inner]] = 1.0
        self._data, self._labels, self._nodes = data, int(labels), y.size
        self.gold = np.concatenate([y.ravel(), pairs.ravel()])
        self.costs = np.concatenate([1.0 - y.ravel(), np.zeros(pairs.size)])

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return F' w, float64 (E,)."""
        x, labels = self._data.x, self._labels
        own = labels * x.shape[1]
        nodes = x @ w[:own].reshape(labels, -1).T
        return np.concatenate([nodes.ravel(), np.tile(w[own:], self._pairs)])

    def features(self, z: np.ndarray) -> np.ndarray:
        """Return F z, float64 (d,)."""
        nodes, pairs = z[: self._nodes].reshape(-1, self._labels), z[self._nodes :]
        return np.concatenate(
            [(nodes.T @ self._data.x).ravel(), pairs.reshape(self._pairs, self._labels**2).sum(axis=0)]
        )

    def gram(self) -> np.ndarray:
        """Return F F', float64 (d, d): labels share no feature, nor do places and neighbours."""
        x, labels = self._data.x, self._labels
        own = labels * x.shape[1]
        product = np.zeros((own + labels**2,) * 2)
        product[:own, :own] = np.kron(np.eye(labels), x.T @ x)
        product[own:, own:] = self._pairs * np.eye(labels**2)
        return product

    def start(self, *, entropic: bool) -> np.ndarray:
        """Return 0, which is projected on the marginals of equal chances."""
        return np.zeros(len(self.gold))

    def radius(self, *, entropic: bool) -> float:
        """Return the divergence of a labelling from equal chances, summed over the chains."""
        places = np.diff(self._data.offsets)
        return float((places * (2 * places - 1)).sum()) / 2.0 * math.log(self._labels)

    def project(self, x: np.ndarray, *, entropic: bool, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the projection and a gradient of h at it, as of the protocol."""
        nodes = x[: self._nodes].reshape(-1, self._labels)
        pairs = x[self._nodes :].reshape(-1, self._labels, self._labels)
        z, z_pairs = np.empty(nodes.shape), np.empty(pairs.shape)
        _marginals(nodes, pairs, self._data.offsets, z, z_pairs)
        return np.concatenate([z.ravel(), z_pairs.ravel()]), x

    @property
    def _pairs(self) -> int:
        return len(self._data.x) - len(self._data.offsets) + 1


Work = tuple[np.ndarray, np.ndarray, np.ndarray]


@kernel
def _workspace(data: ChainData) -> Work:
    """Return memory for the best scores up to a place, the labels before it, and a labelling."""
    longest = 0
    for i in range(len(data.offsets) - 1):
        longest = max(longest, data.offsets[i + 1] - data.offsets[i])
    labels = data.labels[0]
    return (
        np.empty((longest, labels)),
        np.empty((longest, labels), dtype=np.int64),
        np.empty(longest, dtype=np.int64),
    )


@kernel
def _vertex(data: ChainData, w: np.ndarray, i: int, psi: np.ndarray, work: Work) -> float:
    """Solve the max oracle of chain i: fill ``psi`` (d,), return the loss."""
    _viterbi(data, w, i, 1.0, work)
    start, labels, p = data.offsets[i], data.labels[0], data.x.shape[1]
    count, y = data.offsets[i + 1] - start, work[2]
    psi[:] = 0.0
    loss = 0.0
    for t in range(count):
        known, x = data.gold[start + t], data.x[start + t]
        if y[t] != known:
            loss += 1.0
            for k in range(p):
                psi[known * p + k] += x[k]
                psi[y[t] * p + k] -= x[k]
        if t > 0:
            psi[labels * p + data.gold[start + t - 1] * labels + known] += 1.0
            psi[labels * p + y[t - 1] * labels + y[t]] -= 1.0
    inner = 0.0
    for k in range(len(w)):
        inner += w[k] * psi[k]
    # The gold labels themselves reach 0: less than that is a wrong oracle or a wrong feature map.
    if loss - inner < -1e-9 * (1.0 + abs(loss) + abs(inner)):
        raise AssertionError("oracle: loss - <w, psi> is negative")
    return loss


@kernel
def _viterbi(data: ChainData, w: np.ndarray, i: int, cost: float, work: Work) -> None:
    """Leave in ``work[2]`` the labels of chain i that maximise score and ``cost`` times loss; ties: least."""
    best, before, y = work
    start, labels, p = data.offsets[i], data.labels[0], data.x.shape[1]
    count = data.offsets[i + 1] - start
    for t in range(count):
        x = data.x[start + t]
        for label in range(labels):
            own = 0.0
            for k in range(p):
                own += x[k] * w[label * p + k]
            if cost != 0.0 and data.gold[start + t] != label:
                own += cost
            top, at = 0.0, 0
            for last in range(labels if t > 0 else 0):
                value = best[t - 1, last] + w[labels * p + last * labels + label]
                if last == 0 or value > top:
                    top, at = value, last
            best[t, label], before[t, label] = top + own, at
            if not np.isfinite(best[t, label]):
                raise ValueError("oracle: a score is NaN or infinite; give finite weights")
    end = count - 1
    y[end] = np.argmax(best[end])
    for t in range(end, 0, -1):
        y[t - 1] = before[t, y[t]]


@kernel
def _marginals(
    nodes: np.ndarray, pairs: np.ndarray, offsets: np.ndarray, z: np.ndarray, z_pairs: np.ndarray
) -> None:
    """Fill ``z`` (T, S) and ``z_pairs`` (P, S, S) with the marginals of all chains under x, of these shapes.

    x is multiplied by 2 / (2 T - 1) first. Forward and backward sums are kept as logarithms.
    """
    labels = nodes.shape[1]
    own, terms, backward = np.empty(labels), np.empty(labels), np.empty((len(nodes), labels))
    pair = 0
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        scale = 2.0 / (2.0 * (last - first) - 1.0)
        pair += last - first - 1
        backward[last - 1] = 0.0
        for t in range(last - 2, first - 1, -1):
            joint = pairs[pair - (last - 1 - t)]
            for label in range(labels):
                for other in range(labels):
                    terms[other] = (
                        scale * (joint[label, other] + nodes[t + 1, other]) + backward[t + 1, other]
                    )
                backward[t, label] = _log_sum(terms)
        # forward[t] takes the place of z[t] until both are known
        for t in range(first, last):
            at = pair - (last - t)
            for label in range(labels):
                own[label] = scale * nodes[t, label]
                if t > first:
                    for other in range(labels):
                        terms[other] = z[t - 1, other] + scale * pairs[at, other, label]
                    own[label] += _log_sum(terms)
            z[t] = own
        whole = _log_sum(z[last - 1])
        for t in range(last - 1, first - 1, -1):
            for label in range(labels):
                if t + 1 < last:
                    joint = pairs[pair - (last - 1 - t)]
                    for other in range(labels):
                        after = scale * (joint[label, other] + nodes[t + 1, other]) + backward[t + 1, other]
                        z_pairs[pair - (last - 1 - t), label, other] = np.exp(z[t, label] + after - whole)
            for label in range(labels):
                z[t, label] = np.exp(z[t, label] + backward[t, label] - whole)


@kernel
def _log_sum(terms: np.ndarray) -> float:
    """Return log sum exp(terms)."""
    top, total = terms.max(), 0.0
    for term in terms:
        total += np.exp(term - top)
    return float(top + np.log(total))


register(ChainData, workspace=_workspace, vertex=_vertex)
