"""What the commands have in common: their options, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from align.core.errors import LiaisonError
from benchmarks import eflomal
from benchmarks.process import ROOT


def add_common_arguments(parser: argparse.ArgumentParser, name: str, *, with_eflomal: bool) -> None:
    """Declare the options of every benchmark; results go to a folder of that name if not told otherwise."""
    add_output_arguments(parser, name)
    parser.add_argument(
        "--workdir",
        type=Path,
        metavar="FOLDER",
        help="of the pipeline: that of another run saves what is done",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="of the pipeline (default: 1)")
    if with_eflomal:
        choice = parser.add_mutually_exclusive_group(required=True)
        choice.add_argument(
            "--eflomal", type=Path, metavar="PYTHON", help="interpreter of the environment eflomal is in"
        )
        choice.add_argument("--no-eflomal", action="store_true", help="leave eflomal out")


def add_output_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Declare where results go, and the seed."""
    out = ROOT / "data" / "work" / "benchmarks" / name
    parser.add_argument(
        "--output", "--out", dest="out", type=Path, default=out, metavar="FOLDER", help="default: %(default)s"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the pipeline (default: 0)")


def tool_of(args: argparse.Namespace) -> eflomal.Tool | None:
    """Return eflomal, None where it is left out; the folder of results is there."""
    return None if args.eflomal is None else eflomal.find(args.eflomal, args.out / "eflomal.log")


def finish(run: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser) -> None:
    """Parse the command line, run, and tell a failure in one line; exit status as that of Liaison."""
    args = parser.parse_args()
    args.out = args.out.absolute()
    workdir = getattr(args, "workdir", None)
    args.workdir = args.out / "work" if workdir is None else workdir.absolute()
    try:
        run(args)
    except LiaisonError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
