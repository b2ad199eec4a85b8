"""What all solvers of the family have in common: certificates, agreement, resuming."""

import math
from functools import partial

import numpy as np
import pytest

from align.solvers import SOLVERS
from tests.align.solvers.problems import (
    Listed,
    Plain,
    bcfw,
    block_away,
    fertile_pairs,
    fw,
    minibatch,
    pairs,
    solve,
    solved_by_scipy,
    subgradient,
)

RUNS = {
    "bcfw": bcfw,
    "bcfw-by-gaps": partial(bcfw, block_order="gaps"),
    "fw": fw,
    "fw-curvature": partial(fw, step="curvature"),
    "bcfw-away": partial(block_away, pairwise=False),
    "bcfw-away-new-vertices-only": partial(block_away, pairwise=False, known=False),
    "bcfw-away-by-gaps": partial(block_away, pairwise=False, block_order="gaps"),
    "bcfw-pairwise": partial(block_away, pairwise=True),
    "bcfw-pairwise-new-vertices-only": partial(block_away, pairwise=True, known=False, room=2),
    "minibatch": partial(minibatch, batch=3),
    "minibatch-joint": partial(minibatch, batch=3, joint=True),
    "minibatch-joint-uniform": partial(minibatch, batch=5, joint=True, block_order="uniform"),
}
# By these steps the dual may fall.
LOOSE = {
    "fw-decreasing": partial(fw, step="decreasing"),
    "subgradient": subgradient,
    "subgradient-cyclic": partial(subgradient, block_order="cyclic", averaging=False),
}
everyone = pytest.mark.parametrize("name", [*RUNS, *LOOSE])
# As they stand in the table.
NAMES = ("bcfw", "fw", "bcfw-away", "bcfw-pairwise", "minibatch", "subgradient")
# What they draw blocks by, where that is not the default.
ORDERS = {"bcfw": "gaps", "bcfw-away": "gaps", "bcfw-pairwise": "gaps", "minibatch": "uniform"}
named = pytest.mark.parametrize("name", NAMES)
monotone = pytest.mark.parametrize("name", RUNS)
ORIGIN = np.array([0.5, -1.0, 0.7, 0.0, 2.0])


def run(name, problem, **options):
    return (RUNS | LOOSE)[name](problem, **options)


def bounded(seed, n=6, nonnegative=2):
    free = Listed.random(n, 5, seed=seed)
    return Listed(free.psi, free.loss, nonnegative=nonnegative)


def without_seconds(history):
    return np.array([row._replace(seconds=0) for row in history])


@everyone
@pytest.mark.parametrize(("nonnegative", "origin"), [(5, None), (2, None), (2, ORIGIN)])
@pytest.mark.parametrize("lam", [0.03, 1.0])
def test_agrees_with_a_quadratic_programme_within_its_certificate(name, lam, nonnegative, origin):
    problem = bounded(11, nonnegative=nonnegative)
    start = np.zeros(5) if origin is None else origin
    w, minimum = solved_by_scipy(problem, lam, start)
    fit = run(name, problem, lam=lam, passes=20000, tolerance=5e-3, origin=origin)
    assert fit.status == "converged"
    assert minimum - 1e-6 <= fit.primal <= minimum + fit.gap + 1e-6
    assert fit.primal == pytest.approx(problem.primal(fit.weights, lam, start))
    assert fit.gap == pytest.approx(fit.primal - fit.dual, abs=1e-12)
    # strong convexity: lam/2 |w - w*|^2 <= P(w) - P(w*) <= gap
    assert lam / 2 * np.sum((fit.weights - w) ** 2) <= fit.gap + 1e-6
    assert (fit.weights[nonnegative:] >= 0).all()


@everyone
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_bounds_the_suboptimality_at_every_pass(name, seed):
    problem = bounded(seed, n=8, nonnegative=3)
    _, minimum = solved_by_scipy(problem, 0.05, ORIGIN)
    fit = run(name, problem, lam=0.05, passes=40, tolerance=0, seed=seed, origin=ORIGIN)
    assert [row.passes for row in fit.history] == list(range(len(fit.history)))
    assert fit.passes == 40 or fit.gap == 0  # away and pairwise steps get there
    for row in fit.history:
        for primal, dual, gap in (row[3:6], row[6:9]):
            if not math.isnan(gap):
                assert dual - 1e-7 <= minimum <= primal + 1e-7
                assert gap >= primal - minimum - 1e-7
                assert gap == pytest.approx(primal - dual, abs=1e-12)
    assert fit.dual > fit.history[0].dual


