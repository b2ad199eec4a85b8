"""Cross-validation: links of pairs by weights learnt from the other folds, and settings chosen by them.

Weights fit the pairs they were learnt from better than any others, the more so the fewer there are. What is
to hold for new text (how much to regularise, what a missed link costs, how far to trust a link) is told by
pairs left out. The links made in them are counted over all folds together; of the counts the alignment error
rate follows as in :mod:`align.evaluation.metrics`: sure links are the labels' sure ones, linking a free one
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from align.data.corpus import Corpus
from align.evaluation.metrics import COLUMNS, figures
from align.features import Edges
from align.matching.decoding import decode, score
from align.problems.labels import Labels
from align.problems.linear_program import LinearProgramProblem
from align.problems.matching import COST_FN, COST_FP, MatchingProblem
from align.problems.protocol import Summing
from align.solvers.block import BlockFrankWolfe
from align.solvers.loop import Solver

# Pairs whose features are copied at a time.
_PAIRS_AT_A_TIME = 256

# What the given values are multiplied by.
LAM_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
COST_FACTORS = (1.0, 1 / 3, 3.0)

ORACLES = ("assignment", "linear_program")

Task: TypeAlias = MatchingProblem | LinearProgramProblem


@dataclass(frozen=True)
class Learner:
    """Labelled pairs, and all that is needed to learn from some of them.

    Attributes
    ----------
    edges : Edges
        Features of N pairs; they may lie on disk.
    labels : Labels
        Their links.
    solver : Solver
        One of :data:`align.solvers.SOLVERS` with its options. Its time limit is without effect here.
    cost_fn, cost_fp
        As of :class:`~align.problems.matching.MatchingProblem`.
    origin : ndarray of float64, shape (d,), optional
        Known weights to start from.
    max_fertility : int
        Links that a word may have, >= 1.
    oracle : str
        One of :data:`ORACLES`: an assignment (with several links a word a flow), or a linear program.
    sharing : function, optional
        ``sharing(learner, problem, pairs)`` returns who makes the sums over all of some pairs, or None.
    copies : ndarray of int64, shape (M,), optional
        The pair that each of the first M pairs is once more, with other words (:mod:`align.learning.hidden`),
        -1 for none: who learns from a pair learns from that too.
    """

    edges: Edges
    labels: Labels
    solver: Solver[Any] = field(default_factory=BlockFrankWolfe)
    cost_fn: float = COST_FN
    cost_fp: float = COST_FP
    max_fertility: int = 1
    origin: np.ndarray | None = None
    oracle: str = "assignment"
    sharing: Callable[[Learner, Task, np.ndarray], Summing | None] | None = None
    copies: np.ndarray | None = None

    def weights(self, pairs: np.ndarray) -> np.ndarray:
        """Learn from some pairs, int (n,), n >= 1, that have sure links; float64, shape (d,)."""
        unhurried = replace(self.solver, time_limit=None)
        return unhurried.run(self.problem(pairs), origin=self.origin).weights

    def problem(self, pairs: np.ndarray) -> Task:
        """Return what is solved to learn from some pairs, int (n,); errors are those of the problem."""
        if self.copies is not None:
            copies = self.copies[pairs]
            pairs = np.concatenate([pairs, copies[copies >= 0]])
        compiled = MatchingProblem(
            self.edges,
            self.labels,
            cost_fn=self.cost_fn,
            cost_fp=self.cost_fp,
            pairs=pairs,
            max_fertility=self.max_fertility,
        )
        problem = compiled if self.oracle == "assignment" else LinearProgramProblem(compiled)
        if self.sharing is not None:
            problem.summing = self.sharing(self, problem, pairs)
        return problem

    def links(self, weights: np.ndarray, pairs: np.ndarray) -> Found:
        """Return the links that weights make in some pairs, int (n,), and what the labels say of them."""
        parts = []
        for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
            block = pairs[start : start + _PAIRS_AT_A_TIME]
            edges, labels = self.edges.take(block), self.labels.take(block)
            linked, scores, _ = decode(score(edges, weights), max_fertility=self.max_fertility)
            sure, free = labels.dense(edges.shapes)
            shift = self.edges.offsets[block] - edges.offsets[:-1]
            of_pair = np.searchsorted(edges.offsets, linked, side="right") - 1
            parts.append(Found(linked + shift[of_pair], scores, sure[linked], free[linked], int(sure.sum())))
        return Found.join(parts)


class Found(NamedTuple):
    """Links that were made in labelled pairs."""

    edges: np.ndarray  # int64, shape (L,): those that were linked, as rows of the features of all pairs
    scores: np.ndarray  # float64, shape (L,): their scores
    sure: np.ndarray  # bool, shape (L,): whether each is a sure link
    free: np.ndarray  # bool, shape (L,): whether it is one that costs nothing
    gold: int  # sure links in these pairs

    @classmethod
    def join(cls, parts: Sequence[Found]) -> Found:
        """Put the links of several runs of pairs together, in their order."""
        none = np.zeros(0, dtype=bool)
        return cls(
            np.concatenate([np.zeros(0, dtype=np.int64), *(part.edges for part in parts)]),
            np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
            np.concatenate([none, *(part.sure for part in parts)]),
            np.concatenate([none, *(part.free for part in parts)]),
            sum(part.gold for part in parts),
        )

    def counts(self) -> np.ndarray:
        """Return the columns of ``COLUMNS``, int64, shape (5,): |P| counts what was linked.

        Sure links are those of the labels; linking a free one counts as right and costs nothing.
        """
        right = int(self.sure.sum())
        possible = right + int(self.free.sum())
        return np.array([len(self.scores), self.gold, right, possible, possible], dtype=np.int64)


def folds(texts: Sequence[Hashable], count: int, seed: int) -> list[np.ndarray]:
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
        The pairs of each fold, ascending; a fold is empty where there are fewer different pairs than folds.
    """
    first: dict[Hashable, int] = {}
    kinds = np.array([first.setdefault(text, len(first)) for text in texts], dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(first))
    fold_of = np.empty(len(first), dtype=np.int64)
    fold_of[order] = np.arange(len(first)) % count
    return [np.flatnonzero(fold_of[kinds] == fold) for fold in range(count)]


