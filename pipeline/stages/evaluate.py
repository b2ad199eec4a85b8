"""Stage ``evaluate``: the alignment error rate on gold, with intervals, and agreement with silver labels.

Leaves ``evaluation.json``, the same as a table in ``evaluation.txt``, and ``gold.links.txt``: the model's
links of every gold pair, training part included, with their confidences. ``links.parquet`` has a row for each
of these: line (from 1), source and target token (from 0), the two words, confidence, and what the gold says
(sure, possible, none).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from align.core.arrays import load_array
from align.core.files import byte_file, text_file
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.evaluation import metrics
from align.features import PairBlock
from align.links import Link, format_pharaoh
from align.model.aligner import Aligner
from align.problems.labels import Labels
from align.statistics.posteriors import Posteriors, load_if_there
from pipeline.config.options import FINITE, at_least
from pipeline.stages.gold import Gold, read_gold
from pipeline.stages.lexicon.places import POSTERIORS
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

NO_COUNTS = np.zeros((0, len(metrics.COLUMNS)), dtype=np.int64)


def run(
    context: StageContext,
    *,
    samples: Annotated[int, at_least(1)] = 1000,
    macro: bool = False,
    bias: Annotated[float, FINITE] = 0.0,
) -> None:
    """Measure the alignment error rate on the test part of the gold.

    Parameters
    ----------
    samples : int
        Resampled corpora for the 95 % intervals, >= 1.
    macro : bool
        Show the means over sentence pairs too; the figures above are of all links together.
    bias : float
        Added to the score of every possible link, as in the stage align.

    Raises
    ------
    InputError
        If the gold links do not fit the gold text.
    """
    gold = read_gold(context)
    if gold is not None and gold.doubt:
        context.warn(f"{gold.path}: taken to count from 0, but {gold.doubt}; set gold.base to 0 or 1")
    for note in gold.notes if gold is not None else ():
        context.say(note)
    aligner = Aligner.load(context.inputs["train"])
    links = []
    if gold is not None:
        corpus = Corpus.load(context.inputs["preprocess"] / "gold")
        posteriors = load_if_there(context.inputs["lexicon"] / POSTERIORS / "gold")
        links = _links_of(aligner, corpus, bias, posteriors)
    _write_links(context, links, gold)
    train = context.option("gold.train")
    counts = metrics.statistics(links[train:], gold.links[train:]) if gold else NO_COUNTS
    score = metrics.score(counts)
    if gold is not None and not len(counts):
        context.warn(
            f"all {len(gold)} gold pairs may train (gold.train = {train}): none is left to measure on"
        )
    copies = _copies_of_training(context, train) if gold else np.zeros(0, dtype=bool)
    other_base = _under_other_base(context, gold, links, score, train)
    intervals = metrics.bootstrap(counts, samples=samples, seed=context.seed)
    means = metrics.macro(counts)
    silver = _against_silver(context, aligner, bias)
    signature = _signature(context, gold, score, train)
    report: dict[str, Any] = {
        **score.as_dict(),
        "intervals": vars(intervals),
        "macro": vars(means),
        "train_pairs": min(train, len(gold)) if gold else 0,
        "copies_of_training": int(copies.sum()),
        "other_base": other_base,
        "silver": silver,
        "signature": signature,
    }
    write_json(context.folder / "evaluation.json", report)
    table = [
        f"corpus  {metrics.figures_text(score)}",
        f"95 %    {metrics.figures_text(intervals)}",
        f"silver  {_silver_text(silver)}",
        f"        {metrics.signature_text(signature)}",
    ]
    if copies.any():
        kept = metrics.score(counts[~copies])
        table.append(f"copies  {metrics.figures_text(kept)} without {copies.sum()} copies of training pairs")
        context.warn(
            f"{copies.sum()} of {len(copies)} test pairs are copies of training pairs, which flatters the "
            "figures; those without them are beside"
        )
    if other_base is not None:
        table.append(f"base    AER {other_base['aer']:.4f} if the gold counted from {other_base['base']}")
    if macro:
        table.insert(1, f"macro   {metrics.figures_text(means)}")
    with text_file(context.folder / "evaluation.txt") as out:
        out.writelines(f"{line}\n" for line in table)
    for line in table:
        context.say(line)
    context.note("evaluation", score.as_dict())
    context.result(score.line())


def _write_links(context: StageContext, links: list[list[Link]], gold: Gold | None) -> None:
    """Write the links of all gold pairs, as text and, where there are any, as a table."""
    with text_file(context.folder / "gold.links.txt") as out:
        out.writelines(format_pharaoh(pair, digits=4) + "\n" for pair in links)
    if gold is None:
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = []
    for side in SIDES:
        with open(context.inputs["preprocess"] / f"gold.{side}.txt", encoding="utf-8", newline="\n") as file:
            texts.append([line.rstrip("\n").split(" ") for line in file])
    rows = []
    for line, (found, known, source, target) in enumerate(zip(links, gold.links, *texts, strict=True), 1):
        kinds = {(link.source, link.target): "sure" if link.sure else "possible" for link in known}
        rows += [
            (line, j, k, source[j], target[k], confidence, kinds.get((j, k), "none"))
            for j, k, _, confidence in found
        ]
    types = (pa.int64(), pa.int32(), pa.int32(), pa.string(), pa.string(), pa.float32(), pa.string())
    names = ("line", "source", "target", "source_word", "target_word", "confidence", "gold")
    columns = zip(*rows, strict=True) if rows else ([],) * len(names)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
    with byte_file(context.folder / "links.parquet") as out:
        pq.write_table(pa.table(arrays, names=list(names)), out, compression="zstd")


def _copies_of_training(context: StageContext, train: int) -> np.ndarray:
    """Return which test pairs have the words of a pair that was trained on, gold or silver, bool."""
    folder, text = context.inputs["label"], context.inputs["preprocess"]
    kind, pairs = load_array(folder / "kind.npy"), load_array(folder / "pairs.npy")
    gold = _words(Corpus.load(text / "gold"))
    trained = {gold[pair] for pair in pairs[kind == 1].tolist()}
    silver = pairs[kind == 0]
    if len(silver):
        trained |= set(_words(Corpus.load_chosen(text / "corpus", silver)))
    return np.array([pair in trained for pair in gold[train:]], dtype=bool)


def _words(corpus: Corpus) -> list[tuple[bytes, bytes]]:
    """Return the word ids of both sides of each pair."""
    sides = [
        [side.ids[start:stop].tobytes() for start, stop in pairwise(side.offsets.tolist())]
        for side in (corpus.source, corpus.target)
    ]
    return list(zip(*sides, strict=True))


def _under_other_base(
    context: StageContext, gold: Gold | None, links: list[list[Link]], score: metrics.Score, train: int
) -> dict[str, Any] | None:
    """Return the figures had the gold counted from the other base, if it can; warn if they are better."""
    if gold is None or gold.otherwise is None or score.aer is None:
        return None
    other = metrics.score(metrics.statistics(links[train:], gold.otherwise[train:]))
    if other.aer is None:
        return None
    base = 1 - gold.base
    if other.aer < score.aer:
        context.warn(
            f"{gold.path}: taken to count from {gold.base}, but AER {score.aer:.4f} would be {other.aer:.4f} "
            f"if it counted from {base}; look whether gold.base = {base} is right"
        )
    return {"base": base, **other.as_dict()}


def _links_of(
    aligner: Aligner, corpus: Corpus, bias: float, posteriors: Posteriors | None
) -> list[list[Link]]:
    """Return the model's links of each pair, between surface tokens, with confidences."""
    found = aligner.align_block(PairBlock(corpus, posteriors=posteriors), bias=bias)
    sure = np.ones(len(found.source), dtype=bool)
    return _by_pair(found.offsets, found.source, found.target, sure, found.confidence)


