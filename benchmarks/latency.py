"""What one waits for with a model: the start, one pair after the other, and many pairs in one call.

``start``: a process that imports, loads the model and aligns one pair. ``command``: ``links`` on one pair.
``align``: a pair a call, after the first ones. ``align_many``: all pairs in one call, with all processors.
Each is measured in a process of its own. Kernels are compiled before; CPU seconds are user and system time.
The links of all pairs have a SHA-256, by which two versions can be compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from align import Aligner
from align.cli.arguments import Parser
from align.core.errors import InputError
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import facts, markdown, read_lines, tell
from benchmarks.process import environment, measure

PAIR = "The committee has approved the report .", "La commission a approuvé le rapport ."

# Pairs that are aligned before time is taken, so that what is made at the first use is there.
_BEFORE = 200

_START = "import sys; from align import Aligner; print(Aligner.load(sys.argv[1]).align(*sys.argv[2:]))"
_LATER = "import sys; from benchmarks import latency; latency.later(*sys.argv[1:])"


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument(
        "--bitext",
        nargs=2,
        type=Path,
        required=True,
        metavar=("SOURCE", "TARGET"),
        help="one sentence a line",
    )
    parser.add_argument("--model", default="en-fr", help="folder or name (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=5000, metavar="N", help="aligned (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="of each (%(default)s)")
    add_output_arguments(parser, "latency")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure one after the other, so many rounds.

    Raises
    ------
    InputError
        If the files have not so many lines.
    """
    if min(len(read_lines(side)) for side in args.bitext) < args.pairs:
        raise InputError(
            f"{args.bitext[0]}, {args.bitext[1]}: fewer than {args.pairs} lines; give fewer --pairs"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    log, surroundings = args.out / "latency.log", environment(threads=1)
    one = args.out / "one.tsv"
    one.write_text("\t".join(PAIR) + "\n", encoding="utf-8", newline="\n")
    links = [sys.executable, "-m", "align", "links", "-m", args.model, "-i", one]
    commands = {
        "start": [sys.executable, "-c", _START, args.model, *PAIR],
        "command": links,
    }
    measure(commands["start"], log, surroundings)  # compiles
    rows: list[dict[str, Any]] = []
    for _ in range(args.repeats):
        for name, command in commands.items():
            usage, _ = measure(command, log, surroundings)
            rows.append(
                {"what": name, "seconds": usage.seconds, "cpu_seconds": usage.cpu_seconds, "pairs": 1}
            )
        for way in ("align", "align_many"):
            command = [sys.executable, "-c", _LATER, way, args.model, *args.bitext, args.pairs]
            rows.append(json.loads(measure(command, log, surroundings)[1]))
    digests = sorted({row["sha256"] for row in rows if "sha256" in row})
    values = {"runs": rows, "sha256": digests}
    told = [f"Links of {args.pairs} pairs, SHA-256: {', '.join(digests)}\n"]
    tell(args.out, "table", facts(seed=args.seed), ["# Waiting\n", report(rows), *told], values)


def later(way: str, model: str, source: str, target: str, count: str) -> None:
    """Align pairs of two files in one of the two ways, and print what it took."""
    pairs = list(zip(*(read_lines(Path(side))[: int(count)] for side in (source, target)), strict=True))
    aligner = Aligner.load(model)
    for pair in pairs[:_BEFORE]:
        aligner.align(*pair)
    began, used = time.monotonic(), time.process_time()
    found = [aligner.align(*pair) for pair in pairs] if way == "align" else aligner.align_many(pairs)
    took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - used}
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    print(json.dumps({"what": way, **took, "pairs": len(pairs), "sha256": digest}))


def report(rows: list[dict[str, Any]]) -> str:
    """Return the table: the smallest and the median of all rounds."""
    table = []
    for name in dict.fromkeys(row["what"] for row in rows):
        found = [row for row in rows if row["what"] == name]
        cpu, wall = (sorted(row[key] / row["pairs"] for row in found) for key in ("cpu_seconds", "seconds"))
        table.append(
            {
                "what": name,
                "CPU ms a pair: least": f"{1000 * cpu[0]:.3f}",
                "median": f"{1000 * median(cpu):.3f}",
                "wall ms a pair: least": f"{1000 * wall[0]:.3f}",
                "median, wall": f"{1000 * median(wall):.3f}",
                "pairs a second": f"{1 / wall[0]:,.0f}",
            }
        )
    return markdown(table)


if __name__ == "__main__":
    main()
