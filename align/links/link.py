"""One link, the links of one sentence pair, and what holds of them in every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """

    links: list[Link]
    source: list[str] | None = None
    target: list[str] | None = None
    line: int = 0


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

    Raises
    ------
    InputError
        If an index is out of range. The message holds both token lists.
    """
    n, m = len(source), len(target)
    for link in links:
        if 0 <= link.source < n and 0 <= link.target < m:
            continue
        other_way = all(0 <= other.source < m and 0 <= other.target < n for other in links)
        advice = otherwise or "use the tokens that the links were made for"
        advice = reverse if reverse and other_way else advice
        raise InputError(
            f"{where}: link {format_link(link)} (counted from 0) lies outside the pair of {n} source tokens"
            f" ({' '.join(source)}) and {m} target tokens ({' '.join(target)}); {advice}"
        )
