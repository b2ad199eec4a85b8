"""Labelling of chains as a structured problem: Viterbi's algorithm as the oracle, compiled.

Chain i has T_i places with features x_t in R^p and labels y_t in 0..S-1. The score of a labelling is

    <w, F_i y> = sum_t <w_(y_t), x_t> + sum_t v_(y_t, y_(t+1)),

the loss the number of places with a wrong label; both are sums over places and neighbours, so that the oracle
is a longest path ([1]_, section 6, does so for handwritten words).

References
----------
.. [1] B. Taskar, C. Guestrin and D. Koller, "Max-margin Markov networks", NIPS 2003.
"""

from __future__ import annotations

from collections.abc import Sequence
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


register(ChainData, workspace=_workspace, vertex=_vertex)
