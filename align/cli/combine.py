"""Put the links of both directions together: intersection, union or one of the grow heuristics.

Both files are in source-target order; with --swap-reverse the reverse file is in target-source order. A
link of the result is sure if it is sure wherever it comes from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import zip_longest

from align.cli.terminal import only_one_stdin, open_input, open_output, say
from align.core.errors import InputError
from align.links import FORMATS, AlignedPair, Base, Link, format_pharaoh, read, swapped
from align.links.symmetrize import METHODS, symmetrize

# A reverse file that shares so many times as many links when swapped is said to look swapped.
_SWAPPED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--forward", required=True, metavar="FILE", help="links of the one direction")
    parser.add_argument("--reverse", required=True, metavar="FILE", help="links of the other")
    parser.add_argument(
        "--swap-reverse", action="store_true", help="the reverse file is in target-source order"
    )
    parser.add_argument("--method", required=True, choices=METHODS, help="how to put them together")
    parser.add_argument(
        "--format", choices=list(FORMATS), default="pharaoh", help="of both (default: pharaoh)"
    )
    parser.add_argument("--base", type=int, choices=(0, 1), help="what the indices of both count from")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")


def run(args: argparse.Namespace) -> int:
    """Combine pair by pair; the result is in the Pharaoh format."""
    only_one_stdin([args.forward, args.reverse])
    with (
        open_input(args.forward) as (forward_stream, forward_name),
        open_input(args.reverse) as (reverse_stream, reverse_name),
        open_output(args.output) as out,
    ):
        names = forward_name, reverse_name
        sides = [
            read(
                stream,
                format=args.format,
                name=name,
                base=args.base,
                on_note=say,
                on_base=partial(_say_base, name),
            )
            for stream, name in zip((forward_stream, reverse_stream), names, strict=True)
        ]
        watch = _Watch(swapped=args.swap_reverse)
        every_pair = FORMATS[args.format].every_pair
        for forward, reverse in _together(*sides, names=names, every_pair=every_pair):
            if args.swap_reverse:
                reverse = swapped(reverse)
            watch.see(forward, reverse)
            out.write(format_pharaoh(_combined(forward, reverse, args.method)) + "\n")
    watch.tell()
    return 0


def _say_base(name: str, found: Base) -> None:
    """Say on stderr that a file counts from 1."""
    if found.base == 1:
        say(f"{name} counts from 1 ({found.reason}); --base 0 if not")


def _together(
    forward: Iterator[AlignedPair],
    reverse: Iterator[AlignedPair],
    *,
    names: tuple[str, str],
    every_pair: bool,
) -> Iterator[tuple[list[Link], list[Link]]]:
    """Yield the links of both files pair by pair.

    Raises
    ------
    InputError
        If their numbers of pairs differ and the format holds every pair.
    """
    counts = [0, 0]
    for pairs in zip_longest(forward, reverse):
        counts = [count + (pair is not None) for count, pair in zip(counts, pairs, strict=True)]
        if counts[0] == counts[1] or not every_pair:
            first, second = ([] if pair is None else pair.links for pair in pairs)
            yield first, second
    if counts[0] != counts[1] and every_pair:
        raise InputError(
            f"{names[0]} has {counts[0]} pairs but {names[1]} has {counts[1]}; give both for one text"
        )


def _combined(forward: Iterable[Link], reverse: Iterable[Link], method: str) -> list[Link]:
    """Return the combined links of one pair, without scores."""
    sure = [{link[:2]: link.sure for link in links} for links in (forward, reverse)]
    cells = symmetrize(sure[0], sure[1], method=method)
    return [Link(*cell, all(side.get(cell, True) for side in sure)) for cell in cells]


class _Watch:
    """Notices scores that are dropped, and a reverse file in the other order."""

    def __init__(self, *, swapped: bool) -> None:
        self._swapped = swapped
        self._scores = self._shared = self._other_way = 0

    def see(self, forward: list[Link], reverse: list[Link]) -> None:
        """Take in one pair."""
        self._scores += sum(link.score is not None for link in (*forward, *reverse))
        cells = {link[:2] for link in forward}
        self._shared += len(cells & {link[:2] for link in reverse})
        self._other_way += len(cells & {(link.target, link.source) for link in reverse})

    def tell(self) -> None:
        """Say on stderr what was noticed."""
        if self._scores:
            say(f"scores are not combined: those of {self._scores} links are dropped")
        if self._other_way > _SWAPPED * self._shared:
            advice = "without --swap-reverse" if self._swapped else "with --swap-reverse"
            say(
                f"the directions share {self._other_way} links {advice}, only {self._shared} as it is: is the"
                " reverse file in the other order?"
            )
