r"""Weights without tables: learnt on some bitexts, used with the statistics of another.

A folder of two small text files, with their checksums (:mod:`align.model.checksums`):

================ =========================================================================================
``weights.json`` format version, feature groups, calibration, training options, provenance; where words
                 may have several links how many, and the groups of the features of words
``weights.tsv``  ``feature name TAB weight``, in the order of the features
================ =========================================================================================

The features of most groups say nothing of particular words or languages, so that weights learnt on one
language pair serve others. The weights of a whole model (:mod:`align.model.folder`) can be taken as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.core.files import text_file
from align.core.version import __version__
from align.features import Resources, feature_names, word_feature_names
from align.learning.calibration import Calibration
from align.model.checksums import UNCHECKED, check, write_checksums
from align.model.reading import FORMAT, read_description, read_weights, read_weights_description

DESCRIPTION, TABLE = "weights.json", "weights.tsv"


@dataclass(frozen=True)
class Weights:
    """What training gives: weights by feature name, and what belongs to them.

    Attributes
    ----------
    names : tuple of str
        Names of the d features.
    weights : ndarray of float64, shape (d,)
        Weight of each: of the features of edges, then of those of words (>= 0).
    groups : tuple of str
        Feature groups (:data:`align.features.GROUPS`).
    calibration : Calibration
        What leads from the score of a link to its confidence.
    options : mapping
        Options of the training, JSON values.
    provenance : mapping
        What they were trained on, JSON values.
    fertility : int
        Links that a word may have, >= 1.
    word_groups : tuple of str
        Groups of the features of words (:data:`align.features.WORD_GROUPS`), at least one where a word may
        have several links, else none.
    missing : tuple of str
        Features that had no weight (:func:`by_name`).
    checked : bool
        Whether the files they were read from had checksums, which were compared.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    groups: tuple[str, ...]
    calibration: Calibration
    options: Mapping[str, Any]
    provenance: Mapping[str, Any]
    fertility: int = 1
    word_groups: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    checked: bool = True

    @classmethod
    def load(cls, folder: Path) -> Weights:
        """Read what :meth:`save` wrote, or the weights of a model.

        Raises
        ------
        InputError
            If a file is missing, damaged or not of the form expected; the message names it.
        """
        bare = (folder / DESCRIPTION).is_file()
        described = read_weights_description(folder / DESCRIPTION) if bare else read_description(folder)
        return read_described(folder, described)

    def save(self, folder: Path) -> None:
        """Write both files into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self._write(folder, DESCRIPTION)
        write_checksums(folder, (DESCRIPTION, TABLE))

    def _write(self, folder: Path, description: str, **own: Any) -> None:
        """Write the table and a description, which says more than these weights do in a model."""
        with text_file(folder / TABLE) as out:
            rows = zip(self.names, self.weights.tolist(), strict=True)
            out.writelines(f"{name}\t{weight!r}\n" for name, weight in rows)
        several = {"fertility": self.fertility, "extra_groups": list(self.word_groups)}
        described = {
            "format": FORMAT,
            "version": __version__,
            **own,
            "groups": list(self.groups),
            **(several if self.fertility > 1 else {}),
            "calibration": list(self.calibration),
            "options": dict(self.options),
            "provenance": dict(self.provenance),
        }
        with text_file(folder / description) as out:
            json.dump(described, out, ensure_ascii=False, indent=1)
            out.write("\n")

    def named(self, names: Sequence[str]) -> np.ndarray:
        """Return the weights of features by name, float64; 0 for those that are not among them."""
        known = dict(zip(self.names, self.weights.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])

    def of_features(self, resources: Resources, *, where: Path) -> Weights:
        """Return the weights of the features that these statistics give, in their order.

        Raises
        ------
        InputError
            If there is a weight of another feature; ``where`` is named as the place they came from.
        """
        expected = names_of(self.groups, self.word_groups, resources)
        try:
            weights, missing = by_name(self.names, self.weights, expected)
        except ValueError as error:
            raise InputError(f"{where}: {error}; get the weights again, or train anew") from None
        return replace(self, names=expected, weights=weights, missing=missing)


def read_described(folder: Path, described: Mapping[str, Any]) -> Weights:
    """Read the table of a folder, given its checked description."""
    checked = check(folder, [TABLE])
    names, weights = read_weights(folder / TABLE)
    return Weights(
        names,
        weights,
        tuple(described["groups"]),
        Calibration(*map(float, described["calibration"])),
        described["options"],
        described["provenance"],
        described.get("fertility", 1),
        tuple(described.get("extra_groups", ())),
        checked=checked,
    )


def names_of(groups: Sequence[str], word_groups: Sequence[str], resources: Resources) -> tuple[str, ...]:
    """Return the names of all features that have a weight: of edges, then of words."""
    return feature_names(groups, resources) + word_feature_names(word_groups, resources)


def by_name(
    names: Sequence[str], weights: np.ndarray, expected: Sequence[str]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the weights of the features expected, float64, and which of these have none: theirs is 0.

    So a model goes on to work when a group gets another feature.

    Raises
    ------
    ValueError
        If there is a weight of a feature that is not expected, or two of one, or none at all.
    """
    known, wanted = dict(zip(names, weights.tolist(), strict=True)), frozenset(expected)
    strange = [name for name in names if name not in wanted]
    if strange:
        named = ", ".join(strange[:3])
        raise ValueError(f"a weight of {named}, but no such feature in this version or of these vectors")
    if not known or len(known) < len(names):
        raise ValueError("two weights of one feature" if known else "no weights")
    missing = tuple(name for name in expected if name not in known)
    return np.array([known.get(name, 0.0) for name in expected]), missing


def remarks(given: Weights) -> list[str]:
    """Return what there is to say of weights that were loaded, or of a model."""
    return [missing_note(given.missing)] * bool(given.missing) + [UNCHECKED] * (not given.checked)


def missing_note(missing: Sequence[str]) -> str:
    """Return what there is to say of features without a weight."""
    named = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
    told = (
        "1 feature has no weight and counts 0"
        if len(missing) == 1
        else (f"{len(missing)} features have no weight and count 0")
    )
    return f"{told} ({named}); train anew to use them"
