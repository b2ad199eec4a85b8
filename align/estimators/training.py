"""Weights learnt from linked pairs of a text, in memory, with the statistics of that text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from align.core.errors import InputError
from align.features import DEFAULT_WORD_GROUPS, Edges, PairBlock, compute
from align.learning.calibration import UNFITTED, Calibration, word_counts
from align.learning.cross_validation import Learner, texts_of
from align.learning.gold import labels_of
from align.learning.held_out_calibration import calibrate
from align.learning.hidden import hide
from align.links import Link
from align.model.adapting import CALIBRATED_FROM
from align.model.own_text import OwnText
from align.model.pairs import look_up
from align.model.weights import Weights, names_of
from align.problems.labels import Labels
from align.solvers import Fit, Progress, Solver
from align.text.processor import Tokens

TokenPair = tuple[Tokens, Tokens]


class Task(NamedTuple):
    """What is learnt from: N linked pairs, which are the first of a text."""

    text: list[TokenPair]
    own: OwnText
    gold: list[list[Link]]
    groups: tuple[str, ...]
    fertility: int


class Learnt(NamedTuple):
    """What came of it."""

    learner: Learner
    usable: np.ndarray  # int64: the pairs with a sure link
    fit: Fit
    calibration: Calibration
    origin: Weights | None
    word_groups: tuple[str, ...]


def learnt(
    task: Task, method: Callable[[int], Solver[Any]], costs: tuple[float, float], origin: Weights | None,
    *, hidden: bool, seed: int, on_pass: Callable[[Progress], None] | None,
) -> Learnt:  # fmt: skip
    """Learn the weights, and how far to trust the links they make.

    Parameters
    ----------
    task : Task
    method : function
        From the number of pairs that are learnt from to a solver.
    costs : (float, float)
        Of a missed sure link, and of a wrong link, >= 0.
    origin : Weights or None
        Known weights.
    hidden : bool
        Whether each pair is learnt from once more with words that are not known.
    seed : int
        Of what is made unknown, >= 0.
    on_pass : function or None
        Called after each pass of the solver.

    Raises
    ------
    InputError
        If no pair has a sure link, a linked pair is too long, or the solver refuses its data.
    """
    resources, count = task.own.resources, len(task.gold)
    word_groups: tuple[str, ...] = () if task.fertility == 1 else DEFAULT_WORD_GROUPS
    if task.fertility > 1 and origin is not None and origin.word_groups:
        word_groups = origin.word_groups
    pairs = _gold_block(task)
    edges = compute(pairs, resources, groups=task.groups, word_groups=word_groups)
    labels = labels_of(task.gold, pairs.corpus, edges, max_fertility=task.fertility)
    usable = np.flatnonzero(labels.counts() > 0)
    if not len(usable):
        raise InputError("MatchingSSVM: no pair has a sure link; link some words and mark them sure")
    if hidden:
        again, again_labels = hide(pairs.corpus, labels, resources, seed=seed)
        more = compute(again, resources, groups=task.groups, word_groups=word_groups)
        edges, labels = Edges.join([edges, more]), Labels.join([labels, again_labels])
    names = names_of(task.groups, word_groups, resources)
    learner = Learner(
        edges,
        labels,
        solver=method(len(usable)),
        cost_fn=costs[0],
        cost_fp=costs[1],
        max_fertility=task.fertility,
        origin=None if origin is None else origin.named(names),
        copies=count + np.arange(count) if hidden else None,
    )
    try:
        fit = learner.solver.run(learner.problem(usable), origin=learner.origin, on_pass=on_pass)
    except ValueError as error:
        raise InputError(f"MatchingSSVM: {error}; change the parameters, or take another solver") from None
    calibration = UNFITTED if origin is None else origin.calibration
    if len(usable) >= CALIBRATED_FROM or origin is None:
        seen = word_counts(pairs.corpus, (resources.source_vocabulary, resources.target_vocabulary))
        calibration = calibrate(learner, fit.weights, pairs=usable, texts=texts_of(pairs.corpus), seen=seen)
    return Learnt(learner, usable, fit, calibration, origin, word_groups)


def _gold_block(task: Task) -> PairBlock:
    """Return the linked pairs as word ids, with what was sampled of them."""
    count, resources = len(task.gold), task.own.resources
    block, lines = look_up(task.text[:count], (resources.source_vocabulary, resources.target_vocabulary))
    if len(lines) > count:
        place = int(lines[:-1][np.diff(lines) == 0][0])
        raise InputError(f"pair {place}: too long to learn from; cut it to sentences, or leave it out")
    stored = task.own.posteriors
    return block if stored is None else block._replace(posteriors=stored.block(0, count))
