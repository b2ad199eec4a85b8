"""The max oracle of a labelled pair, compiled: y*, its features and its loss (``problem``)."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from align.core.kernels import kernel
from align.matching.assignment import scratch, solve_pair
from align.matching.fertility_kernels import scratch as fertility_scratch
from align.matching.fertility_kernels import solve_pair as solve_fertile_pair
from align.problems.compiled import register

Arrays: TypeAlias = tuple[np.ndarray, ...]
Work: TypeAlias = tuple[Any, ...]

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
        Features of words; empty where a word may have one link.
    word_starts : ndarray of int64, shape (n, 2)
        The first words of each pair.
    most : ndarray of int64, shape (1,)
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
    most: np.ndarray


@kernel
def solve_one(data: MatchingData, w: np.ndarray, i: int, psi: np.ndarray, links: np.ndarray) -> float:
    """Fill ``psi`` (d,) and ``links`` (n_i * m_i,) of pair i, return its loss."""
    work = _work_of(data[2][i : i + 1], data[8][0])
    loss = vertex(data, w, i, psi, work)
    links[:] = work[1][: len(links)]
    return loss


@kernel
def solve_block(
    data: MatchingData, weights: np.ndarray, block: np.ndarray, psi: np.ndarray, loss: np.ndarray
) -> None:
    """Fill ``psi`` (r, b, d) and ``loss`` (r, b) with the vertices of the pairs ``block`` (b,)."""
    work = workspace(data)
    for place in range(len(block)):
        for r in range(len(weights)):
            loss[r, place] = vertex(data, weights[r], block[place], psi[r, place], work)


@kernel
def workspace(data: MatchingData) -> Work:
    """Return working memory (theta, links, ...) for :func:`vertex` of any pair."""
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
def vertex(data: MatchingData, w: np.ndarray, i: int, psi: np.ndarray, work: Work) -> float:
    """Solve the max oracle of pair i: fill ``psi`` (d,), return the loss.

    ``data`` is that of :class:`MatchingProblem`, ``work`` comes from :func:`workspace`; the links are left in
    ``work[1]``. Kernels that walk over many pairs call this.
    """
    features, kinds, shapes, starts, costs, source_words, target_words, word_starts, limit = data
    theta, links, reals, wholes, prices, degrees, flow = work
    n, m = int(shapes[i, 0]), int(shapes[i, 1])
    first, count, d, most = starts[i], n * m, features.shape[1], limit[0]
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
    if most == 1:
        solve_pair(theta[:count], n, m, links[:count], reals, wholes)
    else:
        own = d + source_words.shape[1]
        phi_s = source_words[word_starts[i, 0] : word_starts[i, 0] + n]
        phi_t = target_words[word_starts[i, 1] : word_starts[i, 1] + m]
        s, t = prices[0][:n], prices[1][:m]
        scores(phi_s, w[d:own], s)
        scores(phi_t, w[own:], t)
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
