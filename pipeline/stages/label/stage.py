"""Stage ``label``: what the training pairs are told to look like.

Leaves ``kind.npy`` (uint8: 0 a part of the corpus, 1 a gold pair) and ``pairs.npy`` (int64: which one), in
ascending order, the labels of these pairs (:meth:`align.problems.labels.Labels.save`) and ``summary.json``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from align.core.arrays import load_array, save_array
from align.core.errors import InputError, WorkError
from align.data.corpus import Corpus
from align.learning import silver
from align.learning.gold import from_gold
from align.model.shipped import DEFAULT, known_weights
from align.problems.labels import Labels
from align.solvers import links_a_word
from align.statistics.lexicon import Lexicon, edge_values
from align.statistics.posteriors import load_if_there
from pipeline.config.configuration import Config
from pipeline.config.options import FINITE, at_least, between, one_of, options_of, takes_also
from pipeline.stages.gold import read_gold
from pipeline.stages.label.silver import Found, Method, label_sample
from pipeline.stages.lexicon.places import POSTERIORS
from pipeline.stages.preprocess.copies import load_copies
from pipeline.work.publish import write_json
from pipeline.work.stage import StageContext

CORPUS, GOLD = 0, 1
KINDS = ("silver", "gold", "both", "none")

_METHODS = {name: options_of(getattr(silver, name)) for name in ("sampled", "mutual", "cosine")}

# The options of one method alone, besides the threshold that all have.
_WEIGHTS = {
    name: replace(option, range=at_least(0), meaning=f"{option.meaning} Only with mutual.")
    for name, option in _METHODS["mutual"].items()
    if name != "threshold"
}

# Fewer usable pairs than this part of the sample mean that labels cannot be made like this.
LEAST_USABLE = 0.05

# True pairs score about 1.5 to 1.75 times what chance pairs do, a corpus half of which is shuffled 1.2.
# Fewer pairs than that tell nothing.
_PARALLEL, _PARALLEL_PAIRS = 1.25, 100


@takes_also(_WEIGHTS)
def run(
    context: StageContext,
    *,
    pairs: Annotated[int, at_least(1)] = 2000,
    method: Annotated[str, one_of(*_METHODS)] = "sampled",
    threshold: Annotated[float | None, FINITE] = None,
    least: Annotated[float, between(0, 1)] = 0.05,
    **weights: float,
) -> None:
    """Label the pairs to train on; train.labels says whether by hand-made gold, by silver labels, or both.

    Parameters
    ----------
    pairs : int
        Parts of the corpus that get silver labels, a seeded sample, >= 1.
    method : str
        How silver labels are made: ``sampled``, the links that the stage lexicon sampled, or ``mutual`` where
        it sampled none (lexicon.chains = 0); ``mutual``, words that are each other's best by vectors, lexical
        probabilities, neighbours and position; ``cosine``, the nearest target word of each source word by
        vectors alone.
    threshold : float, optional
        Silver links need a higher score. Default: 0.6 for sampled probabilities, else 0.3.
    least : float
        Where words may have several links (train.fertility), gold links that do not fit into a matching are
        learnt from only if one of their words would be left alone and their sampled probability is at least
        this, in [0, 1]; others cost nothing. 0: as many as fit are learnt from.

    Raises
    ------
    InputError
        If gold labels are asked for where there are none, or gold links do not fit their text.
    WorkError
        If too few pairs get a silver label.
    """
    wanted = wanted_labels(context.option("train.labels"), context.option("gold.train"))
    summary: dict[str, Any] = {"labels": wanted, "silver": None, "gold": None}
    made: list[tuple[int, np.ndarray, Labels]] = []
    if wanted in ("silver", "both"):
        if method == "sampled" and not (context.inputs["lexicon"] / POSTERIORS).is_dir():
            method = "mutual"
        if threshold is None:
            threshold = _METHODS[method]["threshold"].default
        options = {"threshold": threshold, **(weights if method == "mutual" else {})}
        chosen, labels, summary["silver"] = _silver(context, pairs, Method(method, options))
        summary["threshold"] = threshold
        made.append((CORPUS, chosen, labels))
    if wanted in ("gold", "both"):
        chosen, labels, summary["gold"] = _gold(context, least)
        made.append((GOLD, chosen, labels))
    if wanted == "none":
        context.say("no labels: the weights are given")
        sample = _sample(context, pairs)
        _look_parallel(context, label_sample(context, sample, None), len(sample))
    _write(context, made, summary)


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    wanted_labels(config.option("train.labels"), config.option("gold.train"))


def wanted_labels(labels: str | None, train: int) -> str:
    """Return the kind of labels to make, given ``train.labels`` and ``gold.train``.

    It is what is set, else gold where some may train, else none where default weights are shipped.

    Raises
    ------
    InputError
        If it is no kind, or gold is wanted where none may train.
    """
    wanted = labels
    if wanted is None:
        shipped = DEFAULT in [path.name for path in known_weights()]
        return "gold" if train else "none" if shipped else "silver"
    if wanted not in KINDS:
        raise InputError(f"train.labels: {wanted!r} is no kind of labels; give one of {', '.join(KINDS)}")
    if wanted in ("gold", "both") and not train:
        raise InputError(
            f"train.labels: {wanted!r} but no gold pair may train; set gold.train, or use silver labels"
        )
    return wanted


def _silver(context: StageContext, pairs: int, method: Method) -> tuple[np.ndarray, Labels, dict[str, Any]]:
    """Return a sample of the corpus, its labels, and figures of both."""
    sample = _sample(context, pairs)
    found = label_sample(context, sample, method)
    labels, threshold = found.labels, method.options["threshold"]
    linked = np.flatnonzero(labels.counts() > 0)
    if len(linked) < LEAST_USABLE * len(sample):
        raise WorkError(
            f"label: {len(linked)} of {len(sample)} pairs got a silver link with label.method {method.name} "
            f"above label.threshold {threshold:g}, at least {LEAST_USABLE:.0%} are needed; lower the "
            "threshold, or look whether the sides are translations and the vectors are of their languages"
        )
    figures = {
        "pairs": len(linked),
        "pairs_without_link": len(sample) - len(linked),
        "links": len(labels.source),
        "method": method.name,
        "threshold": threshold,
        "parallel": _look_parallel(context, found, len(sample)),
    }
    context.say(
        f"silver labels of {len(linked)} of {len(sample)} pairs, {len(labels.source)} links ({method.name}, "
        f"threshold {threshold:g})"
    )
    return sample[linked], labels.take(linked), figures


def _sample(context: StageContext, pairs: int) -> np.ndarray:
    """Return a seeded sample of the corpus's parts, ascending; of copies there is one."""
    folder = context.inputs["preprocess"]
    usable = np.flatnonzero(load_array(folder / "in_statistics.npy"))
    if len(copies := load_copies(folder)):
        usable = np.setdiff1d(usable, copies[:, 0], assume_unique=True)
    if not len(usable):
        raise InputError(f"{folder}: no pair can be labelled; look at the reasons in its rejects.tsv")
    sample = np.random.default_rng(context.seed).choice(usable, min(pairs, len(usable)), replace=False)
    sample.sort()
    return sample