def texts_of(corpus: Corpus) -> list[tuple[bytes, bytes]]:
    """Return what tells the pairs of a corpus apart: their words on both sides."""
    sides = []
    for side in (corpus.source, corpus.target):
        starts = side.offsets.tolist()
        ids = np.asarray(side.ids)
        sides.append([ids[a:b].tobytes() for a, b in pairwise(starts)])
    return list(zip(*sides, strict=True))


def held_out(learner: Learner, parts: Sequence[np.ndarray]) -> Found:
    """Return the links of each part by weights that were learnt from all other parts.

    Parameters
    ----------
    learner : Learner
        The pairs, and how they are learnt from.
    parts : sequence of ndarray of int64
        Two folds of pairs or more, none empty; pairs with sure links.
    """
    return Found.join(
        [learner.links(learner.weights(_others(parts, fold)), part) for fold, part in enumerate(parts)]
    )


def _others(parts: Sequence[np.ndarray], left_out: int) -> np.ndarray:
    """Return the pairs of all folds but one, ascending."""
    return np.sort(np.concatenate([part for fold, part in enumerate(parts) if fold != left_out]))


class Setting(NamedTuple):
    """What is chosen: ``lam`` > 0, and the cost ``cost_fn`` >= 0 of a missed sure link."""

    lam: float
    cost_fn: float


class HeldOut(NamedTuple):
    """What a setting is worth on pairs left out, over all folds together."""

    setting: Setting
    aer: float  # in [0, 1]; it follows from the counts, which are of :data:`align.evaluation.metrics.COLUMNS`
    links: int
    sure: int
    sure_matched: int
    possible_matched: int

    def as_dict(self) -> dict[str, float]:
        """Return the setting and the figures by name, for JSON."""
        return {**self.setting._asdict(), **dict(zip(self._fields[1:], self[1:], strict=True))}


def grid_around(lam: float, cost_fn: float) -> list[Setting]:
    """Return the settings that are tried: the given one times factors; each once."""
    settings = [Setting(lam * by, cost_fn * times) for times in COST_FACTORS for by in LAM_FACTORS]
    return list(dict.fromkeys(settings))


def with_setting(learner: Learner, setting: Setting) -> Learner:
    """Return a learner with other values."""
    solver = replace(learner.solver, lam=setting.lam)
    return replace(learner, solver=solver, cost_fn=setting.cost_fn)


def select(
    learner: Learner,
    grid: Sequence[Setting],
    parts: Sequence[np.ndarray],
    *,
    on_setting: Callable[[HeldOut], None] | None = None,
) -> tuple[Setting, list[HeldOut]]:
    """Choose the setting with the least error on pairs left out.

    Parameters
    ----------
    learner : Learner
        The pairs, and how they are learnt from but for the setting.
    grid : sequence of Setting
        At least one.
    parts : sequence of ndarray of int64
        Two folds or more, none empty (:func:`folds`); pairs with sure links.
    on_setting : function, optional
        Called with each setting's figures.

    Returns
    -------
    Setting, list of HeldOut
        The choice: of equal errors that with the largest ``lam``, then the first of the grid; and the table,
        in the order of the grid.
    """
    table = []
    for setting in grid:
        counts = held_out(with_setting(learner, setting), parts).counts()
        row = dict(zip(COLUMNS, counts.tolist(), strict=True))
        row.pop("possible")
        table.append(HeldOut(setting, float(figures(counts[None])[0, 0]), **row))
        if on_setting is not None:
            on_setting(table[-1])
    # min takes the first of equals.
    return min(table, key=lambda each: (each.aer, -each.setting.lam)).setting, table
