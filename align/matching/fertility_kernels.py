"""Shortest paths of words that take several links: the kernels of :mod:`align.matching.fertility`."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from align.core.kernels import kernel

Arrays: TypeAlias = tuple[np.ndarray, ...]


@kernel
def scratch(shapes: np.ndarray) -> Arrays:
    """Return working memory for :func:`solve_pair`, enough for every pair of ``shapes``."""
    size, edges = 1, 0
    for pair in range(len(shapes)):
        size = max(size, shapes[pair, 0], shapes[pair, 1])
        edges = max(edges, shapes[pair, 0] * shapes[pair, 1])
    return (
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
    most: int,
    links: np.ndarray,
    work: Arrays,
) -> None:
    """Solve one pair: ``theta`` (n * m,) finite float64 row by row, ``links`` (n * m,) bool is overwritten.

    ``work`` comes from :func:`scratch`. The shorter side enters, its words are the rows here: fewer
    searches.
    """
    links[:] = False
    if n > m:
        _gather(theta, m, n, 1, m, work)
        _enter(m, n, target_costs, source_costs, most, links, work)
    else:
        _gather(theta, n, m, m, 1, work)
        _enter(n, m, source_costs, target_costs, most, links, work)


@kernel
def _gather(theta: np.ndarray, rows: int, columns: int, down: int, right: int, work: Arrays) -> None:
    """List the edges above 0, row by row: weight, place in ``theta``, column, row.

    The edges of a row are ``starts[row]:starts[row + 1]``.
    """
    value, wholes, starts = work[0], work[1], work[3][0]
    place, column_of, row_of = wholes[0], wholes[1], wholes[2]
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
def _enter(
    rows: int,
    columns: int,
    row_costs: np.ndarray,
    column_costs: np.ndarray,
    most: int,
    links: np.ndarray,
    work: Arrays,
) -> None:
    """Let each row take its links, one after the other, as long as they pay."""
    value, column_of, held = work[0], work[1][1], work[1][3]
    u, v = work[2][0], work[2][1]
    starts, row_degree, column_degree = work[3][0], work[3][1], work[3][2]
    slots = min(most, rows)  # the links of column k are held[k * slots:][:column_degree[k]]
    v[:columns] = 0.0
    row_degree[:rows] = 0
    column_degree[:columns] = 0
    for root in range(rows):
        u[root] = 0.0
        for edge in range(starts[root], starts[root + 1]):
            u[root] = max(u[root], value[edge] - v[column_of[edge]])
        while row_degree[root] < most:
            price = row_costs[root] if row_degree[root] > 0 else 0.0
            if u[root] <= price:
                break
            end = _search(
                root, u[root] - price, rows, columns, row_costs, column_costs, most, slots, links, work
            )
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
            _flip(end, root, rows, slots, links, work)


@kernel
def _search(
    root: int,
    limit: float,
    rows: int,
    columns: int,
    row_costs: np.ndarray,
    column_costs: np.ndarray,
    most: int,
    slots: int,
    links: np.ndarray,
    work: Arrays,
) -> int:
    """Find the cheapest path from ``root`` to a word that takes or drops a link, and adjust the prices.

    Returns the word at the end: a row, or ``rows`` + a column; -1 where nothing is cheaper than ``limit``.
    ``before`` has the edge by which each word was reached.
    """
    value, place, column_of, row_of, held = work[0], work[1][0], work[1][1], work[1][2], work[1][3]
    u, v = work[2][0], work[2][1]
    starts, row_degree, column_degree = work[3][0], work[3][1], work[3][2]
    distance = work[4]
    before, waiting, passed = work[5][0], work[5][1], work[5][2]
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
                    if degree < most:
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
def _flip(end: int, root: int, rows: int, slots: int, links: np.ndarray, work: Arrays) -> None:
    """Flip the path from ``root`` to ``end``: each row on it moves from a column to the next."""
    place, column_of, row_of, held = work[1][0], work[1][1], work[1][2], work[1][3]
    before = work[5][0]
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
