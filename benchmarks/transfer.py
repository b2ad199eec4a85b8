"""Weights carried to a language they have not seen: leave one language out, tiny text, beside eflomal.

For each corpus that is held out, its own gold text is all the text there is; statistics and vectors are made
of it, and its links are only measured with. The weights come from the gold of the other corpora, by the
recipe of the weights that are shipped (:mod:`benchmarks.recipe`). Beside it: weights learnt from silver
labels of the text itself, and eflomal on the same tokens.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser
from align.core.errors import InputError
from benchmarks import eflomal, recipe
from benchmarks.command import add_common_arguments, finish, tool_of
from benchmarks.figures import facts, markdown, scored, tell
from benchmarks.gold import Source, write_sampled
from benchmarks.hansards import merged
from benchmarks.recipe import Recipe
from benchmarks.runs import pipeline_of

NOTES = """\
Every corpus is nothing but the text of its gold pairs, tokenized as it came. "transferred": weights learnt
from the gold of other languages, by the recipe of the shipped ones. "self-trained": weights learnt from
silver labels. The best of eflomal is chosen on the very pairs it is measured on, which flatters it.
Differences are in points of AER, with paired 95 % bootstrap intervals. Annotators differ in what they link:
part of the differences is theirs.
"""


def foreign(one: Source, other: Source) -> bool:
    """Tell whether two corpora are of other languages, apart from one they may share."""
    return {one.source, one.target} != {other.source, other.target}


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.transfer", description=__doc__)
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER", help="where the gold lies")
    gold = "PREFIX:SOURCE-TARGET, as ba-swedish:en-sv for ba-swedish.en, .sv and .align"
    parser.add_argument("--held-out", required=True, nargs="+", metavar="GOLD", help=gold)
    parser.add_argument(
        "--train-on",
        nargs="+",
        metavar="GOLD",
        help="where weights come from, as for benchmarks.default_weights (default: those held out)",
    )
    add_common_arguments(parser, "transfer", with_eflomal=True)
    finish(run, parser)


def placed(sources: list[Source], data: Path) -> list[Source]:
    """Return sources whose files, where they have no folder of their own, lie in ``data``."""
    return [
        replace(each, prefix=data / each.prefix, bitext=None if each.bitext is None else data / each.bitext)
        for each in sources
    ]


def parse(text: str, data: Path) -> Source:
    """Return the corpus to be held out, whole, that is named on the command line.

    Raises
    ------
    InputError
        If it is not ``PREFIX:SOURCE-TARGET``.
    """
    found = placed(recipe.parse(text), data)[-1]
    if found.bitext is not None:
        raise InputError(f"{text}: held out with a bitext; give PREFIX:SOURCE-TARGET, its own text is all")
    return found


def run(args: argparse.Namespace) -> None:
    """Measure every corpus that is held out and write the results."""
    held_out = [parse(text, args.data) for text in args.held_out]
    texts = args.train_on or args.held_out
    teachers = placed([source for text in texts for source in recipe.parse(text)], args.data)
    for gold in held_out:
        if not any(foreign(gold, teacher) for teacher in teachers):
            raise InputError(f"--train-on: nothing of other languages than {gold.name}; name more")
    args.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(args, tool_of(args))
    tables, values = [], []
    for gold in held_out:
        others = [teacher for teacher in teachers if foreign(gold, teacher)]
        table, figures = bench.measure(gold, others)
        tables.append(table)
        values.append(figures)
    told = facts(args.seed, **bench.versions)
    parts = ["# Weights carried to another language\n", NOTES, *tables]
    tell(args.out, "transfer", told, parts, {"corpora": values})


class Bench:
    """All that the corpora of one run have in common."""

    def __init__(self, args: argparse.Namespace, tool: eflomal.Tool | None) -> None:
        self._args, self._tool = args, tool
        self._recipe = Recipe(args)
        self.versions = {"eflomal": tool.version} if tool else {}

    def measure(self, gold: Source, teachers: list[Source]) -> tuple[str, dict[str, Any]]:
        """Return the table of one corpus that is held out, and its figures."""
        folder = self._args.out / gold.name
        folder.mkdir(exist_ok=True)
        self._recipe.learn(teachers).save(folder / "weights")
        files = {}
        for name, options in (
            ("transferred", {"labels": "none", "weights": str(folder / "weights")}),
            ("self-trained", {"labels": "silver"}),
        ):
            settings = merged(gold.own_text(gold.name, 0), {"train": options})
            pipeline = pipeline_of(self._args, f"{gold.name}-{options['labels']}", settings)
            pipeline.run("evaluate")
            files[f"Liaison {name}"] = folder / f"{name}.txt"
            shutil.copyfile(pipeline.folder("evaluate") / "gold.links.txt", files[f"Liaison {name}"])
        preprocess, lexicon = pipeline.folder("preprocess"), pipeline.folder("lexicon")
        if write_sampled(lexicon, preprocess, folder / "sampler.txt"):
            files["Liaison's sampler alone"] = folder / "sampler.txt"
        peers: dict[str, Path] = {}
        if self._tool is not None:
            eflomal.align(self._tool, preprocess, folder / "eflomal")
            found_files = eflomal.symmetrised(preprocess, folder / "eflomal")
            peers = {f"eflomal {method}": path for method, path in found_files.items()}
        return report(gold, teachers, files, peers, folder)


def report(
    gold: Source, teachers: list[Source], files: dict[str, Path], peers: dict[str, Path], folder: Path
) -> tuple[str, dict[str, Any]]:
    """Return the table of files of links of one corpus, ours and those of peers, and all figures."""
    lines, rows = scored(gold.links, files, peers, 0, folder)
    names = list(dict.fromkeys(teacher.prefix.name for teacher in teachers))
    table = f"## {gold.prefix.name}, weights from {', '.join(names)}\n\n{markdown(lines)}"
    described = [teacher.described() for teacher in teachers]
    return table, {"gold": gold.described(), "weights_from": described, "rows": rows}


if __name__ == "__main__":
    main()
