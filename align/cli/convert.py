"""Turn links from one format into another.

Pharaoh links count from 0 unless the file tells otherwise or --from-base does; what the other format
cannot hold (possible links, scores, tokens) is counted on stderr. tmx needs the tokens of both sides, and
--languages to be read by other programs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from align.cli.arguments import add_link_columns, languages
from align.cli.terminal import only_one_stdin, open_input, open_output, say, side_by_side
from align.core.errors import InputError
from align.links import FORMATS, AlignedPair, Base, Format, find_format, inside, read, read_text, write
from align.links import rebased as counted_from_0

EXAMPLES = (
    "convert --from pharaoh --to wpt -i links.txt -o links.wa",
    "convert --from pharaoh --to tmx -i links.txt --source text.en --target text.fr -o links.tmx",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    writable = [name for name, format in FORMATS.items() if format.write]
    parser.add_argument(
        "--from", dest="old", required=True, choices=list(FORMATS), help="format of the input"
    )
    parser.add_argument("--to", dest="new", required=True, choices=writable, help="format of the output")
    parser.add_argument("-i", "--input", default="-", metavar="FILE", help="default: -, the standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, the standard output")
    parser.add_argument("--source", metavar="FILE", help="source tokens, one sentence a line, spaces between")
    parser.add_argument("--target", metavar="FILE", help="target tokens")
    parser.add_argument(
        "--languages",
        type=languages,
        metavar="SOURCE-TARGET",
        help="for tmx, as en-fr; pt-BR,en where a code has a hyphen itself",
    )
    add_link_columns(parser)
    parser.add_argument(
        "--from-base", type=int, choices=(0, 1), help="what the indices of the input count from"
    )


def run(args: argparse.Namespace) -> int:
    """Convert pair by pair."""
    only_one_stdin([args.input, args.source, args.target])
    if (args.source is None) != (args.target is None):
        raise InputError("--source and --target go together; give both or neither")
    old, new = find_format(args.old), find_format(args.new, writable=True)
    unknown_base = args.from_base is None and old.base is None
    with ExitStack() as stack:
        stream, name = stack.enter_context(open_input(args.input))
        base = 0 if unknown_base else args.from_base
        options: dict[str, Any] = {"base": base, "columns": args.columns, "on_note": say}
        pairs: Iterable[AlignedPair] = read(stream, format=args.old, name=name, **options)
        if args.source is not None:
            texts = [stack.enter_context(open_input(path)) for path in (args.source, args.target)]
            pairs = _with_text(pairs, [read_text(*text) for text in texts], name, args, old)
        if unknown_base:
            pairs = counted_from_0(pairs, name=name, on_base=lambda found: _say_base(name, found))
        losses = _Losses(new)
        pairs = losses.watch(inside(pairs, name=name, reverse="swap the two texts"))
        lines = write(pairs, format=args.new, languages=args.languages)
        out = stack.enter_context(open_output(args.output))
        out.writelines(f"{line}\n" for line in lines)
    losses.tell()
    if new.languages and args.languages is None:
        say(
            f"{new.name} names languages: x-source and x-target stand for them; give --languages en-fr for "
            "others to read it, links --format tmx too"
        )
    return 0


def _say_base(name: str, found: Base) -> None:
    """Say on stderr what the input counts from, where that is not the rule."""
    if found.base == 1:
        say(f"{name} counts from 1 ({found.reason}); --from-base 0 if not")
    elif found.base is None:
        say(f"{name} is taken to count from 0 ({found.reason}); --from-base 1 if not")


def _with_text(
    pairs: Iterable[AlignedPair],
    texts: list[Iterator[list[str]]],
    name: str,
    args: argparse.Namespace,
    format: Format,
) -> Iterator[AlignedPair]:
    """Yield the pairs with the tokens of two files; all three must have the same number of lines.

    A format that does not hold every pair may have fewer: those that are missing have no links.
    """
    rest = iter(pairs)
    files: list[tuple[str, str, Iterable[Any]]] = [
        (args.source, "lines", texts[0]),
        (args.target, "lines", texts[1]),
    ]
    if format.every_pair:
        files.insert(0, (name, "pairs", rest))
    for *found, source, target in side_by_side(files):
        pair = found[0] if found else next(rest, AlignedPair([]))
        for own, given in ((pair.source, source), (pair.target, target)):
            if own is not None and len(own) != len(given):
                raise InputError(
                    f"{name}:{pair.line}: {len(own)} tokens, but {len(given)} in the text given; give the"
                    " text that was aligned"
                )
        yield pair._replace(source=source, target=target)
    if next(rest, None) is not None:
        raise InputError(f"{name}: more pairs than lines of text; give the text that was aligned")


class _Losses:
    """Counts what passes by and cannot be held by a format."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._counts: Counter[str] = Counter()

    def watch(self, pairs: Iterable[AlignedPair]) -> Iterator[AlignedPair]:
        """Yield the pairs."""
        counts = self._counts
        for pair in pairs:
            counts["at the end"] = 0 if pair.links else counts["at the end"] + 1
            counts["possible"] += sum(not link.sure for link in pair.links)
            counts["scores"] += sum(link.score is not None for link in pair.links)
            counts["texts"] += pair.source is not None
            yield pair

    def tell(self) -> None:
        """Say on stderr what was lost, each kind once."""
        format, counts = self._format, self._counts
        for kind, held, lost in (
            ("possible", format.possible, "holds sure links only: {} possible links are written as such"),
            ("scores", format.scores, "does not hold scores: those of {} links are dropped"),
            ("texts", format.text, "does not hold tokens: the text of {} pairs is not written"),
            ("at the end", format.every_pair, "holds no pairs without links: the last {} leave no trace"),
        ):
            if counts[kind] and not held:
                say(f"{format.name} {lost.format(counts[kind])}")
