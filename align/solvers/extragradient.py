"""Dual extragradient for the matching problem: a saddle point, no working sets, two vectors of weights.

The structured SVM is the saddle-point problem ([1]_, section 3)

    min_w  max_(z_i in Z_i)  L(w, z) = n lam/2 |w - w_0|^2 + sum_i <F_i' w + c_i, z_i> - <w, F_i y_i>,

Z_i the hull of the matchings of pair i, c_i,jk = c_fp (wrong links), -c_fn (sure ones), 0 (free ones):
max_z L / n + c_fn mean |y_i| = P(w). Or, with a ball, |w - w_0| <= B takes the place of the first term. With
the monotone operator T(w, z) = (F z - F y + n lam (w - w_0); -F' w - c) one iteration is ([1]_, section 4;
[2]_)

    v = Pi(start, eta s),    u = Pi(v, -eta T(v)),    s <- s - T(u),

Pi(x, g) the point that maximises <g, .> less the divergence from x: that of z is half the squared distance
(``euclidean``) or the relative entropy (``kl``), which within Z is more; that of weights is
(w - x)' M^-1 (w - x) / 2. The step eta is 1 / Lip, the operator's norm in the units so chosen,

    Lip <= (a + sqrt(a^2 + 4 |M^1/2 F|^2)) / 2,    a = n lam |M| (0 with a ball),

both norms measured, none guessed. The average of the u of t iterations has a gap of at most
(D_w + D_z) Lip / t, D the divergences of the gap's maximising and minimising points from the start. M is
(:mod:`align.solvers.extragradient_metric`) a multiple of the identity, or of the inverse of the features'
second moments: as there is nothing to project w onto, its metric is free, and this one needs far fewer
iterations. The start is w_0 and z = 1 / max(n_i, m_i), which entropy allows, too.

T is affine, so s is -t T(average of u): of z only <c, sum of z> has to be kept, and s of an edge is
<sum of w, x> + t c (``memory="weights"``, [1]_, section 5). ``memory="edges"`` keeps s of each edge. Both
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
from collections.abc import Callable
from typing import Any

import numpy as np

from align.problems.matching import MatchingProblem
from align.problems.objective import Value, batch_vertex
from align.problems.protocol import Problem
from align.solvers.course import check_options, checked_origin, run_course
from align.solvers.extragradient_kernels import extrapolate, sure_links, uniform
from align.solvers.extragradient_metric import METRICS, gram_metric, identity_metric
from align.solvers.extragradient_state import State
from align.solvers.fit import Fit, Progress

GEOMETRIES = ("euclidean", "kl")
MEMORIES = ("weights", "edges")


def extragradient(
    problem: Problem,
    *,
    lam: float = 0.01,
    ball: float | None = None,
    passes: int = 1000,
    tolerance: float = 1e-3,
    seed: int = 0,
    geometry: str = "euclidean",
    memory: str = "weights",
    metric: str = "gram",
    time_limit: float | None = None,
    gap_every: int = 1,
    origin: np.ndarray | None = None,
    resume: State | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w), or 1/n sum_i H_i(w) over |w - w_0| <= B.

    Returned is the last iterate or the average of the iterates, whichever has the smaller gap when the run
    stops; ``averaged`` of the result says which. Nothing is random.

    Parameters
    ----------
    problem : MatchingProblem
        n pairs, d features, one link a word at most.
    lam : float
        Regularisation, > 0; without effect where there is a ball.
    ball : float, optional
        Radius B > 0.
    passes : int
        At most so many iterations, >= 1; each passes over the pairs once.
    tolerance : float
        Stop when gap <= tolerance * primal, >= 0.
    seed : int
        Without effect.
    geometry : str
        What projections measure z by: ``euclidean`` or ``kl``.
    memory : str
        What is kept: ``weights`` or ``edges``, one number an edge.
    metric : str
        What projections measure w by: ``gram``, or ``identity`` as published.
    time_limit : float, optional
        Stop after the iteration in which so many seconds are over, > 0.
    gap_every : int
        Measure the gap every so many iterations, >= 1, and at the end: two assignments a pair.
    origin : ndarray of float64, shape (d,), optional
        Weights w_0 that are left only as far as the pairs ask for it. Default: 0.
    resume : State, optional
        Go on from this state (it is used up); the iterates are those of the uninterrupted run, bit by bit.
    on_pass : function, optional
        Called with a :class:`~align.solvers.fit.Progress` after each iteration.

    Returns
    -------
    Fit
        With a ball ``gap`` is the restricted gap, for w within the ball and all z.

    Raises
    ------
    ValueError
        If the problem has several links a word, an option is out of its range, or the state belongs to
        another problem or other options.
    """
    check_options(
        "extragradient",
        (ball is None or 0 < ball < math.inf, f"ball is {ball}; give a radius above 0, or None"),
        (geometry in GEOMETRIES, f"geometry is {geometry!r}; give one of {', '.join(GEOMETRIES)}"),
        (memory in MEMORIES, f"memory is {memory!r}; give one of {', '.join(MEMORIES)}"),
        (metric in METRICS, f"metric is {metric!r}; give one of {', '.join(METRICS)}"),
        lam=lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
    )
    if not isinstance(problem, MatchingProblem):
        raise ValueError("extragradient: it solves the matching problem only; take bcfw")
    if problem.data[8][0] != 1:
        raise ValueError(
            f"extragradient: {problem.data[8][0]} links a word, it learns one; set train.fertility=1"
        )
    options = {"lam": lam, "ball": ball, "geometry": geometry, "memory": memory, "metric": metric}
    origin = checked_origin("extragradient", origin, problem)
    state = _start(problem, origin, options) if resume is None else resume
    state.check(problem, origin, options)

    return run_course(
        problem,
        state,
        _iterate,
        _measure,
        _weights,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=gap_every,
        on_pass=on_pass,
    )


