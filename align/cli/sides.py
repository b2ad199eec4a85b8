"""Reading whole files of links with what is known of their text: the input of ``score``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from align.cli.terminal import open_input, say, side_by_side
from align.core.errors import InputError
from align.data.columns import Columns
from align.links import (
    AlignedPair,
    Base,
    Link,
    check_pair,
    detect_base,
    find_format,
    read,
    read_text,
    rebased,
    swapped,
)

Tokens = list[tuple[list[str], list[str]]]


class Side(NamedTuple):
    """The gold or the hypothesis."""

    name: str  # of the file
    pairs: list[AlignedPair]  # source first; counted from 0 where the base is known, else as the file counts
    base: int | None  # what the file counts from, as the user or the format says; None where neither does
    every_pair: bool  # whether the file tells how many pairs it has


def read_tokens(source: str | None, target: str | None) -> Tokens | None:
    """Return the tokens of both sides of each pair, None where no files are given.

    Raises
    ------
    InputError
        If only one file is given, or their numbers of lines differ.
    """
    if source is None and target is None:
        return None
    if source is None or target is None:
        raise InputError("--source and --target go together; give both or neither")
    with open_input(source) as first, open_input(target) as second:
        files = [(name, "lines", read_text(stream, name)) for stream, name in (first, second)]
        return list(side_by_side(files, advice="give both sides of a text"))


def read_side(
    path: str,
    *,
    format: str,
    base: int | None,
    columns: Columns | None,
    tokens: Tokens | None,
    allow_missing: bool,
    reverse: bool = False,
) -> Side:
    """Read a file of links.

    Parameters
    ----------
    path : str
        The file, ``-`` for the standard input.
    format : str
        Of its links.
    base : {0, 1}, optional
        What its indices count from, as the user says.
    columns : Columns, optional
        Which fields of its rows hold the links, as :func:`align.links.read` takes them.
    tokens : list of (list of str, list of str), optional
        The tokens of each pair, where the user gives them; they go before those in the file.
    allow_missing : bool
        Whether the file may have fewer pairs than ``tokens``.
    reverse : bool
        Whether it is in target-source order.

    Raises
    ------
    InputError
        If the file is not of the format, or its number of pairs is not that of ``tokens``.
    """
    kind = find_format(format)
    with open_input(path) as (stream, name):
        # A Pharaoh file of unknown base is taken as it is for now.
        first = 0 if base is None and kind.base is None else base
        pairs = list(read(stream, format=format, name=name, base=first, columns=columns, on_note=say))
    if reverse:
        pairs = [
            AlignedPair(
                swapped(pair.links), pair.target, pair.source, pair.line, replace(pair.written, swapped=True)
            )
            for pair in pairs
        ]
    if tokens is not None:
        missing = len(tokens) - len(pairs)
        if missing < 0 or (missing and kind.every_pair and not allow_missing):
            raise InputError(f"{name}: {len(pairs)} pairs but {len(tokens)} lines of text; give its own text")
        if not kind.every_pair:
            pairs += [AlignedPair([])] * missing
        pairs = [
            pair._replace(source=text[0], target=text[1]) for pair, text in zip(pairs, tokens, strict=False)
        ]
    return Side(name, pairs, kind.base if base is None else base, kind.every_pair)


def with_text_of(side: Side, other: Side) -> Side:
    """Return the side with the tokens of the other in the pairs that have none of their own."""
    pairs = [
        pair if pair.source is not None else pair._replace(source=known.source, target=known.target)
        for pair, known in zip(side.pairs, other.pairs, strict=False)
    ]
    return side._replace(pairs=pairs + side.pairs[len(pairs) :])


def settle(side: Side, base: int, *, hint: str = "") -> Side:
    """Return the side counted from 0, given what it counts from; check that links lie inside their pairs.

    ``hint`` is the advice where the links fit in the other direction only.
    """
    pairs = list(rebased(side.pairs, base if side.base is None else 0, name=side.name))
    for pair in pairs:
        if pair.source is not None and pair.target is not None:
            check_pair(pair, name=side.name, reverse=hint)
    return side._replace(pairs=pairs, base=base)


def gold_base(gold: Side, hypothesis: Side) -> int:
    """Return what the gold counts from, 0 or 1, and say so on stderr where its links told it.

    Raises
    ------
    InputError
        If they do not tell, or the hypothesis speaks against it.
    """
    if gold.base is not None:
        return gold.base
    found = detect_base(gold.pairs)
    other = hypothesis.base if hypothesis.base is not None else detect_base(hypothesis.pairs).base
    if found.base is None and not any(pair.links for pair in hypothesis.pairs):
        found = Base(0, "of no account: the hypothesis has no links")
    if found.base == 1 and hypothesis.base is None and other == 0:
        # A file of many pairs whose first tokens are never linked looks as if it counted from 1.
        as_0, as_1 = _agreement(gold, [pair.links for pair in hypothesis.pairs])
        if as_0 > as_1:
            found = Base(None, f"{found.reason}, but it agrees better with the hypothesis from 0")
    if found.base is None:
        raise InputError(
            f"{gold.name}: counts from 0 or from 1? {found.reason}; give --gold-base 0 or --gold-base 1"
        )
    say(f"gold {gold.name} counts from {found.base} ({found.reason})")
    return int(found.base or 0)


def hypothesis_base(hypothesis: Side, gold: Sequence[Sequence[Link]]) -> int:
    """Return what the hypothesis counts from, 0 or 1, and say so where its links told it.

    Links of aligners count from 0. A file too small to tell is taken so too, unless it would agree better
    with the gold if it counted from 1.

    Raises
    ------
    InputError
        If it would, or if it looks as if it counted from 1 and would agree better if it did not.
    """
    if hypothesis.base is not None:
        return hypothesis.base
    found = detect_base(hypothesis.pairs)
    if found.base != 0:
        as_0, as_1 = _agreement(hypothesis, gold)
        taken, other = (as_1, as_0) if found.base == 1 else (as_0, as_1)
        if other > taken:
            raise InputError(
                f"{hypothesis.name}: counts from 0 or from 1? {found.reason}, but it agrees better with the"
                f" gold from {0 if found.base == 1 else 1}; give --hyp-base 0 or --hyp-base 1"
            )
    if found.base is None:
        found = Base(0, f"taken so: {found.reason}")
    say(f"hypothesis {hypothesis.name} counts from {found.base} ({found.reason})")
    return int(found.base or 0)


def shifted(links: Sequence[Sequence[Link]], by: int) -> list[list[Link]]:
    """Return the links with ``by`` added to every index."""
    return [[Link(link.source + by, link.target + by) for link in pair] for pair in links]


def _agreement(side: Side, other: Sequence[Sequence[Link]]) -> tuple[int, int]:
    """Return how many links are among the other's where the side counts from 0, and where from 1."""
    links = [pair.links for pair in side.pairs]
    return matches(links, other), matches(shifted(links, -1), other)


