"""Sums over all labelled pairs, by the workers of a cluster: what a pass of the oracle at one w comes to.

The duality gap of every solver is measured by such sums, and the solver ``fw`` consists of them. A worker is
told which pairs and w; the features it reads where they lie. Sums are added here in the order of the pieces,
which are the same whoever makes them (:data:`align.problems.objective.PIECE`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from align.learning.cross_validation import Learner, Task
from align.problems.labels import Labels
from align.problems.objective import piece_sums, threaded
from align.problems.protocol import Problem, Summing
from pipeline.stages.featurize import load_edges
from pipeline.work.engine import Dask
from pipeline.work.manifest import made_of
from pipeline.work.stage import StageContext

# Fewer pairs are summed here, on threads: that takes some tenths of a second, and sending has its price.
LEAST_PAIRS = 4000

_OF_PROBLEM = ("cost_fn", "cost_fp", "max_fertility", "oracle")


@dataclass(frozen=True)
class Piece:
    """Labelled pairs to be summed over, and what tells the problem."""

    featurize: str
    made: str  # tells apart labels that were made at different times in the same folder
    pairs: np.ndarray  # int64, shape (n,), n >= 1: some of the labelled pairs
    w: np.ndarray  # float64, shape (d,) or (r, d)
    options: dict[str, Any]  # those of align.learning.cross_validation.Learner that make the problem


def sharing(context: StageContext) -> Callable[[Learner, Task, np.ndarray], Summing | None]:
    """Return what tells a learner who sums: a cluster where there is one, if that pays, else threads."""
    featurize = context.inputs["featurize"]
    made = made_of([featurize])

    def share(learner: Learner, problem: Task, pairs: np.ndarray) -> Summing | None:
        if not isinstance(context.engine, Dask) or problem.n < LEAST_PAIRS:
            return threaded(problem, context.jobs)

        options = {name: getattr(learner, name) for name in _OF_PROBLEM}

        def summing(
            _: Problem, w: np.ndarray, pieces: Sequence[range]
        ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            items = (
                Piece(str(featurize), made, pairs[piece.start : piece.stop], w, options) for piece in pieces
            )
            return context.engine.map(sum_piece, items)

        return summing

    return share


def sum_piece(piece: Piece) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of psi* and of the losses over a piece, in any process."""
    # mapped anew for each piece, or in time all features would count as memory of the worker
    edges, labels = load_edges(Path(piece.featurize)), _labels(piece.featurize, piece.made)
    first, last = int(piece.pairs.min()), int(piece.pairs.max()) + 1
    learner = Learner(edges.block(first, last), labels.block(first, last), **piece.options)
    problem = learner.problem(piece.pairs - first)
    return piece_sums(problem, piece.w, range(problem.n))


@lru_cache(maxsize=1)
def _labels(folder: str, made: str) -> Labels:
    return Labels.load(Path(folder))