def divergence(problem: MatchingProblem, geometry: str) -> float:
    """Return D_z: the largest divergence of a point of all polytopes from the start, 1 / max(n_i, m_i).

    It is convex, so largest at a matching: of k links, k (1/2 - 1/M) + k_max / (2 M) (Euclidean) or
    k (log M - 1) + k_max (entropy), M and k_max the words of the longer and the shorter side.
    """
    shapes = problem.data[2].astype(np.float64)
    longer, shorter = np.maximum(shapes.max(axis=1), 1.0), shapes.min(axis=1)
    if geometry == "kl":
        per_link, always = np.log(longer) - 1.0, 1.0
    else:
        per_link, always = 0.5 - 1.0 / longer, 0.5 / longer
    return float((shorter * (np.maximum(per_link, 0.0) + always)).sum())


def _start(problem: MatchingProblem, origin: np.ndarray, options: dict[str, Any]) -> State:
    """Return the start, with all that is measured once."""
    _, kinds, shapes, starts, costs = problem.data[:5]
    constant = float(costs[1]) * sure_links(kinds, shapes, starts) / problem.n
    radius = divergence(problem, options["geometry"])
    if options["ball"] is None:
        primal = float(_primal(problem, origin[None], origin, options)[0])
        reach, pull = primal / options["lam"], problem.n * options["lam"]
    else:
        reach, pull = 0.5 * options["ball"] ** 2, 0.0
    ratio = reach / radius if reach > 0 and radius > 0 else 1.0
    metric = (gram_metric if options["metric"] == "gram" else identity_metric)(problem, ratio)
    a = pull * float(metric.units.max())
    lipschitz = 0.5 * (a + math.sqrt(a * a + 4.0 * metric.norm**2))
    state = State.start(problem, origin, options, metric, constant=constant, lipschitz=lipschitz or 1.0)
    state.oracle_calls = problem.n if options["ball"] is None else 0
    return state


def _iterate(problem: MatchingProblem, state: State) -> None:
    """Take one iteration."""
    options, metric, origin = state.options, state.metric, state.origin
    eta, pull, ball = 1.0 / state.lipschitz, _pull(state), options["ball"]

    def moved_by(start: np.ndarray, direction: np.ndarray) -> np.ndarray:
        w = start + eta * metric.times(direction)
        return w if ball is None else origin + metric.onto_ball(w - origin, ball)

    v = moved_by(origin, state.s)
    moved_v, moved_u = np.zeros(problem.d), np.zeros(problem.d)
    state.cost = extrapolate(
        problem.data,
        v,
        state.w_sum if options["memory"] == "weights" else state.w,
        state.passes,
        eta,
        options["geometry"] == "kl",
        state.edges,
        state.prices,
        state.price_starts,
        moved_v,
        moved_u,
    )
    state.w[:] = moved_by(v, -(moved_v + pull * (v - origin)))
    state.moved[:] = moved_u
    state.s -= moved_u + pull * (state.w - origin)
    state.w_sum += state.w
    state.cost_sum += state.cost
    state.passes += 1


def _pull(state: State) -> float:
    """Return n lam, or 0 where there is a ball."""
    return 0.0 if state.options["ball"] is not None else state.n * state.options["lam"]


def _primal(
    problem: MatchingProblem, weights: np.ndarray, origin: np.ndarray, options: dict[str, Any]
) -> np.ndarray:
    """Return P of each row of ``weights`` (r, d)."""
    psi, loss = batch_vertex(problem, weights, 1.0)
    primal: np.ndarray = loss - (psi * weights).sum(axis=1)
    if options["ball"] is None:
        primal += 0.5 * options["lam"] * ((weights - origin) ** 2).sum(axis=1)
    return primal


def _dual(state: State, moved: np.ndarray, cost: float) -> float:
    """Return min_w L(w, z) in the units of P, of z with F z - F y = ``moved`` and <c, z> = ``cost``."""
    lower = cost + float(state.origin @ moved)
    if state.options["ball"] is None:
        lower -= float(moved @ moved) / (2.0 * _pull(state))
    else:
        lower -= state.options["ball"] * float(np.linalg.norm(moved))
    return lower / state.n + state.constant


def _measure(problem: MatchingProblem, state: State) -> tuple[Value, Value]:
    """Return primal, dual and gap of the iterate and of the average."""
    if state.passes == 0:
        state.cost = uniform(problem.data, state.moved)
        points = [(state.w, state.moved, state.cost)]
    else:
        average = state.w_sum / state.passes
        moved = -state.s / state.passes - _pull(state) * (average - state.origin)
        points = [(state.w, state.moved, state.cost), (average, moved, state.cost_sum / state.passes)]
    primal = _primal(problem, np.stack([w for w, _, _ in points]), state.origin, state.options)
    state.oracle_calls += len(points) * problem.n
    values = []
    for upper, (_, moved, cost) in zip(primal.tolist(), points, strict=True):
        lower = _dual(state, moved, cost)
        assert upper - lower >= -1e-9 * (1.0 + abs(upper) + abs(lower)), "weak duality is broken"
        values.append(Value(max(upper, lower), lower, max(upper - lower, 0.0)))
    return values[0], values[-1]


def _weights(state: State, averaged: bool) -> np.ndarray:
    return state.w_sum / state.passes if averaged else state.w.copy()
