"""What a solver may know of a structured problem, and the matching problem of word alignment.

The structured SVM over pairs i = 1..n is

    min_w  lam/2 |w|^2 + 1/n sum_i H_i(w),    H_i(w) = max_y  L_i(y) - <w, psi_i(y)>,

with psi_i(y) = F_i (y_i - y), the features of the gold labelling y_i less those of y. A solver sees it
through the max oracle alone: the vertex (psi_i(y*), L_i(y*)) of a maximising y*. For matchings
(Taskar, Lacoste-Julien, Klein 2005, "A discriminative matching approach to word alignment") the loss is
L_i(y) = sum_jk c_fn y_i (1 - y) + c_fp (1 - y_i) y, and y* is a maximum-weight matching on

    theta_jk = <w, x_jk> + c_fp (1 - y_i,jk) - c_fn y_i,jk,    c_fp = 0 where a link is free of cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from align.kernels import kernel
from align.matching import scratch, solve_pair

if TYPE_CHECKING:
    from align.features import Edges
    from align.labels import Labels

Arrays: TypeAlias = tuple[np.ndarray, ...]

# What an edge is to the loss.
WRONG, SURE, FREE = 0, 1, 2


class Vertex(NamedTuple):
    """A labelling y of one block, as a solver sees it.

    Attributes
    ----------
    psi : ndarray of float64, shape (d,)
        F_i (y_i - y): features of the gold labelling less those of y.
    loss : float
        L_i(y) >= 0.
    key : bytes
        Equal for equal labellings of the same block.
    """

    psi: np.ndarray
    loss: float
    key: bytes


class Problem(Protocol):
    """A structured problem of ``n`` blocks in ``d`` dimensions."""

    @property
    def n(self) -> int:
        """Number of blocks, >= 1."""
        ...

    @property
    def d(self) -> int:
        """Number of features, >= 1."""
        ...

    def gold(self, i: int) -> Vertex:
        """Return the gold labelling of block i: psi = 0, loss = 0, and its key."""
        ...

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a vertex of block i that maximises loss - <w, psi>; w float64, shape (d,)."""
        ...

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,), float64, of the maximising vertices of ``block``, int64 (b,).

        ``w`` is one weight vector (d,) or several (r, d); with several the results are (r, b, d) and (r, b).
        """
        ...


class MatchingProblem:
    """Word alignment of labelled pairs as a structured problem, its oracle compiled.

    Parameters
    ----------
    edges : Edges
        Features of the pairs' edges: ``shapes`` (N, 2), ``offsets`` (N + 1,), ``features`` (E, d) float32,
        which may lie on disk (memory-mapped) and are not copied.
    labels : Labels
        Gold links of the same pairs; the sure ones of a pair form a matching and are y_i. A link given as not
        sure costs nothing, linked or not.
    cost_fn : float
        Cost c_fn >= 0 of a missed sure link.
    cost_fp : float
        Cost c_fp >= 0 of a wrong link.
    pairs : ndarray of int, shape (n,), optional
        Indices of the pairs to learn from, in the order of the blocks. Default: all.

    Attributes
    ----------
    n, d : int
        Pairs to learn from, and features.
    data : tuple of ndarray
        What :func:`matching_vertex` reads: features float32 (E, d); kinds int8 (E,) of :data:`WRONG`,
        :data:`SURE`, :data:`FREE`; shapes int32 (n, 2); starts int64 (n,), the first edge of each pair;
        costs float64 (2,) = (c_fp, c_fn).

    Raises
    ------
    ValueError
        If there is no pair or no feature, the arrays do not fit each other, a cost is negative or not finite,
        or the sure links of a pair are no matching.
    """

    def __init__(
        self,
        edges: Edges,
        labels: Labels,
        *,
        cost_fn: float = 3.0,
        cost_fp: float = 1.0,
        pairs: np.ndarray | None = None,
    ) -> None:
        if not (np.isfinite([cost_fn, cost_fp]).all() and min(cost_fn, cost_fp) >= 0):
            raise ValueError(f"problem: costs {cost_fn} and {cost_fp}; give finite costs >= 0")
        if len(edges.shapes) + 1 != len(labels.offsets):
            raise ValueError(
                f"problem: edges of {len(edges.shapes)} pairs, labels of {len(labels.offsets) - 1}; "
                "give both of the same pairs"
            )
        sizes = edges.shapes[:, 0].astype(np.int64) * edges.shapes[:, 1]
        if not np.array_equal(edges.offsets, [0, *np.cumsum(sizes)]) or edges.offsets[-1] != len(
            edges.features
        ):
            raise ValueError("problem: features, offsets and shapes do not fit; give n * m rows a pair")
        gold, free = labels.dense(edges.shapes)
        kinds = np.where(gold, SURE, np.where(free, FREE, WRONG)).astype(np.int8)
        overlap = _first_overlap(kinds, edges.shapes, edges.offsets)
        if overlap >= 0:
            raise ValueError(
                f"problem: the sure links of pair {overlap} are no matching; keep one link a word"
            )
        if pairs is None:
            pairs = np.arange(len(edges.shapes))
        self.n, self.d = len(pairs), edges.features.shape[1]
        if not self.n or not self.d:
            raise ValueError(f"problem: {self.n} pairs with {self.d} features; give at least one of each")
        self.data = (
            _read_only(edges.features),
            kinds,
            edges.shapes[pairs].astype(np.int32),
            edges.offsets[pairs].astype(np.int64),
            np.array([cost_fp, cost_fn]),
        )

    def gold(self, i: int) -> Vertex:
        """Return the gold labelling of pair i: psi = 0, loss = 0."""
        _, kinds, shapes, starts, _ = self.data
        return Vertex(np.zeros(self.d), 0.0, _key(kinds[starts[i] :][: shapes[i].prod()] == SURE))

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return the vertex of pair i that maximises loss - <w, psi>; w float64, shape (d,).

        Raises
        ------
        ValueError
            If an edge's score under ``w`` is NaN or infinite.
        """
        psi = np.empty(self.d)
        links = np.empty(self.data[2][i].prod(), dtype=np.bool_)
        loss = _oracle(self.data, w, i, psi, links)
        return Vertex(psi, loss, _key(links))

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,) of the vertices of the pairs ``block``, int64 (b,), in their order.

        With several weight vectors, ``w`` of shape (r, d), they are (r, b, d) and (r, b): the features, which
        are too many for the processor's caches, are then read from memory once. One compiled call outside the
        interpreter lock: threads may share the work.

        Raises
        ------
        ValueError
            If an edge's score under ``w`` is NaN or infinite.
        """
        weights = np.atleast_2d(w)
        psi, loss = np.empty((len(weights), len(block), self.d)), np.empty((len(weights), len(block)))
        _oracles(self.data, weights, block, psi, loss)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])


def _key(links: np.ndarray) -> bytes:
    return np.packbits(links).tobytes()


def _read_only(features: np.ndarray) -> np.ndarray:
    """Return a contiguous float32 view that cannot be written.

    Arrays in memory and arrays mapped from disk are then one type to the compiler: one compilation.
    """
    view = np.ascontiguousarray(features, dtype=np.float32).view()
    view.flags.writeable = False
    return view


def _first_overlap(kinds: np.ndarray, shapes: np.ndarray, offsets: np.ndarray) -> int:
    """Return the first pair in which a word has two sure links, or -1."""
    sure = np.flatnonzero(kinds == SURE)
    pairs = np.searchsorted(offsets, sure, side="right") - 1
    width = int(shapes.max(initial=0)) + 1
    for words in np.divmod(sure - offsets[pairs], shapes[pairs, 1]):
        words_of_pairs, links = np.unique(pairs * width + words, return_counts=True)
        if links.max(initial=0) > 1:
            return int(words_of_pairs[links > 1][0] // width)
    return -1


@kernel
def _oracle(data: Arrays, w: np.ndarray, i: int, psi: np.ndarray, links: np.ndarray) -> float:
    """Fill ``psi`` (d,) and ``links`` (n_i * m_i,) of pair i, return its loss."""
    shapes = data[2][i : i + 1]
    reals, wholes = scratch(shapes)
    return matching_vertex(data, w, i, psi, (np.empty(len(links)), links, reals, wholes))


@kernel
def _oracles(data: Arrays, weights: np.ndarray, block: np.ndarray, psi: np.ndarray, loss: np.ndarray) -> None:
    """Fill ``psi`` (r, b, d) and ``loss`` (r, b) with the vertices of the pairs ``block`` (b,)."""
    work = workspace(data)
    for place in range(len(block)):
        for r in range(len(weights)):
            loss[r, place] = matching_vertex(data, weights[r], block[place], psi[r, place], work)


@kernel
def workspace(data: Arrays) -> Arrays:
    """Return working memory (theta, links, reals, wholes) for :func:`matching_vertex` of any pair."""
    shapes = data[2]
    largest = 0
    for pair in range(len(shapes)):
        largest = max(largest, shapes[pair, 0] * shapes[pair, 1])
    reals, wholes = scratch(shapes)
    return np.empty(largest), np.empty(largest, dtype=np.bool_), reals, wholes


@kernel
def matching_vertex(data: Arrays, w: np.ndarray, i: int, psi: np.ndarray, work: Arrays) -> float:
    """Solve the max oracle of pair i: fill ``psi`` (d,), return the loss.

    ``data`` is that of :class:`MatchingProblem`, ``work`` comes from :func:`workspace`; the links are left in
    ``work[1]``. Kernels that walk over many pairs call this.
    """
    features, kinds, shapes, starts, costs = data
    theta, links, reals, wholes = work
    n, m = int(shapes[i, 0]), int(shapes[i, 1])
    first, count = starts[i], n * m
    x, kind = features[first : first + count], kinds[first : first + count]
    _scores(x, w, theta)
    scale = 1.0
    for edge in range(count):
        if kind[edge] == WRONG:
            theta[edge] += costs[0]
        elif kind[edge] == SURE:
            theta[edge] -= costs[1]
        if not np.isfinite(theta[edge]):
            raise ValueError("oracle: a score <w, x> is NaN or infinite; give finite features and weights")
        scale = max(scale, abs(theta[edge]))
    solve_pair(theta[:count], n, m, links[:count], reals, wholes)
    loss = _subtract(x, kind, links, costs, psi)
    hinge = loss
    for k in range(len(psi)):
        hinge -= w[k] * psi[k]
    # The gold labelling itself reaches 0: less than that is a wrong oracle or a wrong feature map.
    if hinge < -1e-10 * scale * (n + m):
        raise AssertionError("oracle: loss - <w, psi> is negative")
    return loss


@kernel
def _subtract(
    x: np.ndarray, kind: np.ndarray, links: np.ndarray, costs: np.ndarray, psi: np.ndarray
) -> float:
    """Fill ``psi`` with the features of the gold links less those of ``links``, return the loss of these."""
    psi[:] = 0.0
    loss = 0.0
    for edge in range(len(kind)):
        if kind[edge] == SURE:
            if not links[edge]:
                loss += costs[1]
                for k in range(len(psi)):
                    psi[k] += x[edge, k]
        elif links[edge]:
            if kind[edge] == WRONG:
                loss += costs[0]
            for k in range(len(psi)):
                psi[k] -= x[edge, k]
    return loss


@kernel
def _scores(x: np.ndarray, w: np.ndarray, theta: np.ndarray) -> None:
    """Fill ``theta`` with x w; every sum runs over the features in order, four edges side by side."""
    count, d = x.shape
    whole = count - count % 4
    for edge in range(0, whole, 4):
        x0, x1, x2, x3 = x[edge], x[edge + 1], x[edge + 2], x[edge + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for k in range(d):
            s0 += x0[k] * w[k]
            s1 += x1[k] * w[k]
            s2 += x2[k] * w[k]
            s3 += x3[k] * w[k]
        theta[edge], theta[edge + 1], theta[edge + 2], theta[edge + 3] = s0, s1, s2, s3
    for edge in range(whole, count):
        total = 0.0
        for k in range(d):
            total += x[edge, k] * w[k]
        theta[edge] = total
