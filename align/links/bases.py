"""Whether the indices of a file of links count from 0 or from 1, told by the links themselves.

A 0 anywhere means counted from 0. Without one, an index that equals the number of tokens means counted
from 1. Without text, a file of many pairs and no 0 at all is counted from 1: in files counted from 0 at
most one pair in five has no link of a first word (measured on gold and on aligners' output), so that
`CERTAIN` pairs without one have a chance below 1e-20. All else is ambiguous, and is said to be so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from align.core.errors import InputError
from align.links.link import AlignedPair, Link

# So many pairs with links but without an index 0 are counted from 1.
CERTAIN = 30


class Base(NamedTuple):
    """A finding.

    Attributes
    ----------
    base : {0, 1} or None
        What the indices count from; None where the file does not tell.
    reason : str
        Why, in words.
    """

    base: int | None
    reason: str


@dataclass
class _Evidence:
    """What has been seen of a file so far."""

    linked: int = 0
    zero: str = ""
    last: str = ""
    text: bool = field(default=False)

    def add(self, pair: AlignedPair) -> None:
        """Take in one pair, indices as in the file."""
        self.linked += bool(pair.links)
        for link in pair.links:
            if not self.zero and 0 in link[:2]:
                self.zero = f"index 0 in line {pair.line}"
            for index, tokens in zip(link[:2], (pair.source, pair.target), strict=True):
                self.text = self.text or tokens is not None
                if not self.last and tokens is not None and index == len(tokens):
                    self.last = f"index {index} in line {pair.line}, of {len(tokens)} tokens"

    def finding(self) -> Base:
        """Return what follows from it."""
        if self.zero:
            return Base(0, self.zero)
        if self.last:
            return Base(1, self.last)
        if not self.linked:
            return Base(0, "no links")
        if self.linked >= CERTAIN and not self.text:
            return Base(1, f"no index 0 in {self.linked} pairs with links")
        return Base(None, f"no index 0 in {self.linked} pair(s) with links, no index of a last token + 1")


def detect_base(pairs: Iterable[AlignedPair]) -> Base:
    """Tell what the indices of a whole file count from.

    Parameters
    ----------
    pairs : iterable of AlignedPair
        All pairs of the file, indices as in the file; with their tokens, where these are known.
    """
    evidence = _Evidence()
    for pair in pairs:
        evidence.add(pair)
        if evidence.zero:
            break
    return evidence.finding()


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
    pairs = iter(pairs)
    held: list[AlignedPair] = []
    if base is None:
        evidence = _Evidence()
        for pair in pairs:
            held.append(pair)
            evidence.add(pair)
            if evidence.zero:
                break
        found = evidence.finding()
        if found.base is None and ambiguous is None:
            raise InputError(f"{name}: counted from 0 or from 1? {found.reason}; name the base")
        base = ambiguous if found.base is None else found.base
        if on_base is not None:
            on_base(found)
    assert base is not None
    for pair in held:
        yield _shift(pair, base, name)
    held.clear()
    for pair in pairs:
        yield _shift(pair, base, name)


def _shift(pair: AlignedPair, base: int, name: str) -> AlignedPair:
    """Return the pair with ``base`` taken off every index."""
    if base == 0:
        return pair
    for link in pair.links:
        if min(link[:2]) < base:
            raise InputError(
                f"{name}:{pair.line}: index {min(link[:2])} in a file that counts from {base}; mend the line,"
                " or name the right base"
            )
    moved = [Link(link.source - base, link.target - base, *link[2:]) for link in pair.links]
    return pair._replace(links=moved)
