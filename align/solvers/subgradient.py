"""Stochastic subgradient for the structured SVM: one pair a step, steps 1/(lam t), weighted averaging.

Step k = 0, 1, ... takes the vertex psi_i(y*) of one block at w_k; lam (w - w_0) - psi_i(y*) is a subgradient
of that block's part of the primal ([1]_), and with the step 1/(lam (k + 1))

    w_(k+1) - w_0 = k/(k + 1) (w_k - w_0) + 1/(k + 1) psi_i(y*) / lam:

the mean of all vertices met. Returned is this, or the average of the iterates with weights in proportion to
their number (2/(k + 2), [2]_), as in the comparisons of [3]_. Kept are five vectors of d numbers and nothing
for each block; a block-coordinate Frank-Wolfe solver needs n d numbers at least.

The certificate. A subgradient method has no dual of its own, but every vertex that it meets is a column of A,
and the orders ``permutation`` and ``cyclic`` meet each block once a pass: the vertices of a pass, one a block
with mass 1, are a feasible point of the dual, and so is each average of passes, whatever w the vertices were
found at. Kept is the average of all passes p = 1, 2, ... with weights in proportion to p, so that the
vertices of early and bad w are forgotten as 1/t^2. Its dual is a lower bound of the minimum, and the gap, the
primal of the weights by a full pass of the oracle less the largest bound so far, is exact. (w_k itself is
A alpha too, all passes alike; that dual is feasible, and farther from the maximum.) Where blocks are drawn
with replacement the masses of a pass do not add up to 1, so that order is not offered.

Weights that may not be negative are cut at 0 in w, not in the sum of vertices, as in the Frank-Wolfe solvers:
dual averaging ([4]_), of which the above is the case without constraints. The average is then that of the
sums, cut at 0 in the end, not that of the w.

References
----------
.. [1] S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter, "Pegasos: primal estimated sub-gradient solver
   for SVM", Mathematical Programming 127, 2011. https://doi.org/10.1007/s10107-010-0420-4
.. [2] S. Lacoste-Julien, M. Schmidt and F. Bach, "A simpler approach to obtaining an O(1/t) convergence rate
   for the projected stochastic subgradient method", 2012. https://arxiv.org/abs/1212.2002
.. [3] S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher, "Block-coordinate Frank-Wolfe optimization
   for structural SVMs", ICML 2013. https://proceedings.mlr.press/v28/lacoste-julien13.html
.. [4] L. Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11,
   2010. https://jmlr.org/papers/v11/xiao10a.html
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from align.core.kernels import kernel
from align.problems.compiled import pass_over, vertex, workspace
from align.problems.objective import Value, batch_vertex, certified, dual, projection
from align.problems.protocol import Problem
from align.solvers.dual import DualSolver, DualState, planned
from align.solvers.loop import UNMEASURED
from align.solvers.options import at_least, flag, one_of


class Sums(NamedTuple):
    """What a step reads and changes: lam, and of the same names fields of :class:`SubgradientState`."""

    lam: float
    nonnegative: int
    origin: np.ndarray
    v: np.ndarray
    w: np.ndarray
    v_average: np.ndarray
    psi_pass: np.ndarray


@dataclass(kw_only=True)
class SubgradientState(DualState):
    """The state of :class:`Subgradient`; of ``ells`` the first is that of the dual point.

    Attributes
    ----------
    v_average : ndarray of float64, shape (d,) or (0,)
        Average of v over the steps k = 0, 1, ..., with weights in proportion to k + 1, where kept.
    v_dual : ndarray of float64, shape (d,)
        The origin and A alpha of the dual point.
    psi_pass : ndarray of float64, shape (d,)
        Sum of the vertices of the last pass.
    bound : float
        The largest dual so far, of all passes whose gap was measured.
    """

    v_average: np.ndarray
    v_dual: np.ndarray
    psi_pass: np.ndarray
    bound: float = -math.inf


@dataclass(frozen=True, kw_only=True)
class Subgradient(DualSolver[SubgradientState]):
    """Stochastic subgradient, steps 1/(lam t), weighted average; nothing is kept for each pair.

    Parameters
    ----------
    averaging : bool
        Whether the weighted average of the iterates is kept, measured and may be the result. Weights that may
        not be negative are cut at 0 in the average, not before.
    block_order : str
        Of a pass: permutation (each pair once), or cyclic (as they come).
    """

    name = "subgradient"
    state_type = SubgradientState

    passes: int = at_least(1, 1000)
    averaging: bool = flag(True)
    block_order: str = one_of("permutation", "cyclic")

    def start(self, problem: Problem, origin: np.ndarray) -> SubgradientState:
        """Return the start, w = w_0, and for the dual all mass on the gold labellings."""
        return self.new_dual_state(
            problem,
            origin,
            v_average=origin.copy() if self.averaging else np.zeros(0),
            v_dual=origin.copy(),
            psi_pass=np.zeros(problem.d),
        )

    def one_pass(self, problem: Problem, state: SubgradientState) -> None:
        """Take n steps; then take the vertices met into the dual point."""
        n = problem.n
        order, _ = planned(state, self.block_order, n)
        sums = Sums(self.lam, *(getattr(state, name) for name in Sums._fields[1:]))
        steps, data = pass_over(problem, _steps)
        loss = steps(data, order, state.passes * n, sums)
        keep, add = state.passes / (state.passes + 2.0), 2.0 / (state.passes + 2.0)
        moved = keep * (state.v_dual - state.origin) + add * (state.psi_pass / (self.lam * n))
        state.v_dual[:] = state.origin + moved
        state.ells[0] = keep * state.ells[0] + add * (loss / n)
        state.passes += 1
        state.oracle_calls += n

    def measure(self, problem: Problem, state: SubgradientState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate and of the average; the dual is the same."""
        with_average = self.averaging and state.passes > 0  # at the start they are the same
        weights = [state.w, self.weights(state, averaged=True)] if with_average else [state.w]
        w_s, ell_s = batch_vertex(problem, np.stack(weights), self.lam)
        state.oracle_calls += len(weights) * problem.n
        behind, ell = projection(state.v_dual, state.nonnegative), float(state.ells[0])
        state.bound = max(state.bound, dual(behind, ell, self.lam, origin=state.origin))
        lower = state.bound
        values = []
        for r, w in enumerate(weights):
            moved, upper = w - state.origin, float(ell_s[r])
            primal = 0.5 * self.lam * float(moved @ moved) - self.lam * float(w_s[r] @ w) + upper
            terms = abs(lower) + ell + upper + self.lam * float(np.abs(moved - w_s[r]) @ np.abs(w))
            values.append(certified(primal, lower, primal - lower, terms))
        if not with_average:
            values.append(values[0] if self.averaging else UNMEASURED)
        return values[0], values[1]

    def weights(self, state: SubgradientState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate or of the average."""
        return projection(state.v_average if averaged else state.v, state.nonnegative)


@kernel
def _steps(data: Any, order: np.ndarray, taken: int, sums: Sums) -> float:
    """Take a step for each block of the pass, ``taken`` were taken before; returns the sum of the losses."""
    work = workspace(data)
    lam, v, w, origin, v_average = sums.lam, sums.v, sums.w, sums.origin, sums.v_average
    psi, losses = np.empty(len(w)), 0.0
    sums.psi_pass[:] = 0.0
    for place in range(len(order)):
        losses += vertex(data, w, order[place], psi, work)
        k = taken + place
        rate = 1.0 / (k + 1.0)
        for j in range(len(w)):
            sums.psi_pass[j] += psi[j]
            v[j] += rate * (origin[j] - v[j] + psi[j] / lam)
            w[j] = v[j] if j < sums.nonnegative else max(v[j], 0.0)
        rate = 2.0 / (k + 2.0)
        for j in range(len(v_average)):
            v_average[j] += rate * (v[j] - v_average[j])
    return losses
