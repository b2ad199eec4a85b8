"""Alignment error rate and cost on the English-French Hansards, beside eflomal on the same tokens.

The text is the first N pairs of a bitext and the text of the gold pairs; nothing else is known of the
languages but the contractions of the profile ``expand``. For each N it measures the configurations of
:data:`CONFIGURATIONS`, what the sampler finds without any weights, and eflomal, symmetrised in all ways.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from align.cli.arguments import Parser
from benchmarks import eflomal, hansards
from benchmarks.command import add_common_arguments, finish, tool_of
from benchmarks.figures import facts, facts_text, markdown, publish, scored, usage_of
from benchmarks.gold import links_file, write_sampled
from benchmarks.hansards import TRAIN, sizes_of
from benchmarks.process import Usage
from benchmarks.recipe import Recipe, parse
from benchmarks.runs import Pipeline, pipeline_of
from benchmarks.stages import WARM_UP, pairs_of


@dataclass(frozen=True)
class Configuration:
    """A way to use Liaison: its row's name, the options that differ, and the gold pairs that it has seen."""

    name: str
    options: dict[str, dict[str, Any]]
    seen: int


CONFIGURATIONS = (
    Configuration("gold-100", {"gold": {"train": TRAIN}, "train": {"labels": "gold"}}, TRAIN),
    Configuration("no-gold", {"gold": {"train": 0}, "train": {"labels": "none"}}, 0),
    Configuration(
        "self-trained", {"gold": {"train": 0}, "train": {"labels": "silver", "weights": "none"}}, 0
    ),
)
# With known weights of other languages, beside them: those that are shipped.
SHIPPED = Configuration("shipped-weights", {"gold": {"train": 0}, "train": {"labels": "none"}}, 0)


def configurations(known: Path | None) -> list[Configuration]:
    """Return what is measured; ``known`` weights take the place of the shipped ones where any are used."""
    if known is None:
        return list(CONFIGURATIONS)
    found = []
    for each in CONFIGURATIONS:
        train = {"weights": str(known), **each.options["train"]}
        found.append(replace(each, options={**each.options, "train": train}))
    return [*found, SHIPPED]


# Timed one after the other; what configurations have in common is made and timed once.
SHARED_STAGES = {"preprocess": "download,preprocess", "embed": "embed", "lexicon": "lexicon"}
OWN_STAGES = {"train": "label,featurize,train", "align": "align"}

NOTES = f"""\
CPU seconds are user and system time of all processes. Those of Liaison are the sum of its stages, each a
process of its own with its start of 1 to 2 seconds: preprocess, embed, lexicon, train (label, featurize,
train), align (all pairs). Kernels were compiled before, on {WARM_UP} pairs; a stage that compiled one all the
same was run again. Those of eflomal are both directions, each a process of one thread, its defaults; what
the preprocessing took that it shares is not counted. Peak memory is that of the largest process. Intervals
are bootstrap percentiles over sentence pairs; differences are paired. The best of eflomal is chosen on the
very pairs it is measured on, which flatters it.
"""


@dataclass
class Row:
    """One line of the table: a file of links of all gold pairs, and what finding the links took."""

    name: str
    links: Path
    seen: int = 0
    usage: Usage | None = None
    stages: dict[str, Usage] = field(default_factory=dict)


def main() -> None:
    """Measure and write the results."""
    parser = Parser(prog="python -m benchmarks.accuracy", description=__doc__)
    hansards.add_arguments(parser)
    parser.add_argument(
        "--sizes", default="2000,20000,200000", help="numbers of pairs (default: %(default)s)"
    )
    parser.add_argument(
        "--known-from",
        nargs="+",
        metavar="GOLD",
        help="learn the known weights from this gold instead of taking the shipped ones, which were learnt "
        "from some English-French gold too: PREFIX:SOURCE-TARGET, as for benchmarks.default_weights",
    )
    parser.add_argument(
        "--eflomal-most",
        type=int,
        metavar="N",
        help="eflomal aligns no text of more pairs than this (default: every text)",
    )
    add_common_arguments(parser, "accuracy", with_eflomal=True)
    finish(run, parser)


def run(args: argparse.Namespace) -> None:
    """Measure every size and write the results."""
    sizes = sizes_of(args.sizes)
    args.out.mkdir(parents=True, exist_ok=True)
    tool = tool_of(args)
    bench = Bench(args, tool, known_weights(args))
    bench.warm_up()
    told = facts(args.seed, **({"eflomal": tool.version} if tool else {}))
    texts, values = [], []
    for size in sizes:
        rows = bench.rows(size)
        part, figures = bench.report(size, rows)
        texts.append(part)
        values.append(figures)
        # After every size: the last may take an hour.
        publish(args.out, "accuracy", page(told, texts), {**told, "sizes": values})
    print(page(told, texts), end="")


