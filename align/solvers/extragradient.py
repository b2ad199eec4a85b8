"""Dual extragradient: a saddle point, projections, no working sets, two vectors of weights.

Where features and losses of the labellings of a block are linear in some numbers z_i, and their hull Z_i can
be projected onto (:class:`align.problems.protocol.Polytope`), the structured SVM is the saddle-point problem
([1]_)

    min_w  max_(z_i in Z_i)  L(w, z) = n lam/2 |w - w_0|^2 + sum_i <F_i' w + c_i, z_i> - <w, F_i y_i>,

max_z L / n - mean <c_i, y_i> = P(w). For matchings, c_i,jk = c_fp (wrong links), -c_fn (sure ones), 0 (free
ones), and -<c_i, y_i> = c_fn |y_i|. Or, with a ball, |w - w_0| <= B takes the place of the first term. With
the monotone operator T(w, z) = (F z - F y + n lam (w - w_0); -F' w - c) one iteration is ([1]_, [2]_)

    v = Pi(start, eta s),    u = Pi(v, -eta T(v)),    s <- s - T(u),

Pi(x, g) the point that maximises <g, .> less the divergence from x: that of z is half the squared distance
or the relative entropy, which within Z is more; that of weights is
(w - x)' M^-1 (w - x) / 2. The step eta is 1 / Lip, the operator's norm in the units so chosen,

    Lip <= (a + sqrt(a^2 + 4 |M^1/2 F|^2)) / 2,    a = n lam |M| (0 with a ball),

both norms measured, none guessed. The average of the u of t iterations has a gap of at most
(D_w + D_z) Lip / t, D the divergences of the gap's maximising and minimising points from the start. M is
(:mod:`align.solvers.extragradient_metric`) a multiple of the identity, or of the inverse of the features'
second moments: as there is nothing to project w onto, its metric is free, and this one needs far fewer
iterations. Weights that may not be negative are cut at 0 in each step; the metric keeps each of them apart.
The start is w_0 and a point amid Z, of matchings z = 1 / max(n_i, m_i).

T is affine, so s is -t T(average of u): of z only <c, sum of z> has to be kept, and s of an edge is
<sum of w, x> + t c (memory ``weights``, the memory-efficient form of [1]_). Memory ``edges`` keeps s of each
edge. Both take one pass over the features and two projections of each pair an iteration, and give the same
iterates up to rounding. Kept for speed alone are M and, of each word of the longer side, the prices that the
projections start from.

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
from typing import Any, ClassVar

import numpy as np

from align.problems.matching import MatchingProblem
from align.problems.objective import Value, batch_vertex, certified, projection
from align.problems.polytopes import GEOMETRIES
from align.problems.protocol import NoPolytopeError, Polytope, Problem
from align.solvers.extragradient_metric import METRICS, Metric, gram_metric, identity_metric
from align.solvers.loop import Solver
from align.solvers.options import at_least, one_of, positive
from align.solvers.saddle import MatchingSaddle, PolytopeSaddle, Saddle
from align.solvers.state import State

# What a polytope has to have.
_PARTS = sorted(name for name in vars(Polytope) if not name.startswith("_"))


@dataclass(kw_only=True)
class SaddleState(State):
    """The state of :class:`Extragradient`; ``w`` is the last u of weights.

    Attributes
    ----------
    constant : float
        - mean <c_i, y_i>.
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
        What the two projections of the last iteration left for the next ones: of matchings, prices of the
        words of each pair's longer side.
    price_starts : ndarray of int64, shape (n + 1,) or (2,)
        The prices of pair i are ``price_starts[i]`` to ``price_starts[i + 1]``; other problems share them.
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
    """Dual extragradient, Euclidean projections. Nothing is random.

    With a ball 1/n sum_i H_i(w) is minimised over |w - w_0| <= B, and the gap is the restricted one, for w
    within the ball and all z. Each pass is an iteration, each measurement two calls of the oracle a block.

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
    usual_fertility = 1
    needs_oracle = False
    # Whether z is measured by relative entropy, not by the Euclidean distance.
    entropic: ClassVar[bool] = False

    passes: int = at_least(1, 1000)
    ball: float | None = positive(None, "a radius")
    memory: str = one_of("weights", "edges")
    metric: str = one_of(*METRICS)

    @property
    def max_fertility(self) -> int | None:
        """With a ball 1: the weights of words with several links may not be negative."""
        return None if self.ball is None else 1

    def start(self, problem: Problem, origin: np.ndarray) -> SaddleState:
        """Return the start, w = w_0 and z amid its polytope, with all that is measured once."""
        saddle = self._saddle(problem)
        radius = saddle.radius(entropic=self.entropic)
        if self.ball is None:
            reach = float(self._primal(problem, origin[None], origin)[0]) / self.lam
        else:
            reach = 0.5 * self.ball**2
        ratio = reach / radius if reach > 0 and radius > 0 else 1.0
        metric = (gram_metric if self.metric == "gram" else identity_metric)(saddle, ratio)
        a = self._pull(problem.n) * float(metric.units.max())
        lipschitz = 0.5 * (a + math.sqrt(a * a + 4.0 * metric.norm**2))
        state = self.new_state(
            problem,
            origin,
            constant=saddle.constant,
            lipschitz=lipschitz or 1.0,
            axes=metric.axes,
            units=metric.units,
            norm=metric.norm,
            w_sum=np.zeros(problem.d),
            s=np.zeros(problem.d),
            moved=np.zeros(problem.d),
            edges=np.zeros(saddle.entries if self.memory == "edges" else 0),
            prices=np.zeros((2, saddle.price_starts[-1])),
            price_starts=saddle.price_starts,
        )
        state.oracle_calls = problem.n if self.ball is None else 0
        return state

    def one_pass(self, problem: Problem, state: SaddleState) -> None:
        """Take one iteration."""
        saddle, metric, origin = self._saddle(problem), state.metric, state.origin
        eta, pull = 1.0 / state.lipschitz, self._pull(problem.n)

        def moved_by(start: np.ndarray, direction: np.ndarray) -> np.ndarray:
            w = projection(start + eta * metric.times(direction), saddle.nonnegative)
            return w if self.ball is None else origin + metric.onto_ball(w - origin, self.ball)

        v = moved_by(origin, state.s)
        earlier = state.w_sum if self.memory == "weights" else state.w
        state.cost, moved_v, state.moved[:] = saddle.extrapolate(
            v, earlier, state.passes, eta, self.entropic, state.edges, state.prices
        )
        state.w[:] = moved_by(v, -(moved_v + pull * (v - origin)))
        state.s -= state.moved + pull * (state.w - origin)
        state.w_sum += state.w
        state.cost_sum += state.cost
        state.passes += 1

    def measure(self, problem: Problem, state: SaddleState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate and of the average."""
        if state.passes == 0:
            state.cost, state.moved[:] = self._saddle(problem).begin(entropic=self.entropic)
            points = [(state.w, state.moved, state.cost)]
        else:
            average = state.w_sum / state.passes
            moved = -state.s / state.passes - self._pull(problem.n) * (average - state.origin)
            points = [(state.w, state.moved, state.cost), (average, moved, state.cost_sum / state.passes)]
        primal = self._primal(problem, np.stack([w for w, _, _ in points]), state.origin)
        state.oracle_calls += len(points) * problem.n
        values = []
        for upper, (_, moved, cost) in zip(primal.tolist(), points, strict=True):
            lower = self._dual(problem, state, moved, cost)
            values.append(certified(upper, lower, upper - lower, abs(upper) + abs(lower)))
        return values[0], values[-1]

    def weights(self, state: SaddleState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate or of the average."""
        return state.w_sum / state.passes if averaged else state.w.copy()

    def refusal(self, problem: Problem) -> str:
        """Return what the problem lacks, and what to do: one line; empty where it is solved."""
        name = type(problem).__name__
        if isinstance(problem, MatchingProblem) and problem.data.max_fertility[0] == 1:
            return ""
        try:
            polytope = getattr(problem, "polytope", None)
        except NoPolytopeError as error:
            return f"{self.name}: {name} has no polytope: {error}"
        if polytope is None:
            return (
                f"{self.name}: {name} lacks polytope, the hull of its labellings with projections onto it "
                "(align.problems.protocol.Polytope); give it one, or take bcfw"
            )
        lacks = ", ".join(part for part in _PARTS if not hasattr(polytope, part))
        if lacks:
            return (
                f"{self.name}: the polytope of {name} lacks {lacks} (align.problems.protocol.Polytope); "
                "give it that, or take bcfw"
            )
        wanted = GEOMETRIES[self.entropic]
        if wanted not in polytope.geometries:
            other = {solver.name for solver in (Extragradient, EntropicExtragradient)} - {self.name}
            instead = f"{other.pop()} or bcfw" if polytope.geometries else "bcfw"
            return f"{self.name}: the polytope of {name} lacks the {wanted} projection; take {instead}"
        if self.ball is not None and problem.nonnegative < problem.d:
            return (
                f"{self.name}: {name} has weights that may not be negative, a ball has none such; "
                "leave train.ball out, or take bcfw"
            )
        return ""

    def _saddle(self, problem: Problem) -> Saddle:
        """Return the saddle point of a problem; ValueError if it has none that this solver takes."""
        refusal = self.refusal(problem)
        if refusal:
            raise ValueError(refusal)
        if isinstance(problem, MatchingProblem) and problem.data.max_fertility[0] == 1:
            return MatchingSaddle(problem)
        polytope: Any = problem
        return PolytopeSaddle(polytope.polytope, problem.n, problem.d, problem.nonnegative)

    def _pull(self, n: int) -> float:
        """Return n lam, or 0 where there is a ball."""
        return 0.0 if self.ball is not None else n * self.lam

    def _primal(self, problem: Problem, weights: np.ndarray, origin: np.ndarray) -> np.ndarray:
        """Return P of each row of ``weights`` (r, d)."""
        psi, loss = batch_vertex(problem, weights, 1.0)
        primal: np.ndarray = loss - (psi * weights).sum(axis=1)
        if self.ball is None:
            primal += 0.5 * self.lam * ((weights - origin) ** 2).sum(axis=1)
        return primal

    def _dual(self, problem: Problem, state: SaddleState, moved: np.ndarray, cost: float) -> float:
        """Return min_w L(w, z) in the units of P, of z with F z - F y = ``moved`` and <c, z> = ``cost``."""
        n, free = problem.n, problem.nonnegative
        if self.ball is not None:
            lower = cost + float(state.origin @ moved) - self.ball * float(np.linalg.norm(moved))
        elif free == problem.d:
            lower = cost + float(state.origin @ moved)
            lower -= float(moved @ moved) / (2.0 * self._pull(n))
        else:
            w = projection(state.origin - moved / self._pull(n), free)
            lower = cost + float(w @ moved) + 0.5 * self._pull(n) * float(np.sum((w - state.origin) ** 2))
        return lower / n + state.constant


@dataclass(frozen=True, kw_only=True)
class EntropicExtragradient(Extragradient):
    """Dual extragradient, projections by relative entropy."""

    name = "extragradient-kl"
    entropic = True
