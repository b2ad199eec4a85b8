"""Stage ``inspect``: one HTML page that shows the links of gold pairs and of a sample of the corpus.

Leaves ``report.html``, which needs no network: send it, keep it, open it anywhere. The same inputs give the
same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from align.core.arrays import load_array
from align.core.errors import WorkError
from align.core.files import text_file
from align.explorer.summary import gap_curve_of
from align.links import Link, check_bounds, parse_pharaoh
from align.model.aligner import Aligner
from align.report import ShownPair, as_json, reasons_of, render
from align.report.why import whys_of_block
from pipeline.config.options import at_least
from pipeline.stages.align.stage import SCORES, TABLE
from pipeline.stages.gold import read_gold
from pipeline.stages.inspect.facts import Aligned, facts, origins
from pipeline.stages.inspect.text import AlignedText
from pipeline.work.stage import StageContext

REPORT = "report.html"

# Larger pairs are shown without reasons: each takes seconds to explain.
_MOST_EDGES = 40_000

# The stage whose links are shown, by kind of pair.
_MADE_BY = {"gold": "evaluate", "corpus": "align"}


def run(
    context: StageContext,
    *,
    pairs: Annotated[int, at_least(0)] = 200,
    gold_pairs: Annotated[int, at_least(0)] = 2000,
    reasons: Annotated[int, at_least(0)] = 8,
) -> None:
    """Make the explorer: a list of sentence pairs, their links, and the reasons for them.

    Parameters
    ----------
    pairs : int
        Sentence pairs of the corpus to show, drawn at random, >= 0.
    gold_pairs : int
        Gold pairs to show, >= 0; of more, so many are drawn at random.
    reasons : int
        Contributions of each link to keep, the largest first, >= 0. With 0 no link is explained.

    Raises
    ------
    InputError
        If the gold links do not fit the gold text.
    WorkError
        If the result of an earlier stage is not whole.
    """
    generator = np.random.default_rng(context.seed)
    of_gold = _drawn(_gold_pairs(context), gold_pairs, generator)
    of_corpus, aligned = _corpus_pairs(context, pairs, generator)
    shown = [*of_gold, *of_corpus]
    if reasons:
        aligner = Aligner.load(context.inputs["train"])
        biases = {kind: context.option(f"{stage}.bias") for kind, stage in _MADE_BY.items()}
        texts = {kind: AlignedText.of(context.inputs, kind) for kind in {pair.kind for pair in shown}}
        shown = [
            _explained(aligner, pair, texts[pair.kind], biases[pair.kind])
            for pair in context.progress(shown, unit="pairs")
        ]
    languages = context.option("corpus.source"), context.option("corpus.target")
    page = render(
        {**as_json(shown, contributions=reasons), "gap_curve": gap_curve_of(context.inputs["train"])},
        title=context.option("corpus.name"),
        languages=languages,
        facts=facts(context.inputs, aligned, of_corpus),
        origins=origins(context.inputs),
    )
    with text_file(context.folder / REPORT) as out:
        out.write(page)
    context.note("gold_pairs", len(of_gold))
    context.note("corpus_pairs", len(of_corpus))
    context.say(f"{REPORT} shows {len(of_gold)} gold pairs and {len(of_corpus)} of the corpus")


def _explained(aligner: Aligner, pair: ShownPair, text: AlignedText, bias: float) -> ShownPair:
    """Return the pair with the reasons for its links, in words for its errors, where it is small enough."""
    if len(pair.source) * len(pair.target) > _MOST_EDGES:
        return pair
    # The best matchings that reasons in words are held against know of no bias.
    cells = [] if bias else _errors(pair)
    if not (pair.links or cells):
        return pair
    tokens, block = aligner.tokens(pair.source, pair.target), text.pair(pair.number)
    told: dict[str, Any] = {}
    if pair.links:
        told["reasons"] = reasons_of(aligner.explain_block(tokens, block, bias=bias))
    if cells:
        told["whys"] = dict(zip(cells, whys_of_block(aligner.model, tokens, block, cells), strict=True))
    return replace(pair, **told)


def _errors(pair: ShownPair) -> list[tuple[int, int]]:
    """Return the wrong and the missed links of a gold pair."""
    if pair.gold is None:
        return []
    made = {(link.source, link.target) for link in pair.links}
    known = {(link.source, link.target): link.sure for link in pair.gold}
    missed = (cell for cell, sure in known.items() if sure and cell not in made)
    return sorted({*(made - known.keys()), *missed})


def _drawn(pairs: Sequence[ShownPair], count: int, generator: np.random.Generator) -> list[ShownPair]:
    """Return ``count`` of the pairs, in their order; all if there are no more."""
    if len(pairs) <= count:
        return list(pairs)
    return [pairs[index] for index in np.sort(generator.choice(len(pairs), count, replace=False))]


def _gold_pairs(context: StageContext) -> list[ShownPair]:
    """Return all gold pairs with what annotators and the model link; none where there is no gold."""
    gold = read_gold(context)
    if gold is None:
        return []
    path = context.inputs["evaluate"] / "gold.links.txt"
    guessed = [parse_pharaoh(line, where=f"{path}:{number}") for number, line in enumerate(_lines(path), 1)]
    if len(guessed) != len(gold):
        raise WorkError(f"{path}: {len(guessed)} lines for {len(gold)} gold pairs; make evaluate again")
    train = context.option("gold.train")
    shown = []
    for index, links in enumerate(guessed):
        tokens = gold.source[index], gold.target[index]
        check_bounds(links, *tokens, where=f"{path}:{index + 1}")
        part = ("train" if index < train else "test") if train else ""
        shown.append(ShownPair("gold", index + 1, *tokens, links, gold=gold.links[index], part=part))
    return shown


def _corpus_pairs(
    context: StageContext, count: int, generator: np.random.Generator
) -> tuple[list[ShownPair], Aligned]:
    """Return a sample of the pairs that were aligned, and the counts of all."""
    folder = context.inputs["align"]
    lines = load_array(context.inputs["preprocess"] / "lines.npy")
    candidates = np.unique(lines)
    chosen = candidates
    if len(candidates) > count:
        chosen = np.sort(generator.choice(candidates, count, replace=False))
    links, total, linked = _links(folder / TABLE, chosen)
    (source, number), (target, _), (scores, _) = (
        _chosen_lines(folder / name, chosen) for name in ("source.txt", "target.txt", SCORES)
    )
    shown = []
    for line in chosen.tolist():
        tokens = _tokens(source[line]), _tokens(target[line])
        check_bounds(links[line], *tokens, where=f"{folder / TABLE}, line {line + 1}")
        score = float(scores[line]) if scores[line] else None
        shown.append(ShownPair("corpus", line + 1, *tokens, links[line], score=score))
    return shown, Aligned(lines=number, pairs=len(candidates), linked=linked, links=total)


def _links(path: Path, chosen: np.ndarray) -> tuple[dict[int, list[Link]], int, int]:
    """Return the links of the chosen lines (0-based), the number of all links and of lines with links."""
    # It takes a seventh of a second to load, and other stages do without.
    import pyarrow.parquet as pq

    found: dict[int, list[Link]] = {line: [] for line in chosen.tolist()}
    linked = last = 0
    # Opened here: pyarrow takes no path with bytes that are not UTF-8.
    with open(_whole(path), "rb") as file, pq.ParquetFile(file) as table:
        for group in range(table.num_row_groups):
            rows = table.read_row_group(group, columns=["line", "source", "target", "confidence"])
            lines = rows["line"].to_numpy()
            # Rows are sorted by line, and a line may go on in the next group.
            linked += int(np.count_nonzero(np.diff(lines, prepend=last)))
            last = int(lines[-1]) if len(lines) else last
            wanted = rows.filter(np.isin(lines - 1, chosen))
            for line, j, k, confidence in zip(*(column.to_pylist() for column in wanted), strict=True):
                found[line - 1].append(Link(j, k, True, confidence))
        return found, table.metadata.num_rows, linked


def _chosen_lines(path: Path, chosen: np.ndarray) -> tuple[dict[int, str], int]:
    """Return the chosen lines (0-based) of a file, by number, and the number of all."""
    wanted, found, number = set(chosen.tolist()), {}, 0
    for number, line in enumerate(_lines(path), 1):
        if number - 1 in wanted:
            found[number - 1] = line
    if len(found) < len(wanted):
        raise WorkError(f"{path}: ends after line {number}; make the stage align again")
    return found, number


def _tokens(line: str) -> list[str]:
    return line.split(" ") if line else []


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a result of an earlier stage, without their ends."""
    with open(_whole(path), encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n")


def _whole(path: Path) -> Path:
    """Return the path if there is such a file."""
    if not path.is_file():
        raise WorkError(f"{path}: missing; make the stage {path.parent.parent.name} again with --force")
    return path
