"""Dual extragradient for the matching problem: a saddle point, no working sets, two vectors of weights.

The structured SVM is the saddle-point problem ([1]_, section 3)

    min_w  max_(z_i in Z_i)  L(w, z) = n lam/2 |w - w_0|^2 + sum_i <F_i' w + c_i, z_i> - <w, F_i y_i>,

Z_i the hull of the matchings of pair i, c_i,jk = c_fp (wrong links), -c_fn (sure ones), 0 (free ones):
max_z L / n + c_fn mean |y_i| = P(w). Or, with a ball, |w - w_0| <= B takes the place of the first term. With
the monotone operator T(w, z) = (F z - F y + n lam (w - w_0); -F' w - c) one iteration is ([1]_, section 4;
[2]_)

    v = Pi(start, eta s),    u = Pi(v, -eta T(v)),    s <- s - T(u),

Pi(x, g) the point that maximises <g, .> less the divergence from x: that of z is half the squared distance
or the relative entropy, which within Z is more; that of weights is
(w - x)' M^-1 (w - x) / 2. The step eta is 1 / Lip, the operator's norm in the units so chosen,

    Lip <= (a + sqrt(a^2 + 4 |M^1/2 F|^2)) / 2,    a = n lam |M| (0 with a ball),

both norms measured, none guessed. The average of the u of t iterations has a gap of at most
(D_w + D_z) Lip / t, D the divergences of the gap's maximising and minimising points from the start. M is
(:mod:`align.solvers.extragradient_metric`) a multiple of the identity, or of the inverse of the features'
second moments: as there is nothing to project w onto, its metric is free, and this one needs far fewer
iterations. The start is w_0 and z = 1 / max(n_i, m_i), which entropy allows, too.

T is affine, so s is -t T(average of u): of z only <c, sum of z> has to be kept, and s of an edge is
<sum of w, x> + t c (memory ``weights``, [1]_, section 5). Memory ``edges`` keeps s of each edge. Both
take one pass over the features and two projections of each pair an iteration, and give the same iterates up
to rounding. Kept for speed alone are M and, of each word of the longer side, the prices that the projections
start from.

References
----------
.. [1] B. Taskar, S. Lacoste-Julien and M. I. Jordan, "Structured prediction, dual extragradient and Bregman
   projections", JMLR 7, 2006. https://jmlr.org/papers/v7/taskar06a.html
.. [2] Y. Nesterov, "Dual extrapolation and its applications to solving variational inequalities and related
   problems", Mathematical Programming 109, 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from align.core.kernels import kernel
from align.core.ragged import offsets_of
from align.matching.assignment import largest
from align.matching.projections import project_pair
from align.problems.matching import SURE, WRONG, MatchingData, MatchingProblem, scores
from align.problems.objective import Value, batch_vertex, certified
from align.problems.protocol import Problem
from align.solvers.extragradient_metric import METRICS, Metric, gram_metric, identity_metric
from align.solvers.loop import Solver
from align.solvers.options import at_least, one_of, positive
from align.solvers.state import State


@dataclass(kw_only=True)
class SaddleState(State):
    """The state of :class:`Extragradient`; ``w`` is the last u of weights.

    Attributes
    ----------
    constant : float
        c_fn mean |y_i|.
    lipschitz : float
        Lip.
    axes, units, norm
        M, as of :class:`~align.solvers.extragradient_metric.Metric`.
    w_sum : ndarray of float64, shape (d,)
        The sum of all w.
    s : ndarray of float64, shape (d,)
        The part of s of weights.
    moved : ndarray of float64, shape (d,)
        F z - F y of the last u.
    edges : ndarray of float64, shape (E,) or (0,)
        The part of s of edges, up to the iteration before the last, where it is kept.
    prices : ndarray of float64, shape (2, W)
        Prices of the words of each pair's longer side in the two projections of the last iteration.
    price_starts : ndarray of int64, shape (n + 1,)
        The prices of pair i are ``price_starts[i]`` to ``price_starts[i + 1]``.
    cost, cost_sum : float
        <c, z> of the last u, and the sum of all.
    """

    constant: float
    lipschitz: float
    axes: np.ndarray
    units: np.ndarray
    norm: float
    w_sum: np.ndarray
    s: np.ndarray
    moved: np.ndarray
    edges: np.ndarray
    prices: np.ndarray
    price_starts: np.ndarray
    cost: float = 0.0
    cost_sum: float = 0.0

    @property
    def metric(self) -> Metric:
        """Return M."""
        return Metric(self.axes, self.units, self.norm)


@dataclass(frozen=True, kw_only=True)
class Extragradient(Solver[SaddleState]):
    """Dual extragradient, Euclidean projections; one link a word. Nothing is random.

    With a ball 1/n sum_i H_i(w) is minimised over |w - w_0| <= B, and the gap is the restricted one, for w
    within the ball and all z. Each pass is an iteration, each measurement two assignments a pair.

    Parameters
    ----------
    ball : float, optional
        The known weights, or 0, are left by at most this distance, > 0, in place of being regularised; lam is
        then without effect.
    memory : str
        What is kept of the iterations before: weights, or edges, one number for each possible link.
    metric : str
        What projections measure weights by: gram (the features' second moments), or identity as published.
    """

    name = "extragradient"
    state_type = SaddleState
    max_fertility = 1
    needs_oracle = False
    # Whether z is measured by relative entropy, not by the Euclidean distance.
    entropic: ClassVar[bool] = False

    passes: int = at_least(1, 1000)
    ball: float | None = positive(None, "a radius")
    memory: str = one_of("weights", "edges")
    metric: str = one_of(*METRICS)

    def start(self, problem: Problem, origin: np.ndarray) -> SaddleState:
        """Return the start, w = w_0 and z uniform, with all that is measured once."""
        problem = self._checked(problem)
        _, kinds, shapes, starts, costs = problem.data[:5]
        radius = divergence(problem, entropic=self.entropic)
        if self.ball is None:
            reach = float(self._primal(problem, origin[None], origin)[0]) / self.lam
        else:
            reach = 0.5 * self.ball**2
        ratio = reach / radius if reach > 0 and radius > 0 else 1.0
        metric = (gram_metric if self.metric == "gram" else identity_metric)(problem, ratio)
        a = self._pull(problem.n) * float(metric.units.max())
        lipschitz = 0.5 * (a + math.sqrt(a * a + 4.0 * metric.norm**2))
        price_starts = offsets_of(shapes.max(axis=1))
        counts = shapes.prod(axis=1, dtype=np.int64)
        sure = sum(
            np.count_nonzero(kinds[first : first + count] == SURE)
            for first, count in zip(starts, counts, strict=True)
        )
        state = self.new_state(
            problem,
            origin,
            constant=float(costs[1]) * int(sure) / problem.n,
            lipschitz=lipschitz or 1.0,
            axes=metric.axes,
            units=metric.units,
            norm=metric.norm,
            w_sum=np.zeros(problem.d),
            s=np.zeros(problem.d),
            moved=np.zeros(problem.d),
            edges=np.zeros(counts.sum() if self.memory == "edges" else 0),
            prices=np.zeros((2, price_starts[-1])),
            price_starts=price_starts,
        )
        state.oracle_calls = problem.n if self.ball is None else 0
        return state

    def one_pass(self, problem: Problem, state: SaddleState) -> None:
        """Take one iteration."""
        problem, metric, origin = self._checked(problem), state.metric, state.origin
        eta, pull = 1.0 / state.lipschitz, self._pull(problem.n)

        def moved_by(start: np.ndarray, direction: np.ndarray) -> np.ndarray:
            w = start + eta * metric.times(direction)
            return w if self.ball is None else origin + metric.onto_ball(w - origin, self.ball)

        v = moved_by(origin, state.s)
        earlier = state.w_sum if self.memory == "weights" else state.w
        state.cost, moved_v, state.moved[:] = _extrapolate(
            problem.data,
            v,
            earlier,
            state.passes,
            eta,
            self.entropic,
            state.edges,
            state.prices,
            state.price_starts,
        )
        state.w[:] = moved_by(v, -(moved_v + pull * (v - origin)))
        state.s -= state.moved + pull * (state.w - origin)
        state.w_sum += state.w
        state.cost_sum += state.cost
        state.passes += 1

    def measure(self, problem: Problem, state: SaddleState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate and of the average."""
        problem = self._checked(problem)
        if state.passes == 0:
            state.cost = _uniform(problem.data, state.moved)
            points = [(state.w, state.moved, state.cost)]
        else:
            average = state.w_sum / state.passes
            moved = -state.s / state.passes - self._pull(problem.n) * (average - state.origin)
            points = [(state.w, state.moved, state.cost), (average, moved, state.cost_sum / state.passes)]
        primal = self._primal(problem, np.stack([w for w, _, _ in points]), state.origin)
        state.oracle_calls += len(points) * problem.n
        values = []
        for upper, (_, moved, cost) in zip(primal.tolist(), points, strict=True):
            lower = self._dual(problem.n, state, moved, cost)
            values.append(certified(upper, lower, upper - lower, abs(upper) + abs(lower)))
        return values[0], values[-1]

    def weights(self, state: SaddleState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate or of the average."""
        return state.w_sum / state.passes if averaged else state.w.copy()

    def _checked(self, problem: Problem) -> MatchingProblem:
        """Return the problem; ValueError if it is none of matchings."""
        if not isinstance(problem, MatchingProblem):
            raise ValueError("extragradient: it solves the matching problem only; take bcfw")
        if problem.data.max_fertility[0] != 1:
            raise ValueError(
                f"extragradient: {problem.data.max_fertility[0]} links a word, it learns one; "
                "set train.fertility=1"
            )
        return problem

    def _pull(self, n: int) -> float:
        """Return n lam, or 0 where there is a ball."""
        return 0.0 if self.ball is not None else n * self.lam

    def _primal(self, problem: MatchingProblem, weights: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return P of each row of ``weights`` (r, d)."""
        psi, loss = batch_vertex(problem, weights, 1.0)
        primal: np.ndarray = loss - (psi * weights).sum(axis=1)
        if self.ball is None:
            primal += 0.5 * self.lam * ((weights - origin) ** 2).sum(axis=1)
        return primal

    def _dual(self, n: int, state: SaddleState, moved: np.ndarray, cost: float) -> float:
        """Return min_w L(w, z) in the units of P, of z with F z - F y = ``moved`` and <c, z> = ``cost``."""
        lower = cost + float(state.origin @ moved)
        if self.ball is None:
            lower -= float(moved @ moved) / (2.0 * self._pull(n))
        else:
            lower -= self.ball * float(np.linalg.norm(moved))
        return lower / n + state.constant


@dataclass(frozen=True, kw_only=True)
class EntropicExtragradient(Extragradient):
    """Dual extragradient, projections by relative entropy; one link a word."""

    name = "extragradient-kl"
    entropic = True


def divergence(problem: MatchingProblem, *, entropic: bool) -> float:
    """Return D_z: the largest divergence of a point of all polytopes from the start, 1 / max(n_i, m_i).

    It is convex, so largest at a matching: of k links, k (1/2 - 1/M) + k_max / (2 M) (Euclidean) or
    k (log M - 1) + k_max (entropy), M and k_max the words of the longer and the shorter side.
    """
    shapes = problem.data.shapes.astype(np.float64)
    longer, shorter = np.maximum(shapes.max(axis=1), 1.0), shapes.min(axis=1)
    if entropic:
        per_link, always = np.log(longer) - 1.0, 1.0
    else:
        per_link, always = 0.5 - 1.0 / longer, 0.5 / longer
    return float((shorter * (np.maximum(per_link, 0.0) + always)).sum())


@kernel
def _extrapolate(
    data: MatchingData,
    v: np.ndarray,
    earlier: np.ndarray,
    t: int,
    eta: float,
    entropic: bool,
    s_edges: np.ndarray,
    prices: np.ndarray,
    price_starts: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Find z of v and of u; return <c, z> of u, and F z - F y of both.

    ``earlier`` is the sum of the w of the t iterations made, or, where s of each edge is kept in ``s_edges``,
    the last of them.
    """
    features, kinds, shapes, starts, costs = data.features, data.kinds, data.shapes, data.starts, data.costs
    _, most = largest(shapes)
    theta, before, point, z = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    place, cost, moved_v, moved_u, cold = 0, 0.0, np.zeros(len(v)), np.zeros(len(v)), np.empty(0)
    for i in range(len(shapes)):
        n, m = int(shapes[i, 0]), int(shapes[i, 1])
        count, longer = n * m, max(n, m, 1)
        x, kind = features[starts[i] : starts[i] + count], kinds[starts[i] : starts[i] + count]
        scores(x, v, theta)
        scores(x, earlier, before)
        origin = -np.log(longer) if entropic else 1.0 / longer
        for edge in range(count):
            c = costs[0] if kind[edge] == WRONG else (-costs[1] if kind[edge] == SURE else 0.0)
            theta[edge] += c
            if len(s_edges) == 0:
                point[edge] = origin + eta * (before[edge] + t * c)
            else:
                if t > 0:
                    s_edges[place + edge] += before[edge] + c
                point[edge] = origin + eta * s_edges[place + edge]
            if not (np.isfinite(point[edge]) and np.isfinite(theta[edge])):
                raise ValueError("a score <w, x> is NaN or infinite; give finite features and weights")
        known_v = prices[0, price_starts[i] : price_starts[i + 1]]
        known_u = prices[1, price_starts[i] : price_starts[i + 1]]
        _, short, long = project_pair(point[:count], n, m, entropic, known_v if t > 0 else cold, z[:count])
        known_v[:] = long
        _add(x, kind, z, moved_v)
        for edge in range(count):
            if entropic:  # z itself may be too small for a number
                j, k = edge // m, edge % m
                point[edge] -= short[k] + long[j] if n > m else short[j] + long[k]
                point[edge] += eta * theta[edge]
            else:
                point[edge] = z[edge] + eta * theta[edge]
        _, _, long = project_pair(point[:count], n, m, entropic, known_u if t > 0 else cold, z[:count])
        known_u[:] = long
        _add(x, kind, z, moved_u)
        cost += _cost(kind, z, costs)
        place += count
    return cost, moved_v, moved_u


@kernel
def _uniform(data: MatchingData, moved: np.ndarray) -> float:
    """Fill F z - F y of the start, return its <c, z>."""
    features, kinds, shapes, starts, costs = data.features, data.kinds, data.shapes, data.starts, data.costs
    moved[:] = 0.0
    cost = 0.0
    for i in range(len(shapes)):
        count = int(shapes[i, 0]) * int(shapes[i, 1])
        kind = kinds[starts[i] : starts[i] + count]
        z = np.full(count, 1.0 / max(shapes[i, 0], shapes[i, 1], 1))
        _add(features[starts[i] : starts[i] + count], kind, z, moved)
        cost += _cost(kind, z, costs)
    return cost


@kernel
def _add(x: np.ndarray, kind: np.ndarray, z: np.ndarray, moved: np.ndarray) -> None:
    """Add F z - F y of one pair to ``moved``."""
    for edge in range(len(kind)):
        weight = z[edge] - 1.0 if kind[edge] == SURE else z[edge]
        if weight != 0.0:
            for k in range(len(moved)):
                moved[k] += weight * x[edge, k]


@kernel
def _cost(kind: np.ndarray, z: np.ndarray, costs: np.ndarray) -> float:
    """Return <c, z> of one pair."""
    total = 0.0
    for edge in range(len(kind)):
        if kind[edge] == WRONG:
            total += costs[0] * z[edge]
        elif kind[edge] == SURE:
            total -= costs[1] * z[edge]
    return total
