"""Whether the indices of a file of links count from 0 or from 1, told by the links themselves.

A 0 anywhere means counted from 0. Without one, an index that equals the number of tokens means counted
from 1. Without text, a file of many pairs and no 0 at all is counted from 1: in files counted from 0 at
most one pair in five has no link of a first word (measured on gold and on aligners' output), so that
`CERTAIN` pairs without one have a chance below 1e-20. All else is ambiguous, and is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from align.core.errors import InputError
from align.links.link import AlignedPair, Link

# So many pairs with links but without an index 0 are counted from 1.
CERTAIN = 30


class Base(NamedTuple):
    """What the indices of a file count from."""

    base: int | None  # 0 or 1; None where the file does not tell
    reason: str  # in words


def detect_base(pairs: Iterable[AlignedPair]) -> Base:
    """Tell what the indices of a whole file count from.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        All pairs of the file, indices as in the file; with their tokens, where these are known. They are
        taken up to the first index 0.
    """
    linked, last, has_text = 0, "", False
    for pair in pairs:
        linked += bool(pair.links)
        for link in pair.links:
            if 0 in link[:2]:
                return Base(0, f"index 0 in line {pair.line}")
            for index, tokens in zip(link[:2], (pair.source, pair.target), strict=True):
                has_text = has_text or tokens is not None
                if not last and tokens is not None and index == len(tokens):
                    last = f"index {index} in line {pair.line}, of {len(tokens)} tokens"
    if last:
        return Base(1, last)
    if not linked:
        return Base(0, "no links")
    if linked >= CERTAIN and not has_text:
        return Base(1, f"no index 0 in {linked} pairs with links")
    return Base(None, f"no index 0 in {linked} pair(s) with links, no index of a last token + 1")


def in_other_base(pairs: Sequence[Sequence[Link]], *, base: int) -> list[list[Link]] | None:
    """Return the links as they would be, had their file counted from the other base.

    Parameters
    ----------
    pairs : sequence of sequence of Link
        Counted from 0, read with ``base``.
    base : {0, 1}
        What the indices of the file were taken to count from.

    Returns
    -------
    list of list of Link, or None
        Counted from 0; None where an index 0 of the file rules out that it counts from 1.
    """
    by = 2 * base - 1
    moved = [[Link(link.source + by, link.target + by, *link[2:]) for link in pair] for pair in pairs]
    return None if any(min(link[:2]) < 0 for pair in moved for link in pair) else moved


def rebased(
    pairs: Iterable[AlignedPair],
    base: int | None = None,
    *,
    name: str = "links",
    ambiguous: int | None = 0,
    on_base: Callable[[Base], None] | None = None,
) -> Iterator[AlignedPair]:
    """Yield the pairs with indices counted from 0.

    Without a ``base`` pairs are held back until the first index 0 is seen, as a rule in the first pair:
    a file that counts from 0 is streamed, one that counts from 1 is held in memory.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        Indices as in the file.
    base : {0, 1}, optional
        What they count from; None: to be detected.
    name : str
        Name of the file, for errors.
    ambiguous : {0, 1} or None
        What to take where the file does not tell; None: this is an error.
    on_base : callable, optional
        Called with the finding, before the first pair is yielded.

    Raises
    ------
    InputError
        If an index is below ``base``, or the base is ambiguous and may not be.
    """
    rest = iter(pairs)
    held: list[AlignedPair] = []
    if base is None:
        found = detect_base(_kept(rest, held))
        if found.base is None and ambiguous is None:
            raise InputError(f"{name}: counted from 0 or from 1? {found.reason}; name the base")
        base = ambiguous if found.base is None else found.base
        if on_base is not None:
            on_base(found)
    assert base is not None
    for pair in chain(held, rest):
        yield _shift(pair, base, name)


def _kept(pairs: Iterable[AlignedPair], held: list[AlignedPair]) -> Iterator[AlignedPair]:
    """Yield the pairs and keep them in a list."""
    for pair in pairs:
        held.append(pair)
        yield pair


def _shift(pair: AlignedPair, base: int, name: str) -> AlignedPair:
    """Return the pair with ``base`` taken off every index."""
    if base == 0:
        return pair
    for link in pair.links:
        if min(link[:2]) < base:
            raise InputError(
                f"{name}:{pair.line}: index {min(link[:2])} in a file that counts from {base}; mend the line,"
                f" or name the right base{_in_brackets(pair.written.place(link))}"
            )
    moved = [Link(link.source - base, link.target - base, *link[2:]) for link in pair.links]
    return pair._replace(links=moved, written=replace(pair.written, base=base))


def _in_brackets(place: str) -> str:
    return f" ({place})" if place else ""
