r"""A trained aligner as a folder of plain files: nothing in it is ever executed.

=============================== ==========================================================================
``model.json``                  format version, languages, text settings, feature groups, sizes,
                                calibration, training options, provenance; where words may have several
                                links how many, and the groups of the features of words
``weights.tsv``                 ``feature name TAB weight``, in the order of the features, of edges first
``source.vocabulary.tsv``,      ``word TAB count`` by rank
``target.vocabulary.tsv``
``lexicon/*.npy``               bitext statistics; absent where ``sizes.cells`` is null
``lexicon/links/*.npy``         expected links; absent where ``sizes.jumps`` is null or missing
``source.vectors.npy``,         word vectors, float32; absent where ``sizes.dimensions`` is null
``target.vectors.npy``
=============================== ==========================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import save_array
from align.core.errors import InputError
from align.core.files import link_or_copy
from align.core.ragged import SIDES
from align.core.version import __version__
from align.features import Resources, feature_names
from align.learning.calibration import Calibration
from align.model.reading import (
    FORMAT,
    REMEDY,
    read_description,
    read_lexicon,
    read_links,
    read_vectors,
    read_vocabulary,
    read_weights,
)
from align.model.weights import by_name, names_of, several_links, write_table
from align.statistics.expected_links import ExpectedLinks
from align.statistics.lexicon import Lexicon


@dataclass(frozen=True)
class Model:
    """All that is needed to align and to explain.

    Attributes
    ----------
    weights : ndarray of float64, shape (d,)
        Weight of each feature.
    names : tuple of str
        Names of the d features.
    groups : tuple of str
        Feature groups (:data:`align.features.GROUPS`).
    resources : Resources
        Bitext statistics, vectors, vocabularies.
    text : mapping
        ``{"source": settings, "target": settings}`` of the text processors.
    calibration : Calibration
        What leads from the score of a link to its confidence.
    options : mapping
        Options of the training, JSON values.
    provenance : mapping
        What it was trained on, JSON values.
    fertility : int
        Links that a word may have, >= 1.
    word_groups : tuple of str
        Groups of the features of words (:data:`align.features.WORD_GROUPS`), at least one where a word may
        have several links, else none. Their names and weights (>= 0) follow those of the features of edges.
    missing : tuple of str
        Features that had no weight in the folder (:func:`align.model.weights.by_name`).
    """

    weights: np.ndarray
    names: tuple[str, ...]
    groups: tuple[str, ...]
    resources: Resources
    text: Mapping[str, Mapping[str, Any]]
    calibration: Calibration
    options: Mapping[str, Any]
    provenance: Mapping[str, Any]
    fertility: int = 1
    word_groups: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.fertility < 1 or (self.fertility > 1) != bool(self.word_groups):
            raise ValueError(f"{self.fertility} links a word with the groups {self.word_groups} of words")
        expected = names_of(self.groups, self.word_groups, self.resources)
        of_edges = feature_names(self.groups, self.resources)
        if self.names != expected:
            for name, wanted in zip(self.names, expected, strict=False):
                if name != wanted:
                    raise ValueError(f"a feature is {name!r} where the groups give {wanted!r}")
            raise ValueError(f"{len(self.names)} features where the groups give {len(expected)}")
        if self.weights.shape != (len(self.names),):
            raise ValueError(f"weights {self.weights.shape} for {len(self.names)} features")
        if not np.isfinite(self.weights).all():
            raise ValueError("a weight is not finite")
        for name, weight in zip(expected[len(of_edges) :], self.weights[len(of_edges) :], strict=True):
            if weight < 0:
                raise ValueError(f"the weight of {name} is {weight:g}, below 0")
        a, _, c = Calibration(*self.calibration)
        if not (all(map(math.isfinite, self.calibration)) and a > 0 and c <= 0):
            raise ValueError(f"calibration {tuple(self.calibration)} is not (a > 0, b, c <= 0), all finite")

    @property
    def languages(self) -> tuple[str, str]:
        """Return the codes of the source and the target language."""
        return str(self.text["source"]["language"]), str(self.text["target"]["language"])

    def save(
        self,
        folder: Path,
        *,
        vocabularies_from: Path | None = None,
        lexicon_from: Path | None = None,
        vectors_from: Path | None = None,
    ) -> None:
        """Write the model into ``folder``, made if missing.

        Parameters
        ----------
        folder : Path
            Where to.
        vocabularies_from, lexicon_from, vectors_from : Path, optional
            Folders that hold these very files already, written by ``Vocabulary.save``, ``Lexicon.save`` (the
            expected links in ``links/``) and by ``embed``: they are hard-linked to save disk,
            or copied where that cannot be.
        """
        folder.mkdir(parents=True, exist_ok=True)
        resources = self.resources
        for side, vocabulary in zip(
            SIDES, (resources.source_vocabulary, resources.target_vocabulary), strict=True
        ):
            name = f"{side}.vocabulary.tsv"
            if vocabularies_from is None:
                vocabulary.save(folder / name)
            else:
                link_or_copy(vocabularies_from / name, folder / name)
        if resources.lexicon is not None:
            if lexicon_from is None:
                resources.lexicon.save(folder / "lexicon")
            else:
                _link_fields(Lexicon, lexicon_from, folder / "lexicon")
        if resources.links is not None:
            if lexicon_from is None:
                resources.links.save(folder / "lexicon" / "links")
            else:
                _link_fields(ExpectedLinks, lexicon_from / "links", folder / "lexicon" / "links")
        for side, vectors in zip(SIDES, (resources.source_vectors, resources.target_vectors), strict=True):
            name = f"{side}.vectors.npy"
            if vectors is None:
                continue
            if vectors_from is None:
                save_array(folder / name, np.asarray(vectors, dtype=np.float32))
            else:
                link_or_copy(vectors_from / name, folder / name)
        write_table(folder / "weights.tsv", self.names, self.weights)
        with open(folder / "model.json", "w", encoding="utf-8", newline="\n") as out:
            json.dump(self._description(), out, ensure_ascii=False, indent=1)
            out.write("\n")

    def _description(self) -> dict[str, Any]:
        resources = self.resources
        return {
            "format": FORMAT,
            "version": __version__,
            "languages": list(self.languages),
            "text": {side: dict(self.text[side]) for side in SIDES},
            "groups": list(self.groups),
            **several_links(self.fertility, self.word_groups),
            "sizes": {
                "source_words": len(resources.source_vocabulary),
                "target_words": len(resources.target_vocabulary),
                "cells": None if resources.lexicon is None else resources.lexicon.cells,
                "jumps": _jumps(resources.links),
                "dimensions": None if resources.source_vectors is None else resources.dimensions,
            },
            "calibration": list(self.calibration),
            "options": dict(self.options),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def load(cls, folder: Path) -> Model:
        """Read what :meth:`save` wrote; large arrays stay on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, is not of the form expected, or does not fit the others; the message
            names it.
        """
        described = read_description(folder)
        sizes = described["sizes"]
        vocabularies = []
        for side in SIDES:
            path = folder / f"{side}.vocabulary.tsv"
            vocabulary = read_vocabulary(path)
            if len(vocabulary) != sizes[f"{side}_words"]:
                raise InputError(f"{path}: {len(vocabulary)} words, not {sizes[f'{side}_words']}; {REMEDY}")
            vocabularies.append(vocabulary)
        lengths = (len(vocabularies[0]), len(vocabularies[1]))
        lexicon = (
            None if sizes["cells"] is None else read_lexicon(folder / "lexicon", sizes["cells"], lengths)
        )
        links, jumps = None, sizes.get("jumps")
        if lexicon is not None and jumps is not None:
            links = read_links(folder / "lexicon" / "links", lexicon, jumps)
        vectors: list[np.ndarray | None] = [None, None]
        if sizes["dimensions"] is not None:
            vectors = [
                read_vectors(folder / f"{side}.vectors.npy", (length, sizes["dimensions"]))
                for side, length in zip(SIDES, lengths, strict=True)
            ]
        groups, word_groups = tuple(described["groups"]), tuple(described.get("extra_groups", ()))
        try:
            resources = Resources(lexicon, vectors[0], vectors[1], vocabularies[0], vocabularies[1], links)
            names = names_of(groups, word_groups, resources)
            weights, missing = by_name(*read_weights(folder / "weights.tsv"), names)
            return cls(
                weights=weights,
                names=names,
                groups=groups,
                resources=resources,
                text=described["text"],
                calibration=Calibration(*map(float, described["calibration"])),
                options=described["options"],
                provenance=described["provenance"],
                fertility=described.get("fertility", 1),
                word_groups=word_groups,
                missing=missing,
            )
        except ValueError as error:
            raise InputError(f"{folder}: {error}; {REMEDY}") from None


def _jumps(links: ExpectedLinks | None) -> list[int] | None:
    return None if links is None else [len(links.forward_jumps), len(links.reverse_jumps)]


def _link_fields(record: type[Lexicon] | type[ExpectedLinks], old: Path, new: Path) -> None:
    for field in fields(record):
        link_or_copy(old / f"{field.name}.npy", new / f"{field.name}.npy")
