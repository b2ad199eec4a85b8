r"""Weights without tables: learnt on some bitexts, used with the statistics of another.

A folder of two small text files:

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.core.version import __version__
from align.features import Resources, feature_names, word_feature_names
from align.learning.calibration import Calibration
from align.model.reading import FORMAT, read_description, read_weights, read_weights_description

DESCRIPTION, TABLE = "weights.json", "weights.tsv"


@dataclass(frozen=True)
class Weights:
    """The learnt part of a model.

    Attributes
    ----------
    names : tuple of str
        Names of the d features.
    weights : ndarray of float64, shape (d,)
        Weight of each.
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
        Groups of the features of words; none where a word has one link.
    """

    names: tuple[str, ...]
    weights: np.ndarray
    groups: tuple[str, ...]
    calibration: Calibration
    options: Mapping[str, Any]
    provenance: Mapping[str, Any]
    fertility: int = 1
    word_groups: tuple[str, ...] = ()

    def save(self, folder: Path) -> None:
        """Write both files into ``folder``, made if missing."""
        folder.mkdir(parents=True, exist_ok=True)
        write_table(folder / TABLE, self.names, self.weights)
        described = {
            "format": FORMAT,
            "version": __version__,
            "groups": list(self.groups),
            **several_links(self.fertility, self.word_groups),
            "calibration": list(self.calibration),
            "options": dict(self.options),
            "provenance": dict(self.provenance),
        }
        with open(folder / DESCRIPTION, "w", encoding="utf-8", newline="\n") as out:
            json.dump(described, out, ensure_ascii=False, indent=1)
            out.write("\n")

    @classmethod
    def load(cls, folder: Path) -> Weights:
        """Read what :meth:`save` wrote, or the weights of a model.

        Raises
        ------
        InputError
            If a file is missing or is not of the form expected; the message names it.
        """
        bare = (folder / DESCRIPTION).is_file()
        described = read_weights_description(folder / DESCRIPTION) if bare else read_description(folder)
        names, weights = read_weights(folder / TABLE)
        return cls(
            names,
            weights,
            tuple(described["groups"]),
            Calibration(*map(float, described["calibration"])),
            described["options"],
            described["provenance"],
            described.get("fertility", 1),
            tuple(described.get("extra_groups", ())),
        )

    def named(self, names: Sequence[str]) -> np.ndarray:
        """Return the weights of features by name, float64; 0 for those that are not among them."""
        known = dict(zip(self.names, self.weights.tolist(), strict=True))
        return np.array([known.get(name, 0.0) for name in names])

    def check(self, resources: Resources, *, where: Path) -> None:
        """Check that they are weights of the features that these statistics give.

        Raises
        ------
        InputError
            If they are not; ``where`` is named as the place they came from.
        """
        expected = feature_names(self.groups, resources) + word_feature_names(self.word_groups, resources)
        if self.names != expected:
            strange = sorted(set(self.names) ^ set(expected))[:3]
            raise InputError(
                f"{where}: its features are not those of this version or these vectors "
                f"(for example {', '.join(strange) or 'their order'}); get the weights again, or train anew"
            )


def several_links(fertility: int, word_groups: tuple[str, ...]) -> dict[str, Any]:
    """Return what a description says of words with several links: nothing where they have one."""
    return {"fertility": fertility, "extra_groups": list(word_groups)} if fertility > 1 else {}


def write_table(path: Path, names: tuple[str, ...], weights: np.ndarray) -> None:
    """Write ``feature name TAB weight``, a line a feature."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{name}\t{weight!r}\n" for name, weight in zip(names, weights.tolist(), strict=True))
