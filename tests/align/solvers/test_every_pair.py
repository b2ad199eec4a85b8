"""Every solver on every problem against a quadratic program over all labellings, or refused by name."""

import re
from functools import cache

import numpy as np
import pytest

from align.solvers import SOLVERS
from tests.align.problems.test_protocol import CASES, minimised

LAM, NEAR = 1.0, 1e-4
PROBLEMS = (
    "matching",
    "two links a word",
    "triplets",
    "triplets, metric",
    "chains",
    "multilabel",
    "multilabel, four weights a pair",
    "attractive",
)
# What a problem lacks for a solver.
EUCLIDEAN, ENTROPIC = ("extragradient", "extragradient-kl")
LACKS = {
    (EUCLIDEAN, "chains"): "lacks the euclidean projection; take extragradient-kl or bcfw",
    (EUCLIDEAN, "multilabel, four weights a pair"): "its weights of pairs of labels may be negative",
    (ENTROPIC, "multilabel, four weights a pair"): "its weights of pairs of labels may be negative",
    (ENTROPIC, "attractive"): "lacks the entropic projection; take extragradient or bcfw",
}


@cache
def solved(name):
    """The problem and the minimum of its primal, by SLSQP over weights and slacks."""
    problem, listed = CASES[name]()
    labellings = [tuple(map(np.array, zip(*listed(i), strict=True))) for i in range(problem.n)]
    return problem, minimised(problem, labellings, LAM)[1]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_primal_is_the_minimum_and_no_dual_is_above_it(solver, problem):
    made, minimum = solved(problem)
    every = {} if solver == "fw" else {"gap_every": 10}
    whole = SOLVERS[solver](lam=LAM, passes=50_000, tolerance=0.9 * NEAR / minimum, **every)
    lacks = LACKS.get((solver, problem), "")
    assert bool(whole.refusal(made)) == bool(lacks)
    if lacks:
        with pytest.raises(ValueError, match=f"^{solver}: .*{type(made).__name__}.*{re.escape(lacks)}"):
            whole.run(made)
        return
    fit = whole.run(made)
    assert fit.status == "converged"
    assert minimum - 1e-7 <= fit.primal <= minimum + NEAR
    for row in fit.history:
        assert not max(row.dual, row.average_dual) > minimum + 1e-7  # NaN: not measured
        assert not min(row.primal, row.average_primal) < minimum - 1e-7
    assert (fit.weights[made.nonnegative :] >= 0).all()
