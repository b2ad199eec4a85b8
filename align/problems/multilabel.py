"""Classification with several labels at once as a structured problem, its oracle compiled.

Example i has features x_i in R^p and labels y_i in {0, 1}^L. The score of labels y is

    <w, F_i y> = sum_l y_l <w_l, x_i> + sum_(a, b) <w_ab, phi(y_a, y_b)>

over L weight vectors w_l and the chosen pairs (a, b) of labels; phi tells either which of the four states
(0, 0), (0, 1), (1, 0), (1, 1) a pair is in, or whether both labels are set. The loss is the Hamming loss, the
number of labels that are wrong. The oracle looks at all 2^L labellings ([1]_ does so for the data set scene,
L = 6): with s_S the score of the set S of labels, and h the greatest of them,

    s_S = s_(S - h) + u_h + sum_(l in S, l < h) v_lh.

References
----------
.. [1] T. Finley and T. Joachims, "Training structural SVMs when exact inference is intractable", ICML 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import CompiledProblem, register
from align.problems.polytopes import LabelPolytope
from align.problems.protocol import NoPolytopeError

# The tables of 2^L scores of the oracle have to fit a processor's cache.
MAX_LABELS = 16


class MultilabelData(NamedTuple):
    """What the kernels read."""

    x: np.ndarray  # float64, shape (n, p)
    gold: np.ndarray  # int64, shape (n,): the labels of each example as a set, in which bit l tells label l
    edges: np.ndarray  # int64, shape (e, 2): pairs of labels, the smaller one first
    sizes: np.ndarray  # int64, shape (2,): L, and the features of a pair of labels, 1 or 4


class MultilabelProblem(CompiledProblem):
    """Examples with several labels as a structured problem; all weights are free.

    The L p + states * len(edges) features are those of label 0, of label 1, ..., of each pair of labels.

    Parameters
    ----------
    x : ndarray of float, shape (n, p)
        Features of the examples, finite.
    y : ndarray of int or bool, shape (n, L)
        Their labels, 0 or 1; 1 <= L <= :data:`MAX_LABELS`.
    edges : sequence of (int, int)
        Pairs of different labels that have weights together; :func:`all_edges` gives all there are.
    states : int
        4: a weight for each state of a pair; 1: one for both labels being set.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    def __init__(
        self, x: np.ndarray, y: np.ndarray, *, edges: Sequence[tuple[int, int]] = (), states: int = 4
    ) -> None:
        y = np.asarray(y)
        if y.ndim != 2 or not 1 <= y.shape[1] <= MAX_LABELS or not np.isin(y, (0, 1)).all():
            raise ValueError(
                f"multilabel: labels of shape {y.shape}; give (n, L) of 0 and 1, L from 1 to {MAX_LABELS}"
            )
        x = _checked(x)
        if len(x) != len(y) or not len(x):
            raise ValueError(f"multilabel: {len(x)} examples and labels of {len(y)}; give as many, 1 or more")
        if states not in (1, 4):
            raise ValueError(f"multilabel: {states} features for a pair of labels; give 1 or 4")
        labels = y.shape[1]
        known = sorted((min(edge), max(edge)) for edge in edges)
        if len(set(known)) < len(known) or not all(0 <= a < b < labels for a, b in known):
            raise ValueError(
                f"multilabel: pairs of labels {list(edges)}; give different ones of 0 to {labels - 1}, once"
            )
        self.n, self.d = len(x), labels * x.shape[1] + states * len(known)
        self.nonnegative = self.d
        self.data = MultilabelData(
            x,
            y.astype(np.int64) @ (1 << np.arange(labels)),
            np.array(known, dtype=np.int64).reshape(-1, 2),
            np.array([labels, states]),
        )

    @cached_property
    def polytope(self) -> LabelPolytope:
        """The box [0, 1]^(n L), as of :class:`~align.problems.protocol.Polytope`.

        Raises
        ------
        NoPolytopeError
            If there are weights of pairs of labels.
        """
        if len(self.data.edges):
            raise NoPolytopeError(
                "its weights of pairs of labels may be negative; take AttractiveProblem, where they may not, "
                "or bcfw"
            )
        labels = self.data.gold[:, None] >> np.arange(self.data.sizes[0]) & 1
        return LabelPolytope(self.data.x, labels)

    def predict(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the best labels of examples.

        Parameters
        ----------
        w : ndarray of float64, shape (d,)
        x : ndarray of float, shape (N, p)
            Finite.

        Returns
        -------
        ndarray of int8, shape (N, L)
        """
        x = _checked(x)
        if x.shape[1] != self.data.x.shape[1] or w.shape != (self.d,):
            raise ValueError(
                f"multilabel: examples {x.shape}, weights {w.shape}; give (N, {self.data.x.shape[1]}) "
                f"and ({self.d},)"
            )
        found = np.empty((len(x), self.data.sizes[0]), dtype=np.int8)
        _predict(self.data._replace(x=x), np.ascontiguousarray(w, dtype=np.float64), found)
        return found


def all_edges(labels: int) -> list[tuple[int, int]]:
    """Return all pairs of so many labels."""
    return list(combinations(range(labels), 2))


def _checked(x: np.ndarray) -> np.ndarray:
    x = np.array(x, dtype=np.float64, order="C")
    if x.ndim != 2 or not x.shape[1] or not np.isfinite(x).all():
        raise ValueError(f"multilabel: examples of shape {x.shape}; give finite features (n, p), p >= 1")
    return x


@kernel
def _predict(data: MultilabelData, w: np.ndarray, found: np.ndarray) -> None:
    """Fill ``found`` (N, L) with the best labels of all examples; nothing is known of their gold."""
    work = _workspace(data)
    for i in range(len(data.x)):
        labels = _best(data, w, i, 0.0, work)
        for label in range(found.shape[1]):
            found[i, label] = labels >> label & 1


@kernel
def _workspace(data: MultilabelData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return memory for the scores of labels, of pairs of labels and of labellings."""
    labels = data.sizes[0]
    return np.empty(labels), np.zeros((labels, labels)), np.empty(1 << labels)


@kernel
def _vertex(
    data: MultilabelData,
    w: np.ndarray,
    i: int,
    psi: np.ndarray,
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """Solve the max oracle of example i: fill ``psi`` (d,), return the loss."""
    found, gold = _best(data, w, i, 1.0, work), data.gold[i]
    labels, states = data.sizes
    x = data.x[i]
    p, at = len(x), 0
    loss, inner = 0.0, 0.0
    for label in range(labels):
        sign = float((gold >> label & 1) - (found >> label & 1))
        loss += abs(sign)
        if sign == 0.0:
            psi[at : at + p] = 0.0
        else:
            for k in range(p):
                psi[at + k] = sign * x[k]
                inner += psi[at + k] * w[at + k]
        at += p
    psi[at:] = 0.0
    for edge in range(len(data.edges)):
        a, b = data.edges[edge]
        known, new = (gold >> a & 1) * 2 + (gold >> b & 1), (found >> a & 1) * 2 + (found >> b & 1)
        if states == 4:
            psi[at + known] += 1.0
            psi[at + new] -= 1.0
            inner += w[at + known] - w[at + new]
        else:
            psi[at] = (1.0 if known == 3 else 0.0) - (1.0 if new == 3 else 0.0)
            inner += psi[at] * w[at]
        at += states
    # The gold labels themselves reach 0: less than that is a wrong oracle or a wrong feature map.
    if loss - inner < -1e-9 * (1.0 + abs(loss) + abs(inner)):
        raise AssertionError("oracle: loss - <w, psi> is negative")
    return loss


@kernel
def _best(
    data: MultilabelData,
    w: np.ndarray,
    i: int,
    cost: float,
    work: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> int:
    """Return the labels of example i that maximise their score and ``cost`` times the loss; ties: least."""
    own, joint, scores = work
    labels, states = data.sizes
    x = data.x[i]
    p = len(x)
    for label in range(labels):
        weights = w[label * p : (label + 1) * p]
        total = 0.0
        for k in range(p):
            total += x[k] * weights[k]
        if cost != 0.0:
            total += cost * (1.0 - 2.0 * (data.gold[i] >> label & 1))
        own[label] = total
    at = labels * p
    for edge in range(len(data.edges)):
        a, b = data.edges[edge]
        if states == 4:  # as a constant, a share of each label, and one of both together
            own[a] += w[at + 2] - w[at]
            own[b] += w[at + 1] - w[at]
            joint[a, b] = w[at + 3] - w[at + 2] - w[at + 1] + w[at]
        else:
            joint[a, b] = w[at]
        at += states
    scores[0] = 0.0
    best, top = 0, 0.0
    for label in range(labels):
        for rest in range(1 << label):
            score = scores[rest] + own[label]
            for other in range(label):
                if rest >> other & 1:
                    score += joint[other, label]
            if not np.isfinite(score):
                raise ValueError("oracle: a score is NaN or infinite; give finite weights")
            scores[rest | 1 << label] = score
            if score > top:
                best, top = rest | 1 << label, score
    return best


register(MultilabelData, workspace=_workspace, vertex=_vertex)
