"""Put the links of both directions together: intersection, union or one of the grow heuristics.

Both files are in source-target order; with --swap-reverse the reverse file is in target-source order. A
link of the result is sure if it is sure wherever it comes from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from itertools import zip_longest
from typing import Any

from align.cli.arguments import add_link_columns
from align.cli.terminal import only_one_stdin, open_input, open_output, say, side_by_side
from align.links import FORMATS, AlignedPair, Base, Link, format_pharaoh, inside, read, swapped
from align.links.symmetrize import METHODS, symmetrize

# A reverse file that shares so many times as many links when swapped is said to look swapped.
_SWAPPED = 2


EXAMPLES = (
    "combine --forward forward.txt --reverse reverse.txt --method grow-diag-final-and",
    "combine --forward forward.txt --reverse reverse.txt --swap-reverse --method intersect -o links.txt",
)


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
    add_link_columns(parser, of="a row of both")
    parser.add_argument("--base", type=int, choices=(0, 1), help="what the indices of both count from")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")


def run(args: argparse.Namespace) -> int:
    """Combine pair by pair; the result is in the Pharaoh format."""
    only_one_stdin([args.forward, args.reverse])
    options: dict[str, Any] = {
        "format": args.format,
        "base": args.base,
        "columns": args.columns,
        "on_note": say,
    }
    with ExitStack() as stack:
        inputs = [stack.enter_context(open_input(path)) for path in (args.forward, args.reverse)]
        out = stack.enter_context(open_output(args.output))
        names = [name for _, name in inputs]
        sides = [
            inside(read(stream, name=name, on_base=partial(_say_base, name), **options), name=name)
            for stream, name in inputs
        ]
        watch = _Watch(swapped=args.swap_reverse)
        if FORMATS[args.format].every_pair:
            files = [(name, "pairs", side) for name, side in zip(names, sides, strict=True)]
            rows = side_by_side(files, advice="give both for one text")
        else:
            rows = zip_longest(*sides, fillvalue=AlignedPair([]))
        for forward, reverse in ((first.links, second.links) for first, second in rows):
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


def _combined(forward: Iterable[Link], reverse: Iterable[Link], method: str) -> list[Link]:
    """Return the combined links of one pair, without scores."""
    sure = [{link[:2]: link.sure for link in links} for links in (forward, reverse)]
    cells = symmetrize(forward=sure[0], reverse=sure[1], method=method)
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
