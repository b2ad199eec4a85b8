"""What a solver may know of a structured problem, and the matching problem of word alignment.

The structured SVM over pairs i = 1..n is

    min_w  lam/2 |w|^2 + 1/n sum_i H_i(w),    H_i(w) = max_y  L_i(y) - <w, psi_i(y)>,

with psi_i(y) = F_i (y_i - y), the features of the gold labelling y_i less those of y. A solver sees it
through the max oracle alone: the vertex (psi_i(y*), L_i(y*)) of a maximising y*. For matchings
(Taskar, Lacoste-Julien, Klein 2005, "A discriminative matching approach to word alignment") the loss is
L_i(y) = sum_jk c_fn y_i (1 - y) + c_fp (1 - y_i) y, and y* is a maximum-weight matching on

    theta_jk = <w, x_jk> + c_fp (1 - y_i,jk) - c_fn y_i,jk,    c_fp = 0 where a link is free of cost.

Where a word v may have up to K > 1 links, each after its first costs <w_x, phi_v>: to F_i y come the features
-sum_v phi_v max(0, links(v) - 1), to w the weights w_x >= 0, and y* is found by :mod:`align.fertility`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from align.fertility import scratch as fertility_scratch
from align.fertility import solve_pair as solve_fertile_pair
from align.kernels import kernel
from align.matching import scratch, solve_pair

if TYPE_CHECKING:
    from align.features import Edges
    from align.labels import Labels

Arrays: TypeAlias = tuple[np.ndarray, ...]
Work: TypeAlias = tuple[Any, ...]

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

    @property
    def nonnegative(self) -> int:
        """Weights from this one on may not be negative; ``d`` where all are free."""
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
        which may lie on disk (memory-mapped) and are not copied. With K > 1 also ``extra``, the features of
        the words.
    labels : Labels
        Gold links of the same pairs; the sure ones of a pair, at most K a word, are y_i. A link given as not
        sure costs nothing, linked or not.
    cost_fn : float
        Cost c_fn >= 0 of a missed sure link.
    cost_fp : float
        Cost c_fp >= 0 of a wrong link.
    pairs : ndarray of int, shape (n,), optional
        Indices of the pairs to learn from, in the order of the blocks. Default: all.
    most : int
        Links K that a word may have, >= 1. With 1 labellings are matchings, and words have no features.

    Attributes
    ----------
    n, d : int
        Pairs to learn from, and features: those of edges, then, with K > 1, those of words.
    nonnegative : int
        Number of features of edges.
    data : tuple of ndarray
        What :func:`matching_vertex` reads: features float32 (E, nonnegative); kinds int8 (E,) of
        :data:`WRONG`, :data:`SURE`, :data:`FREE`; shapes int32 (n, 2); starts int64 (n,), the first edge of
        each pair; costs float64 (2,) = (c_fp, c_fn); features of source and of target words, float32;
        word_starts int64 (n, 2), the first words of each pair; most int64 (1,).

    Raises
    ------
    ValueError
        If there is no pair or no feature, the arrays do not fit each other, a cost is negative or not finite,
        or a word has more than K sure links.
    """

    def __init__(
        self,
        edges: Edges,
        labels: Labels,
        *,
        cost_fn: float = 3.0,
        cost_fp: float = 1.0,
        pairs: np.ndarray | None = None,
        most: int = 1,
    ) -> None:
        if not (np.isfinite([cost_fn, cost_fp]).all() and min(cost_fn, cost_fp) >= 0):
            raise ValueError(f"problem: costs {cost_fn} and {cost_fp}; give finite costs >= 0")
        if most < 1:
            raise ValueError(f"problem: {most} links a word; give 1 or more")
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
        overlap = _first_overlap(kinds, edges.shapes, edges.offsets, most)
        if overlap >= 0:
            shown = "no matching; keep one link" if most == 1 else f"too many; keep {most} links"
            raise ValueError(f"problem: the sure links of pair {overlap} are {shown} a word")
        if pairs is None:
            pairs = np.arange(len(edges.shapes))
        self.n, self.d = len(pairs), edges.features.shape[1]
        self.nonnegative = self.d
        words = _features_of_words(edges, most)
        self.d += words[0].shape[1] + words[1].shape[1]
        if not self.n or not self.d:
            raise ValueError(f"problem: {self.n} pairs with {self.d} features; give at least one of each")
        self.data = (
            _read_only(edges.features),
            kinds,
            edges.shapes[pairs].astype(np.int32),
            edges.offsets[pairs].astype(np.int64),
            np.array([cost_fp, cost_fn]),
            *words,
            _word_starts(edges.shapes)[pairs],
            np.array([most]),
        )

    def gold(self, i: int) -> Vertex:
        """Return the gold labelling of pair i: psi = 0, loss = 0."""
        _, kinds, shapes, starts = self.data[:4]
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


