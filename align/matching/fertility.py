"""The max oracle of words with several links: each link after a word's first costs something.

For a pair of n source and m target words with weights theta (n, m), costs s_j, t_k >= 0 and at most K links
a word the task is, over y in {0, 1}^(n x m) with row and column sums (degrees) a_j, b_k <= K,

    max  sum_jk theta_jk y_jk - sum_j s_j max(0, a_j - 1) - sum_k t_k max(0, b_k - 1)

([1]_, section 3.1). It is a flow from source to target words through edges of capacity one; what a word pays
is convex in its links, so the optimum of the linear program is integral (the reference,
:mod:`align.matching.linear_program`).

:func:`solve` lets the source words enter one after the other, and the links of each, by the cheapest path of
reduced costs u_j + v_k - theta_jk (unlinked edges, >= 0) and theta_jk - u_j - v_k (linked ones, >= 0) to a
word that takes or drops a link: the algorithm of :mod:`align.matching.assignment` with the prices

    u_j = 0 without a link,  in [0, s_j] with one,  s_j with 2 to K - 1,  >= s_j with K,

and v_k, t_k likewise. Dropping a link never costs, so edges with theta <= 0 are left out from the start.

References
----------
.. [1] S. Lacoste-Julien, B. Taskar, D. Klein and M. I. Jordan, "Word alignment via quadratic assignment",
   NAACL 2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import Arrays, kernel
from align.core.ragged import word_offsets
from align.matching.assignment import checked_block, largest, writeable


class Work(NamedTuple):
    """Working memory of :func:`solve_pair`, from :func:`scratch`; few arrays, as in the assignment."""

    value: np.ndarray  # float64, (E,): weights of the edges above 0, row by row
    edges: (
        np.ndarray
    )  # int64, (4, E): their places in ``theta``, columns, rows; then each column's links, in slots
    prices: np.ndarray  # float64, (2, size): of rows, u, and of columns, v
    words: np.ndarray  # int64, (3, size + 1): where each row's edges start; links of each row; of each column
    distance: np.ndarray  # float64, (2 size,): of rows, then columns, from the root of a search
    search: np.ndarray  # int64, (3, 2 size): the edge each word was reached by; words that wait; words passed


class _Pair(NamedTuple):
    """The pair as it is solved: the words of the shorter side are its rows.

    ``slots`` is how many links a column can hold: those of column k are held in ``held[k * slots:]``.
    """

    rows: int
    columns: int
    row_costs: np.ndarray
    column_costs: np.ndarray
    max_fertility: int
    slots: int


def solve(
    theta: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    *,
    max_fertility: int,
) -> np.ndarray:
    """Return a best set of links of each pair of a block, as :func:`align.matching.assignment.solve` does.

    Parameters
    ----------
    theta, shapes, offsets
        Weights of the edges, and the pairs they belong to, as there.
    source_costs, target_costs : ndarray of float64, shapes (sum n_i,) and (sum m_i,)
        What each link of a word after its first costs, >= 0, pair after pair.
    max_fertility : int
        Links that a word may have, K >= 1.

    Returns
    -------
    ndarray of bool, shape (E,)
        True where the edge is linked; never where its weight is 0 or less.

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, a cost is NaN or below 0, or the arrays do not fit each other.
    """
    if max_fertility < 1:
        raise ValueError(f"fertility: {max_fertility} links a word; give 1 or more")
    theta, shapes, offsets = checked_block("fertility", theta, shapes, offsets)
    costs = writeable(source_costs), writeable(target_costs)
    words = word_offsets(shapes)
    if [each.shape for each in costs] != [(starts[-1],) for starts in words]:
        raise ValueError(
            f"fertility: costs {costs[0].shape} and {costs[1].shape} of {words[0][-1]} and {words[1][-1]} "
            "words; give one a word"
        )
    for each, starts in zip(costs, words, strict=True):
        if not (each >= 0).all():
            pair = np.searchsorted(starts, np.argmin(each >= 0), side="right") - 1
            raise ValueError(f"fertility: pair {pair} has a cost that is NaN or below 0; give costs >= 0")
    links = np.zeros(len(theta), dtype=np.bool_)
    _solve_block(theta, shapes, offsets, costs, int(max_fertility), links)
    return links


def total(theta: np.ndarray, source_costs: np.ndarray, target_costs: np.ndarray, links: np.ndarray) -> float:
    """Return the value of the links of one pair, bool (n, m): their weights less what extra links cost."""
    extra_source = np.maximum(links.sum(axis=1) - 1, 0)
    extra_target = np.maximum(links.sum(axis=0) - 1, 0)
    costs = extra_source @ source_costs + extra_target @ target_costs
    return float(theta[links].sum() - costs)


@kernel
def _solve_block(
    theta: np.ndarray,
    shapes: np.ndarray,
    offsets: np.ndarray,
    costs: Arrays,
    max_fertility: int,
    links: np.ndarray,
) -> None:
    """Solve every pair into ``links``; ``costs`` are those of source and of target words."""
    work = scratch(shapes)
    source, target = 0, 0
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        first, last = offsets[pair], offsets[pair + 1]
        s, t = costs[0][source : source + n], costs[1][target : target + m]
        solve_pair(theta[first:last], n, m, s, t, max_fertility, links[first:last], work)
        source += n
        target += m


@kernel
def scratch(shapes: np.ndarray) -> Work:
    """Return working memory for :func:`solve_pair`, enough for every pair of ``shapes``."""
    size, edges = largest(shapes)
    return Work(
        np.empty(edges),
        np.empty((4, edges), dtype=np.int64),
        np.empty((2, size)),
        np.empty((3, size + 1), dtype=np.int64),
        np.empty(2 * size),
        np.empty((3, 2 * size), dtype=np.int64),
    )


@kernel
def solve_pair(
    theta: np.ndarray,
    n: int,
    m: int,
    source_costs: np.ndarray,
    target_costs: np.ndarray,
    max_fertility: int,
    links: np.ndarray,
    work: Work,
) -> None:
    """Solve one pair: ``theta`` (n * m,) finite float64 row by row, ``links`` (n * m,) bool is overwritten.

    The shorter side enters, its words are the rows: fewer searches.
    """
    links[:] = False
    # One call for both ways round: each would be a copy of all that it calls.
    turned = n > m
    rows, columns = (m, n) if turned else (n, m)
    down, right = (1 if turned else m), (m if turned else 1)
    row_costs, column_costs = (target_costs, source_costs) if turned else (source_costs, target_costs)
    _gather(theta, rows, columns, down, right, work)
    slots = min(max_fertility, rows)
    _enter(_Pair(rows, columns, row_costs, column_costs, max_fertility, slots), links, work)


@kernel
def _gather(theta: np.ndarray, rows: int, columns: int, down: int, right: int, work: Work) -> None:
    """List the edges above 0, row by row."""
    value, starts = work.value, work.words[0]
    place, column_of, row_of = work.edges[0], work.edges[1], work.edges[2]
    count = 0
    for row in range(rows):
        starts[row] = count
        for column in range(columns):
            at = row * down + column * right
            if theta[at] > 0.0:
                value[count], place[count] = theta[at], at
                column_of[count], row_of[count] = column, row
                count += 1
    starts[rows] = count


@kernel
def _enter(pair: _Pair, links: np.ndarray, work: Work) -> None:
    """Let each row take its links, one after the other, as long as they pay."""
    rows, columns, row_costs, column_costs, max_fertility, slots = pair
    value, column_of, held = work.value, work.edges[1], work.edges[3]
    u, v = work.prices[0], work.prices[1]
    starts, row_degree, column_degree = work.words[0], work.words[1], work.words[2]
    v[:columns] = 0.0
    row_degree[:rows] = 0
    column_degree[:columns] = 0
    for root in range(rows):
        u[root] = 0.0
        for edge in range(starts[root], starts[root + 1]):
            u[root] = max(u[root], value[edge] - v[column_of[edge]])
        while row_degree[root] < max_fertility:
            price = row_costs[root] if row_degree[root] > 0 else 0.0
            if u[root] <= price:
                break
            end = _search(root, u[root] - price, pair, links, work)
            if end < 0:
                u[root] = price
                break
            if end >= rows:
                column = end - rows
                if column_degree[column] > 0:
                    v[column] = column_costs[column]
                column_degree[column] += 1
                held[column * slots + column_degree[column] - 1] = -1
            else:
                row_degree[end] -= 1
                u[end] = row_costs[end] if row_degree[end] > 0 else 0.0
            row_degree[root] += 1
            _flip(end, root, pair, links, work)


@kernel
def _search(root: int, limit: float, pair: _Pair, links: np.ndarray, work: Work) -> int:
    """Find the cheapest path from ``root`` to a word that takes or drops a link, and adjust the prices.

    Returns the word at the end: a row, or ``rows`` + a column; -1 where nothing is cheaper than ``limit``.
    ``before`` has the edge by which each word was reached.
    """
    rows, columns, row_costs, column_costs, max_fertility, slots = pair
    value, distance = work.value, work.distance
    place, column_of, row_of, held = work.edges[0], work.edges[1], work.edges[2], work.edges[3]
    u, v = work.prices[0], work.prices[1]
    starts, row_degree, column_degree = work.words[0], work.words[1], work.words[2]
    before, waiting, passed = work.search[0], work.search[1], work.search[2]
    distance[: rows + columns] = np.inf
    length, end, waits, count = limit, -1, 0, 0
    word, base = root, 0.0
    while True:
        if word < rows:
            for edge in range(starts[word], starts[word + 1]):
                if links[place[edge]]:
                    continue
                column = column_of[edge]
                at = rows + column
                reached = base + max((u[word] - value[edge]) + v[column], 0.0)
                if reached < length and reached < distance[at]:
                    if distance[at] == np.inf:
                        waiting[waits] = at
                        waits += 1
                    distance[at], before[at] = reached, edge
                    degree = column_degree[column]
                    if degree < max_fertility:
                        whole = reached
                        if degree > 0:
                            whole += max(column_costs[column] - v[column], 0.0)
                        if whole < length:
                            length, end = whole, at
        else:
            column = word - rows
            for slot in range(column * slots, column * slots + column_degree[column]):
                edge = held[slot]
                row = row_of[edge]
                reached = base + max((value[edge] - u[row]) - v[column], 0.0)
                if row != root and reached < length and reached < distance[row]:
                    if distance[row] == np.inf:
                        waiting[waits] = row
                        waits += 1
                    distance[row], before[row] = reached, edge
                    whole = reached + (max(u[row] - row_costs[row], 0.0) if row_degree[row] > 1 else u[row])
                    if whole < length:
                        length, end = whole, row
        nearest, at = length, -1
        for turn in range(waits):
            if distance[waiting[turn]] < nearest:
                nearest, at = distance[waiting[turn]], turn
        if at < 0:
            break
        word, base = waiting[at], nearest
        waits -= 1
        waiting[at] = waiting[waits]
        passed[count] = word
        count += 1
    u[root] -= length
    for turn in range(count):
        word = passed[turn]
        if word < rows:
            u[word] -= length - distance[word]
        else:
            v[word - rows] += length - distance[word]
    return end


@kernel
def _flip(end: int, root: int, pair: _Pair, links: np.ndarray, work: Work) -> None:
    """Flip the path from ``root`` to ``end``: each row on it moves from a column to the next."""
    place, column_of, row_of, held = work.edges[0], work.edges[1], work.edges[2], work.edges[3]
    before = work.search[0]
    rows, slots = pair.rows, pair.slots
    freed = -1  # the linked edge that the place of the next column is taken from
    word = end
    if end < rows:
        freed = before[end]
        links[place[freed]] = False
        word = rows + column_of[freed]
    while True:
        edge = before[word]
        links[place[edge]] = True
        slot = (word - rows) * slots
        while held[slot] != freed:
            slot += 1
        held[slot] = edge
        row = row_of[edge]
        if row == root:
            return
        freed = before[row]
        links[place[freed]] = False
        word = rows + column_of[freed]
