"""Oracles that may miss the maximum by a stated error, and what the theory says of steps by them.

A vertex whose value L - <w, psi> is below the maximum by e_i is good enough for a Frank-Wolfe step if e_i is
no more than

    delta C / (k/n + 2)

in step k = 0, 1, ... of a block, C the product curvature of the dual for block-coordinate steps ([2]_,
Theorem 2 and appendix C) and C_f for batch ones, of which n such steps are one ([1]_, equation 7 and Theorem
1; in the dual e_i counts e_i/n, and delta gamma C / 2 with the step gamma = 2/(t + 2) is allowed for all
blocks together). After t passes the distance h_t of the dual from its maximum is then at most

    batch:              2 C_f (1 + delta) / (t + 2),
    block-coordinate:   2 (C (1 + delta) + h_0) / (t + 2),     in expectation, blocks drawn uniformly.

An error epsilon that does not shrink adds epsilon: h_(t+1) <= (1 - gamma) h_t + gamma epsilon + gamma^2 C/2.

:class:`ApproximateProblem` gives any problem such an oracle. Only the steps of a solver ask it. What measures
the duality gap stays the exact oracle, so that the certificate is exact, and tells how much the error cost.

References
----------
.. [1] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML 2013.
   https://proceedings.mlr.press/v28/jaggi13.html
.. [2] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from align.features.scoring import score_edges
from align.matching import assignment
from align.problems.matching import FREE, SURE, MatchingProblem
from align.problems.protocol import Problem, Summing, Vertex
from align.problems.sequences import ChainProblem


class Found(NamedTuple):
    """What an approximate oracle says of a block."""

    vertex: Vertex
    shortfall: float  # the maximum of loss - <w, psi> is above the vertex's value by at most this, >= 0


class ApproximateOracle(Protocol):
    """Find a vertex of block i whose value at w is near the maximum, and say how near.

    ``allowed`` >= 0 is the shortfall that would do: an oracle that can choose may stop there. One that keeps
    something from call to call has a method ``forget()``, which is called before a run.
    """

    def __call__(self, w: np.ndarray, i: int, allowed: float) -> Found:
        """Return the vertex and a bound of its shortfall, no guess."""
        ...


class ApproximateProblem:
    """A problem whose solvers step by an approximate oracle, and measure by the exact one.

    ``oracle`` and ``step_oracles`` are what steps ask, ``oracles`` and ``summing`` what measurements ask.
    What was found with a larger shortfall than allowed is found again exactly; where the gold labelling is
    better, it is taken. It has no kernels: passes are interpreted.

    Parameters
    ----------
    exact : Problem
    find : ApproximateOracle
    delta : float
        The error, >= 0: the shortfall that is allowed, in the units of the loss; with a ``curvature`` it is
        ``delta * curvature / (k / n + 2)`` in step k.
    curvature : float, optional
        C_f of the dual, or its product curvature, or bounds of them, > 0
        (:func:`align.solvers.generic.curvature.dual_curvature_bounds`).

    Attributes
    ----------
    steps : int
        Vertices found in the last run, from where it was resumed. The k of the error allowed counts those
        before, too.
    exactly : int
        How many of them the exact oracle had to find.
    worst, total : float
        The largest shortfall that was taken as stated, and the sum of all.

    Raises
    ------
    ValueError
        If ``delta`` or ``curvature`` is out of its range.
    """

    def __init__(
        self, exact: Problem, find: ApproximateOracle, *, delta: float, curvature: float | None = None
    ) -> None:
        if not 0 <= delta < np.inf or (curvature is not None and not 0 < curvature < np.inf):
            raise ValueError(
                f"approximate oracle: error {delta}, curvature {curvature}; give 0 or more, and above 0"
            )
        self.exact, self.find, self.delta, self.curvature = exact, find, delta, curvature
        self.n, self.d, self.nonnegative = exact.n, exact.d, exact.nonnegative
        self.summing: Summing | None = getattr(exact, "summing", None)
        self.begin_run(0)

    def begin_run(self, steps: int) -> None:
        """Count anew, after so many steps of the run that is resumed; cached vertices are forgotten."""
        self._before = steps
        self.steps, self.exactly, self.worst, self.total = 0, 0, 0.0, 0.0
        forget = getattr(self.find, "forget", None)
        if forget is not None:
            forget()

    @property
    def allowed(self) -> float:
        """The shortfall that the next step may have."""
        if self.curvature is None:
            return self.delta
        return self.delta * self.curvature / ((self._before + self.steps) / self.n + 2.0)

    def oracle(self, w: np.ndarray, i: int) -> Vertex:
        """Return a vertex of block i that is good enough for the next step."""
        allowed = self.allowed
        vertex, shortfall = self.find(w, i, allowed)
        if shortfall > allowed:
            vertex, shortfall = self.exact.oracle(w, i), 0.0
            self.exactly += 1
        elif vertex.loss - float(w @ vertex.psi) < 0.0:  # gold reaches 0
            vertex = Vertex(np.zeros(self.d), 0.0)
        self.steps += 1
        self.worst = max(self.worst, shortfall)
        self.total += shortfall
        return vertex

    def step_oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return psi (b, d) and loss (b,) of vertices of ``block`` that are good enough; w (d,)."""
        found = [self.oracle(w, int(i)) for i in block]
        return np.array([vertex.psi for vertex in found]), np.array([vertex.loss for vertex in found])

    def oracles(self, w: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the maximising vertices, exactly, as of :class:`~align.problems.protocol.Problem`."""
        return self.exact.oracles(w, block)


def suboptimality_bound(
    curvature: float, passes: int, *, delta: float = 0.0, error: float = 0.0, start: float = 0.0
) -> float:
    """Return the theory's bound of max D - D after so many passes, >= 1.

    Parameters
    ----------
    curvature : float
        C_f for batch steps, the product curvature for block-coordinate ones.
    passes : int
        t.
    delta : float
        Shortfall relative to the curvature, >= 0.
    error : float
        Shortfall that does not shrink, in the units of the loss, >= 0.
    start : float
        h_0 of block-coordinate steps; 0 for batch ones.
    """
    return 2.0 * (curvature * (1.0 + delta) + start) / (passes + 2.0) + error


class FewAugmentations:
    """The oracle of matchings, ended after a count of augmentations: a time limit that is deterministic.

    The words of the shorter side are taken in the order of their best weight, one augmentation each; the
    matching found is the best of the first so many. Each of the others could add its best weight at most:
    their sum bounds the shortfall.

    Parameters
    ----------
    problem : MatchingProblem
        With one link a word.
    count : int
        Augmentations a pair, >= 1; with as many as words of the shorter side the oracle is exact.

    Raises
    ------
    ValueError
        If the count is out of its range, or words may have several links.
    """

    def __init__(self, problem: MatchingProblem, count: int) -> None:
        if count < 1 or problem.data.max_fertility[0] != 1:
            raise ValueError(
                f"approximate oracle: {count} augmentations, {problem.data.max_fertility[0]} links a word; "
                "give 1 or more, and one link"
            )
        self._data, self._count = problem.data, count

    def __call__(self, w: np.ndarray, i: int, allowed: float) -> Found:
        """Return the best matching of the words that there were augmentations for."""
        data = self._data
        n, m = (int(words) for words in data.shapes[i])
        rows = slice(data.starts[i], data.starts[i] + n * m)
        x, kinds = data.features[rows], data.kinds[rows]
        costs = np.where(kinds == SURE, -data.costs[1], np.where(kinds == FREE, 0.0, data.costs[0]))
        theta = (score_edges(x, w) + costs).reshape(n, m)
        side = theta if n <= m else theta.T
        gain = np.maximum(side.max(axis=1, initial=0.0), 0.0)
        order = np.argsort(-gain, kind="stable")
        kept = np.sort(order[: self._count])
        part = np.ascontiguousarray(side[kept])
        shape = np.array([part.shape], dtype=np.int32)
        chosen = assignment.solve(part.ravel(), shape, np.array([0, part.size])).reshape(part.shape)
        links = np.zeros(side.shape, dtype=bool)
        links[kept] = chosen
        taken = (links if n <= m else links.T).ravel()
        sure = kinds == SURE
        psi = x[sure].sum(axis=0, dtype=np.float64) - x[taken].sum(axis=0, dtype=np.float64)
        loss = data.costs[1] * float((sure & ~taken).sum()) + data.costs[0] * float(
            (taken & (kinds != SURE) & (kinds != FREE)).sum()
        )
        return Found(Vertex(psi, loss), float(gain[order[self._count :]].sum()))


class Beam:
    """The oracle of chains, by a beam: so many of the best labels of each place go on.

    A labelling through a label that was dropped is worth its score so far and, from there on, the best of
    each place and of each pair of neighbours at most: that bounds the shortfall.

    Parameters
    ----------
    problem : ChainProblem
    width : int
        Labels of a place that go on, >= 1; with all of them the oracle is exact.

    Raises
    ------
    ValueError
        If the width is out of its range.
    """

    def __init__(self, problem: ChainProblem, width: int) -> None:
        if width < 1:
            raise ValueError(f"approximate oracle: a beam of {width}; give 1 or more")
        self._data, self._width, self._d = problem.data, width, problem.d

    def __call__(self, w: np.ndarray, i: int, allowed: float) -> Found:
        """Return the best labelling in the beam."""
        data = self._data
        labels, p = int(data.labels[0]), data.x.shape[1]
        own = slice(data.offsets[i], data.offsets[i + 1])
        x, gold = data.x[own], data.gold[own]
        scores = x @ w[: labels * p].reshape(labels, p).T + (np.arange(labels) != gold[:, None])
        neighbours = w[labels * p :].reshape(labels, labels)
        # what the places after t can add at most
        rest = np.append(np.cumsum((scores[1:].max(axis=1) + neighbours.max())[::-1])[::-1], 0.0)
        best, before, missed = scores[0], np.zeros(scores.shape, dtype=np.int64), -np.inf
        for t in range(len(x)):
            if t:
                reached = best[:, None] + neighbours
                before[t] = reached.argmax(axis=0)
                best = reached.max(axis=0) + scores[t]
            dropped = np.argsort(-best, kind="stable")[self._width :]
            if len(dropped):
                missed = max(missed, float(best[dropped].max() + rest[t]))
                best = best.copy()
                best[dropped] = -np.inf
        y = np.empty(len(x), dtype=np.int64)
        y[-1] = best.argmax()
        for t in range(len(x) - 1, 0, -1):
            y[t - 1] = before[t, y[t]]
        return Found(self._vertex(x, gold, y), max(0.0, missed - float(best.max())))

    def _vertex(self, x: np.ndarray, gold: np.ndarray, y: np.ndarray) -> Vertex:
        labels, p = int(self._data.labels[0]), x.shape[1]
        own, neighbours = np.zeros((labels, p)), np.zeros((labels, labels))
        for labelling, sign in ((gold, 1.0), (y, -1.0)):
            np.add.at(own, labelling, sign * x)
            np.add.at(neighbours, (labelling[:-1], labelling[1:]), sign)
        return Vertex(np.concatenate([own.ravel(), neighbours.ravel()]), float((gold != y).sum()))


class CachedVertices:
    """The best of the last vertices of a block, while that is near enough; else the exact oracle.

    The maximum H_i changes with w no faster than the longest |psi_i(y)|: H_i(w) <= H_i(u) + R_i |w - u|, u
    the weights of the last exact call. That, less the value of the cached vertex, bounds the shortfall.

    Each run starts without vertices, one that is resumed as well: its steps are as good, but need not be
    those of a run in one go.

    Parameters
    ----------
    problem : Problem
    radius : float or sequence of float
        R_i >= |psi_i(y)| of all labellings y, for each block, or one for all.
    room : int
        Vertices kept for each block, >= 1.

    Attributes
    ----------
    calls : int
        Calls of the exact oracle in the last run.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    """

    def __init__(self, problem: Problem, radius: float | Sequence[float], *, room: int = 10) -> None:
        self._radius = np.broadcast_to(np.asarray(radius, dtype=np.float64), (problem.n,))
        if room < 1 or not (np.isfinite(self._radius).all() and (self._radius >= 0).all()):
            raise ValueError("approximate oracle: give room of 1 or more and radii of 0 or more")
        self._problem, self._room = problem, room
        self.forget()

    def forget(self) -> None:
        """Start without vertices."""
        self.calls = 0
        self._known: list[list[Vertex]] = [[] for _ in range(self._problem.n)]
        self._asked: list[tuple[np.ndarray, float] | None] = [None] * self._problem.n

    def __call__(self, w: np.ndarray, i: int, allowed: float) -> Found:
        """Return the best cached vertex, or what the exact oracle finds."""
        known, asked = self._known[i], self._asked[i]
        if asked is not None:
            values = [vertex.loss - float(w @ vertex.psi) for vertex in known]
            at = int(np.argmax(values))
            most = asked[1] + float(self._radius[i]) * float(np.linalg.norm(w - asked[0]))
            shortfall = max(0.0, most - values[at])
            if shortfall <= allowed:
                known.append(known.pop(at))  # the last is the one used last
                return Found(known[-1], shortfall)
        vertex = self._problem.oracle(w, i)
        self.calls += 1
        self._asked[i] = w.copy(), vertex.loss - float(w @ vertex.psi)
        known.append(Vertex(vertex.psi.copy(), vertex.loss))
        del known[: -self._room]
        return Found(vertex, 0.0)
