"""Approximate oracles: what they state holds, solvers keep the bound of theory, certificates are exact."""

import itertools

import numpy as np
import pytest

from align.problems.approximate import (
    ApproximateProblem,
    Beam,
    CachedVertices,
    FewAugmentations,
    Found,
    suboptimality_bound,
)
from align.problems.protocol import Vertex
from align.problems.sequences import ChainProblem
from align.solvers import SOLVERS
from align.solvers.generic.curvature import dual_curvature_bounds, dual_curvatures
from tests.align.solvers.problems import Listed, fertile_pairs, pairs, solve

PASSES = 12


class Worst:
    """The worst labelling that is still allowed."""

    def __init__(self, problem):
        self.problem = problem

    def __call__(self, w, i, allowed):
        values = self.problem.loss[i] - self.problem.psi[i] @ w
        short = values.max() - values
        at = int(np.argmax(np.where(short <= allowed, short, -1.0)))
        return Found(Vertex(self.problem.psi[i, at], float(self.problem.loss[i, at])), float(short[at]))


def problem_of(seed):
    generator = np.random.default_rng(seed)
    n, d, count = (int(generator.integers(low, high)) for low, high in ((2, 7), (2, 6), (3, 7)))
    return Listed.random(n, d, seed=seed, count=count), float(10 ** generator.uniform(-1.5, 0.5))


@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 100, 25)], ids=str)
def test_the_bound_of_the_theory_holds_in_a_hundred_problems(seeds):
    for seed in seeds:
        problem, lam = problem_of(seed)
        best = solve("bcfw-pairwise", problem, lam=lam, tolerance=1e-9, passes=500)
        own = dual_curvatures(list(problem.psi), lam)
        radius = np.linalg.norm(problem.psi, axis=2).max()
        batch, blocks = np.sqrt(own).sum() ** 2, own.sum()
        assert batch <= dual_curvature_bounds(radius, lam, problem.n)[0] * (1 + 1e-9)
        delta = (0.3, 2.0)[seed % 2]
        for name, curvature, options in (
            ("fw", batch, {"step": "decreasing"}),
            ("fw", batch, {}),
            ("bcfw", blocks, {"cache": 0, "averaging": False, "seed": seed}),
        ):
            rough = ApproximateProblem(problem, Worst(problem), delta=delta, curvature=curvature)
            fit = solve(name, rough, lam=lam, passes=PASSES, tolerance=0, **options)
            start = best.primal if name == "bcfw" else 0.0  # D starts at 0
            for row in fit.history[1:]:
                bound = suboptimality_bound(curvature, row.passes, delta=delta, start=start)
                assert best.dual - row.dual <= bound, (seed, name, row.passes)
            # the certificate is that of the exact oracle
            assert fit.primal == pytest.approx(problem.primal(fit.weights, lam), rel=1e-9)
            assert fit.gap >= fit.primal - best.primal - 1e-9
            assert fit.dual <= best.primal + 1e-9


def test_the_worst_steps_do_cost_something():
    cost = []
    for seed in range(20):
        problem, lam = problem_of(seed)
        fits = [
            solve("fw", each, lam=lam, passes=PASSES, tolerance=0)
            for each in (problem, ApproximateProblem(problem, Worst(problem), delta=0.5))
        ]
        cost.append(fits[0].dual - fits[1].dual)
    assert np.mean(np.array(cost) > 1e-6) > 0.7


@pytest.mark.parametrize("name", ["fw", "bcfw"])
def test_an_error_that_does_not_shrink_is_added_to_the_bound(name):
    for seed in range(20):
        problem, lam = problem_of(seed)
        best = solve("bcfw-pairwise", problem, lam=lam, tolerance=1e-9, passes=500)
        own, error = dual_curvatures(list(problem.psi), lam), 0.2
        curvature = own.sum() if name == "bcfw" else np.sqrt(own).sum() ** 2
        rough = ApproximateProblem(problem, Worst(problem), delta=error)
        fit = solve(name, rough, lam=lam, passes=60, tolerance=0)
        start = best.primal if name == "bcfw" else 0.0
        for row in fit.history[1:]:
            bound = suboptimality_bound(curvature, row.passes, error=error, start=start)
            assert best.dual - row.dual <= bound
        assert rough.worst <= error
        assert rough.steps == fit.passes * problem.n


