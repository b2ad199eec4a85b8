"""What each group of features is worth on the Hansards: all groups but one, and one alone with the bias.

Two figures a row, both of models that gold pairs of this language pair trained: 5-fold cross-validation on
the first 100 gold pairs, which is what settings may be chosen by, and the AER on the other pairs, which is
the test and only tells. Statistics and vectors are made once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from align.cli.arguments import Parser
from align.core.errors import InputError
from align.evaluation.metrics import bootstrap, paired_bootstrap, score, statistics
from align.features import DEFAULT_GROUPS
from align.learning.cross_validation import folds
from align.links import read_file
from benchmarks import hansards
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import difference_of, facts, interval_of, markdown, percent, read_lines, tell
from benchmarks.gold import links_file
from benchmarks.hansards import TRAIN
from benchmarks.models import Training, links_with
from benchmarks.runs import Pipeline, pipeline_of

FOLDS = 5
ALL = "all groups"

NOTES = f"""\
AER in per cent. "cross-validation": {FOLDS} folds of the first {TRAIN} gold pairs, the links of all folds
together; settings may be chosen by it. "test": trained on all {TRAIN}, measured on the other gold pairs;
nothing may be chosen by it. Differences to "{ALL}" are in points, with paired 95 % bootstrap intervals.
"""


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.ablation", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument("--size", type=int, default=20000, metavar="N", help="pairs (default: %(default)s)")
    add_common_arguments(parser, "ablation", with_eflomal=False)
    finish(run, parser)


def rows() -> dict[str, list[str]]:
    """Return the options that differ from the defaults, ``section.key=value``, by the name of the row."""
    found: dict[str, list[str]] = {ALL: []}
    for group in DEFAULT_GROUPS:
        others = ",".join(other for other in DEFAULT_GROUPS if other != group)
        found[f"without {group}"] = [f"featurize.groups={others}"]
    for group in DEFAULT_GROUPS:
        found[f"only {group}"] = [f"featurize.groups={group}"]
    found |= {f"fertility {most}": [f"train.fertility={most}"] for most in (1, 2, 3)}
    found["no sampling (lexicon.chains = 0)"] = ["lexicon.chains=0"]
    return found


def run(args: argparse.Namespace) -> None:
    """Measure every row and write the results."""
    if args.size < 1:
        raise InputError(f"--size {args.size}: give 1 or more")
    links = links_file(args.gold)
    settings = hansards.merged(
        hansards.settings(args, str(args.size), args.size),
        {"gold": {"train": TRAIN}, "train": {"labels": "gold"}},
    )
    args.out.mkdir(parents=True, exist_ok=True)
    pipeline = pipeline_of(args, "ablation", settings)
    told = facts(args.seed)
    lines, values = [], []
    base: dict[str, np.ndarray] = {}
    for name, options in rows().items():
        pipeline.run("evaluate", options)
        counts = {
            "cross-validation": cross_validation(pipeline, links),
            "test": on_test_pairs(pipeline, links),
        }
        base = base or counts
        line: dict[str, str] = {"": name}
        value: dict[str, Any] = {"name": name, "options": options}
        for part, own in counts.items():
            line |= cells(part, own, None if own is base[part] else base[part])
            value[part] = {"score": score(own), "intervals": bootstrap(own)}
            if own is not base[part]:
                value[part]["against"] = paired_bootstrap(own, base[part])
        line["features"] = str(len(read_lines(pipeline.folder("train") / "weights.tsv")))
        lines.append(line)
        values.append(value)
    title = f"# What groups of features are worth: {args.size} pairs\n"
    tell(args.out, "ablation", told, [title, NOTES, markdown(lines)], {"size": args.size, "rows": values})


def cells(part: str, counts: np.ndarray, base: np.ndarray | None) -> dict[str, str]:
    """Return the columns of a part of the gold: AER, its interval, the difference to all groups."""
    return {
        f"{part} ({len(counts)} pairs)": percent(score(counts).aer),
        f"{part} 95 %": interval_of(bootstrap(counts).aer),
        f"{part}, against {ALL}": "" if base is None else difference_of(paired_bootstrap(counts, base)),
    }


def on_test_pairs(pipeline: Pipeline, links: Path) -> np.ndarray:
    """Return the counts, (N, 5), of the test pairs by the model that the training pairs gave."""
    found = read_file(pipeline.folder("evaluate") / "gold.links.txt", base=0)[TRAIN:]
    known = read_file(links, base=0)[TRAIN:]
    return statistics([pair.links for pair in found], [pair.links for pair in known])


def cross_validation(pipeline: Pipeline, links: Path) -> np.ndarray:
    """Return the counts, (N, 5), of the training pairs, each by a model that other folds trained."""
    training = Training.load(pipeline)
    known = read_file(links, base=0)
    parts = folds(training.texts, FOLDS, seed=0)
    counts = np.zeros((len(training.pairs), 5), dtype=np.int64)
    for fold in parts:
        others = np.setdiff1d(np.arange(len(training.pairs)), fold)
        pairs = training.pairs[fold]
        found = links_with(training.weights(others), pipeline, pairs)
        counts[fold] = statistics(found, [known[pair].links for pair in pairs])
    return counts


if __name__ == "__main__":
    main()
