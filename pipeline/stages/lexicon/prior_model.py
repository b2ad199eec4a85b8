"""The model that a prior is: its tables, its sampled links, and the ids its words have in this corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from align.core.errors import InputError
from align.core.ragged import SIDES
from align.data.vocabulary import Vocabulary
from align.model.checksums import check
from align.model.reading import check_files, table_files
from align.model.shipped import MODEL, find_model
from align.model.turning import turned_tables
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon
from align.statistics.sampler_priors import LexicalPrior, from_links, from_spelling
from align.text.words import WordTable
from pipeline.config.configuration import Config
from pipeline.stages.lexicon.places import LINKS


@dataclass(frozen=True)
class PriorModel:
    """Tables of a model, the ids in this corpus of its words (-1 for none), whether they had checksums."""

    lexicon: Lexicon
    links: ExpectedLinks | None
    ids: tuple[np.ndarray, np.ndarray]
    checked: bool

    def renumbered(self, n_source: int, n_target: int) -> Lexicon:
        """Return the tables over the vocabularies of this corpus."""
        return self.lexicon.renumbered(*self.ids, n_source, n_target)


def prior_folder(config: Config, prior: str) -> Path:
    """Return the folder of the prior: beside the configuration file, else where any model is found."""
    beside = config.path.parent / prior
    return beside if (beside / MODEL).is_file() else find_model(prior)


def local_files(config: Config) -> list[Path]:
    """Return the files of the prior that the stage reads, none without a prior.

    Raises
    ------
    InputError
        If the prior is no model, or a file of it no file of its own.
    """
    prior = config.option("lexicon.prior")
    if prior is None:
        return []
    folder = prior_folder(config, prior)
    check_files(folder)
    return [folder / MODEL, *(folder / name for name in _vocabularies()), folder / "lexicon"]


def check_prior(folder: Path, ours: tuple[str, str]) -> bool:
    """Refuse a model that cannot start a corpus of the languages ``ours``; tell whether it has checksums.

    A model of the same languages the other way round serves as well: it is turned.

    Raises
    ------
    InputError
        If it is of other languages, has no tables, or a file has another checksum.
    """
    checked = check(folder, [MODEL, *_vocabularies()])
    theirs = _languages(folder / MODEL, "text")
    if ours not in (theirs, theirs[::-1]):
        raise InputError(
            f"lexicon.prior: {folder} is of {'-'.join(theirs)}, the corpus of {'-'.join(ours)}; "
            "give a model of the same languages, either way round"
        )
    if not (folder / "lexicon").is_dir():
        raise InputError(f"lexicon.prior: {folder} has no lexicon; give a model with lexical features")
    check(folder, table_files(links=(folder / "lexicon" / LINKS).is_dir()))
    return checked


def load_prior(folder: Path, preprocess: Path, vocabularies: Sequence[Vocabulary]) -> PriorModel:
    """Return the tables of a model; InputError if they are not of the corpus's languages or of its words."""
    ours = _languages(preprocess / "text.json")
    checked = check_prior(folder, ours)
    turns = ours != _languages(folder / MODEL, "text")
    names = _vocabularies()[::-1] if turns else _vocabularies()
    source_ids, target_ids = (
        np.array([words.index.get(word, -1) for word in Vocabulary.load(path).words], dtype=np.int64)
        for words, path in zip(vocabularies, (folder / name for name in names), strict=True)
    )
    lexicon = Lexicon.load(folder / "lexicon")
    links = folder / "lexicon" / LINKS
    found = ExpectedLinks.load(links, lexicon) if links.is_dir() else None
    if turns:
        lexicon, found = turned_tables(lexicon, found)
    sizes = len(lexicon.source_counts), len(lexicon.target_counts)
    if sizes != (len(source_ids), len(target_ids)):
        raise InputError(
            f"lexicon.prior: {folder} has tables of {sizes[0]} and {sizes[1]} words, vocabularies of "
            f"{len(source_ids)} and {len(target_ids)}; get the model again"
        )
    return PriorModel(lexicon, found, (source_ids, target_ids), checked)


def prior_counts(
    lexicon: Lexicon,
    vocabularies: Sequence[Vocabulary],
    prior: PriorModel | None,
    *,
    weight: float,
    spelling: float,
    stems: float,
) -> tuple[LexicalPrior, LexicalPrior] | None:
    """Return the prior counts of both directions: of the prior model, of words spelt alike, of stems."""
    found = []
    if prior is not None and prior.links is not None:
        found.append(from_links(prior.links, prior.lexicon, lexicon, *prior.ids, weight=weight))
    if spelling > 0 or stems > 0:
        source, target = (WordTable.of_codes(*vocabulary.code_points()) for vocabulary in vocabularies)
        found.append(from_spelling(lexicon, source, target, weight=spelling, stems=stems))
    if len(found) == 2:
        (forward, reverse), (more_forward, more_reverse) = found
        return forward.plus(more_forward), reverse.plus(more_reverse)
    return found[0] if found else None


def _vocabularies() -> list[str]:
    """Return the names of the files of words in a model."""
    return [f"{side}.vocabulary.tsv" for side in SIDES]


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
