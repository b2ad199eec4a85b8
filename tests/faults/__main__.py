"""Disturb runs at random and see that each ends well: ``python -m tests.faults --rounds 500 --seed 1``.

Every round takes a finished run of 300 pairs, leaves out a stage and those after it, runs that stage under
one fault of ``tests.faults.kinds``, and then undisturbed. Right is a clear error, a stop, or a right finish,
and the bytes of the undisturbed run at the end.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from tests.faults.ground import Ground, Round
from tests.faults.judging import GOOD, Judged, judge
from tests.faults.kinds import KINDS, NotHere

HEAD = """# Faults

Made by `python -m tests.faults --rounds {count} --seed {seed} --table docs/faults.md`: {count} rounds. Each
runs one stage of a small corpus, or `links`, under one fault, then again without it. Right is *clear error*
(one line, status 1 or 2), *stopped* (by the signal sent, in time), or *right finish*, each with the bytes of
an undisturbed run after the second; *not here*: the stage has no such file to damage.

| fault | stage | outcome |
| --- | --- | --- |
"""


def main() -> int:
    """Run the rounds; status 1 if one went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--kinds", default="", metavar="NAMES", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--stages", default="", metavar="NAMES", help="default: all, and links")
    parser.add_argument("--only", type=int, metavar="N", help="this round alone")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--keep", action="store_true", help="leave the folders of what went wrong")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    outcomes: list[tuple[str, str, Judged]] = []
    try:
        # Ctrl-C ends it with the table of the rounds so far.
        with suppress(KeyboardInterrupt), closing(Ground(folder)) as ground:
            outcomes.extend(rounds(args, ground))
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.table:
        args.table.write_text(table(args, outcomes), encoding="utf-8")
    counts = Counter(found.outcome for _, _, found in outcomes)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return int(any(outcome not in GOOD for outcome in counts))


def rounds(args: argparse.Namespace, ground: Ground) -> Iterator[tuple[str, str, Judged]]:
    """Run the rounds, each with a seed of its own, and tell of each; yield kind, stage and outcome."""
    names = args.kinds.split(",") if args.kinds else list(KINDS)
    stages = args.stages.split(",") if args.stages else None
    every = [(kind, stage) for kind in names for stage in KINDS[kind].stages if not stages or stage in stages]
    random.Random(args.seed).shuffle(every)
    for number in range(args.rounds) if args.only is None else [args.only]:
        kind, stage = every[number % len(every)]
        round_ = Round(ground, stage, random.Random(f"{args.seed}-{number}"), ground.folder / f"{number}")
        try:
            found = one(kind, round_)
        except NotHere as error:
            found = Judged("not here", str(error))
        yield kind, stage, found
        print(f"{number:4} {kind:12} {stage:10} {found.outcome:14} {found.detail}", flush=True)
        if found.outcome in GOOD or not args.keep:
            shutil.rmtree(round_.folder, ignore_errors=True)


def one(kind: str, round_: Round) -> Judged:
    """Run one round."""
    round_.prepare()
    try:
        return judge(round_, KINDS[kind].disturb(round_))
    finally:
        round_.calm()
        round_.last()


def table(args: argparse.Namespace, outcomes: list[tuple[str, str, Judged]]) -> str:
    """Return the page."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for kind, stage, found in outcomes:
        rows.setdefault((kind, stage), Counter())[found.outcome] += 1
    lines = [
        f"| {kind} | {stage} | {', '.join(f'{count} {name}' for name, count in sorted(found.items()))} |\n"
        for (kind, stage), found in sorted(rows.items())
    ]
    return HEAD.format(seed=args.seed, count=len(outcomes)) + "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