def cells(gold: Side, hypothesis: Side) -> list[int]:
    """Return source words times target words of each pair, by whichever side has its words.

    Raises
    ------
    InputError
        If neither has those of a pair.
    """
    found = []
    for number, pairs in enumerate(zip_longest(gold.pairs, hypothesis.pairs), start=1):
        known = [pair for pair in pairs if pair is not None and pair.source is not None]
        if not known:
            raise InputError(
                f"{gold.name}: pair {number} has no words, and agreement is counted over them; give --source"
                " and --target, or JSON lines that hold them"
            )
        found.append(len(known[0].source or ()) * len(known[0].target or ()))
    return found


def matches(hypothesis: Sequence[Sequence[Link]], gold: Sequence[Sequence[Link]]) -> int:
    """Return the number of links that are in the gold, sure or possible."""
    return sum(
        len({link[:2] for link in guessed} & {link[:2] for link in known})
        for guessed, known in zip(hypothesis, gold, strict=False)
    )


def evened(gold: Side, hypothesis: Side, *, allow_missing: bool) -> tuple[list[list[Link]], list[list[Link]]]:
    """Return the links of both, pair by pair, the same number of pairs.

    Raises
    ------
    InputError
        If the numbers of pairs differ, and missing ones are not allowed.
    """
    counts = len(gold.pairs), len(hypothesis.pairs)
    sides = gold, hypothesis
    pairs = max(counts)
    for side, count in zip(sides, counts, strict=True):
        if count == pairs or not side.every_pair:
            continue
        if not allow_missing:
            raise InputError(
                f"{gold.name} has {counts[0]} pairs but {hypothesis.name} has {counts[1]}; give both for the"
                " same text, or --allow-missing to count the missing as empty"
            )
        say(f"{side.name}: {pairs - count} missing pair(s) counted as empty")
    empty = AlignedPair([])
    rows = zip_longest(gold.pairs, hypothesis.pairs, fillvalue=empty)
    both = [(first.links, second.links) for first, second in rows]
    return [links for links, _ in both], [links for _, links in both]
