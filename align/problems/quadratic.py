"""Word alignment with a learnt bonus for consecutive links, as a structured problem (``quadratic``).

To the features of a labelling come sum_jk z_jk phi_jk, z_jk = min(y_jk, y_(j+1)(k+1)), with weights q >= 0
that are the last ones of w: the bonus of (j, k) is <q, phi_jk>, phi >= 0.

The maximum of the oracle is taken over the linear program, in which links may be fractions ([1]_, section
3.2). This *relaxed hinge* is no less than the hinge over matchings, so the objective that is minimised is an
upper bound of that of the quadratic assignment, and equal to it where the programs have integral solutions.
The relaxed maximum is attained at a vertex of a polytope, so that the duality gap certifies the minimum of
the relaxed objective.

References
----------
.. [1] S. Lacoste-Julien, B. Taskar, D. Klein and M. I. Jordan, "Word alignment via quadratic assignment",
   NAACL 2006.
"""

from __future__ import annotations

import numpy as np

from align.features import Edges
from align.features.scoring import score_edges
from align.matching import quadratic
from align.problems.labels import Labels
from align.problems.matching import COST_FN, COST_FP, FREE, SURE, MatchingProblem
from align.problems.protocol import Vertex

# A matching whose value is this near to its bound, relative to 1 + bound, is taken for a maximum of the
# program. The duality gap is then certain up to as much.
_TOLERANCE = 1e-9

# Steps of the fast solver before HiGHS is asked.
_STEPS = 100


class QuadraticProblem:
    """Word alignment of labelled pairs, in which consecutive links earn a bonus.

    Parameters
    ----------
    edges : Edges
        Features of the pairs' edges, as for :class:`align.problems.matching.MatchingProblem`.
    labels : Labels
        Gold links of the same pairs, matchings.
    phi : ndarray of float32, shape (E, p)
        Features of the bonus of the edge (j, k) and (j + 1, k + 1), >= 0; those of last words are not read.
    cost_fn, cost_fp : float
        Costs >= 0 of a missed sure link and of a wrong one.
    pairs : ndarray of int, shape (n,), optional
        Indices of the pairs to learn from, in the order of the blocks. Default: all.

    Attributes
    ----------
    n, d : int
        Pairs to learn from; features of edges and of bonuses.
    nonnegative : int
        Number of features of edges.

    Raises
    ------
    ValueError
        As :class:`align.problems.matching.MatchingProblem` does, or if phi does not fit or is negative or not
        finite.
    """

    def __init__(
        self,
        edges: Edges,
        labels: Labels,
        phi: np.ndarray,
        *,
        cost_fn: float = COST_FN,
        cost_fp: float = COST_FP,
        pairs: np.ndarray | None = None,
    ) -> None:
        if phi.ndim != 2 or len(phi) != len(edges.features):
            raise ValueError(f"problem: phi has shape {phi.shape}; give ({len(edges.features)}, p)")
        if not (np.isfinite(phi).all() and (phi >= 0).all()):
            raise ValueError("problem: a feature of a bonus is NaN, infinite or negative; give values >= 0")
        plain = MatchingProblem(edges, labels, cost_fn=cost_fn, cost_fp=cost_fp, pairs=pairs)
        self.n, self.nonnegative, self.d = plain.n, plain.d, plain.d + phi.shape[1]
        self._features, self._kinds, self._shapes, self._starts = plain.data[:4]
        self._phi = np.ascontiguousarray(phi, dtype=np.float32)
        # What an edge adds to the loss where it is linked, by its kind; a missed sure link costs c_fn.
        self._costs = np.where(self._kinds == SURE, -cost_fn, np.where(self._kinds == FREE, 0.0, cost_fp))
        self._cost_fn = cost_fn

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a vertex of pair i that maximises loss - <w, psi>; w float64, shape (d,)."""
        links = self._maxima(w, np.array([i]))[0]
        return Vertex(*self._vertex(links, i))

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,) of the vertices of ``block``, int64 (b,), in their order.

        With several weight vectors, ``w`` of shape (r, d), they are (r, b, d) and (r, b).
        """
        if w.ndim == 2:
            found = [self.oracles(one, block) for one in w]
            return np.stack([psi for psi, _ in found]), np.stack([loss for _, loss in found])
        psi, loss = np.empty((len(block), self.d)), np.empty(len(block))
        for place, links in enumerate(self._maxima(w, block)):
            psi[place], loss[place] = self._vertex(links, int(block[place]))
        return psi, loss

    def _rows(self, i: int) -> slice:
        first = int(self._starts[i])
        return slice(first, first + int(self._shapes[i].prod(dtype=np.int64)))

    def _maxima(self, w: np.ndarray, block: np.ndarray) -> list[np.ndarray]:
        """Return the links, in [0, 1], that are best for the program of each pair, float64 (n_i * m_i,)."""
        if not len(block):
            return []
        rows = [self._rows(int(i)) for i in block]
        theta = [score_edges(self._features[own], w[: self.nonnegative]) + self._costs[own] for own in rows]
        bonus = [score_edges(self._phi[own], w[self.nonnegative :]) for own in rows]
        shapes = self._shapes[block]
        offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
        found = quadratic.solve(
            np.concatenate(theta),
            np.concatenate(bonus),
            shapes,
            offsets,
            steps=_STEPS,
            tolerance=_TOLERANCE,
        )
        certain = found.bounds - found.values <= _TOLERANCE * (1.0 + found.bounds)
        best = []
        for place, shape in enumerate(shapes.tolist()):
            links = found.links[offsets[place] : offsets[place + 1]].astype(np.float64)
            if not certain[place]:
                own = theta[place].reshape(shape), bonus[place].reshape(shape)
                # HiGHS is exact up to a tolerance only, and no labelling may be worse than gold
                choices = {
                    quadratic.total(*own, each.reshape(shape)): each
                    for each in (links, self._gold(rows[place]), quadratic.relaxation(*own).links.ravel())
                }
                links = choices[max(choices)]
            best.append(links)
        return best

    def _gold(self, rows: slice) -> np.ndarray:
        return np.asarray(self._kinds[rows] == SURE, dtype=np.float64)

    def _vertex(self, links: np.ndarray, i: int) -> tuple[np.ndarray, float]:
        """Return psi and the loss of the links of pair i."""
        rows, shape = self._rows(i), self._shapes[i]
        gold = self._gold(rows)
        psi = np.empty(self.d)
        psi[: self.nonnegative] = _sum(self._features[rows], gold - links)
        runs = [quadratic.consecutive(found.reshape(shape)).ravel() for found in (gold, links)]
        psi[self.nonnegative :] = _sum(self._phi[rows], runs[0] - runs[1])
        loss = float(self._costs[rows] @ links) + self._cost_fn * float(gold.sum())
        return psi, max(loss, 0.0)


def _sum(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of rows, float64; most weights are 0."""
    used = np.flatnonzero(weights)
    return np.asarray(weights[used] @ features[used].astype(np.float64))
