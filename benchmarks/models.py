"""Weights that are learnt here, from what stages of the pipeline left, and links made with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from align.features import Edges, PairBlock
from align.learning.calibration import Calibration, rare_words
from align.learning.cross_validation import Learner
from align.learning.held_out_calibration import calibrate
from align.links import Link
from align.model.aligner import Aligner
from align.model.shipped import find_weights
from align.model.weights import Weights
from align.problems.labels import Labels
from align.solvers import SOLVERS
from align.statistics.posteriors import load_if_there
from benchmarks.figures import read_lines
from pipeline.stages.featurize import labelled_pairs
from pipeline.stages.train.model import NO_WEIGHTS


@dataclass(frozen=True)
class Training:
    """Labelled gold pairs with their features, as stages left them, and how they are learnt from.

    Attributes
    ----------
    edges : Edges
        Features of N pairs.
    labels : Labels
        Their links.
    pairs : ndarray of int64, shape (N,)
        Which gold pairs they are, ascending.
    options : dict
        What ``training.json`` says of the stage train.
    groups : tuple of str
        The feature groups.
    word_groups : tuple of str
        Those of words; none where a word has one link.
    texts : tuple of (str, str)
        Both sides of each pair.
    rare : (ndarray of bool, ndarray of bool)
        Which words are rare in the text their statistics are of
        (:func:`align.learning.calibration.rare_words`).
    """

    edges: Edges
    labels: Labels
    pairs: np.ndarray
    options: dict[str, Any]
    groups: tuple[str, ...]
    word_groups: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    rare: tuple[np.ndarray, np.ndarray]

    @classmethod
    def load(cls, preprocess: Path, featurize: Path, label: Path, train: Path) -> Training:
        """Read the stages' folders; only gold pairs were labelled."""
        options = json.loads((train / "training.json").read_text(encoding="utf-8"))
        described = json.loads((train / "model.json").read_text(encoding="utf-8"))
        pairs = load_array(label / "pairs.npy")
        sides = [read_lines(preprocess / f"gold.{side}.txt") for side in ("source", "target")]
        source, target = (Vocabulary.load(train / f"{side}.vocabulary.tsv") for side in ("source", "target"))
        return cls(
            Edges.load(featurize / "edges"),
            Labels.load(label),
            pairs,
            options,
            tuple(described["groups"]),
            tuple(described.get("extra_groups", ())),
            tuple((sides[0][pair], sides[1][pair]) for pair in pairs.tolist()),
            rare_words(labelled_pairs(preprocess, label), (source, target)),
        )

    @classmethod
    def join(cls, parts: Sequence[Training]) -> Training:
        """Put several trainings, at least one, together; the options are those of the first.

        Raises
        ------
        ValueError
            If their features differ.
        """
        return cls(
            Edges.join([part.edges for part in parts]),
            Labels.join([part.labels for part in parts]),
            np.concatenate([part.pairs for part in parts]),
            parts[0].options,
            parts[0].groups,
            parts[0].word_groups,
            tuple(text for part in parts for text in part.texts),
            (
                np.concatenate([part.rare[0] for part in parts]),
                np.concatenate([part.rare[1] for part in parts]),
            ),
        )

    def weights(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """Learn from the chosen of the N pairs, default all, with the options of the stage train.

        Returns
        -------
        ndarray of float64, shape (d,)
        """
        usable = self.usable()
        return self.learner().weights(usable if chosen is None else chosen[np.isin(chosen, usable)])

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features that have a weight."""
        several = self.options.get("fertility", 1) > 1 and self.edges.word_features is not None
        return self.edges.names + (
            self.edges.word_features.names if several and self.edges.word_features else ()
        )

    def _origin(self) -> np.ndarray | None:
        """Return the weights that the stage train started from."""
        known = self.options.get("weights", NO_WEIGHTS)
        return None if known == NO_WEIGHTS else Weights.load(find_weights(known)).named(self.names)

    def usable(self) -> np.ndarray:
        """Return those of the N pairs that have sure links, int64, ascending."""
        return np.flatnonzero(self.labels.counts() > 0)

    def learner(self) -> Learner:
        """Return what learns from the pairs with the options of the stage train."""
        method = SOLVERS[self.options["solver"]]
        # training.json tells the passes that were taken, not those allowed
        own = {*method.options(), "seed"} - {"passes"}
        of_problem = {"cost_fn", "cost_fp", "oracle"}
        return Learner(
            self.edges,
            self.labels,
            solver=method(**{name: value for name, value in self.options.items() if name in own}),
            max_fertility=self.options.get("fertility", 1),
            origin=self._origin(),
            **{name: value for name, value in self.options.items() if name in of_problem},
        )

    def calibration(self, weights: np.ndarray) -> Calibration:
        """Return the calibration of weights that were learnt from all pairs."""
        return calibrate(self.learner(), weights, pairs=self.usable(), texts=self.texts, rare=self.rare)


def links_with(
    weights: np.ndarray, train: Path, preprocess: Path, lexicon: Path, chosen: np.ndarray | None = None
) -> list[list[Link]]:
    """Return the links of gold pairs by the model of a corpus with other weights.

    Parameters
    ----------
    weights : ndarray of float64, shape (d,)
        For the features of the model, in their order.
    train, preprocess, lexicon : Path
        Folders of the stages.
    chosen : ndarray of int, optional
        Which gold pairs; default: all.

    Returns
    -------
    list of list of Link
        Between surface tokens.
    """
    gold = Corpus.load(preprocess / "gold")
    chosen = np.arange(len(gold)) if chosen is None else chosen
    stored = load_if_there(lexicon / "posteriors" / "gold")
    aligner = Aligner.load(train)
    aligner.model = replace(aligner.model, weights=weights)
    posteriors = None if stored is None else stored.take(chosen)
    found = aligner.align_block(PairBlock(gold.take(chosen), posteriors=posteriors))
    return [[Link(*cell) for cell in found.pairs(pair)] for pair in range(len(found))]
