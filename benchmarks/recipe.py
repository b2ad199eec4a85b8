"""How weights that serve any language pair are learnt: from gold of several pairs and sizes of text.

How far statistics can be trusted depends on how much text they are made of. So every gold text is learnt
from several times: whole, and cut into small parts that are corpora of their own; or with more and less of
a bitext of its languages beside it. Every other pair is seen twice: as it is, and as text that a model comes
to later, with words that it does not know (:mod:`align.learning.hidden`). With all of them twice the weights
are worse for the text of a corpus itself, and no better for other text.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from align.core.errors import InputError
from align.model.weights import Weights
from benchmarks.figures import read_lines
from benchmarks.gold import Source
from benchmarks.models import Training
from benchmarks.runs import pipeline_of

# Pairs of the parts a gold text is cut into; 0 is the whole.
PARTS = (100, 300, 0)

# A missed link costs little more than a wrong one: annotators differ in how much they link, and precision is
# what they agree on.
OPTIONS: dict[str, Any] = {
    "train.cost_fn": 1.5,
    "train.cost_fp": 1.0,
    "train.lam": 0.001,
    "train.fertility": 2,
    "train.weights": "none",
}


def parse(text: str) -> list[Source]:
    """Read ``PREFIX:SOURCE-TARGET`` (its own text, in parts) or ``PREFIX:SOURCE-TARGET:BITEXT:SIZE``.

    Raises
    ------
    InputError
        If it is neither.
    """
    prefix, _, rest = text.partition(":")
    pair, _, beside = rest.partition(":")
    source, dash, target = pair.partition("-")
    bitext, colon, size = beside.rpartition(":")
    if not (prefix and source and dash and target) or (beside and not (colon and size.isdecimal())):
        raise InputError(f"{text}: not PREFIX:SOURCE-TARGET or PREFIX:SOURCE-TARGET:BITEXT:SIZE")
    if beside:
        return [Source(Path(prefix), source, target, Path(bitext), int(size))]
    return [Source(Path(prefix), source, target, None, size) for size in PARTS]


def balanced(kinds: Sequence[Hashable]) -> np.ndarray:
    """Return how often each pair is calibrated on: every language pair at least 2/3 as often as the largest.

    Annotators differ in what they call a link; without that the one that made most would decide alone.
    """
    counts = Counter(kinds)
    most = max(counts.values(), default=0)
    return np.array([max(1, round(most * 2 / 3 / counts[kind])) for kind in kinds], dtype=np.int64)


class Recipe:
    """Learns weights from gold of several sources, with the pipeline of a command as it is by default."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._known: dict[Source, list[Training]] = {}

    def learn(self, sources: Sequence[Source]) -> Weights:
        """Return the weights that the gold of all sources gives, and their calibration."""
        parts = [(source.languages, each) for source in sources for each in self._trainings(source)]
        training = Training.join([part for _, part in parts])
        kinds = [languages for languages, part in parts for _ in part.pairs]
        fitted = training.weights()
        return Weights(
            names=training.names,
            weights=fitted,
            groups=training.groups,
            calibration=training.calibration(fitted, balanced(kinds)),
            options={name.partition(".")[2]: value for name, value in OPTIONS.items()},
            provenance={
                "trained_on": [source.described() for source in sources],
                "pairs": len(training.pairs),
                "seed": self._args.seed,
            },
            fertility=OPTIONS["train.fertility"],
            word_groups=training.word_groups,
        )

    def _trainings(self, source: Source) -> list[Training]:
        """Return the features and labels of all pairs of a source, corpus by corpus."""
        if source not in self._known:
            self._known[source] = [
                self._training(
                    source, f"{source.name}.{number}" if source.size else source.name, part, number
                )
                for number, part in enumerate(self._parts(source))
            ]
        return self._known[source]

    def _parts(self, source: Source) -> list[Source]:
        """Return the parts of a gold text, cut here if need be."""
        if source.bitext is not None or not source.size:
            return [source]
        pairs = len(read_lines(source.links))
        count = max(1, pairs // source.size)
        ends = [number * pairs // count for number in range(count + 1)]
        folder = self._args.out / "parts"
        return [
            source.part(range(*between), folder / f"{source.name}-{number}")
            for number, between in enumerate(pairwise(ends))
        ]

    def _training(self, source: Source, name: str, part: Source, number: int) -> Training:
        settings = part.own_text(name)
        if source.bitext is not None:
            text = replace(source, prefix=source.bitext)
            settings["corpus"] |= {"files": text.files(), "tokenized": False, "limit": source.size}
            settings["preprocess"] = {"profile": "expand"}
        pipeline = pipeline_of(self._args, name, settings)
        pipeline.run("train", [f"{key}={value}" for key, value in OPTIONS.items()])
        training = Training.load(pipeline)
        assert training.copies is not None  # a pipeline makes them by default
        once = np.arange(len(training.pairs)) % 2 != (self._args.seed + number) % 2
        return replace(training, copies=np.where(once, -1, training.copies))
