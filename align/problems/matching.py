"""Word alignment as a structured problem, its max oracle compiled.

For matchings (Taskar, Lacoste-Julien, Klein 2005, "A discriminative matching approach to word alignment") the
loss is L_i(y) = sum_jk c_fn y_i (1 - y) + c_fp (1 - y_i) y, and the maximising y* of
:mod:`align.problems.protocol` is a maximum-weight matching on

    theta_jk = <w, x_jk> + c_fp (1 - y_i,jk) - c_fn y_i,jk,    c_fp = 0 where a link is free of cost.

Where a word v may have up to K > 1 links, each after its first costs <w_x, phi_v>: to F_i y come the features
-sum_v phi_v max(0, links(v) - 1), to w the weights w_x >= 0, and y* is found by
:mod:`align.matching.fertility`.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import edge_offsets, read_only, word_offsets
from align.features import Edges
from align.matching import assignment, fertility
from align.matching.assignment import largest
from align.matching.decoding import places
from align.problems.compiled import CompiledProblem, register
from align.problems.flows import FlowPolytope
from align.problems.labels import Labels
from align.problems.protocol import NoPolytopeError

# Costs of a missed sure link and of a wrong link where nobody says: the one place that states them.
COST_FN, COST_FP = 3.0, 1.0

# What an edge is to the loss.
WRONG, SURE, FREE = 0, 1, 2


class MatchingData(NamedTuple):
    """What the kernels read of n pairs to learn from, among more.

    Attributes
    ----------
    features : ndarray of float32, shape (E, d_e)
        Of the edges of all pairs.
    kinds : ndarray of int8, shape (E,)
        What each is to the loss: :data:`WRONG`, :data:`SURE` or :data:`FREE`.
    shapes : ndarray of int32, shape (n, 2)
        Words of each pair.
    starts : ndarray of int64, shape (n,)
        The first edge of each pair.
    costs : ndarray of float64, shape (2,)
        (c_fp, c_fn).
    source_words, target_words : ndarray of float32, shapes (words, d_s) and (words, d_t)
        Features of words; none where a word may have one link.
    word_starts : ndarray of int64, shape (n, 2)
        The first words of each pair.
    max_fertility : ndarray of int64, shape (1,)
        Links that a word may have.
    """

    features: np.ndarray
    kinds: np.ndarray
    shapes: np.ndarray
    starts: np.ndarray
    costs: np.ndarray
    source_words: np.ndarray
    target_words: np.ndarray
    word_starts: np.ndarray
    max_fertility: np.ndarray


class OracleWork(NamedTuple):
    """Working memory of the oracle of any pair."""

    theta: np.ndarray  # weights of a pair's edges
    links: np.ndarray  # those of them that are linked
    matching: assignment.Work
    flow: fertility.Work  # where words may have several links
    prices: np.ndarray  # what further links of each side's words cost
    degrees: np.ndarray  # links of source words, gold and found, and those of target words


class MatchingProblem(CompiledProblem):
    """Word alignment of labelled pairs as a structured problem, its oracle compiled.

    Parameters
    ----------
    edges : Edges
        Features of the pairs' edges: ``shapes`` (N, 2), ``offsets`` (N + 1,), ``features`` (E, d) float32,
        which may lie on disk (memory-mapped) and are not copied. With K > 1 also
        ``word_features``, the features of the words.
    labels : Labels
        Gold links of the same pairs; the sure ones of a pair, at most K a word, are y_i. A link given as not
        sure costs nothing, linked or not.
    cost_fn : float
        Cost c_fn >= 0 of a missed sure link.
    cost_fp : float
        Cost c_fp >= 0 of a wrong link.
    pairs : ndarray of int, shape (n,), optional
        Indices of the pairs to learn from, in the order of the blocks. Default: all.
    max_fertility : int
        Links K that a word may have, >= 1. With 1 labellings are matchings, and words have no features.

    Attributes
    ----------
    n, d : int
        Pairs to learn from, and features: those of edges, then, with K > 1, those of words.
    nonnegative : int
        Number of features of edges.
    data : MatchingData
        What the kernels read.

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
        cost_fn: float = COST_FN,
        cost_fp: float = COST_FP,
        pairs: np.ndarray | None = None,
        max_fertility: int = 1,
    ) -> None:
        if not (np.isfinite([cost_fn, cost_fp]).all() and min(cost_fn, cost_fp) >= 0):
            raise ValueError(f"problem: costs {cost_fn} and {cost_fp}; give finite costs >= 0")
        if max_fertility < 1:
            raise ValueError(f"problem: {max_fertility} links a word; give 1 or more")
        if len(edges.shapes) + 1 != len(labels.offsets):
            raise ValueError(
                f"problem: edges of {len(edges.shapes)} pairs, labels of {len(labels.offsets) - 1}; "
                "give both of the same pairs"
            )
        offsets = edge_offsets(edges.shapes)
        if not np.array_equal(edges.offsets, offsets) or offsets[-1] != len(edges.features):
            raise ValueError("problem: features, offsets and shapes do not fit; give n * m rows a pair")
        gold, free = labels.dense(edges.shapes)
        kinds = np.full(len(gold), WRONG, dtype=np.int8)
        kinds[free], kinds[gold] = FREE, SURE
        overlap = _first_overlap(kinds, edges, max_fertility)
        if overlap >= 0:
            one = max_fertility == 1
            shown = "no matching; keep one link" if one else f"too many; keep {max_fertility} links"
            raise ValueError(f"problem: the sure links of pair {overlap} are {shown} a word")
        if pairs is None:
            pairs = np.arange(len(edges.shapes))
        self.n, self.d = len(pairs), edges.features.shape[1]
        self.nonnegative = self.d
        words = _features_of_words(edges, max_fertility)
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
            np.stack([starts[:-1] for starts in word_offsets(edges.shapes)], axis=1)[pairs],
            np.array([max_fertility]),
        )

    @cached_property
    def polytope(self) -> FlowPolytope:
        """The flows of words with several links, as of :class:`~align.problems.protocol.Polytope`.

        Features are copied, to float64.

        Raises
        ------
        NoPolytopeError
            Where words have one link: that polytope is projected onto by compiled passes of its own.
        """
        features, kinds, shapes, starts, (wrong, missed), *words, first_words, (limit,) = self.data
        if limit == 1:
            raise NoPolytopeError("words have one link; the solver has passes of its own for that")
        counts = shapes.prod(axis=1, dtype=np.int64)
        rows = _rows(starts, counts)
        sides = [
            side[_rows(first, own)] for side, first, own in zip(words, first_words.T, shapes.T, strict=True)
        ]
        return FlowPolytope(
            features[rows],
            (sides[0], sides[1]),
            shapes,
            np.choose(kinds[rows], [wrong, -missed, 0.0]),
            (kinds[rows] == SURE).astype(np.float64),
            int(limit),
        )


