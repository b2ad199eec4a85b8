"""The max oracle of word alignment by linear programming: the reference, some hundred times slower.

The 2019 experiments that this grew out of solved the oracle so. A pair's labellings are the integral points
of a polytope whose constraint matrix is totally unimodular, so a vertex that solves the programme is a
labelling; :func:`align.matching.assignment.lp` and :func:`align.matching.fertility.lp` check that it is one.

Where several labellings are best the programme may find another one than the assignment does: the paths of a
solver part there, the minimum that it ends at is the same.
"""

from __future__ import annotations

import numpy as np

from align.features.scoring import score_edges
from align.matching import assignment as matching
from align.matching import fertility
from align.problems.oracle import FREE, SURE
from align.problems.problem import MatchingProblem, Summing, Vertex


class ProgrammeProblem:
    """The problem of word alignment, its oracle a linear programme (HiGHS).

    It has no kernels: solvers take it through its methods, one pair after the other.

    Parameters
    ----------
    compiled : MatchingProblem
        The same problem with the compiled oracle: pairs, labels, costs and links a word are its own.

    Attributes
    ----------
    n, d, nonnegative, summing
        As of :class:`align.problems.problem.MatchingProblem`.
    """

    def __init__(self, compiled: MatchingProblem) -> None:
        self._compiled = compiled
        self._data = compiled.data
        self.n, self.d, self.nonnegative = compiled.n, compiled.d, compiled.nonnegative
        self.summing: Summing | None = None

    def gold(self, i: int) -> Vertex:
        """Return the gold labelling of pair i: psi = 0, loss = 0."""
        return self._compiled.gold(i)

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a vertex of pair i that maximises loss - <w, psi>; w float64, shape (d,).

        Raises
        ------
        ValueError
            If a score under ``w`` is NaN or infinite.
        WorkError
            If HiGHS fails, or its solution is not integral.
        """
        data, most = self._data, int(self._data.most[0])
        n, m = (int(words) for words in data.shapes[i])
        rows = slice(data.starts[i], data.starts[i] + n * m)
        features, kinds = data.features[rows], data.kinds[rows]
        of_edges = features.shape[1]
        sure, free = kinds == SURE, kinds == FREE
        cost_fp, cost_fn = data.costs
        theta = score_edges(features, w[:of_edges]) - cost_fn * sure + cost_fp * ~(sure | free)
        if not np.isfinite(theta).all():
            raise ValueError("oracle: a score <w, x> is NaN or infinite; give finite features and weights")
        if most == 1:
            links = matching.lp(theta.reshape(n, m))
        else:
            source, target = self._words(i, n, m)
            split = of_edges + source.shape[1]
            links = fertility.lp(
                theta.reshape(n, m), source @ w[of_edges:split], target @ w[split:], most=most
            )
        return self._vertex(i, links, sure, free, features)

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,) of the vertices of the pairs ``block``, int64 (b,), in their order.

        With several weight vectors, ``w`` of shape (r, d), they are (r, b, d) and (r, b).
        """
        weights = np.atleast_2d(w)
        psi, loss = np.empty((len(weights), len(block), self.d)), np.empty((len(weights), len(block)))
        for r, own in enumerate(weights):
            for place, i in enumerate(block.tolist()):
                psi[r, place], loss[r, place], _ = self.oracle(own, i)
        return (psi, loss) if w.ndim == 2 else (psi[0], loss[0])

    def _vertex(
        self, i: int, links: np.ndarray, sure: np.ndarray, free: np.ndarray, features: np.ndarray
    ) -> Vertex:
        """Return what a solver sees of some links, bool (n, m), of pair i."""
        cost_fp, cost_fn = self._data.costs
        found = links.ravel()
        psi = np.empty(self.d)
        of_edges = features.shape[1]
        psi[:of_edges] = (sure.astype(np.float64) - found) @ features.astype(np.float64)
        if self.d > of_edges:
            gold = sure.reshape(links.shape)
            words = self._words(i, *links.shape)
            psi[of_edges:] = np.concatenate(
                [
                    (_further(links, axis) - _further(gold, axis)) @ phi
                    for axis, phi in zip((1, 0), words, strict=True)
                ]
            )
        loss = cost_fn * float((sure & ~found).sum()) + cost_fp * float((found & ~sure & ~free).sum())
        return Vertex(psi, loss, np.packbits(found).tobytes())

    def _words(self, i: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of the source and target words of pair i, float64."""
        source, target = (int(start) for start in self._data.word_starts[i])
        return (
            self._data.source_words[source : source + n].astype(np.float64),
            self._data.target_words[target : target + m].astype(np.float64),
        )


def _further(links: np.ndarray, axis: int) -> np.ndarray:
    """Return the links of each word after its first."""
    further: np.ndarray = np.maximum(links.sum(axis=axis) - 1, 0)
    return further
