"""Summary, comparison and lexicon of the desk with many pairs: seconds and memory of each.

The pairs are put into the desk's store with the links of two runs, files of any aligner, and gold; then each
analysis is made in a process of its own, which does nothing else, by itself and beside the memory of one that
only opens the store. All pairs are judged.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.explorer.comparison import compare
from align.explorer.lexicon import lexicon
from align.explorer.store import NewLinks, NewPair, Store
from align.explorer.summary import summary
from align.links import read_file
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import facts, markdown, read_lines, tell
from benchmarks.process import environment, measure

# Pairs that are put into the store at once.
_BLOCK = 500

ANALYSES: dict[str, Callable[..., Any]] = {
    "nothing": lambda connection, word: {},
    "summary": lambda connection, word: summary(connection, 0),
    "comparison": lambda connection, word: compare(connection, 0, 1, languages=("en", "fr")),
    "lexicon": lambda connection, word: lexicon(connection, "source", word, 0),
}


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.analyses", description=__doc__)
    parser.add_argument(
        "--tokens", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"), help="tokenized text"
    )
    parser.add_argument(
        "--links", nargs=2, type=Path, required=True, metavar=("A", "B"), help="links of it, Pharaoh, from 0"
    )
    parser.add_argument(
        "--gold", type=Path, metavar="FILE", help="gold links of it (default: the links of B)"
    )
    parser.add_argument("--word", default="the", help="looked up in the lexicon (default: %(default)s)")
    add_output_arguments(parser, "analyses")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Fill a store, and measure one analysis after the other."""
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "desk.sqlite"
    pairs = fill(path, args.tokens, args.links, args.gold or args.links[1])
    rows = []
    for name in ANALYSES:
        code = "import sys; from benchmarks import analyses; analyses.one(*sys.argv[1:])"
        command = [sys.executable, "-c", code, path, name, args.word]
        usage, printed = measure(command, args.out / "analyses.log", environment(threads=1))
        rows.append({"analysis": name, **json.loads(printed), "peak_bytes": usage.peak_memory})
    path.unlink()
    values = {"pairs": pairs, "analyses": rows}
    tell(args.out, "table", facts(seed=args.seed), ["# The analyses of the desk\n", report(values)], values)


def fill(path: Path, tokens: list[Path], links: list[Path], gold: Path) -> int:
    """Make a store of pairs with two runs and gold; return how many pairs.

    Raises
    ------
    InputError
        If the files have different numbers of lines.
    """
    path.unlink(missing_ok=True)
    sides = [[line.split(" ") if line else [] for line in read_lines(side)] for side in tokens]
    runs = [[pair.links for pair in read_file(file, base=0)] for file in links]
    known = [pair.links for pair in read_file(gold, base=0)]
    counts = {*map(len, sides), *map(len, runs), len(known)}
    if len(counts) > 1:
        raise InputError(f"{tokens[0]} and the others: {sorted(counts)} lines; give files of the same pairs")
    with closing(Store(path)) as store:
        ids: list[int] = []
        for start in range(0, len(known), _BLOCK):
            ids += store.add_pairs(
                [
                    NewPair(
                        *("gold", number + 1, sides[0][number], sides[1][number]),
                        [[link.source, link.target, int(link.sure)] for link in known[number]],
                    )
                    for number in range(start, min(start + _BLOCK, len(known)))
                ]
            )
        for file, of_run in zip(links, runs, strict=True):
            run = store.add_run(file.name, "links")
            for start in range(0, len(known), _BLOCK):
                store.put_links(
                    run,
                    [
                        NewLinks(
                            *(ids[number], sides[0][number], sides[1][number]),
                            [[link.source, link.target, link.score] for link in of_run[number]],
                        )
                        for number in range(start, min(start + _BLOCK, len(known)))
                    ],
                )
    return len(known)


def one(path: str, name: str, word: str) -> None:
    """Make one analysis of a store and print what it took."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size = -4096")  # as the desk's readers have it
        began, used = time.monotonic(), time.process_time()
        found = ANALYSES[name](connection, word)
        took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - used}
        print(json.dumps({**took, "differ": found.get("differ"), "judged": found.get("judged")}))


def report(values: dict[str, Any]) -> str:
    """Return the table."""
    least = min(row["peak_bytes"] for row in values["analyses"])
    return markdown(
        [
            {
                "analysis": row["analysis"],
                "pairs": str(values["pairs"]),
                "that differ": "" if row["differ"] is None else str(row["differ"]),
                "seconds": f"{row['seconds']:.2f}",
                "CPU seconds": f"{row['cpu_seconds']:.2f}",
                "memory, MiB": f"{row['peak_bytes'] / 2**20:.0f}",
                "beside nothing": f"{(row['peak_bytes'] - least) / 2**20:+.0f}",
            }
            for row in values["analyses"]
        ]
    )


if __name__ == "__main__":
    main()