def known_weights(args: argparse.Namespace) -> Path | None:
    """Learn the weights of ``--known-from``; return their folder, None without."""
    if args.known_from is None:
        return None
    folder: Path = args.out / "weights"
    Recipe(args).learn([source for text in args.known_from for source in parse(text)]).save(folder)
    return folder


def page(told: dict[str, Any], texts: list[str]) -> str:
    """Return the whole report."""
    return "\n".join(["# Alignment error rate and cost\n", facts_text(told) + "\n", NOTES, *texts])


class Bench:
    """All that the rows of one run have in common."""

    def __init__(self, args: argparse.Namespace, tool: eflomal.Tool | None, known: Path | None) -> None:
        self._args, self._tool = args, tool
        self._configurations = configurations(known)
        self._links = links_file(args.gold)
        self._out: Path = args.out

    def warm_up(self) -> None:
        """Compile the kernels on a small part of the text."""
        for configuration in self._configurations:
            self._pipeline("warm-up", WARM_UP, configuration).run("align,evaluate")

    def rows(self, size: int) -> list[Row]:
        """Measure all rows of one size."""
        folder = self._out / str(size)
        folder.mkdir(exist_ok=True)
        rows: list[Row] = []
        shared: dict[str, Usage] = {}
        for configuration in self._configurations:
            pipeline = self._pipeline(str(size), size, configuration)
            if not shared:
                pipeline.run("preprocess")
                pairs_of(pipeline, size)
                shared = {name: pipeline.timed(stages) for name, stages in SHARED_STAGES.items()}
            own = {name: pipeline.timed(stages) for name, stages in OWN_STAGES.items()}
            pipeline.run("evaluate")
            links = folder / f"{configuration.name}.txt"
            shutil.copyfile(pipeline.folder("evaluate") / "gold.links.txt", links)
            stages = {**shared, **own}
            usage = sum(stages.values(), Usage())
            rows.append(Row(f"Liaison {configuration.name}", links, configuration.seen, usage, stages))
        links = folder / "sampler.txt"
        if write_sampled(pipeline.folder("lexicon"), pipeline.folder("preprocess"), links):
            usage = shared["preprocess"] + shared["lexicon"]
            rows.append(Row("Liaison's sampler alone", links, 0, usage))
        most = self._args.eflomal_most
        if self._tool is not None and (most is None or size <= most):
            preprocess = pipeline.folder("preprocess")
            usage = eflomal.align(self._tool, preprocess, folder / "eflomal")
            files = eflomal.symmetrised(preprocess, folder / "eflomal")
            rows += [Row(f"eflomal {method}", links, 0, usage) for method, links in files.items()]
        return rows

    def report(self, size: int, rows: list[Row]) -> tuple[str, dict[str, Any]]:
        """Return the tables of one size and all their figures."""
        peers = [row for row in rows if row.name.startswith("eflomal")]
        tables, values = [], []
        for start in (TRAIN, 0):
            there = [row for row in rows if row.seen <= start]
            ours, others = (
                {row.name: row.links for row in there if (row in peers) == is_peer}
                for is_peer in (False, True)
            )
            lines, found = scored(self._links, ours, others, start, self._out / str(size))
            for row, line, value in zip(there, lines, found, strict=True):
                line.update(usage_of(row.usage) if row.usage else {})
                values.append({**value, "start": start, "usage": row.usage, "stages": row.stages})
            title = f"gold pairs from {start + 1} on" if start else "all gold pairs"
            tables.append(f"### {size} pairs, {title}\n\n{markdown(lines)}")
        tables.append(f"### {size} pairs, stages\n\n{markdown(stage_lines(rows))}")
        if peers:
            tables.append(f"### {size} pairs, cost\n\n{markdown(cost_lines(rows, peers[0]))}")
        return "\n".join(tables), {"size": size, "rows": values}

    def _pipeline(self, name: str, size: int, configuration: Configuration) -> Pipeline:
        settings = hansards.merged(hansards.settings(self._args, name, size), configuration.options)
        return pipeline_of(self._args, f"{name}-{configuration.name}", settings)


def cost_lines(rows: list[Row], peer: Row) -> list[dict[str, str]]:
    """Return CPU seconds of the stages that do what eflomal does, and their ratio to its own."""
    lines = []
    for row in rows:
        if row.stages and peer.usage is not None:
            own = sum((row.stages[name] for name in ("lexicon", "train", "align")), Usage())
            lines.append(
                {
                    "": row.name,
                    "CPU s of lexicon, train and align": f"{own.cpu_seconds:.1f}",
                    "CPU s of eflomal": f"{peer.usage.cpu_seconds:.1f}",
                    "ratio": f"{own.cpu_seconds / peer.usage.cpu_seconds:.2f}",
                }
            )
    return lines


def stage_lines(rows: list[Row]) -> list[dict[str, str]]:
    """Return the table of what each stage of Liaison took."""
    return [
        {"": row.name, "stage": name, **usage_of(usage)} for row in rows for name, usage in row.stages.items()
    ]


if __name__ == "__main__":
    main()
