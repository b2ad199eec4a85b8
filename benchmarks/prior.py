"""What a model known beforehand is worth to a small text, without gold and with a little.

The text is the first pairs of a bitext and the text of the gold pairs. The first 0, 20, 50 and 100 gold pairs
train; without any the shipped weights are used as they are. Each time the statistics are made of the text
alone, and once more from the model (``lexicon.prior``). The same gold pairs are measured every time.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser, natural
from align.plot import learning_curve
from benchmarks import hansards
from benchmarks.command import add_common_arguments, finish
from benchmarks.figures import drawing, facts, markdown, scored, tell
from benchmarks.gold import links_file
from benchmarks.hansards import TRAIN
from benchmarks.runs import pipeline_of

GOLD = (0, 20, 50, TRAIN)


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.prior", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument("--prior", default="en-fr", metavar="MODEL", help="folder or name (%(default)s)")
    parser.add_argument("--size", type=natural, default=300, metavar="N", help="pairs of text (%(default)s)")
    add_common_arguments(parser, "prior", with_eflomal=False)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure both curves and write them."""
    args.out.mkdir(parents=True, exist_ok=True)
    errors: dict[str, list[float]] = {}
    lines, values = [], []
    for name, prior in (("without", None), ("prior", args.prior)):
        links = {f"{name}, {gold} gold pairs": _links(args, name, prior, gold) for gold in GOLD}
        found, figures = scored(links_file(args.gold), links, {}, TRAIN, args.out)
        errors[name] = [100 * float(row["aer"]) for row in figures]
        lines += found
        values += figures
    plot(errors, args.prior, args.out / "prior.png")
    parts = [f"# A prior for {args.size} pairs\n", markdown(lines)]
    tell(args.out, "prior", facts(args.seed), parts, {"rows": values})


def _links(args: argparse.Namespace, name: str, prior: str | None, gold: int) -> Path:
    """Return the links of all gold pairs with so many of them in training."""
    options: dict[str, dict[str, Any]] = {
        "gold": {"train": gold},
        "train": {"labels": "gold" if gold else "none"},
    }
    if prior is not None:
        options["lexicon"] = {"prior": str(Path(prior).absolute()) if Path(prior).is_dir() else prior}
    settings = hansards.merged(hansards.settings(args, f"{args.size}-{name}", args.size), options)
    pipeline = pipeline_of(args, f"{args.size}-{name}-{gold}", settings)
    pipeline.run("evaluate")
    links = args.out / f"{name}-{gold}.txt"
    shutil.copyfile(pipeline.folder("evaluate") / "gold.links.txt", links)
    return links


def plot(errors: dict[str, list[float]], prior: str, path: Path) -> None:
    """Draw the error rates, in per cent, over the gold pairs of :data:`GOLD`."""
    figure = drawing(5.0, 3.4)
    axes = figure.subplots()
    for name, row in errors.items():
        learning_curve(axes, GOLD, row, label=f"prior {prior}" if name == "prior" else "the text alone")
    axes.set(ylim=(0, None), xlabel="gold pairs that train", ylabel="AER in % of the other pairs")
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main()