@monotone
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("nonnegative", [5, 2])
def test_the_dual_never_falls(name, seed, nonnegative):
    problem = bounded(seed, n=8, nonnegative=nonnegative)
    fit = run(name, problem, lam=0.05, passes=60, tolerance=0, seed=seed)
    assert (np.diff([row.dual for row in fit.history]) >= -1e-13).all()


def test_the_dual_may_fall_by_decreasing_steps():
    fit = fw(bounded(0, n=8), lam=0.05, passes=60, tolerance=0, step="decreasing")
    assert (np.diff([row.dual for row in fit.history]) < -1e-6).any()


@monotone
def test_one_block_a_pass_is_one_step_and_the_dual_rises_with_it(name):
    problem = bounded(3, n=1)
    fit = run(name, problem, lam=0.05, passes=100, tolerance=0)
    rises = np.diff([row.dual for row in fit.history])
    assert (rises >= -1e-14).all()
    assert rises[0] > 0


def test_all_agree_on_pairs_whose_words_have_several_links():
    problem, lam = fertile_pairs(12, 4, 6, seed=2), 0.05
    origin = np.full(problem.d, 0.1)
    others = [name for name in RUNS if name != "fw-curvature"]  # its small steps take too long
    fits = {name: run(name, problem, lam=lam, passes=5000, tolerance=1e-2, origin=origin) for name in others}
    lower = max(fit.dual for fit in fits.values())
    for name, fit in fits.items():
        assert fit.status == "converged", name
        assert lower - 1e-9 <= fit.primal <= lower + fit.gap + 1e-9, name
        assert (fit.weights[problem.nonnegative :] >= 0).all()
        psi, loss = problem.oracles(fit.weights, np.arange(problem.n))
        moved = fit.weights - origin
        primal = lam / 2 * moved @ moved + (loss - psi @ fit.weights).mean()
        assert fit.primal == pytest.approx(primal, rel=1e-12), name


@pytest.mark.parametrize(
    "name",
    ["bcfw-by-gaps", "subgradient", *(name for name in RUNS if "away" in name or "pair" in name)],
)
@pytest.mark.parametrize("fertile", [False, True])
def test_the_compiled_pass_is_the_plain_loop_to_the_bit(name, fertile):
    problem = fertile_pairs(10, 4, 6, seed=1) if fertile else pairs(12, 6, 5, seed=0)
    compiled, plain = (
        run(name, each, lam=0.02, passes=25, tolerance=0) for each in (problem, Plain(problem))
    )
    np.testing.assert_array_equal(compiled.weights, plain.weights)
    np.testing.assert_array_equal(without_seconds(compiled.history), without_seconds(plain.history))


@named
@pytest.mark.parametrize("kind", ["pairs", "fertile", "plain"])
def test_a_run_resumed_from_a_file_goes_on_to_the_same_bits(tmp_path, name, kind):
    problem = fertile_pairs(10, 4, 6, seed=3) if kind == "fertile" else pairs(10, 5, 4, seed=3)
    if kind == "plain":
        problem = Plain(problem)
    solver, path = SOLVERS[name], tmp_path / "state.npz"
    options = {"lam": 0.03, "passes": 14, "tolerance": 0, "seed": 5, "origin": np.full(problem.d, 0.2)}
    if name in ORDERS:
        options["block_order"] = ORDERS[name]
    whole = solve(name, problem, **options)

    def stop(progress):
        progress.state.save(path)
        if progress.row.passes == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(name, problem, **options, on_pass=stop)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
    resumed = solve(name, problem, **options, resume=solver.load(path))
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert resumed.oracle_calls == whole.oracle_calls
    np.testing.assert_array_equal(without_seconds(resumed.history), without_seconds(whole.history))


