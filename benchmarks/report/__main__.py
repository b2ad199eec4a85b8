"""The experiments of 2019 and those that followed from them, on one page.

A hundred pairs as they were learnt from then, and as today; 100, 1,000 and 10,000 pairs with every solver;
lam; images with several labels; triplets; sequences; oracles that miss the maximum. Without data it is the
embedded sample, with fewer pairs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import InputError
from benchmarks import hansards
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import facts, tell
from benchmarks.report import data, sections
from benchmarks.report.conclusions import conclusions
from benchmarks.report.measuring import ROUNDS, Limits
from benchmarks.report.page import Section, html
from benchmarks.solvers import solvers_of

SIZES, SAMPLE_SIZES = "100,1000,10000", "100,300,600"
TITLE = "Which solver: the experiments made anew"
KEYS = ("first", "sizes", "lam", "scene", "triplets", "sequences", "approximate")


def main() -> None:
    """Measure and write the page."""
    parser = Parser(prog="python -m benchmarks.report", description=__doc__)
    data.add_arguments(parser)
    parser.add_argument(
        "--sizes", metavar="LIST", help=f"labelled pairs (default: {SIZES}; of the sample {SAMPLE_SIZES})"
    )
    parser.add_argument("--solvers", metavar="LIST", help="as of benchmarks.solvers; default: all")
    parser.add_argument(
        "--passes", type=int, default=1000, metavar="N", help="of a run, at most (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="of a run, at most (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        metavar="N",
        help="of which the median is (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        metavar="LIST",
        help=f"sections, of {', '.join(KEYS)}, pairs-N; default: all there are data for",
    )
    add_common_arguments(parser, "report", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure all sections, write the page, and print its tables."""
    sizes = hansards.sizes_of(args.sizes or (SAMPLE_SIZES if args.hansards is None else SIZES))
    names = tuple(solvers_of(args.solvers))
    if args.passes < 1 or args.rounds < 1 or not args.seconds > 0:
        raise InputError("--passes, --seconds, --rounds: give numbers above 0")
    chosen, begun = _chosen(args.only, sizes), time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = facts(args.seed)
    told["command"] = shlex.join(["python", "-m", "benchmarks.report", *sys.argv[1:]])
    limits = Limits(args.passes, args.seconds, args.rounds, args.seed)
    text = data.load_text(args, max(sizes))
    setup = sections.Setup(text, tuple(sizes), names, limits, _program())
    made: list[Section] = []
    for key in chosen:
        print(f"{key} ...", file=sys.stderr, flush=True)
        made += _of(key, args, setup)
        spent = os.times()  # that of the pipeline is among that of children
        told["rounds"] = (
            f"CPU seconds: the median of {args.rounds} runs, one where the time limit ended it; kernels are "
            f"compiled before. The page took {time.monotonic() - begun:.0f} s, {sum(spent[:4]):.0f} CPU s"
        )
        said = conclusions(made)
        # written after each section: a run that is killed leaves what it has
        page = html(TITLE, told, said, made)
        (args.out / "report.html").write_text(page, encoding="utf-8", newline="\n")
    parts = [f"# {TITLE}\n", *(f"{words}\n" for words in said), *(section.markdown() for section in made)]
    tell(args.out, "report", told, parts, {"sections": {section.key: section.values for section in made}})
    print(f"{args.out / 'report.html'}: the page")


def _chosen(only: str | None, sizes: list[int]) -> list[str]:
    chosen = list(KEYS) if only is None else [key.strip() for key in only.split(",")]
    for key in chosen:
        number = key.removeprefix("pairs-")
        if key not in KEYS and not (key != number and number.isascii() and number.isdigit() and int(number)):
            raise InputError(f"--only {key!r}: no section; give some of {', '.join(KEYS)}, pairs-N")
    each = {"sizes": [f"pairs-{pairs}" for pairs in sizes]}
    return [part for key in chosen for part in each.get(key, [key])]


def _program() -> str:
    """Return this command line without the choice of sections."""
    words = sys.argv[1:]
    kept = [
        word
        for place, word in enumerate(words)
        if not word.startswith("--only") and not (place and words[place - 1] == "--only")
    ]
    return shlex.join(["python", "-m", "benchmarks.report", *kept])


def _of(key: str, args: argparse.Namespace, setup: sections.Setup) -> list[Section]:
    if key.startswith("pairs-"):
        return [sections.size(setup, int(key.removeprefix("pairs-")))]
    if key == "first":
        return [sections.first_experiment(setup)]
    if key == "lam":
        return [sections.strengths(setup)]
    if key == "scene":
        return [] if args.scene is None else [sections.scene(setup, args.scene)]
    if key == "triplets":
        return [sections.triplets(setup, data.triplets_of(args, args.seed))]
    return [sections.sequences(setup) if key == "sequences" else sections.approximate(setup)]


if __name__ == "__main__":
    main()
