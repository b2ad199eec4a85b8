"""Shifts put into real text, and how many of them are found; false alarms in the text as it is.

Each round takes so many lines in a row from a random place of the text, finds nothing in them if all is well,
and makes one fault in them, of random kind, place and length: lines that are missing on one side, and on the
other side later on (or not up to the end of the text), two blocks of one side that have changed places, or
lines of one side in random order.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.core.ragged import rows_at
from align.data.anchors import LineSigns, SideTokens, hash_words, line_signs
from align.data.shifted_lines import Stretch, scan
from align.text.batch import BatchProcessor
from align.text.processor import TextProcessor
from benchmarks.command import add_output_arguments, finish
from benchmarks.figures import Table, facts, markdown, read_lines, tell, write_csv
from pipeline.config.places import check_file
from pipeline.stages.preprocess.stage import SHARD

# The kinds of faults; lines of a fault, from and to, as powers of these are drawn evenly.
KINDS = ("back later", "to the end", "swapped", "strangers")
SHORTEST, LONGEST = 100, 5000

# Lines that are missing at a place.
MISSING = (1, 2, 3)

# The bounds of the rows of a table.
_BOUNDS = (SHORTEST, 200, 500, 1000, LONGEST + 1)


class Side:
    """One side of a text, tokenized once; the lines of a sample may be in any order."""

    def __init__(self, path: Path, language: str) -> None:
        processor = BatchProcessor(TextProcessor(language))
        batch = processor.process(read_lines(path))
        self._hashes = hash_words(processor.words)
        self._words, self._offsets = batch.words, batch.offsets
        self._letters = np.array([len(text) for text in batch.text])

    def __len__(self) -> int:
        return len(self._letters)

    def tokens(self, rows: np.ndarray) -> SideTokens:
        """Return the tokens of lines."""
        offsets, places = rows_at(self._offsets, rows)
        numbers = np.repeat(np.arange(len(rows)), np.diff(offsets))
        return SideTokens(self._hashes, self._words[places], numbers, self._letters[rows])


class Fault(NamedTuple):
    """A fault put into a sample."""

    kind: str
    source: np.ndarray  # the lines of the text that the sample has on either side
    target: np.ndarray
    stretches: list[Stretch]  # what is wrong then

    @property
    def lines(self) -> int:
        """How many lines do not stand beside their translations."""
        return self.stretches[-1].stop - self.stretches[0].first


@dataclass(frozen=True)
class Trial:
    """What was found of a fault."""

    kind: str
    lines: int
    found: bool  # of every stretch the larger part
    shift: bool  # that with the right shift
    away: int  # lines that the ends are away from the truth, the larger of both; -1 where nothing was found


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.shifts", description=__doc__)
    parser.add_argument("--corpus", nargs=2, type=Path, required=True, metavar=("SOURCE", "TARGET"))
    parser.add_argument(
        "--languages", nargs=2, default=["en", "fr"], metavar=("SOURCE", "TARGET"), help="default: en fr"
    )
    parser.add_argument(
        "--pairs", type=int, default=20000, metavar="N", help="of a sample (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=200, metavar="N", help="samples (default: %(default)s)")
    add_output_arguments(parser, "shifts")
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Run all rounds, write the table."""
    if args.rounds < 1 or args.pairs < 4 * SHORTEST:
        raise InputError(f"--rounds {args.rounds} --pairs {args.pairs}: give 1 and {4 * SHORTEST} or more")
    paths = [check_file("--corpus", path) for path in args.corpus]
    source, target = (Side(*each) for each in zip(paths, args.languages, strict=True))
    if len(source) != len(target) or len(source) < args.pairs:
        raise InputError(
            f"--corpus: {len(source)} and {len(target)} lines; give {args.pairs} or more in parallel"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    told = facts(args.seed)
    generator = np.random.default_rng(args.seed)
    trials: list[Trial] = []
    alarms: dict[int, list[Stretch]] = {}
    for _ in range(args.rounds):
        start = int(generator.integers(len(source) - args.pairs + 1))
        rows = np.arange(start, start + args.pairs)
        natural = search(source, target, rows, rows)
        if natural:
            alarms[start] = natural
        fault = make_fault(rows, generator)
        trials.append(judge(fault, search(source, target, fault.source, fault.target)))
    write_csv(args.out / "shifts.csv", [vars(trial) for trial in trials])
    clean = f"{len(alarms)} of {args.rounds} samples as they are have an alarm"
    places = [(start + each.first + 1, start + each.stop) for start in alarms for each in alarms[start]]
    told_places = ", ".join(f"lines {first} to {last}" for first, last in merged_places(places))
    parts = [
        f"# Faults in {args.pairs} lines that are found\n",
        markdown(table(trials)),
        f"{clean}{': ' if places else ''}{told_places}.\n",
    ]
    tell(args.out, "shifts", told, parts, {"trials": trials, "alarms": places})


def merged_places(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return places, first and last line, in order; those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(places):
        if merged and first <= merged[-1][1]:
            first, last = merged[-1][0], max(last, merged.pop()[1])
        merged.append((first, last))
    return merged


def search(source: Side, target: Side, rows: np.ndarray, others: np.ndarray) -> list[Stretch]:
    """Return the stretches that the pipeline finds in a sample."""

    def signs(start: int) -> LineSigns:
        mine, theirs = rows[start : start + SHARD], others[start : start + SHARD]
        return line_signs(source.tokens(mine), target.tokens(theirs), np.ones(len(mine), dtype=bool))

    return scan(map(signs, range(0, len(rows), SHARD)))


def make_fault(rows: np.ndarray, generator: np.random.Generator) -> Fault:
    """Return a sample of the text's lines ``rows`` with a fault in it."""
    kind = str(generator.choice(KINDS))
    most = min(LONGEST, len(rows) // 2)
    lines = int(np.exp(generator.uniform(np.log(SHORTEST), np.log(most))))
    first = int(generator.integers(0, len(rows) - lines))
    sides = [rows, rows]
    side = int(generator.integers(2))
    if kind in ("back later", "to the end"):
        # Missing in the target: from there on source line N goes with target line N - missing.
        missing = int(generator.choice(MISSING))
        first = len(rows) - lines if kind == "to the end" else first
        stop = first + lines
        sides[side] = np.delete(rows, np.arange(first, first + missing))
        sides[1 - side] = rows[: len(rows) - missing]
        if kind == "back later":
            sides[1 - side] = np.delete(rows, np.arange(stop, stop + missing).clip(max=len(rows) - 1))
        stop = min(stop, *map(len, sides))
        sides = [each[: min(map(len, sides))] for each in sides]
        return Fault(kind, sides[0], sides[1], [Stretch(first, stop, missing if side == 0 else -missing)])
    stretch = np.arange(first, first + lines)
    if kind == "strangers":
        sides[side] = rows.copy()
        sides[side][stretch] = generator.permutation(rows[stretch])
        return Fault(kind, sides[0], sides[1], [Stretch(first, first + lines, None)])
    # The two halves of the stretch change places.
    half = lines // 2
    sides[side] = rows.copy()
    sides[side][stretch] = np.concatenate([rows[stretch[half:]], rows[stretch[:half]]])
    before, after = (lines - half, -half) if side == 1 else (half, half - lines)
    middle = first + (half if side == 1 else lines - half)
    stretches = [Stretch(first, middle, before), Stretch(middle, first + lines, after)]
    return Fault(kind, sides[0], sides[1], stretches)


def judge(fault: Fault, found: Sequence[Stretch]) -> Trial:
    """Compare what was found with the truth."""

    def covered(true: Stretch, stretches: Sequence[Stretch]) -> bool:
        common = sum(max(0, min(true.stop, each.stop) - max(true.first, each.first)) for each in stretches)
        return 2 * common > true.stop - true.first

    right = [covered(true, [each for each in found if each.shift == true.shift]) for true in fault.stretches]
    away = -1
    first, stop = fault.stretches[0].first, fault.stretches[-1].stop
    touching = [each for each in found if each.first < stop and each.stop > first]
    if touching:
        away = max(abs(touching[0].first - first), abs(touching[-1].stop - stop))
    return Trial(
        fault.kind, fault.lines, all(covered(true, found) for true in fault.stretches), all(right), away
    )


def table(trials: Sequence[Trial]) -> Table:
    """Return a row for each kind, for each range of lengths, and for all."""
    groups = {kind: [trial for trial in trials if trial.kind == kind] for kind in KINDS}
    for least, beyond in pairwise(_BOUNDS):
        name = f"{least} to {beyond - 1} lines"
        groups[name] = [trial for trial in trials if least <= trial.lines < beyond]
    return [row(name, group) for name, group in {**groups, "all": list(trials)}.items() if group]


def row(name: str, trials: Sequence[Trial]) -> dict[str, str]:
    """Return a row of the table."""
    away = [trial.away for trial in trials if trial.found]
    return {
        "": name,
        "faults": str(len(trials)),
        "found": str(sum(trial.found for trial in trials)),
        "with the right shift": str(sum(trial.shift for trial in trials)),
        "ends away, lines: median": f"{np.median(away):.0f}" if away else "-",
        "90 %": f"{np.quantile(away, 0.9):.0f}" if away else "-",
    }


if __name__ == "__main__":
    main()
