"""What the Frank-Wolfe solvers share: the state of the dual, its certificate, the order of the blocks.

    max over alpha in a product of simplices of  D = ell - lam/2 |w|^2,    w = sum_i w_i,  ell = sum_i ell_i

Weights that may not be negative are cut at 0 in w, not in its parts, and weights w_0 to start from are added
to their sum (:mod:`align.problems.objective`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from align.problems.objective import Value, evaluate, projection
from align.problems.protocol import Problem
from align.solvers.block_order import plan
from align.solvers.loop import UNMEASURED, Solver
from align.solvers.state import State


@dataclass(kw_only=True)
class DualState(State):
    """The state of a Frank-Wolfe solver.

    Attributes
    ----------
    generator : dict
        State of the random generator.
    nonnegative : int
        Weights from this one on may not be negative.
    v : ndarray of float64, shape (d,)
        ``origin`` and the sum of all w_i; ``w`` is v with the weights that may not be negative cut at 0.
    ells : ndarray of float64, shape (2,)
        ell of the iterate and of the average, where there is one.
    """

    generator: dict[str, Any]
    nonnegative: int
    v: np.ndarray
    ells: np.ndarray


AnyDualState = TypeVar("AnyDualState", bound=DualState)


@dataclass(frozen=True, kw_only=True)
class DualSolver(Solver[AnyDualState], Generic[AnyDualState]):
    """A Frank-Wolfe solver; without more it measures and returns its last iterate."""

    def new_dual_state(self, problem: Problem, origin: np.ndarray, **own: np.ndarray) -> AnyDualState:
        """Return the start, w = w_0 with all mass on the gold labellings, given the solver's own arrays."""
        return self.new_state(
            problem,
            origin,
            generator=dict(np.random.default_rng(self.seed).bit_generator.state),
            nonnegative=problem.nonnegative,
            v=origin.copy(),
            ells=np.zeros(2),
            **own,
        )

    def measure(self, problem: Problem, state: AnyDualState) -> tuple[Value, Value]:
        """Return primal, dual and gap of the iterate, by one pass of the oracle."""
        (value,) = evaluate(problem, state.w[None], state.ells[:1], self.lam, origin=state.origin)
        state.oracle_calls += problem.n
        return value, UNMEASURED

    def weights(self, state: AnyDualState, *, averaged: bool) -> np.ndarray:
        """Return the weights of the iterate."""
        return projection(state.v, state.nonnegative)


def planned(state: DualState, block_order: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of a pass's blocks, as of :func:`~align.solvers.block_order.plan`."""
    generator = np.random.default_rng()
    generator.bit_generator.state = state.generator
    order, chances = plan(block_order, generator, state.passes, n)
    state.generator = dict(generator.bit_generator.state)
    return order, chances
