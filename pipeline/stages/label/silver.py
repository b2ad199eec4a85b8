"""Silver labels of a sample of the corpus (:mod:`align.learning.silver`), block by block, in any process.

A block is read by itself, so that memory grows neither with the corpus nor with the sample, the labels aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from align.core.arrays import load_array
from align.core.ragged import SIDES
from align.data.corpus import Corpus
from align.learning import silver
from align.learning.silver import Evidence
from align.problems.labels import Labels
from align.statistics.lexicon import Lexicon
from align.statistics.posteriors import Posteriors
from pipeline.stages.lexicon.places import POSTERIORS
from pipeline.work.manifest import made_of
from pipeline.work.stage import StageContext

_PAIRS_A_BLOCK = 256


@dataclass(frozen=True)
class Method:
    """How labels are made: a method of :mod:`align.learning.silver` by name, and its options."""

    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A block of the sample, and the folders of what its labels follow from."""

    preprocess: str
    embed: str
    lexicon: str
    made: str  # tells apart what was made at different times in the same folders
    method: Method | None  # None: there are no labels
    pairs: np.ndarray  # int64, shape (n,): parts of the corpus
    others: np.ndarray  # the same: their target sides are put to the source sides of pairs, for chance


class Found(NamedTuple):
    """The labels of a block, and the evidence for its pairs and for pairs made at random."""

    labels: Labels
    true: Evidence
    chance: Evidence


def label_sample(context: StageContext, sample: np.ndarray, method: Method | None) -> Found:
    """Label parts of the corpus, int64 (n,); without a method there is the evidence alone."""
    found = list(context.map(label_block, list(_tasks(context, sample, method)), threads=context.jobs))
    return Found(
        Labels.join([block.labels for block in found]),
        Evidence.join([block.true for block in found]),
        Evidence.join([block.chance for block in found]),
    )


def _tasks(context: StageContext, sample: np.ndarray, method: Method | None) -> Iterator[Task]:
    names = ("preprocess", "embed", "lexicon")
    made = made_of(context.inputs[name] for name in names)
    others = np.roll(sample, len(sample) // 2)
    for start in range(0, len(sample), _PAIRS_A_BLOCK):
        here = slice(start, start + _PAIRS_A_BLOCK)
        folders = {name: str(context.inputs[name]) for name in names}
        yield Task(**folders, made=made, method=method, pairs=sample[here], others=others[here])


def label_block(task: Task) -> Found:
    """Label a block and weigh the evidence for its pairs."""
    text = Path(task.preprocess) / "corpus"
    lexicon = _lexicon(task.lexicon, task.made)
    block = Corpus.load_chosen(text, task.pairs)
    chance = replace(block, target=Corpus.load_chosen(text, task.others).target)
    return Found(
        Labels.from_lists([]) if task.method is None else _labels(task, task.method, block, lexicon),
        silver.evidence(block, lexicon, counted=True),
        silver.evidence(chance, lexicon, counted=False),
    )


def _labels(task: Task, method: Method, block: Corpus, lexicon: Lexicon) -> Labels:
    if method.name == "sampled":
        stored = Posteriors.load_chosen(Path(task.lexicon) / POSTERIORS / "corpus", task.pairs)
        return silver.sampled(block, stored, **method.options)
    vectors = _vectors(task.embed, task.made)
    if method.name == "cosine":
        return silver.cosine(block, *vectors, **method.options)
    return silver.mutual(block, *vectors, lexicon, **method.options)


@lru_cache(maxsize=1)
def _lexicon(folder: str, made: str) -> Lexicon:
    return Lexicon.load(Path(folder), mapped=True)


@lru_cache(maxsize=1)
def _vectors(folder: str, made: str) -> tuple[np.ndarray, np.ndarray]:
    source, target = (load_array(Path(folder) / f"{side}.vectors.npy", mapped=True) for side in SIDES)
    return source, target
