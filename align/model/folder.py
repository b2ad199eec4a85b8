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
``checksums.tsv``               of all these files (:mod:`align.model.checksums`)
=============================== ==========================================================================

The numbers of a packed model (:mod:`align.model.packing`) stand in fewer bits, in the same files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import save_array
from align.core.errors import InputError
from align.core.files import copy_file, new_folder, text_file
from align.core.ragged import SIDES
from align.features import Resources, feature_names
from align.learning.calibration import Calibration
from align.model import reading
from align.model.checksums import REMEDY, check, write_checksums
from align.model.weights import Weights, by_name, names_of, read_described
from align.statistics.expected_links import ExpectedLinks


@dataclass(frozen=True, kw_only=True)
class Model(Weights):
    """All that is needed to align and to explain: weights, and what they were learnt with.

    Attributes
    ----------
    resources : Resources
        Bitext statistics, vectors, vocabularies.
    text : mapping
        ``{"source": settings, "target": settings}`` of the text processors.
    """

    resources: Resources
    text: Mapping[str, Mapping[str, Any]]

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
        a, _, c, d, e = Calibration(*self.calibration)
        if not (all(map(math.isfinite, self.calibration)) and a > 0 and c <= 0 <= min(d, e)):
            raise ValueError(
                f"calibration {tuple(self.calibration)} is not (a > 0, b, c <= 0, d >= 0, e >= 0), all finite"
            )

    @property
    def languages(self) -> tuple[str, str]:
        """Return the codes of the source and the target language."""
        return str(self.text["source"]["language"]), str(self.text["target"]["language"])

    def save(
        self,
        folder: str | Path,
        *,
        vocabularies_from: Path | None = None,
        lexicon_from: Path | None = None,
        vectors_from: Path | None = None,
        packed: bool = False,
    ) -> None:
        """Write the model into ``folder``, made if missing.

        Parameters
        ----------
        folder : str or Path
            Where to.
        vocabularies_from, lexicon_from, vectors_from : Path, optional
            Folders that hold these very files already, written by ``Vocabulary.save``, ``Lexicon.save`` (the
            expected links in ``links/``) and by ``embed``: they are copied.
        packed : bool
            Whether numbers are written in as few bits as serve (:mod:`align.model.packing`).
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        given = self.resources
        for side, vocabulary, vectors in zip(
            SIDES,
            (given.source_vocabulary, given.target_vocabulary),
            (given.source_vectors, given.target_vectors),
            strict=True,
        ):
            _put(folder / f"{side}.vocabulary.tsv", vocabularies_from, vocabulary.save)
            if vectors is not None:
                values = np.asarray(vectors, dtype=np.float32)
                save = partial(save_array, values=reading.packed_vectors(values) if packed else values)
                _put(folder / f"{side}.vectors.npy", vectors_from, save)
        for record, place in ((given.lexicon, "."), (given.links, "links")):
            if record is None:
                continue
            if lexicon_from is None:
                record.save(folder / "lexicon" / place, packed=packed)
                continue
            for field in fields(record):
                name = f"{field.name}.npy"
                copy_file(lexicon_from / place / name, folder / "lexicon" / place / name)
        sizes = {
            "source_words": len(given.source_vocabulary),
            "target_words": len(given.target_vocabulary),
            "cells": None if given.lexicon is None else given.lexicon.cells,
            "jumps": _jumps(given.links),
            "dimensions": None if given.source_vectors is None else given.dimensions,
        }
        text = {side: dict(self.text[side]) for side in SIDES}
        self._write(folder, "model.json", languages=list(self.languages), text=text, sizes=sizes)
        write_checksums(folder, reading.model_files({"sizes": sizes}))

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """Read what :meth:`save` wrote; large arrays stay on disk (memory-mapped).

        Raises
        ------
        InputError
            If a file is missing, has other bytes than were written, is not of the form expected, or does
            not fit the others; the message names it.
        """
        folder = Path(folder)
        described = reading.read_description(folder)
        sizes = described["sizes"]
        check(folder, reading.model_files(described)[1:])
        vocabularies = []
        for side in SIDES:
            path = folder / f"{side}.vocabulary.tsv"
            vocabulary = reading.read_vocabulary(path)
            if len(vocabulary) != sizes[f"{side}_words"]:
                raise InputError(f"{path}: {len(vocabulary)} words, not {sizes[f'{side}_words']}; {REMEDY}")
            vocabularies.append(vocabulary)
        lengths = (len(vocabularies[0]), len(vocabularies[1]))
        lexicon = (
            None
            if sizes["cells"] is None
            else reading.read_lexicon(folder / "lexicon", sizes["cells"], lengths)
        )
        links, jumps = None, sizes.get("jumps")
        if lexicon is not None and jumps is not None:
            links = reading.read_links(folder / "lexicon" / "links", lexicon, jumps)
        vectors: list[np.ndarray | None] = [None, None]
        if sizes["dimensions"] is not None:
            vectors = [
                reading.read_vectors(folder / f"{side}.vectors.npy", (length, sizes["dimensions"]))
                for side, length in zip(SIDES, lengths, strict=True)
            ]
        given = read_described(folder, described)
        try:
            resources = Resources(lexicon, vectors[0], vectors[1], vocabularies[0], vocabularies[1], links)
            names = names_of(given.groups, given.word_groups, resources)
            weights, missing = by_name(given.names, given.weights, names)
            learnt = replace(given, names=names, weights=weights, missing=missing)
            return cls(**vars(learnt), resources=resources, text=described["text"])
        except ValueError as error:
            raise InputError(f"{folder}: {error}; {REMEDY}") from None


def save_adapted(model: Model, folder: Path, *, origin: Path | None, history: Iterable[str] = ()) -> None:
    """Write a model with new weights; the folder has its name only when it is whole.

    Parameters
    ----------
    model : Model
    folder : Path
        A new one, or an empty one (:func:`align.core.files.new_folder`).
    origin : Path, optional
        The folder of the model that it was learnt from: what both have in common is copied, unless that
        was turned round.
    history : iterable of str
        The lines of ``history.csv``: how it was learnt; none for no such file.

    Raises
    ------
    OSError
        If something cannot be written, or read from ``origin``.
    """
    with new_folder(folder) as place:
        if origin is not None and reading.read_languages(origin) == model.languages:
            model.save(place, vocabularies_from=origin, lexicon_from=origin / "lexicon", vectors_from=origin)
        else:
            model.save(place)
        if lines := list(history):
            with text_file(place / "history.csv") as out:
                out.writelines(lines)


def _jumps(links: ExpectedLinks | None) -> list[int] | None:
    return None if links is None else [links.forward_jumps.shape[2], links.reverse_jumps.shape[2]]


def _put(path: Path, made: Path | None, save: Callable[[Path], None]) -> None:
    """Write a file, or copy that of the same name in a folder."""
    if made is None:
        save(path)
    else:
        copy_file(made / path.name, path)