@pytest.mark.parametrize("name", [name for name, solver in SOLVERS.items() if solver.needs_oracle])
def test_without_an_error_every_solver_takes_the_same_steps(name):
    problem = pairs(9, 5, 4, seed=1)
    options = {"lam": 0.05, "passes": 4, "tolerance": 0}
    exact = solve(name, problem, **options)
    same = ApproximateProblem(problem, lambda w, i, allowed: Found(problem.oracle(w, i), 0.0), delta=0.0)
    fit = solve(name, same, **options)
    np.testing.assert_allclose(fit.weights, exact.weights, rtol=1e-9, atol=1e-12)
    assert fit.gap == pytest.approx(exact.gap, rel=1e-9)


@pytest.mark.parametrize("name", ["minibatch", "bcfw-away", "subgradient"])
def test_other_solvers_certify_exactly_too(name):
    problem, lam = problem_of(3)
    best = solve("bcfw-pairwise", problem, lam=lam, tolerance=1e-9, passes=500)
    rough = ApproximateProblem(problem, Worst(problem), delta=0.5)
    fit = solve(name, rough, lam=lam, passes=40, tolerance=0, jobs=2)
    assert fit.primal == pytest.approx(problem.primal(fit.weights, lam), rel=1e-9)
    assert fit.dual - 1e-9 <= best.primal <= fit.primal + 1e-9
    assert rough.worst > 0


def short_of(problem, find, w, i):
    """What the oracle missed in truth, after a check of what it stated."""
    found = find(w, i, 0.0)
    exact = problem.oracle(w, i)
    value, most = (loss - psi @ w for psi, loss in (found.vertex, exact))
    assert most - value <= found.shortfall + 1e-9
    return most - value, found.shortfall


@pytest.mark.parametrize("count", [1, 2, 4, 100])
def test_few_augmentations_miss_no_more_than_they_say(count):
    generator = np.random.default_rng(count)
    problem, missed = pairs(20, 6, 5, seed=2), []
    find = FewAugmentations(problem, count)
    for _ in range(10):
        w = generator.normal(size=5)
        missed += [short_of(problem, find, w, i)[0] for i in range(problem.n)]
    assert min(missed) >= -1e-9
    assert (max(missed) > 0.1) == (count < 100)


def test_more_augmentations_miss_less():
    problem, w = pairs(20, 6, 5, seed=2), np.random.default_rng(5).normal(size=5)
    stated = [
        sum(FewAugmentations(problem, count)(w, i, 0.0).shortfall for i in range(20))
        for count in (1, 3, 5, 9)
    ]
    assert stated == sorted(stated, reverse=True)
    assert stated[-1] == 0.0


def chains(seed, n=8, labels=4):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 7, n)
    return ChainProblem(
        [generator.normal(size=(length, 3)) for length in lengths],
        [generator.integers(0, labels, length) for length in lengths],
        labels=labels,
    )


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_beam_misses_no_more_than_it_says(width):
    generator, problem, missed = np.random.default_rng(width), chains(0), []
    find = Beam(problem, width)
    for _ in range(20):
        w = generator.normal(size=problem.d)
        missed += [short_of(problem, find, w, i)[0] for i in range(problem.n)]
    assert min(missed) >= -1e-9
    assert (max(missed) > 0.1) == (width < 4)
    if width == 4:
        assert all(find(w, i, 0.0).shortfall == 0.0 for i in range(problem.n))


def test_a_beam_finds_the_features_and_the_loss_of_its_labels():
    problem, w = chains(1), np.random.default_rng(0).normal(size=chains(1).d)
    for i in range(problem.n):
        psi, loss = Beam(problem, 4)(w, i, 0.0).vertex
        exact = problem.oracle(w, i)
        np.testing.assert_allclose(psi, exact.psi, atol=1e-12)
        assert loss == exact.loss