def _by_pair(offsets: np.ndarray, *columns: np.ndarray) -> list[list[Link]]:
    """Return the links of each pair, given the columns of all links."""
    links = [Link(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return [links[start:stop] for start, stop in pairwise(offsets.tolist())]


def _against_silver(context: StageContext, aligner: Aligner, bias: float) -> dict[str, Any] | None:
    """Score the model's links of the silver-labelled pairs against those labels; None where there are none.

    Training labels are no test: this says how far the model follows them.
    """
    folder = context.inputs["label"]
    kind = load_array(folder / "kind.npy")
    silver = np.flatnonzero(kind == 0)
    if not len(silver):
        return None
    pairs = load_array(folder / "pairs.npy")[silver]
    labels = Labels.load(folder).take(silver)
    corpus = Corpus.load_chosen(context.inputs["preprocess"] / "corpus", pairs)
    pair = np.repeat(np.arange(len(labels)), np.diff(labels.offsets))
    source, target = (
        text.parents[text.offsets[pair] + places]
        for text, places in ((corpus.source, labels.source), (corpus.target, labels.target))
    )
    stored = load_if_there(context.inputs["lexicon"] / POSTERIORS / "corpus")
    links = _links_of(aligner, corpus, bias, None if stored is None else stored.take(pairs))
    known = _by_pair(labels.offsets, source, target, labels.sure)
    return metrics.score(metrics.statistics(links, known)).as_dict()


def _signature(context: StageContext, gold: Gold | None, score: metrics.Score, train: int) -> dict[str, Any]:
    links = gold.links[train:] if gold else []
    return metrics.signature(
        score,
        links,
        part=f"from pair {train + 1}" if train else "all",
        figures="micro",
        text=context.inputs["preprocess"].name,
        model=context.inputs["train"].name,
    )


def _silver_text(silver: dict[str, Any] | None) -> str:
    if silver is None:
        return "n/a (no silver labels)"
    shown = [
        f"{name} {silver[key]:.4f}"
        for name, key in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
        if silver[key] is not None
    ]
    return (
        f"{' '.join(shown) or 'n/a'} on {silver['pairs']} labelled pairs (the labels it may have learnt from)"
    )
