"""Learn the weights that are shipped in models/default, or others in the same way from other gold.

    python -m benchmarks.default_weights --to models/default --gold SWEDISH:en-sv DEV:en-fr:HANSARDS:2000

Gold given as PREFIX:SOURCE-TARGET is its own and only text, whole and cut into parts; as
PREFIX:SOURCE-TARGET:BITEXT:SIZE it is learnt from with the first SIZE pairs of a bitext, contractions undone.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from align.cli.arguments import Parser
from benchmarks.command import add_common_arguments, finish
from benchmarks.recipe import Recipe, parse


def main() -> None:
    """Learn and write."""
    parser = Parser(
        prog="python -m benchmarks.default_weights",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--gold", required=True, nargs="+", metavar="GOLD", help="what is learnt from")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="where the weights go")
    add_common_arguments(parser, "default_weights", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Learn and write."""
    sources = [source for text in args.gold for source in parse(text)]
    weights = Recipe(args).learn(sources)
    weights.save(args.to)
    print(f"{args.to}: {len(weights.names)} weights from {weights.provenance['pairs']} pairs")


if __name__ == "__main__":
    main()
