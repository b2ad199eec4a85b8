"""Weights carried to a language they have not seen: leave one language out, tiny text, beside eflomal.

For each corpus that is held out, its own gold text is all the text there is; statistics and vectors are made
of it, and its links are only measured with. The weights come from the gold of the other corpora, each with
the statistics of its own small text. Beside it: weights learnt from silver labels of the text itself, and
eflomal on the same tokens.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from align.corpus import Corpus
from align.errors import InputError
from align.links import format_pharaoh
from align.posteriors import load_if_there
from align.weights import Weights
from benchmarks import eflomal
from benchmarks.command import add_common_arguments, finish, tool_of
from benchmarks.figures import (
    best,
    compare,
    difference_of,
    facts,
    facts_text,
    figures_of,
    markdown,
    publish,
    read_lines,
    score,
    write_lines,
)
from benchmarks.gold import links_file, sampled_links, text_file
from benchmarks.models import Training
from benchmarks.runs import Kernels, Pipeline

NOTES = """\
Every corpus is nothing but the text of its gold pairs, tokenized as it came. "transferred": weights learnt
from the gold links of the other corpora. "self-trained": weights learnt from silver labels. The best of
eflomal is chosen on the very pairs it is measured on, which flatters it. Differences are in points of AER,
with paired 95 % bootstrap intervals. Annotators differ in what they link: part of the differences is theirs.
"""


@dataclass(frozen=True)
class Gold:
    """Gold of a language pair: the prefix of its files, and the two languages."""

    prefix: Path
    source: str
    target: str

    @property
    def name(self) -> str:
        """Return what its folders and rows are called."""
        return f"{self.prefix.name}.{self.source}-{self.target}"

    def foreign_to(self, other: Gold) -> bool:
        """Tell whether the other is of other languages, apart from one they may share."""
        return {self.source, self.target} != {other.source, other.target}


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfer", description=__doc__)
    parser.add_argument("--data", required=True, type=Path, metavar="FOLDER", help="where the gold lies")
    gold = "PREFIX:SOURCE-TARGET, as ba-swedish:en-sv for ba-swedish.en, .sv and .align"
    parser.add_argument("--held-out", required=True, nargs="+", metavar="GOLD", help=gold)
    parser.add_argument(
        "--train-on", nargs="+", metavar="GOLD", help="where weights come from (default: those held out)"
    )
    add_common_arguments(parser, "transfer", with_eflomal=True)
    finish(run, parser)


def parse(text: str, data: Path) -> Gold:
    """Return the gold that is named on the command line.

    Raises
    ------
    InputError
        If it is not ``PREFIX:SOURCE-TARGET``.
    """
    prefix, _, pair = text.rpartition(":")
    source, dash, target = pair.partition("-")
    if not (prefix and source and dash and target):
        raise InputError(f"{text}: not PREFIX:SOURCE-TARGET; write for example ba-swedish:en-sv")
    return Gold(data / prefix, source, target)


def run(args: argparse.Namespace) -> None:
    """Measure every corpus that is held out and write the results."""
    held_out = [parse(text, args.data) for text in args.held_out]
    teachers = [parse(text, args.data) for text in args.train_on or args.held_out]
    for gold in held_out:
        if not any(gold.foreign_to(teacher) for teacher in teachers):
            raise InputError(f"--train-on: nothing of other languages than {gold.name}; name more")
    args.out.mkdir(parents=True, exist_ok=True)
    bench = Bench(args, tool_of(args))
    tables, values = [], []
    for gold in held_out:
        others = [teacher for teacher in teachers if teacher.foreign_to(gold)]
        table, figures = bench.measure(gold, others)
        tables.append(table)
        values.append(figures)
    told = facts(args.seed, **bench.versions)
    text = "\n".join(["# Weights carried to another language\n", facts_text(told) + "\n", NOTES, *tables])
    publish(args.out, "transfer", text, {**told, "corpora": values})
    print(text, end="")


class Bench:
    """All that the corpora of one run have in common."""

    def __init__(self, args: argparse.Namespace, tool: eflomal.Tool | None) -> None:
        self._args, self._tool = args, tool
        self._kernels = Kernels(args.out / "kernels")
        self._trainings: dict[str, Training] = {}
        self.versions = {"eflomal": tool.version} if tool else {}

    def measure(self, gold: Gold, teachers: list[Gold]) -> tuple[str, dict[str, Any]]:
        """Return the table of one corpus that is held out, and its figures."""
        folder = self._args.out / gold.name
        folder.mkdir(exist_ok=True)
        self._learn(teachers).save(folder / "weights")
        files = {}
        for name, options in (
            ("transferred", {"labels": "none", "weights": str(folder / "weights")}),
            ("self-trained", {"labels": "silver"}),
        ):
            pipeline = self._pipeline(gold, options, 0)
            pipeline.run("evaluate")
            files[f"Liaison {name}"] = folder / f"{name}.txt"
            shutil.copyfile(pipeline.folder("evaluate") / "gold.links.txt", files[f"Liaison {name}"])
        preprocess, lexicon = pipeline.folder("preprocess"), pipeline.folder("lexicon")
        posteriors = load_if_there(lexicon / "posteriors" / "gold")
        if posteriors is not None:
            files["Liaison's sampler alone"] = folder / "sampler.txt"
            found = sampled_links(posteriors, Corpus.load(preprocess / "gold"))
            write_lines(files["Liaison's sampler alone"], map(format_pharaoh, found))
        peers: dict[str, Path] = {}
        if self._tool is not None:
            eflomal.align(self._tool, preprocess, folder / "eflomal")
            found_files = eflomal.symmetrised(preprocess, folder / "eflomal")
            peers = {f"eflomal {method}": path for method, path in found_files.items()}
        return report(gold, teachers, files, peers, folder)

    def _learn(self, teachers: list[Gold]) -> Weights:
        """Return the weights that the gold of all teachers gives."""
        for teacher in teachers:
            if teacher.name not in self._trainings:
                pairs = len(read_lines(links_file(teacher.prefix)))
                pipeline = self._pipeline(teacher, {"labels": "gold"}, pairs)
                pipeline.run("train")
                self._trainings[teacher.name] = Training.load(
                    *(pipeline.folder(name) for name in ("featurize", "label", "train"))
                )
        training = Training.join([self._trainings[teacher.name] for teacher in teachers])
        provenance = {"gold": [teacher.name for teacher in teachers], "pairs": len(training.pairs)}
        return training.learnt(provenance)

    def _pipeline(self, gold: Gold, options: dict[str, Any], train: int) -> Pipeline:
        files = [str(text_file(gold.prefix, language)) for language in (gold.source, gold.target)]
        settings: dict[str, dict[str, Any]] = {
            "corpus": {
                "name": gold.name,
                "source": gold.source,
                "target": gold.target,
                "files": files,
                "tokenized": True,
            },
            "gold": {"files": files, "links": str(links_file(gold.prefix)), "base": 0, "train": train},
            "train": options,
        }
        return Pipeline(
            self._args.out / "configs" / f"{gold.name}-{options['labels']}.toml",
            settings,
            workdir=self._args.workdir,
            kernels=self._kernels,
            jobs=self._args.jobs,
            seed=self._args.seed,
        )


def report(
    gold: Gold, teachers: list[Gold], files: dict[str, Path], peers: dict[str, Path], folder: Path
) -> tuple[str, dict[str, Any]]:
    """Return the table of files of links of one corpus, ours and those of peers, and all figures."""
    known = links_file(gold.prefix)
    reports = {name: score(known, path, 0, folder) for name, path in {**files, **peers}.items()}
    winner = list(peers)[best([reports[name] for name in peers])] if peers else None
    lines, rows = [], []
    for name, figures in reports.items():
        line = {"": name, **figures_of(figures)}
        row: dict[str, Any] = {"name": name, **figures}
        if name == winner:
            line[""] += " (best of eflomal here)"
        elif winner is not None and name in files:
            found = compare(known, files[name], peers[winner], 0)
            line["AER - best of eflomal (95 %)"] = difference_of(found)
            row["against"] = {"name": winner, **vars(found)}
        lines.append(line)
        rows.append(row)
    names = [teacher.name for teacher in teachers]
    table = f"## {gold.name}, weights from {', '.join(names)}\n\n{markdown(lines)}"
    return table, {"gold": gold.name, "weights_from": names, "rows": rows}


if __name__ == "__main__":
    main()
