"""Stage ``lexicon``: which words of the bitext translate each other.

Leaves the tables of :class:`align.statistics.lexicon.Lexicon` (the Dice coefficient and IBM Model 1 in both
directions) and what :mod:`pipeline.stages.lexicon.sampling` adds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.vocabulary import Vocabulary
from align.model.shipped import find_model
from align.statistics import cooccurrence
from align.statistics import prior as known
from align.statistics.cooccurrence import Cooccurrence
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.posteriors import Links
from align.statistics.sampler import Known
from align.text.words import WordTable
from pipeline.config.configuration import Config
from pipeline.stages.lexicon.ranges import RemoteTables
from pipeline.stages.lexicon.sample import Sample, read_state, write_state
from pipeline.stages.lexicon.sampling import LINKS, MOST_CHAINS, WORK, clear_work, sample_links
from pipeline.work import memory
from pipeline.work.stage import INCOMPLETE, StageContext
from pipeline.work.usage import show_size


def run(
    context: StageContext,
    *,
    pairs: int = 0,
    iterations: int = 5,
    smoothing: float = 0.1,
    min_probability: float = 1e-5,
    prior: str | None = None,
    prior_weight: float = 0.05,
    chains: int = -1,
    spelling: float = 2.0,
) -> None:
    """Count which words occur together, and learn which translate each other (Dice, Model 1, sampling).

    Parameters
    ----------
    pairs : int
        Pairs that tables and links are learnt from: 0 all that fit --memory, N a seeded sample of so many
        (the gold text comes besides, where gold.in_corpus is set and it is not in the corpus anyway). Where
        not all fit, the run says how many it uses: with that number here, more --memory gives the same.
    iterations : int
        Rounds of EM of Model 1, >= 1.
    smoothing : float
        Size of the Dirichlet prior of Model 1 in counts a word pair, >= 0; 0 is maximum likelihood, which
        gives rare words too many links.
    min_probability : float
        Word pairs less probable than this in both directions are dropped, 0 to 1.
    prior : str, optional
        A model whose tables start this corpus: a model folder, or the name of a shipped model.
    prior_weight : float
        What an occurrence in the text of the prior counts against one in this corpus, > 0.
    chains : int
        Chains that sample who translates whom in the pairs counted: -1 the fewer the more pairs there are
        (8 for 20,000), 0 no sampling, which is faster and less accurate.
    spelling : float
        Links that words spelt alike have before sampling, >= 0; 0 says nothing of spelling.

    Raises
    ------
    InputError
        If an option is out of range, the prior is no model of these languages, or there is no text.
    WorkError
        If not even one pair fits the memory.
    """
    _check(pairs, iterations, smoothing, min_probability, prior_weight, chains, spelling)
    folder = context.inputs["preprocess"]
    vocabularies = [Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES]
    old = None if prior is None else _load_prior(_prior_folder(context.config, prior), folder, vocabularies)
    sizes = len(vocabularies[0]), len(vocabularies[1])
    known_cells = old.lexicon.cells if old else 0
    remote = RemoteTables(context, context.folder / WORK / "tables") if context.engine.remote else None
    sample = Sample(
        *(context, pairs, sizes, known_cells),
        chains=chains != 0,
        index=remote.index if remote else cooccurrence.index,
    )

    def learn(together: Cooccurrence) -> tuple[Lexicon, list[list[float]]]:
        likelihoods: list[list[float]] = []
        rounds = iter(context.progress(range(iterations), total=iterations, unit="rounds"))

        def on_iteration(_: int, forward: float, reverse: float) -> None:
            likelihoods.append([round(forward, 1), round(reverse, 1)])
            next(rounds, None)

        lexicon = (remote.estimate if remote else estimate)(
            together,
            *sizes,
            iterations=iterations,
            smoothing=smoothing,
            min_probability=min_probability,
            prior=None if old is None else old.renumbered(*sizes),
            prior_weight=prior_weight,
            on_iteration=on_iteration,
        )
        next(rounds, None)
        return lexicon, likelihoods

    used = _tables(context, sample, learn)
    del sample
    if remote:
        remote.clear()
    memory.trim()
    lexicon = Lexicon.load(context.folder, mapped=True)
    context.say(f"{lexicon.cells} word pairs kept")
    if chains:
        links = _known(lexicon, vocabularies, old, prior_weight, spelling)
        del vocabularies, old
        sample_links(context, lexicon, used, chains=chains, known=links)
    clear_work(context.folder)


def _tables(
    context: StageContext,
    sample: Sample,
    learn: Callable[[Cooccurrence], tuple[Lexicon, list[list[float]]]],
) -> np.ndarray:
    """Make the tables in the stage's folder, if a killed run has not; return which pairs they are of."""
    again = read_state(context)
    if again is not None:
        context.say(f"statistics of {again['pairs']} of {again['pairs_of_corpus']} pairs are there already")
    else:
        clear_work(context.folder)
        while True:
            together = sample.index()
            context.say(
                f"statistics of {sample.count} of {sample.all} pairs, {together.cells} word pairs, "
                f"about {show_size(sample.needed)} of {show_size(context.memory)} of memory"
            )
            counted = together.cells
            lexicon, likelihoods = learn(together)
            del together
            if sample.can_go_on(lexicon):
                break
            del lexicon
        sample.tell()
        lexicon.save(context.folder)
        again = {
            "pairs": sample.count,
            "pairs_of_corpus": sample.all,
            "pairs_chosen": sample.chosen,
            "word_pairs_counted": counted,
            "word_pairs_kept": lexicon.cells,
            "memory_predicted": sample.needed,
            "log_likelihoods": likelihoods,
        }
        if not sample.complete:
            again[INCOMPLETE] = sample.described()
        write_state(context, again, complete=sample.complete)
    for key, value in again.items():
        context.note(key, value)
    return sample.used(again["pairs_chosen"])


