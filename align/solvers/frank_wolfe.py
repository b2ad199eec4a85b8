"""Batch Frank-Wolfe for the structured SVM: one step for all blocks together.

    max D = ell - lam/2 |w|^2,    (w, ell) <- (1 - gamma) (w, ell) + gamma (w_s, ell_s)

with (w_s, ell_s) the sum of the vertices of all blocks that maximise H_i(w): one pass of the oracle a step
([1]_, Algorithm 2). The Frank-Wolfe gap, which is the duality gap, costs nothing more. With C_f the curvature
of the dual, C_f <= 4 R^2 / lam for R the largest |psi_i(y)|, the distance h_t to the maximum falls as
h_t <= 2 C_f / (t + 2), t >= 1, by each of the steps ([2]_, Theorem 1).

References
----------
.. [1] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
.. [2] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML 2013.
   https://proceedings.mlr.press/v28/jaggi13.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from align.problems.objective import Value, batch_vertex, exact_step, projection, value
from align.problems.protocol import Problem
from align.solvers.course import UNMEASURED, check_options, checked_origin, follow
from align.solvers.fit import Fit, Progress
from align.solvers.state import State

STEPS = ("line-search", "decreasing", "curvature")


@dataclass(kw_only=True)
class BatchState(State):
    """The state of :func:`fw`.

    Attributes
    ----------
    w_s : ndarray of float64, shape (d,)
        Sum of the maximising vertices at the iterate.
    ell_s : ndarray of float64, shape (1,)
        Their ell.
    curvature : ndarray of float64, shape (1,)
        The largest lam |w_s - w|^2 so far, or C_f as it was given.
    """

    w_s: np.ndarray
    ell_s: np.ndarray
    curvature: np.ndarray


def fw(
    problem: Problem,
    *,
    lam: float = 0.01,
    passes: int = 1000,
    tolerance: float = 1e-3,
    seed: int = 0,
    step: str = "line-search",
    curvature: float | None = None,
    time_limit: float | None = None,
    origin: np.ndarray | None = None,
    resume: BatchState | None = None,
    on_pass: Callable[[Progress], None] | None = None,
) -> Fit:
    """Minimise P(w) = lam/2 |w - w_0|^2 + 1/n sum_i H_i(w).

    Parameters
    ----------
    problem : Problem
        n blocks, d features.
    lam : float
        Regularisation, > 0.
    passes : int
        At most so many steps, each a pass of the oracle over the blocks, >= 1.
    tolerance : float
        Stop when gap <= tolerance * primal, >= 0.
    seed : int
        Nothing is random here: it changes nothing.
    step : str
        ``line-search`` (the best for the dual), ``decreasing`` (2 / (k + 2) in step k = 0, 1, ...) or
        ``curvature`` (min(1, gap / C_f)). By the first and the last the dual never falls.
    curvature : float, optional
        C_f > 0 of the dual, or a bound of it, for ``step="curvature"``. Default: the largest lam |w_s - w|^2
        met so far, which is no more than C_f and enough for a dual that never falls.
    time_limit : float, optional
        Stop after the pass in which so many seconds are over, > 0.
    origin : ndarray of float64, shape (d,), optional
        Weights w_0, as of :func:`~align.solvers.block.bcfw`. Default: 0.
    resume : BatchState, optional
        Go on from this state (it is used up); the iterates are those of the uninterrupted run, bit by bit.
    on_pass : function, optional
        Called with a :class:`~align.solvers.fit.Progress` after each pass.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If an option is out of its range, or the state belongs to another problem or other options.
    """
    check_options(
        "fw",
        (step in STEPS, f"step is {step!r}; give one of {', '.join(STEPS)}"),
        (curvature is None or 0 < curvature < np.inf, f"curvature is {curvature}; give a number above 0"),
        lam=lam,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=1,
    )
    options = {"solver": "fw", "lam": lam, "step": step, "curvature": curvature}
    origin = checked_origin("fw", origin, problem)
    if resume is None:
        first = np.zeros(1) if curvature is None else np.array([curvature])
        arrays = {"w_s": np.zeros(problem.d), "ell_s": np.zeros(1), "curvature": first}
        state = BatchState.new(problem, origin, seed, options, **arrays)
    else:
        state = resume
    state.check(problem, origin, **options)
    return follow(
        problem,
        state,
        _one_pass,
        _measure,
        passes=passes,
        tolerance=tolerance,
        time_limit=time_limit,
        gap_every=1,
        on_pass=on_pass,
    )


def _one_pass(problem: Problem, state: BatchState) -> None:
    """Take a step towards the vertex that the measurement before has found."""
    lam, step = state.options["lam"], state.options["step"]
    moved, ell, ell_s = state.v - state.origin, float(state.ells[0]), float(state.ell_s[0])
    gamma, gap = exact_step(state.w, moved, ell, state.w_s, ell_s, lam, 1.0)
    if step == "decreasing":
        gamma = 2.0 / (state.passes + 2.0)
    elif step == "curvature":
        if state.options["curvature"] is None:
            difference = state.w_s - moved
            state.curvature[0] = max(state.curvature[0], lam * float(difference @ difference))
        gamma = 0.0 if gap <= 0 else 1.0 if gap >= state.curvature[0] else gap / float(state.curvature[0])
    state.v[:] = state.origin + (1.0 - gamma) * moved + gamma * state.w_s
    state.w[:] = projection(state.v, state.nonnegative)
    state.ells[0] = (1.0 - gamma) * ell + gamma * ell_s
    state.passes += 1


def _measure(problem: Problem, state: BatchState) -> tuple[Value, Value]:
    """Find the vertex of the next step, and with it primal, dual and gap of the iterate."""
    lam = state.options["lam"]
    w_s, ell_s = batch_vertex(problem, state.w, lam)
    state.w_s[:], state.ell_s[0] = w_s, ell_s
    state.oracle_calls += problem.n
    return value(state.w, float(state.ells[0]), w_s, float(ell_s), lam, origin=state.origin), UNMEASURED
