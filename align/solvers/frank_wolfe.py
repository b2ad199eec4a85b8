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

from dataclasses import dataclass

import numpy as np

from align.problems.objective import Value, batch_vertex, exact_step, projection, value
from align.problems.protocol import Problem, step_oracles
from align.solvers.dual import DualSolver, DualState
from align.solvers.generic.curvature import curvature_step
from align.solvers.loop import UNMEASURED
from align.solvers.options import OptionError, at_least, one_of, option, positive


@dataclass(kw_only=True)
class BatchState(DualState):
    """The state of :class:`BatchFrankWolfe`.

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


@dataclass(frozen=True, kw_only=True)
class BatchFrankWolfe(DualSolver[BatchState]):
    """Batch Frank-Wolfe: one exact step a pass. Nothing is random.

    Parameters
    ----------
    step : str
        line-search (the best for the dual), decreasing (2 / (k + 2) in step k = 0, 1, ...) or curvature
        (min(1, gap / C_f)). By the first and the last the dual never falls.
    curvature : float, optional
        C_f > 0 of the dual, or a bound of it, for the step curvature alone. Default: the largest
        lam |w_s - w|^2 met so far, which is no more than C_f and enough for a dual that never falls.
    """

    name = "fw"
    state_type = BatchState

    passes: int = at_least(1, 1000)
    # the vertex of the next step is found by the measurement
    gap_every: int = option(1, "1, as every pass of fw measures the gap", lambda value: value == 1)
    step: str = one_of("line-search", "decreasing", "curvature")
    curvature: float | None = positive(None)

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.curvature is not None and self.step != "curvature":
            raise OptionError(self.name, "curvature", self.curvature, "it with the step curvature only")

    def start(self, problem: Problem, origin: np.ndarray) -> BatchState:
        """Return the start: all mass on the gold labellings."""
        first = np.zeros(1) if self.curvature is None else np.array([self.curvature])
        return self.new_dual_state(
            problem, origin, w_s=np.zeros(problem.d), ell_s=np.zeros(1), curvature=first
        )

    def one_pass(self, problem: Problem, state: BatchState) -> None:
        """Take a step towards the vertex that the measurement before has found."""
        ask = step_oracles(problem)
        if ask is not None:  # the measurement has found the vertices of ``oracles``
            psi, loss = ask(state.w, np.arange(problem.n))
            state.w_s[:], state.ell_s[0] = psi.sum(axis=0) / (self.lam * problem.n), loss.sum() / problem.n
            state.oracle_calls += problem.n
        moved, ell, ell_s = state.v - state.origin, float(state.ells[0]), float(state.ell_s[0])
        gamma, gap = exact_step(state.w, moved, ell, state.w_s, ell_s, self.lam, 1.0)
        if self.step == "decreasing":
            gamma = 2.0 / (state.passes + 2.0)
        elif self.step == "curvature":
            if self.curvature is None:
                difference = state.w_s - moved
                state.curvature[0] = max(state.curvature[0], self.lam * float(difference @ difference))
            gamma = curvature_step(gap, float(state.curvature[0]))
        state.v[:] = state.origin + (1.0 - gamma) * moved + gamma * state.w_s
        state.w[:] = projection(state.v, state.nonnegative)
        state.ells[0] = (1.0 - gamma) * ell + gamma * ell_s
        state.passes += 1

    def measure(self, problem: Problem, state: BatchState) -> tuple[Value, Value]:
        """Find the vertex of the next step, and with it primal, dual and gap of the iterate."""
        w_s, ell_s = batch_vertex(problem, state.w, self.lam)
        state.w_s[:], state.ell_s[0] = w_s, ell_s
        state.oracle_calls += problem.n
        ell = float(state.ells[0])
        return value(state.w, ell, w_s, float(ell_s), self.lam, origin=state.origin), UNMEASURED