def _rows(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the rows of runs that start at ``starts`` and have ``counts`` rows, run after run; int64."""
    before = np.cumsum(counts, dtype=np.int64) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - before, counts)


def _features_of_words(edges: Edges, max_fertility: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of source and target words; none where a word may have one link only.

    Raises
    ------
    ValueError
        If the features are missing, negative or not those of the pairs' words.
    """
    if max_fertility == 1:
        none = [np.zeros((words, 0)) for words in edges.shapes.sum(axis=0, dtype=np.int64)]
        return read_only(none[0], np.float32), read_only(none[1], np.float32)
    if edges.word_features is None:
        raise ValueError("problem: several links a word, but no features of words")
    found = (
        read_only(edges.word_features.source, np.float32),
        read_only(edges.word_features.target, np.float32),
    )
    if [len(side) for side in found] != edges.shapes.sum(axis=0, dtype=np.int64).tolist():
        raise ValueError("problem: the features of words do not fit the shapes; give one row a word")
    if min(side.min(initial=0) for side in found) < 0:
        raise ValueError("problem: a feature of a word is negative; give values >= 0")
    return found


def _first_overlap(kinds: np.ndarray, edges: Edges, max_fertility: int) -> int:
    """Return the first pair in which a word has more than ``max_fertility`` sure links, or -1."""
    pairs, *sides = places(edges, np.flatnonzero(kinds == SURE))
    for words in sides:
        crowded = np.bincount(words)[words] > max_fertility
        if crowded.any():
            return int(pairs[np.argmax(crowded)])
    return -1


@kernel
def workspace(data: MatchingData) -> OracleWork:
    """Return working memory for :func:`vertex` of any pair."""
    shapes = data.shapes
    size, edges = largest(shapes)
    flow = fertility.scratch(shapes if data.max_fertility[0] > 1 else shapes[:0])
    theta, links = np.empty(edges), np.empty(edges, dtype=np.bool_)
    prices, degrees = np.empty((2, size)), np.empty((4, size), dtype=np.int64)
    return OracleWork(theta, links, assignment.scratch(shapes), flow, prices, degrees)


@kernel
def vertex(data: MatchingData, w: np.ndarray, i: int, psi: np.ndarray, work: OracleWork) -> float:
    """Solve the max oracle of pair i: fill ``psi`` (d,), return the loss."""
    features, kinds, shapes, starts, costs, source_words, target_words, word_starts, limit = data
    theta, links, matching, flow, prices, degrees = work
    n, m = int(shapes[i, 0]), int(shapes[i, 1])
    first, count, d, max_fertility = starts[i], n * m, features.shape[1], limit[0]
    x, kind = features[first : first + count], kinds[first : first + count]
    scores(x, w[:d], theta)
    scale = 1.0
    for edge in range(count):
        if kind[edge] == WRONG:
            theta[edge] += costs[0]
        elif kind[edge] == SURE:
            theta[edge] -= costs[1]
        if not np.isfinite(theta[edge]):
            raise ValueError("oracle: a score <w, x> is NaN or infinite; give finite features and weights")
        scale = max(scale, abs(theta[edge]))
    if max_fertility == 1:
        assignment.solve_pair(theta[:count], n, m, links[:count], matching)
    else:
        own = d + source_words.shape[1]
        phi_s = source_words[word_starts[i, 0] : word_starts[i, 0] + n]
        phi_t = target_words[word_starts[i, 1] : word_starts[i, 1] + m]
        s, t = prices[0][:n], prices[1][:m]
        scores(phi_s, w[d:own], s)
        scores(phi_t, w[own:], t)
        if not (np.isfinite(s).all() and np.isfinite(t).all()):
            raise ValueError("oracle: a cost <w, phi> is NaN or infinite; give finite features and weights")
        fertility.solve_pair(theta[:count], n, m, s, t, max_fertility, links[:count], flow)
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
def scores(x: np.ndarray, w: np.ndarray, theta: np.ndarray) -> None:
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


register(MatchingData, workspace=workspace, vertex=vertex)
