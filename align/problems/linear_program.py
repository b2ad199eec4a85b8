"""The max oracle of word alignment by linear programming: the reference, some hundred times slower.

The 2019 experiments that this grew out of solved the oracle so. Where several labellings are best the linear
program may find another one than the assignment does: the paths of a solver part there, the minimum that it
ends at is the same.
"""

from __future__ import annotations

import numpy as np

from align.features.scoring import score_edges
from align.matching import linear_program
from align.problems.matching import FREE, SURE, MatchingProblem
from align.problems.protocol import Summing, Vertex


class LinearProgramProblem:
    """The problem of word alignment, its oracle a linear program (HiGHS).

    It has no kernels: solvers take it through its methods, one pair after the other.

    Parameters
    ----------
    compiled : MatchingProblem
        The same problem with the compiled oracle: pairs, labels, costs and links a word are its own.

    Attributes
    ----------
    n, d, nonnegative, summing
        As of :class:`align.problems.matching.MatchingProblem`.
    """

    def __init__(self, compiled: MatchingProblem) -> None:
        self.data = compiled.data
        self.n, self.d, self.nonnegative = compiled.n, compiled.d, compiled.nonnegative
        self.summing: Summing | None = None

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a maximising vertex of pair i, as of :class:`~align.problems.protocol.Problem`.

        Raises
        ------
        ValueError
            If a score under ``w`` is NaN or infinite.
        WorkError
            If HiGHS fails, or its solution is not integral.
        """
        data = self.data
        n, m = (int(words) for words in data.shapes[i])
        rows = slice(data.starts[i], data.starts[i] + n * m)
        features, kinds = data.features[rows], data.kinds[rows].reshape(n, m)
        sure, free = kinds == SURE, kinds == FREE
        cost_fp, cost_fn = data.costs
        psi, of_edges = np.empty(self.d), features.shape[1]
        theta = score_edges(features, w[:of_edges]).reshape(n, m) - cost_fn * sure + cost_fp * ~(sure | free)
        if not np.isfinite(theta).all():
            raise ValueError("oracle: a score <w, x> is NaN or infinite; give finite features and weights")
        phi = [
            words[start : start + count].astype(np.float64)
            for words, start, count in zip(
                (data.source_words, data.target_words), data.word_starts[i], (n, m), strict=True
            )
        ]
        weights = np.split(w[of_edges:], [phi[0].shape[1]])
        costs = [own @ of_own for own, of_own in zip(phi, weights, strict=True)]
        links = linear_program.solve(theta, *costs, max_fertility=int(data.max_fertility[0]))
        psi[:of_edges] = (sure.astype(np.float64) - links).ravel() @ features.astype(np.float64)
        further = [_further(links, side) - _further(sure, side) for side in (0, 1)]
        psi[of_edges:] = np.concatenate([more @ own for more, own in zip(further, phi, strict=True)])
        loss = cost_fn * float((sure & ~links).sum()) + cost_fp * float((links & ~sure & ~free).sum())
        return Vertex(psi, loss)

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi and loss of maximising vertices, as of :class:`~align.problems.protocol.Problem`."""
        weights = np.atleast_2d(w)
        psi, loss = np.empty((len(weights), len(block), self.d)), np.empty((len(weights), len(block)))
        for r, own in enumerate(weights):
            for place, i in enumerate(block.tolist()):
                psi[r, place], loss[r, place] = self.oracle(own, i)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])


def _further(links: np.ndarray, side: int) -> np.ndarray:
    """Return the links of each word of a side after its first."""
    further: np.ndarray = np.maximum(links.sum(axis=1 - side) - 1, 0)
    return further
