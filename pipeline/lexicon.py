"""Stage ``lexicon``: which words of the bitext translate each other.

Leaves the tables of :class:`align.lexicon.Lexicon` (the Dice coefficient and IBM Model 1 in both directions)
and what :mod:`pipeline.sampling` adds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from align import cooccurrence, known
from align.arrays import load_array
from align.cooccurrence import Cooccurrence
from align.errors import InputError, WorkError
from align.features.words import WordTable
from align.lexicon import Lexicon, estimate
from align.posteriors import Links
from align.sampler import Known
from align.shipped import find_model
from align.vocabulary import Vocabulary
from pipeline.config import Config
from pipeline.markov import MOST_ROUNDS, learn_links
from pipeline.preprocess_gold import SAME
from pipeline.sampling import LINKS, MOST_CHAINS, sample_links, texts
from pipeline.stage import StageContext
from pipeline.usage import show_size

SIDES = ("source", "target")

# Cells grow less than in proportion to the pairs: with about this power of them.
_GROWTH = 0.75


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
    markov: int = 0,
) -> None:
    """Count which words occur together, and learn which translate each other (Dice, Model 1, sampling).

    Parameters
    ----------
    pairs : int
        Pairs to count: 0 all that fit the memory, N a seeded sample of so many (the gold text is
        counted besides, where gold.in_corpus is set and it is not in the corpus anyway).
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
    markov : int
        Rounds of EM of the hidden Markov model that the feature group markov wants, 0 to 100; 0 does without.

    Raises
    ------
    InputError
        If an option is out of range, the prior is no model of these languages, or there is no text.
    WorkError
        If not even one pair fits the memory.
    """
    _check(pairs, iterations, smoothing, min_probability, prior_weight, chains, spelling, markov)
    folder = context.inputs["preprocess"]
    vocabularies = [Vocabulary.load(folder / f"{side}.vocabulary.tsv") for side in SIDES]
    old = None if prior is None else _load_prior(_prior_folder(context.config, prior), folder, vocabularies)
    sizes = len(vocabularies[0]), len(vocabularies[1])
    known_cells = old.lexicon.cells if old else 0
    together, used, all_pairs = _index(context, pairs, sizes, known_cells)
    count = int(used.sum())
    memory = together.memory(known_cells)
    context.say(
        f"statistics of {count} of {all_pairs} pairs, {together.cells} word pairs, "
        f"about {show_size(memory)} of memory"
    )
    likelihoods: list[tuple[float, float]] = []
    rounds = iter(context.progress(range(iterations), total=iterations, unit="rounds"))

    def on_iteration(_: int, forward: float, reverse: float) -> None:
        likelihoods.append((round(forward, 1), round(reverse, 1)))
        next(rounds, None)

    lexicon = estimate(
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
    lexicon.save(context.folder)
    for key, value in (
        ("pairs", count),
        ("pairs_of_corpus", all_pairs),
        ("word_pairs_counted", together.cells),
        ("word_pairs_kept", lexicon.cells),
        ("memory_predicted", memory),
        ("log_likelihoods", likelihoods),
    ):
        context.note(key, value)
    context.say(f"{lexicon.cells} word pairs kept")
    del together
    if not (chains or markov):
        return
    links = _known(lexicon, vocabularies, old, prior_weight, spelling)
    if markov:
        learn_links(context, lexicon, used, rounds=markov, known=links)
    if chains:
        sample_links(context, lexicon, used, chains=chains, known=links)


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
        "markov",
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
    markov: int,
) -> None:
    for fits, name, value, range_told in (
        (pairs >= 0, "pairs", pairs, "0 (all) or more"),
        (iterations >= 1, "iterations", iterations, "1 or more"),
        (0 <= smoothing < np.inf, "smoothing", smoothing, "0 or more"),
        (0 <= min_probability <= 1, "min_probability", min_probability, "0 to 1"),
        (0 < weight < np.inf, "prior_weight", weight, "more than 0"),
        (0 <= spelling < np.inf, "spelling", spelling, "0 or more"),
        (-1 <= chains <= MOST_CHAINS, "chains", chains, f"-1 (chosen) to {MOST_CHAINS}"),
        (0 <= markov <= MOST_ROUNDS, "markov", markov, f"0 (none) to {MOST_ROUNDS}"),
    ):
        if not fits:
            raise InputError(f"lexicon.{name}: {value} is out of range; give {range_told}")


def _index(
    context: StageContext, pairs: int, sizes: tuple[int, int], known_cells: int
) -> tuple[Cooccurrence, np.ndarray, int]:
    """Index the pairs wanted, or as many of them as fit the memory.

    Returns the index, which parts of corpus and gold are in it, and how many pairs might be.
    """
    folder = context.inputs["preprocess"]
    parts = texts(context)
    usable = np.flatnonzero(load_array(folder / "in_statistics.npy"))
    order = np.random.default_rng(context.seed).permutation(usable)
    gold = load_array(folder / SAME) < 0 if parts[1:] else np.zeros(0, dtype=bool)
    if not len(usable) + len(gold):
        raise InputError(f"{folder}: no pair may be counted; look at the reasons in its rejects.tsv")
    wanted = min(pairs or len(usable), len(usable))
    fitting = wanted
    while True:
        used = np.concatenate([np.zeros(len(parts[0]), dtype=bool), gold])
        used[order[:fitting]] = True
        together = cooccurrence.index(parts, *sizes, used=used, jobs=context.jobs)
        memory = together.memory(known_cells)
        if memory <= context.memory:
            break
        if fitting == 0:
            raise WorkError(
                f"lexicon: the tables take {show_size(memory)} of {show_size(context.memory)}; "
                "give a larger --memory"
            )
        fitting = int(0.95 * fitting * (context.memory / memory) ** (1 / _GROWTH))
    if fitting < wanted:
        context.warn(
            f"statistics of {fitting} of {wanted} pairs: more do not fit {show_size(context.memory)}; "
            "give a larger --memory to use all"
        )
    return together, used, len(usable) + int(gold.sum())


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
        tables = (WordTable.of(vocabulary.words) for vocabulary in vocabularies)
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
