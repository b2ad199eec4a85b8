"""One link, the links of one sentence pair, and what holds of them in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from align.core.errors import InputError


class Link(NamedTuple):
    """A link between a source and a target word.

    Attributes
    ----------
    source, target : int
        0-based token indices.
    sure : bool
        False for a link that annotators hold possible only.
    score : float or None
        Finite; its meaning is its maker's (in Liaison's own output a confidence in [0, 1]).
    """

    source: int
    target: int
    sure: bool = True
    score: float | None = None


# A link as a line has it: column from 1, text, source and target index.
Spot = tuple[int, str, int, int]


@dataclass(frozen=True, slots=True)
class Written:
    """How a file has the links of a pair, to find one again. All are equal: a place makes no other pair."""

    rows: Sequence[tuple[int, str]] = field(default=(), compare=False)  # number from 1, and text, of lines
    spots: Callable[[str], Iterable[Spot]] = field(default=lambda line: (), compare=False)
    base: int = field(default=0, compare=False)  # what was taken off the indices since
    swapped: bool = field(default=False, compare=False)  # whether the sides have changed places since

    def place(self, link: Link) -> str:
        """Return where a link stands, ``line 3, column 5: '3-1'``; empty where that is not known."""
        wanted = link[1::-1] if self.swapped else link[:2]
        for number, line in self.rows:
            for column, text, *indices in self.spots(line):
                if tuple(index - self.base for index in indices) == wanted:
                    return f"line {number}, column {column}: {text[:80]!r}"
        return ""


class AlignedPair(NamedTuple):
    """The links of one sentence pair, as a file gives them.

    Attributes
    ----------
    links : list of Link
        Sorted, without duplicates.
    source, target : list of str or None
        The tokens, where the format holds them.
    line : int
        1-based line of the file on which the pair was found; 0 where unknown.
    written : Written
        How the file has the links.
    """

    links: list[Link]
    source: list[str] | None = None
    target: list[str] | None = None
    line: int = 0
    written: Written = Written()


def tidy(links: Iterable[Link]) -> list[Link]:
    """Return the links as a sorted list with set semantics.

    A cell that is listed twice is sure if it is sure anywhere, and keeps its highest score.
    """
    cells: dict[tuple[int, int], Link] = {}
    for link in links:
        cell = link[:2]
        known = cells.get(cell)
        if known is not None:
            scores = [score for score in (known.score, link.score) if score is not None]
            link = Link(*cell, known.sure or link.sure, max(scores, default=None))
        cells[cell] = link
    return [cells[cell] for cell in sorted(cells)]


def swapped(links: Iterable[Link]) -> list[Link]:
    """Return the links of the same pair read in the other direction, sorted."""
    return sorted(Link(link.target, link.source, *link[2:]) for link in links)


def format_link(link: Link) -> str:
    """Return a link as ``i-j`` (sure) or ``ipj`` (possible), 0-based, source first."""
    return f"{link.source}{'-' if link.sure else 'p'}{link.target}"


def check_bounds(
    links: Sequence[Link],
    source: Sequence[str],
    target: Sequence[str],
    *,
    where: str,
    reverse: str = "",
    otherwise: str = "",
    written: Written = Written(),
) -> None:
    """Check that every link lies inside its sentence pair.

    Parameters
    ----------
    links : sequence of Link
        The links of the pair.
    source, target : sequence of str
        Its tokens.
    where : str
        What the message starts with, as a rule ``<file>:<line>``.
    reverse : str
        What to do if the links fit the pair in the other direction only; empty: say nothing of it.
    otherwise : str
        What to do in any other case; empty: use other tokens.
    written : Written
        How the file has the links.

    Raises
    ------
    InputError
        If an index is out of range. The message holds both token lists and, where that is known, the place
        of the link and the indices that the file may have there.
    """
    n, m = len(source), len(target)
    for link in links:
        if 0 <= link.source < n and 0 <= link.target < m:
            continue
        other_way = all(0 <= other.source < m and 0 <= other.target < n for other in links)
        advice = otherwise or "use the tokens that the links were made for"
        advice = reverse if reverse and other_way else advice
        if place := written.place(link):
            allowed = (_allowed(*side, written.base) for side in (("source", n), ("target", m)))
            advice += f" ({place}, where {' and '.join(allowed)} can stand)"
        raise InputError(
            f"{where}: link {format_link(link)} (counted from 0) lies outside the pair of {n} source tokens"
            f" ({' '.join(source)}) and {m} target tokens ({' '.join(target)}); {advice}"
        )


def check_pair(pair: AlignedPair, *, name: str, reverse: str = "") -> None:
    """Check the links of a pair that has tokens, of the file ``name``; see :func:`check_bounds`."""
    source, target = pair.source or (), pair.target or ()
    where = f"{name}:{pair.line}"
    check_bounds(pair.links, source, target, where=where, reverse=reverse, written=pair.written)


def inside(pairs: Iterable[AlignedPair], *, name: str, reverse: str = "") -> Iterator[AlignedPair]:
    """Yield the pairs of the file ``name``, those with tokens checked as by :func:`check_pair`."""
    for pair in pairs:
        if pair.source is not None and pair.target is not None:
            check_pair(pair, name=name, reverse=reverse)
        yield pair


def _allowed(side: str, tokens: int, base: int) -> str:
    """Return which indices of a side there are."""
    return f"{side} {base} to {base + tokens - 1}" if tokens else f"no {side}"
