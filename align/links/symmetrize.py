"""Putting two directed alignments of a pair together: intersection, union, and the grow heuristics.

Forward and reverse are sets of cells (source, target). *Grow-diag* starts with the intersection and takes
in cells of the union that neighbour a cell taken before, if their source or their target word has no link
yet; *final* then takes in cells of the forward, then of the reverse alignment, whose source or target word
(*final-and*: source and target word) has no link yet.

Only the cells are visited, never the whole n x m table, and each at most once.

References
----------
.. [1] P. Koehn, F. J. Och and D. Marcu, "Statistical phrase-based translation", NAACL 2003, section 3.1.
.. [2] P. Koehn et al., "Edinburgh system description for the 2005 IWSLT speech translation evaluation",
   2005 (grow-diag-final-and).
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from heapq import heappop, heappush

Cell = tuple[int, int]

METHODS = ("intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")

# The order in which neighbours are tried: side by side first, then corner to corner.
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(*, forward: Iterable[Cell], reverse: Iterable[Cell], method: str) -> list[Cell]:
    """Return the cells of both directions put together, sorted.

    Parameters
    ----------
    forward, reverse : iterable of (int, int)
        Cells (source, target) of both alignments, in the same orientation.
    method : str
        One of `METHODS`.

    Raises
    ------
    ValueError
        If there is no such method.
    """
    if method not in METHODS:
        raise ValueError(f"no method {method!r}; choose one of {', '.join(METHODS)}")
    first, second = set(forward), set(reverse)
    if method == "union":
        return sorted(first | second)
    chosen = first & second
    if method != "intersect":
        chosen = _grow(chosen, first | second)
    if method.startswith("grow-diag-final"):
        for cells in (first, second):
            _finish(chosen, cells, both=method.endswith("-and"))
    return sorted(chosen)


def _grow(start: Set[Cell], union: Set[Cell]) -> set[Cell]:
    """Take in neighbours, sweep after sweep in reading order, until a sweep takes in none.

    One visit of a cell is enough: a neighbour it could not take in, it cannot take in later either, since
    words only ever gain links. A cell taken in ahead of the current place is visited in the same sweep.
    """
    chosen = set(start)
    sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
    sweep = sorted(chosen)
    while sweep:
        following: list[Cell] = []
        while sweep:
            place = heappop(sweep)
            for down, right in NEIGHBOURS:
                cell = (place[0] + down, place[1] + right)
                if cell in union and (cell[0] not in sources or cell[1] not in targets):
                    chosen.add(cell)
                    sources.add(cell[0])
                    targets.add(cell[1])
                    if cell > place:
                        heappush(sweep, cell)
                    else:
                        following.append(cell)
        sweep = sorted(following)
    return chosen


def _finish(chosen: set[Cell], cells: Set[Cell], *, both: bool) -> None:
    """Take in, in reading order, the cells whose words have no link yet: ``both`` words, or one at least."""
    sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
    for source, target in sorted(cells):
        free = (source not in sources, target not in targets)
        if all(free) if both else any(free):
            chosen.add((source, target))
            sources.add(source)
            targets.add(target)
