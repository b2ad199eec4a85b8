"""Stage ``inspect``: one HTML page that shows the links of gold pairs and of a sample of the corpus.

Leaves ``report.html``, which needs no network: send it, keep it, open it anywhere. The same inputs give the
same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from align.aligner import Aligner
from align.errors import InputError, WorkError
from align.links import AlignedPair, check_bounds, find_format, parse_pharaoh, read_file
from align.report import ShownPair, as_json, reasons_of, render
from pipeline.download import load as load_sources
from pipeline.inspect_facts import Aligned, facts, origins
from pipeline.stage import StageContext

REPORT = "report.html"

# Larger pairs are shown without reasons: each takes seconds to explain.
_MOST_EDGES = 40_000


def run(context: StageContext, *, pairs: int = 200, gold_pairs: int = 2000, reasons: int = 8) -> None:
    """Make the explorer: a list of sentence pairs, their links, and the reasons for them.

    Parameters
    ----------
    context : StageContext
        Gives the folder to fill and the results to show.
    pairs : int
        Sentence pairs of the corpus to show, drawn at random, >= 0.
    gold_pairs : int
        Gold pairs to show, >= 0; of more, so many are drawn at random.
    reasons : int
        Contributions of each link to keep, the largest first, >= 0. With 0 no link is explained.

    Raises
    ------
    InputError
        If an option is out of range, or the gold links do not fit the gold text.
    WorkError
        If the result of an earlier stage is not whole.
    """
    for name, value in (("pairs", pairs), ("gold_pairs", gold_pairs), ("reasons", reasons)):
        if value < 0:
            raise InputError(f"inspect.{name}: {value} is less than 0; give a number from 0 on")
    generator = np.random.default_rng(context.seed)
    of_gold = _drawn(_gold_pairs(context), gold_pairs, generator)
    of_corpus, aligned = _corpus_pairs(context, pairs, generator)
    shown = [*of_gold, *of_corpus]
    if reasons:
        aligner = Aligner.load(context.inputs["train"])
        shown = [_explained(aligner, pair) for pair in context.progress(shown, unit="pairs")]
    languages = context.option("corpus.source"), context.option("corpus.target")
    page = render(
        as_json(shown, contributions=reasons),
        title=context.option("corpus.name"),
        languages=languages,
        facts=facts(context.inputs, aligned, of_corpus),
        origins=origins(context.inputs),
    )
    with open(context.folder / REPORT, "w", encoding="utf-8", newline="\n") as out:
        out.write(page)
    context.note("gold_pairs", len(of_gold))
    context.note("corpus_pairs", len(of_corpus))
    context.say(f"{REPORT} shows {len(of_gold)} gold pairs and {len(of_corpus)} of the corpus")


def _explained(aligner: Any, pair: ShownPair) -> ShownPair:
    """Return the pair with the reasons for its links, where it is small enough."""
    if not pair.links or len(pair.source) * len(pair.target) > _MOST_EDGES:
        return pair
    return replace(pair, reasons=reasons_of(aligner.explain(list(pair.source), list(pair.target))))


def _drawn(pairs: Sequence[ShownPair], count: int, generator: np.random.Generator) -> list[ShownPair]:
    """Return ``count`` of the pairs, in their order; all if there are no more."""
    if len(pairs) <= count:
        return list(pairs)
    return [pairs[index] for index in np.sort(generator.choice(len(pairs), count, replace=False))]


def _gold_pairs(context: StageContext) -> list[ShownPair]:
    """Return all gold pairs with what annotators and the model link; none where there is no gold."""
    gold = load_sources(context.inputs["download"])["gold"]
    if gold is None:
        return []
    preprocess = context.inputs["preprocess"]
    source, target = (
        [_tokens(line) for line in _lines(preprocess / f"gold.{side}.txt")] for side in ("source", "target")
    )
    known = _gold_links(
        gold["links"],
        format=context.option("gold.format"),
        base=context.option("gold.base"),
        count=len(source),
    )
    path = context.inputs["evaluate"] / "gold.links.txt"
    guessed = list(_links(path, enumerate(_lines(path))))
    if not len(source) == len(target) == len(guessed):
        raise WorkError(
            f"{path}: {len(guessed)} lines for {len(source)} gold pairs; make the stage evaluate again"
        )
    train = context.option("gold.train")
    shown = []
    for index, (pair, links) in enumerate(zip(known, guessed, strict=True)):
        tokens = source[index], target[index]
        check_bounds(pair.links, *tokens, where=f"{gold['links']}:{pair.line or index + 1}")
        check_bounds(links.links, *tokens, where=f"{path}:{index + 1}")
        part = ("train" if index < train else "test") if train else ""
        shown.append(ShownPair("gold", index + 1, *tokens, links.links, gold=pair.links, part=part))
    return shown


def _gold_links(path: str, *, format: str, base: int | None, count: int) -> list[AlignedPair]:
    """Read the gold links, one entry for each of ``count`` gold pairs.

    Raises
    ------
    InputError
        If the file has another number of pairs.
    """
    kind = find_format(format)
    pairs = read_file(path, format=format, base=base if kind.base is None else None)
    if not kind.every_pair:
        # Such a file does not tell of pairs without links at its end.
        pairs += [AlignedPair([])] * (count - len(pairs))
    if len(pairs) != count:
        raise InputError(
            f"{path}: links of {len(pairs)} pairs but {count} gold pairs; give both for one text"
        )
    return pairs


def _corpus_pairs(
    context: StageContext, count: int, generator: np.random.Generator
) -> tuple[list[ShownPair], Aligned]:
    """Return a sample of the pairs that were aligned, and the counts of all."""
    folder = context.inputs["align"]
    candidates = np.unique(np.load(context.inputs["preprocess"] / "lines.npy", allow_pickle=False))
    chosen = candidates
    if len(candidates) > count:
        chosen = np.sort(generator.choice(candidates, count, replace=False))
    wanted = set(chosen.tolist())
    links_file = folder / "links.txt"
    kept, aligned = _counted(links_file, wanted, pairs=len(candidates))
    source, target, scores = (
        _chosen_lines(folder / name, wanted) for name in ("source.txt", "target.txt", "scores.txt")
    )
    shown = []
    for (index, _), pair in zip(kept.items(), _links(links_file, kept.items()), strict=True):
        tokens = _tokens(source[index]), _tokens(target[index])
        check_bounds(pair.links, *tokens, where=f"{links_file}:{index + 1}")
        score = float(scores[index]) if scores[index] else None
        shown.append(ShownPair("corpus", index + 1, *tokens, pair.links, score=score))
    return shown, aligned


def _counted(path: Path, wanted: set[int], *, pairs: int) -> tuple[dict[int, str], Aligned]:
    """Return the wanted lines (0-based) of a file of links, and the counts of all its lines."""
    lines, kept, linked, links = 0, {}, 0, 0
    for lines, line in enumerate(_lines(path), 1):
        if line:
            linked += 1
            links += line.count(" ") + 1
        if lines - 1 in wanted:
            kept[lines - 1] = line
    if len(kept) < len(wanted):
        raise WorkError(f"{path}: ends after line {lines}; make the stage align again")
    return kept, Aligned(lines=lines, pairs=pairs, linked=linked, links=links)


def _links(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[AlignedPair]:
    """Yield the links of (0-based number, text) lines of a file in our own format."""
    for number, line in lines:
        yield AlignedPair(parse_pharaoh(line, where=f"{path}:{number + 1}"), line=number + 1)


def _chosen_lines(path: Path, wanted: set[int]) -> dict[int, str]:
    """Return the wanted lines (0-based) of a file, by number."""
    found = {number: line for number, line in enumerate(_lines(path)) if number in wanted}
    if len(found) < len(wanted):
        raise WorkError(f"{path}: has no line {max(wanted) + 1}; make the stage align again")
    return found


def _tokens(line: str) -> list[str]:
    return line.split(" ") if line else []


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a result of an earlier stage, without their ends."""
    try:
        with open(path, encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield line.rstrip("\n")
    except FileNotFoundError:
        raise WorkError(
            f"{path}: missing; make the stage {path.parent.parent.name} again with --force"
        ) from None