def _features_of_words(edges: Edges, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of source and target words; none where a word may have one link only.

    Raises
    ------
    ValueError
        If the features are missing, negative or not those of the pairs' words.
    """
    if most == 1:
        return _read_only(np.zeros((0, 0))), _read_only(np.zeros((0, 0)))
    if edges.extra is None:
        raise ValueError("problem: several links a word, but no features of words")
    found = _read_only(edges.extra.source), _read_only(edges.extra.target)
    if [len(side) for side in found] != edges.shapes.sum(axis=0, dtype=np.int64).tolist():
        raise ValueError("problem: the features of words do not fit the shapes; give one row a word")
    if min(side.min(initial=0) for side in found) < 0:
        raise ValueError("problem: a feature of a word is negative; give values >= 0")
    return found


def _word_starts(shapes: np.ndarray) -> np.ndarray:
    """Return the number of words before each pair, of each side, int64, shape (N, 2)."""
    return np.cumsum(shapes, axis=0, dtype=np.int64) - shapes


def _key(links: np.ndarray) -> bytes:
    return np.packbits(links).tobytes()


def _read_only(features: np.ndarray) -> np.ndarray:
    """Return a contiguous float32 view that cannot be written.

    Arrays in memory and arrays mapped from disk are then one type to the compiler: one compilation.
    """
    view = np.ascontiguousarray(features, dtype=np.float32).view()
    view.flags.writeable = False
    return view


def _first_overlap(kinds: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, most: int) -> int:
    """Return the first pair in which a word has more than ``most`` sure links, or -1."""
    sure = np.flatnonzero(kinds == SURE)
    pairs = np.searchsorted(offsets, sure, side="right") - 1
    width = int(shapes.max(initial=0)) + 1
    for words in np.divmod(sure - offsets[pairs], shapes[pairs, 1]):
        words_of_pairs, links = np.unique(pairs * width + words, return_counts=True)
        if links.max(initial=0) > most:
            return int(words_of_pairs[links > most][0] // width)
    return -1


@kernel
def _oracle(data: Arrays, w: np.ndarray, i: int, psi: np.ndarray, links: np.ndarray) -> float:
    """Fill ``psi`` (d,) and ``links`` (n_i * m_i,) of pair i, return its loss."""
    work = _work_of(data[2][i : i + 1], data[8][0])
    loss = matching_vertex(data, w, i, psi, work)
    links[:] = work[1][: len(links)]
    return loss


@kernel
def _oracles(data: Arrays, weights: np.ndarray, block: np.ndarray, psi: np.ndarray, loss: np.ndarray) -> None:
    """Fill ``psi`` (r, b, d) and ``loss`` (r, b) with the vertices of the pairs ``block`` (b,)."""
    work = workspace(data)
    for place in range(len(block)):
        for r in range(len(weights)):
            loss[r, place] = matching_vertex(data, weights[r], block[place], psi[r, place], work)


@kernel
def workspace(data: Arrays) -> Work:
    """Return working memory (theta, links, ...) for :func:`matching_vertex` of any pair."""
    return _work_of(data[2], data[8][0])


@kernel
def _work_of(shapes: np.ndarray, most: int) -> Work:
    largest, size = 0, 0
    for pair in range(len(shapes)):
        largest = max(largest, shapes[pair, 0] * shapes[pair, 1])
        size = max(size, shapes[pair, 0], shapes[pair, 1])
    reals, wholes = scratch(shapes)
    flow = fertility_scratch(shapes if most > 1 else shapes[:0])
    theta, links = np.empty(largest), np.empty(largest, dtype=np.bool_)
    return theta, links, reals, wholes, np.empty((2, size)), np.empty((4, size), dtype=np.int64), flow


@kernel
def matching_vertex(data: Arrays, w: np.ndarray, i: int, psi: np.ndarray, work: Work) -> float:
    """Solve the max oracle of pair i: fill ``psi`` (d,), return the loss.

    ``data`` is that of :class:`MatchingProblem`, ``work`` comes from :func:`workspace`; the links are left in
    ``work[1]``. Kernels that walk over many pairs call this.
    """
    features, kinds, shapes, starts, costs, source_words, target_words, word_starts, limit = data
    theta, links, reals, wholes, prices, degrees, flow = work
    n, m = int(shapes[i, 0]), int(shapes[i, 1])
    first, count, d, most = starts[i], n * m, features.shape[1], limit[0]
    x, kind = features[first : first + count], kinds[first : first + count]
    _scores(x, w[:d], theta)
    scale = 1.0
    for edge in range(count):
        if kind[edge] == WRONG:
            theta[edge] += costs[0]
        elif kind[edge] == SURE:
            theta[edge] -= costs[1]
        if not np.isfinite(theta[edge]):
            raise ValueError("oracle: a score <w, x> is NaN or infinite; give finite features and weights")
        scale = max(scale, abs(theta[edge]))
    if most == 1:
        solve_pair(theta[:count], n, m, links[:count], reals, wholes)
    else:
        own = d + source_words.shape[1]
        phi_s = source_words[word_starts[i, 0] : word_starts[i, 0] + n]
        phi_t = target_words[word_starts[i, 1] : word_starts[i, 1] + m]
        s, t = prices[0][:n], prices[1][:m]
        _scores(phi_s, w[d:own], s)
        _scores(phi_t, w[own:], t)
        if not (np.isfinite(s).all() and np.isfinite(t).all()):
            raise ValueError("oracle: a cost <w, phi> is NaN or infinite; give finite features and weights")
        solve_fertile_pair(theta[:count], n, m, s, t, most, links[:count], flow)
        _count_links(kind, links, n, m, degrees)
        _subtract_words(phi_s, degrees[0], degrees[1], psi[d:own])
        _subtract_words(phi_t, degrees[2], degrees[3], psi[own:])
    loss = _subtract(x, kind, links, costs, psi[:d])
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
def _count_links(kind: np.ndarray, links: np.ndarray, n: int, m: int, degrees: np.ndarray) -> None:
    """Fill ``degrees`` with the links of source words, gold and in ``links``, and those of target words."""
    degrees[:] = 0
    for j in range(n):
        for k in range(m):
            edge = j * m + k
            if kind[edge] == SURE:
                degrees[0, j] += 1
                degrees[2, k] += 1
            if links[edge]:
                degrees[1, j] += 1
                degrees[3, k] += 1


@kernel
def _subtract_words(phi: np.ndarray, gold: np.ndarray, found: np.ndarray, psi: np.ndarray) -> None:
    """Fill ``psi`` with the features of extra links found less those of gold: they count negatively."""
    psi[:] = 0.0
    for word in range(len(phi)):
        more = max(found[word] - 1, 0) - max(gold[word] - 1, 0)
        if more != 0:
            for k in range(len(psi)):
                psi[k] += more * phi[word, k]


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
