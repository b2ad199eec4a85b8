"""What a solver may know of a structured problem, and the matching problem of word alignment.

The structured SVM over pairs i = 1..n is

    min_w  lam/2 |w|^2 + 1/n sum_i H_i(w),    H_i(w) = max_y  L_i(y) - <w, psi_i(y)>,

with psi_i(y) = F_i (y_i - y), the features of the gold labelling y_i less those of y. A solver sees it
through the max oracle alone: the vertex (psi_i(y*), L_i(y*)) of a maximising y*. For matchings
(Taskar, Lacoste-Julien, Klein 2005, "A discriminative matching approach to word alignment") the loss is
L_i(y) = sum_jk c_fn y_i (1 - y) + c_fp (1 - y_i) y, and y* is a maximum-weight matching on

    theta_jk = <w, x_jk> + c_fp (1 - y_i,jk) - c_fn y_i,jk,    c_fp = 0 where a link is free of cost.

Where a word v may have up to K > 1 links, each after its first costs <w_x, phi_v>: to F_i y come the features
-sum_v phi_v max(0, links(v) - 1), to w the weights w_x >= 0, and y* is found by
:mod:`align.matching.fertility`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from align.core.ragged import read_only
from align.problems.oracle import FREE, SURE, WRONG, MatchingData, solve_block, solve_one

if TYPE_CHECKING:
    from align.features import Edges
    from align.problems.labels import Labels


# ``summing(problem, w, pieces)`` yields, for each of some runs of blocks in their order, the sums over its
# blocks of psi* (of the shape of w, (d,) or (r, d)) and of L_i(y*):
# :func:`align.problems.objective.piece_sums`, done anywhere. It is told the problem so that it need not keep
# it: the problem would then refer to itself.
Summing: TypeAlias = Callable[
    ["Problem", np.ndarray, Sequence[range]], Iterable[tuple[np.ndarray, np.ndarray]]
]


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
    """A structured problem of ``n`` blocks in ``d`` dimensions.

    It may have kernels too, which make the passes of a solver compiled ones: see
    :mod:`align.problems.compiled`. And it may have an attribute ``summing`` (:data:`Summing`, or None), by
    which sums over all blocks are made on threads or on other machines; they are the same bits.
    """

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
    data : MatchingData
        What the kernels of :mod:`align.problems.oracle` read.
    summing : Summing or None
        Who makes sums over all blocks, to be set by whoever has more than this thread.

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
        kinds = np.full(len(gold), WRONG, dtype=np.int8)
        kinds[free], kinds[gold] = FREE, SURE
        overlap = _first_overlap(kinds, edges.shapes, edges.offsets, most)
        if overlap >= 0:
            shown = "no matching; keep one link" if most == 1 else f"too many; keep {most} links"
            raise ValueError(f"problem: the sure links of pair {overlap} are {shown} a word")
        if pairs is None:
            pairs = np.arange(len(edges.shapes))
        self.n, self.d = len(pairs), edges.features.shape[1]
        self.nonnegative = self.d
        self.summing: Summing | None = None
        words = _features_of_words(edges, most)
        self.d += words[0].shape[1] + words[1].shape[1]
        if not self.n or not self.d:
            raise ValueError(f"problem: {self.n} pairs with {self.d} features; give at least one of each")
        self.data = MatchingData(
            read_only(edges.features, np.float32),
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
        loss = solve_one(self.data, w, i, psi, links)
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
        solve_block(self.data, weights, block, psi, loss)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])


def _features_of_words(edges: Edges, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of source and target words; none where a word may have one link only.

    Raises
    ------
    ValueError
        If the features are missing, negative or not those of the pairs' words.
    """
    if most == 1:
        none = read_only(np.zeros((0, 0)), np.float32)
        return none, none
    if edges.extra is None:
        raise ValueError("problem: several links a word, but no features of words")
    found = read_only(edges.extra.source, np.float32), read_only(edges.extra.target, np.float32)
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
