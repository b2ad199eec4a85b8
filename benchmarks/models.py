"""Weights that are learnt here, from what stages of the pipeline left, and links made with them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from align.aligner import Aligner
from align.arrays import load_array
from align.corpus import Corpus
from align.features import Edges
from align.labels import Labels
from align.links import Link
from align.posteriors import load_if_there
from align.problem import MatchingProblem
from align.shipped import find_weights
from align.solvers import SOLVERS
from align.weights import Weights
from pipeline.train_model import NO_WEIGHTS


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
    extra_groups : tuple of str
        Those of words; none where a word has one link.
    """

    edges: Edges
    labels: Labels
    pairs: np.ndarray
    options: dict[str, Any]
    groups: tuple[str, ...]
    extra_groups: tuple[str, ...] = ()

    @classmethod
    def load(cls, featurize: Path, label: Path, train: Path) -> Training:
        """Read the stages' folders; only gold pairs were labelled."""
        options = json.loads((train / "training.json").read_text(encoding="utf-8"))
        described = json.loads((train / "model.json").read_text(encoding="utf-8"))
        return cls(
            Edges.load(featurize / "edges"),
            Labels.load(label),
            load_array(label / "pairs.npy"),
            options,
            tuple(described["groups"]),
            tuple(described.get("extra_groups", ())),
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
            parts[0].extra_groups,
        )

    def weights(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """Learn from the chosen of the N pairs, default all, with the options of the stage train.

        Returns
        -------
        ndarray of float64, shape (d,)
        """
        linked = self.labels.counts() > 0
        usable = np.flatnonzero(linked) if chosen is None else chosen[linked[chosen]]
        problem = MatchingProblem(
            self.edges,
            self.labels,
            pairs=usable,
            most=self.options.get("fertility", 1),
            **self._those_of(MatchingProblem, without=("pairs",)),
        )
        run = SOLVERS[self.options["solver"]].run
        return run(problem, origin=self._origin(problem.d), **self._those_of(run)).weights

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features that have a weight."""
        several = self.options.get("fertility", 1) > 1 and self.edges.extra is not None
        return self.edges.names + (self.edges.extra.names if several and self.edges.extra else ())

    def _origin(self, d: int) -> np.ndarray | None:
        """Return the weights that the stage train started from."""
        known = self.options.get("weights", NO_WEIGHTS)
        if known == NO_WEIGHTS:
            return None
        origin = Weights.load(find_weights(known)).named(self.names)
        assert len(origin) == d, "as many weights as features"
        return origin

    def _those_of(self, function: Any, *, without: Sequence[str] = ()) -> dict[str, Any]:
        """Return the options that are keyword arguments of a function."""
        names = [name for name in inspect.signature(function).parameters if name not in without]
        return {name: self.options[name] for name in names if name in self.options}


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
    found = aligner.align_block(gold.take(chosen), posteriors=None if stored is None else stored.take(chosen))
    return [[Link(*cell) for cell in found.pairs(pair)] for pair in range(len(found))]


def folds(texts: Sequence[Any], count: int, seed: int) -> list[np.ndarray]:
    """Part pairs at random into folds of about the same size; equal pairs fall into one.

    Parameters
    ----------
    texts : sequence
        What the pairs are told apart by; hashable.
    count : int
        Folds, >= 2.
    seed : int
        >= 0.

    Returns
    -------
    list of ndarray of int64
        The pairs of each fold, ascending.
    """
    first: dict[Any, int] = {}
    kinds = np.array([first.setdefault(text, len(first)) for text in texts])
    order = np.random.default_rng(seed).permutation(len(first))
    fold_of = np.empty(len(first), dtype=np.int64)
    fold_of[order] = np.arange(len(first)) % count
    return [np.flatnonzero(fold_of[kinds] == fold) for fold in range(count)]
