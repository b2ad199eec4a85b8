"""Weights that are learnt here, from what stages of the pipeline left, and links made with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from align.core.arrays import load_array
from align.data.corpus import Corpus
from align.data.vocabulary import Vocabulary
from align.features import Edges, PairBlock
from align.learning.calibration import Calibration, word_counts
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
from benchmarks.runs import Pipeline
from pipeline.stages.featurize import labelled_pairs
from pipeline.stages.train.model import NO_WEIGHTS


@dataclass(frozen=True)
class Training:
    """N labelled gold pairs with their features, as stages left them, and how they are learnt from."""

    edges: Edges
    labels: Labels
    pairs: np.ndarray  # which gold pairs they are, int64, ascending
    options: dict[str, Any]  # what ``training.json`` says of the stage train
    groups: tuple[str, ...]  # of features
    word_groups: tuple[str, ...]  # none where a word has one link
    texts: tuple[tuple[str, str], ...]  # both sides of each pair
    seen: tuple[np.ndarray, np.ndarray]  # as of :func:`align.learning.calibration.word_counts`
    copies: np.ndarray | None = None  # as of the Learner; edges and labels have them after the N pairs

    @classmethod
    def load(cls, pipeline: Pipeline) -> Training:
        """Read what the stages of a pipeline left; only gold pairs were labelled."""
        preprocess, label, train = map(pipeline.folder, ("preprocess", "label", "train"))
        options = json.loads((train / "training.json").read_text(encoding="utf-8"))
        described = json.loads((train / "model.json").read_text(encoding="utf-8"))
        pairs = load_array(label / "pairs.npy")
        sides = [read_lines(preprocess / f"gold.{side}.txt") for side in ("source", "target")]
        source, target = (Vocabulary.load(train / f"{side}.vocabulary.tsv") for side in ("source", "target"))
        featurize, count = pipeline.folder("featurize"), len(pairs)
        edges = Edges.load(featurize / "edges")
        return cls(
            edges,
            Labels.load(featurize),
            pairs,
            options,
            tuple(described["groups"]),
            tuple(described.get("extra_groups", ())),
            tuple((sides[0][pair], sides[1][pair]) for pair in pairs.tolist()),
            word_counts(labelled_pairs(preprocess, label), (source, target)),
            None if len(edges) == count else count + np.arange(count),
        )

    @classmethod
    def join(cls, parts: Sequence[Training]) -> Training:
        """Put several trainings, at least one, together; the options are those of the first.

        Raises
        ------
        ValueError
            If their features differ, or some have copies and others have none.
        """
        if len({part.copies is None for part in parts}) != 1:
            raise ValueError("trainings: some pairs have copies and others have none")
        counts = [len(part.pairs) for part in parts]
        first = [
            (part.edges.block(0, n), part.labels.block(0, n)) for part, n in zip(parts, counts, strict=True)
        ]
        again = [
            (part.edges.block(n, 2 * n), part.labels.block(n, 2 * n))
            for part, n in zip(parts, counts, strict=True)
            if part.copies is not None
        ]
        edges, labels = zip(*first, *again, strict=True)
        copies = None
        if again:
            copied = np.concatenate([part.copies >= 0 for part in parts if part.copies is not None])
            copies = np.where(copied, len(copied) + np.arange(len(copied)), -1)
        return cls(
            Edges.join(edges),
            Labels.join(labels),
            np.concatenate([part.pairs for part in parts]),
            parts[0].options,
            parts[0].groups,
            parts[0].word_groups,
            tuple(text for part in parts for text in part.texts),
            (
                np.concatenate([part.seen[0] for part in parts]),
                np.concatenate([part.seen[1] for part in parts]),
            ),
            copies,
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
        return np.flatnonzero(self.labels.counts()[: len(self.pairs)] > 0)

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
            copies=self.copies,
            **{name: value for name, value in self.options.items() if name in of_problem},
        )

    def calibration(self, weights: np.ndarray, times: np.ndarray | None = None) -> Calibration:
        """Return the calibration of weights that were learnt from all pairs, each counted so many times."""
        pairs = self.usable()
        if times is not None:
            pairs = np.repeat(pairs, times[pairs])
        return calibrate(self.learner(), weights, pairs=pairs, texts=self.texts, seen=self.seen)


def links_with(weights: np.ndarray, pipeline: Pipeline, chosen: np.ndarray) -> list[list[Link]]:
    """Return the links between surface tokens of the chosen gold pairs by the model with other weights."""
    gold = Corpus.load(pipeline.folder("preprocess") / "gold")
    stored = load_if_there(pipeline.folder("lexicon") / "posteriors" / "gold")
    aligner = Aligner.load(pipeline.folder("train"))
    aligner.model = replace(aligner.model, weights=weights)
    posteriors = None if stored is None else stored.take(chosen)
    found = aligner.align_block(PairBlock(gold.take(chosen), posteriors=posteriors))
    return [[Link(*cell) for cell in found.pairs(pair)] for pair in range(len(found))]