@named
def test_one_seed_one_result(name):
    problem = pairs(40, 5, 4, seed=7)
    first, again, other = (
        solve(name, problem, lam=0.02, passes=3, tolerance=0, seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.weights, again.weights)
    assert np.array_equal(first.weights, other.weights) == (name == "fw")


@named
def test_a_state_of_another_run_or_solver_is_refused(tmp_path, name):
    problem, path = pairs(5, 4, 3, seed=6), tmp_path / "state.npz"
    solver = SOLVERS[name]
    told = []

    def keep(progress):
        progress.state.save(path)
        told.append(repr(progress))

    fit = solve(name, problem, passes=2, tolerance=0, on_pass=keep)
    assert told[1].startswith("Progress(Row(passes=2, ")
    assert told[1].endswith(f"passes=2, state={solver.state_type.__name__})")
    with pytest.raises(
        ValueError, match=f"{name}: Fit is no state of it; give the state that on_pass was told"
    ):
        solve(name, problem, resume=fit)
    with pytest.raises(ValueError, match=f"{name}: the state is of a run with .*, asked is .*; start anew"):
        solve(name, problem, lam=0.2, resume=solver.load(path))
    with pytest.raises(ValueError, match=f"{name}: the state is of a run with another origin"):
        solve(name, problem, origin=np.ones(3), resume=solver.load(path))
    with pytest.raises(ValueError, match=f"{name}: the state is of a run on other data; start anew"):
        solve(name, pairs(5, 4, 3, seed=7), resume=solver.load(path))
    for other in NAMES:
        if other != name:
            with pytest.raises(ValueError, match="no saved state of this solver|the state is of a run with"):
                solve(other, problem, resume=SOLVERS[other].load(path))


@named
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lam": 0.0}, r"lam is 0\.0; give a number above 0"),
        ({"passes": 0}, "passes is 0; give at least 1"),
        ({"tolerance": -1.0}, r"tolerance is -1\.0; give 0 or more"),
        ({"time_limit": 0.0}, r"time_limit is 0\.0; give seconds above 0, or None"),
        ({"origin": np.zeros(3)}, r"the origin has shape \(3,\); give 2 finite weights"),
    ],
)
def test_options_out_of_range_are_refused(name, option, message):
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        solve(name, Listed.random(2, 2, seed=0), **option)


@pytest.mark.parametrize(
    ("function", "option", "message"),
    [
        (fw, {"step": "long"}, "fw: step is 'long'; give one of line-search, decreasing, curvature"),
        (fw, {"curvature": 0.0}, r"fw: curvature is 0\.0; give a number above 0"),
        (fw, {"curvature": 3.0}, r"fw: curvature is 3\.0; give it with the step curvature only"),
        (block_away, {"room": 1}, "bcfw-away: room is 1; give at least 2"),
        (block_away, {"block_order": "best"}, "bcfw-away: block_order is 'best'; give one of permutation"),
        (block_away, {"gap_every": 0}, "bcfw-away: gap_every is 0"),
        (minibatch, {"batch": 0}, "minibatch: batch is 0; give at least 1"),
        (minibatch, {"jobs": 0}, "minibatch: jobs is 0; give at least 1"),
        (minibatch, {"cache": -1}, "minibatch: cache is -1; give at least 0"),
        (minibatch, {"joint": 2}, "minibatch: joint is 2; give true or false"),
        (minibatch, {"block_order": "gaps"}, "minibatch: block_order is 'gaps'; give one of permutation"),
        (subgradient, {"block_order": "uniform"}, "subgradient: block_order is 'uniform'; give one of perm"),
        (subgradient, {"averaging": 2}, "subgradient: averaging is 2; give true or false"),
    ],
)
def test_options_of_one_solver_out_of_range_are_refused(function, option, message):
    with pytest.raises(ValueError, match=message):
        function(Listed.random(2, 2, seed=0), **option)


@named
def test_status_and_rows_say_how_it_went(name):
    problem, rows = pairs(30, 6, 5, seed=5), []
    fit = solve(name, problem, passes=2, tolerance=0, on_pass=lambda progress: rows.append(progress.row))
    assert (fit.status, fit.passes) == ("pass-limit", 2)
    assert tuple(rows) == fit.history[1:]
    assert fit.history[-1].oracle_calls == fit.oracle_calls
    assert solve(name, problem, passes=1000, tolerance=0.9).status == "converged"
    assert solve(name, problem, passes=10**9, tolerance=0, time_limit=1e-9).status == "time-limit"