def test_cached_vertices_save_calls_and_miss_no_more_than_they_say():
    problem = Listed.random(6, 4, seed=1)
    radius = np.linalg.norm(problem.psi, axis=2).max(axis=1)
    find = CachedVertices(problem, radius, room=3)
    w = np.zeros(4)
    generator = np.random.default_rng(0)
    for _, i in itertools.product(range(30), range(6)):
        w = w + 0.02 * generator.normal(size=4)
        found = find(w, i, 0.3)
        values = problem.loss[i] - problem.psi[i] @ w
        value = found.vertex.loss - found.vertex.psi @ w
        assert values.max() - value <= found.shortfall + 1e-12
        assert found.shortfall <= 0.3
    assert 6 <= find.calls < 90


@pytest.mark.parametrize("name", ["bcfw", "fw", "minibatch"])
@pytest.mark.parametrize(
    "make", [lambda problem: Beam(problem, 2), lambda problem: CachedVertices(problem, 6.0)]
)
def test_a_run_depends_on_no_run_before(name, make):
    """The error allowed shrinks with the steps of a run, not with those of all runs of an object."""
    exact, solver = chains(0), SOLVERS[name](lam=0.1, passes=8, tolerance=0)
    problem = ApproximateProblem(exact, make(exact), delta=0.5, curvature=20.0)
    runs = []
    for _ in range(2):
        fit = solver.run(problem)
        runs.append(
            (fit.weights, problem.exactly, problem.worst, problem.total, getattr(problem.find, "calls", 0))
        )
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1:] == runs[1][1:]
    assert problem.steps == 8 * problem.n


@pytest.mark.parametrize("name", ["bcfw", "fw", "minibatch"])
def test_a_resumed_run_allows_the_errors_of_the_whole_one(name):
    exact, states = chains(0), []
    solver, first = (SOLVERS[name](lam=0.1, passes=passes, tolerance=0) for passes in (10, 4))
    problem = ApproximateProblem(exact, Beam(exact, 2), delta=0.5, curvature=20.0)
    whole = solver.run(problem)
    assert 0 < problem.exactly < problem.steps  # what is allowed decides
    again = ApproximateProblem(exact, Beam(exact, 2), delta=0.5, curvature=20.0)
    first.run(again, on_pass=lambda progress: states.append(progress.state))
    resumed = solver.run(again, resume=states[-1])
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert again.steps == 6 * exact.n


@pytest.mark.parametrize("name", ["fw", "minibatch"])
def test_any_problem_may_have_oracles_for_steps_alone(name):
    class Own(Listed):
        asked = 0

        def step_oracles(self, w, block):
            self.asked += len(block)
            return self.oracles(w, block)

    plain = Listed.random(40, 4, seed=1)
    problem = Own(plain.psi, plain.loss)
    fit = solve(name, problem, lam=0.1, passes=3, tolerance=0, jobs=2)
    assert problem.asked == 3 * problem.n
    np.testing.assert_array_equal(fit.weights, solve(name, plain, lam=0.1, passes=3, tolerance=0).weights)


def test_what_was_missed_by_too_much_is_found_exactly():
    problem = Listed.random(4, 3, seed=0)
    bad = ApproximateProblem(problem, lambda w, i, allowed: Found(Vertex(np.zeros(3), 0.0), 10.0), delta=0.5)
    fit, exact = (solve("bcfw", each, lam=0.1, passes=5, tolerance=0) for each in (bad, problem))
    np.testing.assert_array_equal(fit.weights, exact.weights)
    assert (bad.steps, bad.exactly, bad.worst) == (20, 20, 0.0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: ApproximateProblem(chains(0), Beam(chains(0), 1), delta=-1.0), "error -1.0, curvature None"),
        (
            lambda: ApproximateProblem(chains(0), Beam(chains(0), 1), delta=1.0, curvature=0.0),
            "curvature 0.0",
        ),
        (lambda: Beam(chains(0), 0), "a beam of 0; give 1 or more"),
        (lambda: FewAugmentations(pairs(2, 3, 3, seed=0), 0), "0 augmentations"),
        (
            lambda: FewAugmentations(fertile_pairs(2, 4, 4, seed=0), 3),
            "2 links a word; give 1 or more, and one",
        ),
        (lambda: CachedVertices(chains(0), -1.0), "radii of 0 or more"),
        (lambda: CachedVertices(chains(0), 1.0, room=0), "room of 1 or more"),
    ],
)
def test_arguments_out_of_range_are_refused(make, told):
    with pytest.raises(ValueError, match=told):
        make()
