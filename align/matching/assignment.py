"""The max oracle: maximum-weight bipartite matching in which words may stay unlinked.

For a pair of n source and m target words with weights theta (n, m) the task is

    max  sum_jk theta_jk y_jk    over y in {0, 1}^(n x m), row sums <= 1, column sums <= 1,

solved exactly by shortest augmenting paths [1]_, [2]_: rows enter one after the other, each by the cheapest
path of reduced costs u_j + v_k - theta_jk >= 0 to a free column, or to a row that is better left without
a link (u_j = 0 is the price of staying alone, as if each row had a column of weight 0 to itself). Most rows
never need the search: the bidding step of [1]_ (augmenting row reduction) settles them first.

The reference is the same maximum as a linear program (:mod:`align.matching.linear_program`).

References
----------
.. [1] R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear
   assignment problems", Computing 38, 1987.
.. [2] D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on Aerospace
   and Electronic Systems 52(4), 2016.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from align.core.kernels import kernel


class Work(NamedTuple):
    """Working memory of :func:`solve_pair`, from :func:`scratch`.

    Two arrays, not one for each row: every array that is passed on costs a call its reference count.

    Attributes
    ----------
    reals : ndarray of float64, shape (3, size)
        Prices u of rows, prices v of columns, distance of columns from the root of a search.
    wholes : ndarray of int64, shape (5, size)
        The column linked to each row, and the row linked to each column, or -1; the row each column was
        reached from; the columns in the order of a search; rows that bidding has left waiting.
    """

    reals: np.ndarray
    wholes: np.ndarray


def solve(theta: np.ndarray, shapes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return a maximum-weight matching of each pair of a block.

    Only edges with a weight above 0 are ever linked. Ties are broken by a fixed scanning order: equal input
    gives equal output. The work runs outside the interpreter lock.

    Parameters
    ----------
    theta : ndarray of float64, shape (E,)
        Weights of the edges, finite; those of pair i are ``theta[offsets[i]:offsets[i + 1]]``, row by row.
    shapes : ndarray of int32, shape (N, 2)
        Words (n_i, m_i) of each pair, >= 0.
    offsets : ndarray of int64, shape (N + 1,)
        ``offsets[i + 1] - offsets[i] == n_i * m_i``.

    Returns
    -------
    ndarray of bool, shape (E,)
        True where the edge is linked.

    Raises
    ------
    ValueError
        If a weight is NaN or infinite, or the arrays do not fit each other.
    """
    theta, shapes, offsets = checked_block("matching", theta, shapes, offsets)
    links = np.zeros(len(theta), dtype=np.bool_)
    _solve_block(theta, shapes, offsets, links)
    return links