def local_files(config: Config) -> list[Path]:
    """Return the files of the prior that the stage reads, none without a prior.

    Raises
    ------
    InputError
        If the prior is no model.
    """
    prior = config.option("lexicon.prior")
    if prior is None:
        return []
    folder = _prior_folder(config, prior)
    return [folder / "model.json", *(folder / f"{side}.vocabulary.tsv" for side in SIDES), folder / "lexicon"]


def check(config: Config) -> None:
    """Refuse wrong options before the first stage is run."""
    names = (
        "pairs",
        "iterations",
        "smoothing",
        "min_probability",
        "prior_weight",
        "chains",
        "spelling",
    )
    _check(*(config.option(f"lexicon.{name}") for name in names))


def _check(
    pairs: int,
    iterations: int,
    smoothing: float,
    min_probability: float,
    weight: float,
    chains: int,
    spelling: float,
) -> None:
    for fits, name, value, range_told in (
        (pairs >= 0, "pairs", pairs, "0 (all) or more"),
        (iterations >= 1, "iterations", iterations, "1 or more"),
        (0 <= smoothing < np.inf, "smoothing", smoothing, "0 or more"),
        (0 <= min_probability <= 1, "min_probability", min_probability, "0 to 1"),
        (0 < weight < np.inf, "prior_weight", weight, "more than 0"),
        (0 <= spelling < np.inf, "spelling", spelling, "0 or more"),
        (-1 <= chains <= MOST_CHAINS, "chains", chains, f"-1 (chosen) to {MOST_CHAINS}"),
    ):
        if not fits:
            raise InputError(f"lexicon.{name}: {value} is out of range; give {range_told}")


def _prior_folder(config: Config, prior: str) -> Path:
    """Return the folder of the prior: beside the configuration file, else where any model is found."""
    beside = config.path.parent / prior
    return beside if (beside / "model.json").is_file() else find_model(prior)


@dataclass(frozen=True)
class _Prior:
    """The tables of a model, and the ids in this corpus of its words (-1 for none)."""

    lexicon: Lexicon
    links: Links | None
    ids: tuple[np.ndarray, np.ndarray]

    def renumbered(self, n_source: int, n_target: int) -> Lexicon:
        return self.lexicon.renumbered(*self.ids, n_source, n_target)


def _known(
    lexicon: Lexicon, vocabularies: list[Vocabulary], prior: _Prior | None, weight: float, spelling: float
) -> tuple[Known, Known] | None:
    """Return what the sampler begins with: links of the prior, and of words spelt alike."""
    found = []
    if prior is not None and prior.links is not None:
        found.append(known.from_links(prior.links, prior.lexicon, lexicon, *prior.ids, weight=weight))
    if spelling > 0:
        tables = (WordTable.of_codes(*vocabulary.code_points()) for vocabulary in vocabularies)
        found.append(known.from_spelling(lexicon, *tables, weight=spelling))
    return reduce(known.together, found) if found else None


def _load_prior(folder: Path, preprocess: Path, vocabularies: list[Vocabulary]) -> _Prior:
    """Return the tables of a model."""
    ours, theirs = _languages(preprocess / "text.json"), _languages(folder / "model.json", "text")
    if ours != theirs:
        raise InputError(
            f"lexicon.prior: {folder} is of {'-'.join(theirs)}, the corpus of {'-'.join(ours)}; "
            "give a model of the same languages in the same order"
        )
    if not (folder / "lexicon").is_dir():
        raise InputError(f"lexicon.prior: {folder} has no lexicon; give a model with lexical features")
    ids = [
        np.array([words.index.get(word, -1) for word in Vocabulary.load(path).words], dtype=np.int64)
        for words, path in zip(
            vocabularies, (folder / f"{side}.vocabulary.tsv" for side in SIDES), strict=True
        )
    ]
    lexicon = Lexicon.load(folder / "lexicon")
    sizes = len(lexicon.source_counts), len(lexicon.target_counts)
    if sizes != (len(ids[0]), len(ids[1])):
        raise InputError(
            f"lexicon.prior: {folder} has tables of {sizes[0]} and {sizes[1]} words, vocabularies of "
            f"{len(ids[0])} and {len(ids[1])}; get the model again"
        )
    links = folder / "lexicon" / LINKS
    return _Prior(lexicon, Links.load(links, lexicon) if links.is_dir() else None, (ids[0], ids[1]))


def _languages(path: Path, *keys: str) -> tuple[str, str]:
    """Return the languages of both sides that a file of settings names."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            settings = json.load(file)
        for key in keys:
            settings = settings[key]
        source, target = (str(settings[side]["language"]) for side in SIDES)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: tells no languages ({error!r}); give a model as training wrote it"
        ) from None
    return source, target