def _look_parallel(context: StageContext, found: Found, pairs: int) -> dict[str, float | None]:
    """Compare the evidence for pairs with that for the same sentences paired at random; warn if alike."""
    true, chance = found.true.mean, found.chance.mean
    ratio = true / chance if chance else None
    if ratio is not None and ratio < _PARALLEL and pairs >= _PARALLEL_PAIRS:
        context.warn(
            "the two sides hardly look like translations: the evidence for a pair (mean best Dice "
            f"{true:.3f}) is {ratio:.2f} times that for pairs made at random ({chance:.3f}), where 1.5 or "
            "more is usual; look whether the files belong together, line by line"
        )
    return {"true": true, "chance": chance, "ratio": ratio}


def _gold(context: StageContext, least: float) -> tuple[np.ndarray, Labels, dict[str, Any]]:
    """Return the gold pairs that may train, their labels, and figures of both."""
    train = context.option("gold.train")
    gold = read_gold(context)
    if gold is None:
        raise InputError("gold.train: there is no gold; set gold.files and gold.links, or gold.train to 0")
    gold.check_training(train)
    block = Corpus.load(context.inputs["preprocess"] / "gold").block(0, train)
    similarity, _, _ = edge_values(Lexicon.load(context.inputs["lexicon"], mapped=True), block)
    fertility = links_a_word(context.option("train.solver"), context.option("train.fertility"))
    labels = from_gold(
        gold.links[:train],
        block,
        similarity=similarity,
        max_fertility=fertility,
        probability=_probability(context, block) if fertility > 1 else None,
        least=least,
    )
    linked = np.flatnonzero(np.diff(labels.offsets) > 0)
    sure = sum(link.sure for pair in gold.links[:train] for link in pair)
    figures = {
        "pairs": len(linked),
        "pairs_without_link": train - len(linked),
        "links": int(labels.sure.sum()),
        "free": int((~labels.sure).sum()),
        "sure_links_of_gold": sure,
    }
    context.say(
        f"gold labels of {len(linked)} of {train} pairs: {figures['links']} links "
        f"{'in matchings' if fertility == 1 else f'of at most {fertility} a word'}, from {sure} sure ones; "
        f"{figures['free']} free of cost"
    )
    return linked, labels.take(linked), figures


def _probability(context: StageContext, block: Corpus) -> np.ndarray | None:
    """Return the geometric mean of the sampled posteriors of each edge of the first gold pairs.

    1 in a pair that was not sampled; None without a sample.
    """
    stored = load_if_there(context.inputs["lexicon"] / POSTERIORS / "gold")
    if stored is None:
        return None
    stored = stored.block(0, len(block))
    shapes = block.shapes()
    forward, reverse = stored.dense(shapes)
    unknown = np.repeat(~stored.sampled, shapes.prod(axis=1, dtype=np.int64))
    return np.where(unknown, 1.0, np.sqrt(forward * reverse))


def _write(
    context: StageContext,
    made: list[tuple[int, np.ndarray, Labels]],
    summary: dict[str, Any],
) -> None:
    kinds = [np.full(len(places), kind, dtype=np.uint8) for kind, places, _ in made]
    kind = np.concatenate([np.zeros(0, dtype=np.uint8), *kinds])
    pairs = np.concatenate([np.zeros(0, dtype=np.int64), *(places for _, places, _ in made)])
    save_array(context.folder / "kind.npy", kind)
    save_array(context.folder / "pairs.npy", pairs)
    Labels.join([labels for _, _, labels in made]).save(context.folder)
    write_json(context.folder / "summary.json", summary)
    context.notes |= summary