def checked_block(
    where: str, values: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, *, least: float = np.nan
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a block as kernels take them; ``where`` begins messages, ``least`` fits, too.

    Raises
    ------
    ValueError
        If a value is NaN or infinite, or the arrays do not fit each other.
    """
    values = writeable(values)
    shapes = np.ascontiguousarray(shapes, dtype=np.int32)
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    if values.ndim != 1 or shapes.ndim != 2 or shapes.shape[1] != 2 or offsets.shape != (len(shapes) + 1,):
        raise ValueError(
            f"{where}: values {values.shape}, shapes {shapes.shape} and offsets {offsets.shape} do not fit; "
            "give (E,), (N, 2) and (N + 1,)"
        )
    misfit = (np.diff(offsets) != shapes.prod(axis=1, dtype=np.int64)) | (shapes < 0).any(axis=1)
    misfit |= (offsets[:-1] < 0) | (offsets[1:] > len(values))
    if misfit.any():
        raise ValueError(
            f"{where}: the offsets of pair {np.argmax(misfit)} do not fit its shape; give n * m edges a pair"
        )
    finite = np.isfinite(values)
    if not finite.all() and (odd := ~(finite | (values == least))).any():
        pair = np.searchsorted(offsets, np.argmax(odd), side="right") - 1
        raise ValueError(f"{where}: pair {pair} has a weight that is NaN or infinite; give finite weights")
    return values, shapes, offsets


def writeable(values: np.ndarray) -> np.ndarray:
    """Return contiguous float64 that may be written: another type to the compiler costs more than a copy."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    return values if values.flags.writeable else values.copy()


@kernel
def _solve_block(theta: np.ndarray, shapes: np.ndarray, offsets: np.ndarray, links: np.ndarray) -> None:
    """Solve every pair into ``links``."""
    work = scratch(shapes)
    for pair in range(len(shapes)):
        n, m = int(shapes[pair, 0]), int(shapes[pair, 1])
        first, last = offsets[pair], offsets[pair + 1]
        solve_pair(theta[first:last], n, m, links[first:last], work)


@kernel
def largest(shapes: np.ndarray) -> tuple[int, int]:
    """Return the most words of a side, and the most edges, of any pair of ``shapes`` (N, 2)."""
    size, edges = 0, 0
    for pair in range(len(shapes)):
        size = max(size, shapes[pair, 0], shapes[pair, 1])
        edges = max(edges, shapes[pair, 0] * shapes[pair, 1])
    return size, edges


@kernel
def scratch(shapes: np.ndarray) -> Work:
    """Return working memory for :func:`solve_pair`, enough for every pair of ``shapes``."""
    size, _ = largest(shapes)
    return Work(np.empty((3, size)), np.empty((5, size), dtype=np.int64))


@kernel
def solve_pair(theta: np.ndarray, n: int, m: int, links: np.ndarray, work: Work) -> None:
    """Solve one pair: ``theta`` (n * m,) finite float64 row by row, ``links`` (n * m,) bool is overwritten.

    Kernels that make theta themselves call this.
    """
    if n > m:  # the shorter side enters: fewer rows to insert, and shorter paths
        turned = np.empty(n * m)
        for row in range(n):
            for column in range(m):
                turned[column * n + row] = theta[row * m + column]
        _assign(turned, m, n, work)
    else:
        _assign(theta, n, m, work)
    links[:] = False
    column_of = work.wholes[0]
    for row in range(min(n, m)):
        if column_of[row] >= 0:
            edge = column_of[row] * m + row if n > m else row * m + column_of[row]
            links[edge] = theta[edge] > 0.0  # rounding of the prices may let an edge worth nothing through


@kernel
def _assign(theta: np.ndarray, n: int, m: int, work: Work) -> None:
    """Leave in ``work`` the column linked to each row, or -1."""
    waiting = _bid(theta, n, m, work)
    if waiting > 0:
        _augment(theta, n, m, waiting, work)


@kernel
def _bid(theta: np.ndarray, n: int, m: int, work: Work) -> int:
    """Link rows by bidding; returns how many are left waiting.

    A row takes its best column and raises the column's price v by its lead over the second best (staying
    alone, worth 0, counts as a choice); a row so driven out bids again. Prices of free columns stay 0.
    """
    u, v = work.reals[0], work.reals[1]
    column_of, row_of, waiting = work.wholes[0], work.wholes[1], work.wholes[4]
    v[:m] = 0.0
    row_of[:m] = -1
    column_of[:n] = -1
    driven_out = 4 * n  # bidding may go on long between near-equals: the paths take over then
    waits = 0
    for entering in range(n):
        row = entering
        while True:
            best, second, at, other = 0.0, 0.0, -1, -1
            for column in range(m):
                value = theta[row * m + column] - v[column]
                if value > second:
                    if value > best:
                        best, second, at, other = value, best, column, at
                    else:
                        second, other = value, column
            u[row] = second
            if at < 0:
                break
            owner = row_of[at]
            if owner >= 0 and best == second and row_of[other] < 0:
                at, owner = other, -1
            if owner >= 0 and (best == second or driven_out == 0):
                waiting[waits] = row
                waits += 1
                break
            v[at] += best - second
            row_of[at] = row
            column_of[row] = at
            if owner < 0:
                break
            column_of[owner] = -1
            driven_out -= 1
            row = owner
    return waits


@kernel
def _augment(theta: np.ndarray, n: int, m: int, waits: int, work: Work) -> None:
    """Insert the waiting rows, each by a shortest path (Dijkstra on reduced costs).

    ``order`` holds the columns in three runs: those reached, those linked but not reached, the free ones; the
    runs end at ``reached``, ``taken`` and m.
    """
    u, v, distance = work.reals[0], work.reals[1], work.reals[2]
    row_of, before, order, waiting = work.wholes[1], work.wholes[2], work.wholes[3], work.wholes[4]
    taken, last = 0, m
    for column in range(m):
        if row_of[column] >= 0:
            order[taken] = column
            taken += 1
        else:
            last -= 1
            order[last] = column
    for entering in range(waits):
        root = waiting[entering]
        u[root] = 0.0
        for column in range(m):
            u[root] = max(u[root], theta[root * m + column] - v[column])
        for place in range(taken):
            distance[order[place]] = np.inf
        # The path may end where a row stays alone (at the price u) or at a free column (whose v is 0).
        length, end_row, end_place = u[root], root, -1
        row, base, reached = root, 0.0, 0
        while True:
            for place in range(taken, m):
                value = base + (u[row] - theta[row * m + order[place]])
                if value < length:
                    length, end_row, end_place = value, row, place
            nearest, at = length, -1
            for place in range(reached, taken):
                column = order[place]
                value = base + ((u[row] - theta[row * m + column]) + v[column])
                if value < distance[column]:
                    distance[column] = value
                    before[column] = row
                if distance[column] < nearest:
                    nearest, at = distance[column], place
            if at < 0:
                break
            column = order[at]
            order[at], order[reached] = order[reached], column
            reached += 1
            row, base = row_of[column], nearest
            if base + u[row] < length:
                length, end_row, end_place = base + u[row], row, -1
        u[root] -= length
        for place in range(reached):
            column = order[place]
            v[column] += length - distance[column]
            u[row_of[column]] -= length - distance[column]
        column = -1
        if end_place >= 0:
            column = order[end_place]
            order[end_place], order[taken] = order[taken], column
            taken += 1
        _move_on(root, end_row, column, work)


@kernel
def _move_on(root: int, row: int, column: int, work: Work) -> None:
    """Flip the path from ``root`` to ``row``: each of its rows moves on to the column reached from it."""
    column_of, row_of, before = work.wholes[0], work.wholes[1], work.wholes[2]
    while True:
        left = column_of[row]
        column_of[row] = column
        if column >= 0:
            row_of[column] = row
        if row == root:
            return
        column = left
        row = before[column]
