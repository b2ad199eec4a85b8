import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from align.problems.matching import MatchingProblem
from align.problems.objective import evaluate
from align.problems.protocol import Vertex
from align.solvers import SOLVERS
from align.solvers.block import BlockFrankWolfe, BlockState, _best_cached, remember
from align.solvers.block_order import BLOCK_ORDERS
from tests.align.solvers.problems import (
    Edges,
    Labels,
    Listed,
    Plain,
    bcfw,
    check_resumed,
    fertile_pairs,
    pairs,
    solved_by_scipy,
)

EVERY_ORDER = (*BLOCK_ORDERS, "gaps")


@pytest.mark.parametrize("lam", [0.02, 0.3, 5.0])
def test_agrees_with_a_quadratic_programme(lam):
    problem = Listed.random(6, 4, seed=1)
    w, minimum = solved_by_scipy(problem, lam)
    fit = bcfw(problem, lam=lam, passes=1000, tolerance=2e-3)
    assert fit.status == "converged"
    assert minimum - 1e-7 <= fit.primal <= minimum + fit.gap + 1e-7
    # strong convexity: lam/2 |w - w*|^2 <= P(w) - P(w*) <= gap
    assert lam / 2 * np.sum((fit.weights - w) ** 2) <= fit.gap + 1e-7


@pytest.mark.parametrize("block_order", EVERY_ORDER)
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_bounds_the_suboptimality_and_the_dual_never_falls(block_order, seed):
    problem = Listed.random(8, 5, seed=seed)
    lam = 0.05
    _, minimum = solved_by_scipy(problem, lam)
    fit = bcfw(problem, lam=lam, passes=40, tolerance=0, seed=seed, block_order=block_order)
    assert [row.passes for row in fit.history] == list(range(41))
    for row in fit.history:
        for primal, dual, gap in (row[3:6], row[6:9]):
            assert gap >= primal - minimum - 1e-7
            assert dual <= minimum + 1e-7
            assert gap == pytest.approx(primal - dual, abs=1e-12)
    assert (np.diff([row.dual for row in fit.history]) >= -1e-13).all()
    assert fit.history[-1].dual > 0.5 * minimum


def test_the_dual_rises_with_every_single_step():
    problem = Listed.random(1, 5, seed=3)  # one block: a pass is a step
    fit = bcfw(problem, lam=0.05, passes=200, tolerance=0)
    rises = np.diff([row.dual for row in fit.history])
    assert (rises >= -1e-13).all()
    assert rises[0] > 0


def test_every_block_gap_is_used_up_by_its_step():
    """After a step of a block by less than 1, its new point is the best on that line: no slope is left."""
    problem = Listed.random(1, 4, seed=5)
    lam = 0.01
    before = bcfw(problem, lam=lam, passes=1, tolerance=0, averaging=False, cache=0)
    psi, loss = problem.oracle(np.zeros(4), 0)
    w_s = psi / lam
    gamma = min(1.0, loss / (lam * w_s @ w_s))
    np.testing.assert_allclose(before.weights, gamma * w_s, rtol=1e-12)
    assert before.dual == pytest.approx(gamma * loss - lam / 2 * gamma**2 * w_s @ w_s, rel=1e-12)


def test_the_average_gives_later_iterates_more_weight():
    problem = Listed.random(5, 3, seed=4)
    seen = []

    class Watched(Listed):
        def oracle(self, w, i):
            seen.append(w.copy())
            return super().oracle(w, i)

        def oracles(self, w, block):
            return Listed.oracles(problem, w, block)

    states = []
    bcfw(
        Watched(problem.psi, problem.loss),
        lam=0.1,
        passes=4,
        tolerance=0,
        cache=0,
        on_pass=lambda p: states.append((p.state.w.copy(), p.state.v_average.copy())),
    )
    last, average = states[-1]
    iterates = np.array([*seen[1:], last])  # the iterate an oracle sees is the one the step before has left
    weights = np.arange(1, len(iterates) + 1)
    np.testing.assert_allclose(average, weights @ iterates / weights.sum(), rtol=1e-10)


@pytest.mark.parametrize("block_order", EVERY_ORDER)
@pytest.mark.parametrize("more", [{}, {"averaging": False}, {"cache": 0}, {"cache": 1}])
def test_the_compiled_pass_is_the_plain_loop_to_the_bit(block_order, more):
    problem = pairs(12, 6, 5, seed=0)
    options = {"lam": 0.05, "passes": 6, "tolerance": 0, "block_order": block_order, **more}
    compiled, plain = bcfw(problem, **options), bcfw(Plain(problem), **options)
    np.testing.assert_array_equal(compiled.weights, plain.weights)
    for row, other in zip(compiled.history, plain.history, strict=True):
        np.testing.assert_array_equal(row._replace(seconds=0), other._replace(seconds=0))


def test_a_hundred_pairs_converge_in_a_few_passes():
    problem = pairs(100, 8, 10, seed=1, noise=0.5)
    fit = bcfw(problem, lam=0.01, tolerance=0.01)
    assert fit.status == "converged"
    assert fit.gap <= 0.01 * fit.primal
    assert fit.passes <= 10


def test_cached_vertices_save_passes_and_lead_to_the_same_minimum():
    problem = pairs(20, 5, 4, seed=1)
    cached, plain = (
        bcfw(problem, lam=0.02, passes=3000, tolerance=0.005, averaging=False, cache=cache)
        for cache in (10, 0)
    )
    assert cached.status == plain.status == "converged"
    assert 3 * cached.passes <= plain.passes
    lower = max(cached.dual, plain.dual)  # the minimum lies between this and either primal
    assert lower <= cached.primal <= 1.006 * lower
    assert lower <= plain.primal <= 1.006 * lower


def test_without_averaging_nothing_depends_on_the_average():
    problem = pairs(10, 5, 4, seed=12)
    options = {"lam": 0.05, "passes": 4, "tolerance": 0}
    with_average, alone = bcfw(problem, **options), bcfw(problem, **options, averaging=False)
    assert [row[3:6] for row in with_average.history] == [row[3:6] for row in alone.history]


def test_the_cache_gives_up_the_vertex_unused_for_longest():
    state = BlockFrankWolfe(cache=3).start(Listed.random(1, 2, seed=0), np.zeros(2))
    for stamp, value in enumerate((0.0, 2.0, 0.0, 3.0, 4.0), 1):  # the second 0 renews the first
        remember(0, np.array([value, -value]), value, stamp, state.blocks(0.1))
    assert state.ell_known[0].tolist() == [0.0, 4.0, 3.0]
    assert state.w_known[0].tolist() == [[0.0, 0.0], [4.0, -4.0], [3.0, -3.0]]
    assert state.stamps[0].tolist() == [3, 5, 4]


def test_the_best_cached_vertex_is_found_among_those_there_are():
    generator = np.random.default_rng(0)
    state = BlockFrankWolfe(cache=6).start(Listed.random(1, 4, seed=0), np.zeros(4))
    for _ in range(50):
        state.w[:], state.w_known[0] = generator.normal(size=4), generator.normal(size=(6, 4))
        state.ell_known[0], state.stamps[0] = generator.random(6), generator.integers(0, 2, 6)
        state.stamps[0, 2] = 1
        values = np.where(state.stamps > 0, state.ell_known - 0.3 * state.w_known @ state.w, -np.inf)
        assert _best_cached(0, state.blocks(0.3)) == values.argmax()


@pytest.mark.parametrize("averaging", [True, False])
def test_primal_dual_and_gap_are_those_of_the_returned_weights(averaging):
    problem = pairs(15, 5, 4, seed=2, noise=2.0)
    averaged = set()
    for passes in (1, 2, 5, 40):
        fit = bcfw(problem, lam=0.02, passes=passes, tolerance=0, averaging=averaging)
        averaged.add(fit.averaged)
        psi, loss = problem.oracles(fit.weights, np.arange(15))
        primal = 0.01 * fit.weights @ fit.weights + (loss - psi @ fit.weights).mean()
        assert fit.primal == pytest.approx(primal, rel=1e-12)
        assert fit.gap == pytest.approx(fit.primal - fit.dual, rel=1e-9)
        if passes > 1:
            assert fit.primal == np.nanmin([(row.primal, row.average_primal) for row in fit.history])
    assert averaged == ({True, False} if averaging else {False})


@pytest.mark.parametrize("block_order", EVERY_ORDER)
@pytest.mark.parametrize("plain", [True, False])
def test_a_run_resumed_from_a_file_goes_on_to_the_same_bits(tmp_path, block_order, plain):
    problem = pairs(10, 5, 4, seed=3)
    if plain:
        problem = Plain(problem)
    options = {"lam": 0.03, "passes": 9, "tolerance": 0, "seed": 5, "block_order": block_order}
    check_resumed(tmp_path, partial(bcfw, problem, **options), BlockState)


def test_a_finished_run_can_be_given_more_passes():
    problem = pairs(10, 5, 4, seed=3)
    states = []
    bcfw(problem, lam=0.03, passes=3, tolerance=0, on_pass=lambda progress: states.append(progress.state))
    longer = bcfw(problem, lam=0.03, passes=7, tolerance=0, resume=states[-1])
    at_once = bcfw(problem, lam=0.03, passes=7, tolerance=0)
    np.testing.assert_array_equal(longer.weights, at_once.weights)


def test_a_resumed_run_over_its_limit_measures_and_ends():
    problem = pairs(5, 4, 3, seed=6)
    states = []
    options = {"lam": 0.03, "tolerance": 0, "gap_every": 10}

    def stop(progress):
        states.append(progress.state)
        if progress.row.passes == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bcfw(problem, **options, passes=9, on_pass=stop)
    fit = bcfw(problem, **options, passes=2, resume=states[-1])
    assert (fit.status, fit.passes) == ("pass-limit", 3)
    assert [row.passes for row in fit.history] == [0, 1, 2, 3]
    assert fit.gap > 0


def test_the_gap_is_measured_as_often_as_asked():
    problem = pairs(7, 4, 3, seed=4)
    fit = bcfw(problem, passes=5, tolerance=0, gap_every=2)
    assert [row.passes for row in fit.history if not math.isnan(row.gap)] == [0, 2, 4, 5]
    assert [row.oracle_calls for row in fit.history] == [7, 14, 35, 42, 63, 84]
    assert fit.oracle_calls == 84
    alone = bcfw(problem, passes=5, tolerance=0, averaging=False)
    assert [row.oracle_calls for row in alone.history] == [7, 21, 35, 49, 63, 77]
    assert all(math.isnan(row.average_gap) for row in alone.history)


def test_status_says_why_it_stopped():
    problem = pairs(30, 6, 5, seed=5)
    assert bcfw(problem, passes=2, tolerance=0).status == "pass-limit"
    assert bcfw(problem, passes=50, tolerance=0.9).status == "converged"
    stopped = bcfw(problem, passes=10**9, tolerance=0, time_limit=1e-9)
    assert (stopped.status, stopped.passes) == ("time-limit", 1)
    short = bcfw(problem, passes=10**9, tolerance=0, time_limit=0.2, gap_every=1000)
    assert short.status == "time-limit"
    assert 0.2 <= short.seconds < 10
    assert short.gap > 0


def test_every_pass_is_told():
    rows = []
    fit = bcfw(
        pairs(5, 4, 3, seed=6), passes=4, tolerance=0, on_pass=lambda p: rows.append((p.row, p.passes))
    )
    assert [row for row, _ in rows] == list(fit.history[1:])
    assert {limit for _, limit in rows} == {4}


def test_one_seed_one_result():
    problem = pairs(10, 5, 4, seed=7)
    first, again, other = (bcfw(problem, passes=3, tolerance=0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, other.weights)


def test_the_orders_of_a_pass():
    generator = np.random.default_rng(0)
    assert BLOCK_ORDERS["cyclic"](generator, 5).tolist() == [0, 1, 2, 3, 4]
    assert sorted(BLOCK_ORDERS["permutation"](generator, 50)) == list(range(50))
    drawn = BLOCK_ORDERS["uniform"](generator, 2000)
    assert set(drawn) <= set(range(2000))
    assert 1100 < len(set(drawn)) < 1400  # 1 - 1/e of the blocks


def test_nothing_to_learn_from_features_of_zero():
    problem = Listed.random(4, 3, seed=8)
    fit = bcfw(Listed(0 * problem.psi, problem.loss), passes=3)
    assert fit.status == "converged"
    assert fit.gap == 0.0
    assert fit.primal == pytest.approx(problem.loss.max(axis=1).mean())
    assert not fit.weights.any()


def test_nothing_to_lose_is_converged_from_the_start():
    problem = Listed.random(4, 3, seed=8)
    fit = bcfw(Listed(problem.psi, 0 * problem.loss), lam=1.0)
    assert (fit.status, fit.passes, fit.gap) == ("converged", 0, 0.0)


def test_pairs_without_words_are_harmless():
    shapes = np.array([[0, 3], [2, 2], [1, 0]], dtype=np.int32)
    edges = Edges(shapes, np.array([0, 0, 4, 4]), np.eye(4, dtype=np.float32))
    problem = MatchingProblem(edges, Labels(np.zeros(4), np.array([True, False, False, True])))
    fit = bcfw(problem, lam=0.1, passes=2000, tolerance=1e-6, averaging=False)
    assert fit.status == "converged"
    assert fit.weights[[0, 3]].min() > 0 > fit.weights[[1, 2]].max()


@pytest.mark.parametrize("lam", [1e-9, 1e-4, 1e4])
def test_extreme_regularisation_keeps_its_certificate(lam):
    problem = pairs(10, 5, 4, seed=9)
    fit = bcfw(problem, lam=lam, passes=30, tolerance=0)
    duals = [row.dual for row in fit.history]
    assert (np.diff(duals) >= -1e-12 * max(duals)).all()
    assert fit.gap >= 0
    assert np.isfinite(fit.weights).all()


def test_a_wrong_oracle_is_noticed():
    problem = Listed.random(3, 2, seed=10)

    class Wrong(Listed):
        def oracle(self, w, i):
            return Vertex(np.ones(2), -1.0)

    with pytest.raises(
        ValueError, match=r"oracle of block \d: loss - <w, psi> is -.*, below the 0 of gold; let"
    ):
        bcfw(Wrong(problem.psi, problem.loss), passes=1)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lam": 0.0}, r"lam is 0\.0; give a number above 0"),
        ({"lam": math.inf}, "lam is inf; give a number"),
        ({"lam": math.nan}, "lam is nan; give a number"),
        ({"passes": 0}, "passes is 0; give at least 1"),
        ({"tolerance": -1.0}, r"tolerance is -1\.0; give 0 or more"),
        ({"tolerance": math.nan}, "tolerance is nan; give 0 or more"),
        ({"block_order": "best"}, "block_order is 'best'; give one of permutation, uniform, cyclic, gaps"),
        ({"time_limit": 0.0}, r"time_limit is 0\.0; give seconds above 0, or None"),
        ({"cache": -1}, "cache is -1; give at least 0"),
        ({"gap_every": 0}, "gap_every is 0; give at least 1"),
    ],
)
def test_options_out_of_range_are_refused(option, message):
    with pytest.raises(ValueError, match=f"bcfw: {message}"):
        bcfw(Listed.random(2, 2, seed=0), **option)


def test_a_state_of_another_run_is_refused():
    problem = Listed.random(3, 2, seed=0)
    state = BlockFrankWolfe(lam=0.1, block_order="cyclic").start(problem, np.zeros(problem.d))
    for other, options in (
        (Listed.random(4, 2, seed=0), {"lam": 0.1, "block_order": "cyclic"}),
        (problem, {"lam": 0.2, "block_order": "cyclic"}),
        (problem, {"lam": 0.1, "block_order": "uniform"}),
        (problem, {"lam": 0.1, "block_order": "cyclic", "averaging": False}),
        (problem, {"lam": 0.1, "block_order": "cyclic", "cache": 3}),
    ):
        with pytest.raises(ValueError, match="the state is of a run with .*, asked is .*; start anew"):
            bcfw(other, **options, resume=replace(state))


def test_a_saved_state_comes_back_whole(tmp_path):
    states = []
    bcfw(pairs(5, 4, 3, seed=6), passes=2, gap_every=3, on_pass=lambda p: states.append(p.state))
    states[-1].save(tmp_path / "state.npz")
    loaded = BlockState.load(tmp_path / "state.npz")
    for name, kept in vars(states[-1]).items():
        np.testing.assert_array_equal(getattr(loaded, name), kept)
    assert loaded.generator == states[-1].generator


def test_whatever_became_of_a_state_file_it_is_read_right_or_refused(tmp_path):
    """A byte may be changed, or all before or after it be zeros: nothing but ValueError comes of it."""
    path, states = tmp_path / "state.npz", []
    bcfw(pairs(3, 2, 2, seed=6), passes=1, on_pass=lambda progress: states.append(progress.state))
    states[-1].save(path)
    whole, refused = path.read_bytes(), 0
    for place in range(0, len(whole), 3):
        changed = bytes([whole[place] ^ 255])
        for broken in (
            whole[:place] + changed + whole[place + 1 :],
            bytes(place + 1) + whole[place + 1 :],
            whole[:place] + bytes(len(whole) - place),
        ):
            path.write_bytes(broken)
            try:
                loaded = BlockState.load(path)
            except ValueError:
                refused += 1
                continue
            np.testing.assert_array_equal(loaded.v, states[-1].v)
            assert loaded.history == states[-1].history
    assert refused > len(whole) // 3


def test_a_broken_state_file_is_told(tmp_path):
    path = tmp_path / "state.npz"
    with pytest.raises(ValueError, match=r"state\.npz: no saved state of this solver .*; remove it"):
        BlockState.load(path)
    bcfw(pairs(5, 4, 3, seed=6), passes=1, on_pass=lambda progress: progress.state.save(path))
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"not a state"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"state\.npz: no saved state of this solver"):
            BlockState.load(path)
    np.savez(path, w=np.zeros(3))
    with pytest.raises(ValueError, match=r"state\.npz: no saved state of this solver"):
        BlockState.load(path)


def test_bcfw_is_found_by_name():
    assert SOLVERS["bcfw"] is BlockFrankWolfe
    assert all(name == solver.name and solver.__doc__ for name, solver in SOLVERS.items())


def test_evaluating_the_fit_again_gives_its_figures():
    problem = pairs(9, 4, 3, seed=11)
    fit = bcfw(problem, lam=0.1, passes=3, tolerance=0, averaging=False)
    ell = fit.dual + 0.05 * fit.weights @ fit.weights
    (again,) = evaluate(problem, fit.weights[None], np.array([ell]), 0.1)
    assert again.primal == pytest.approx(fit.primal, rel=1e-13)
    assert again.gap == pytest.approx(fit.gap, rel=1e-9)


@pytest.mark.parametrize("lam", [0.02, 0.3, 5.0])
def test_weights_that_may_not_be_negative_agree_with_a_quadratic_programme(lam):
    free = Listed.random(6, 5, seed=11)
    problem = Listed(free.psi, free.loss, nonnegative=2)
    w, minimum = solved_by_scipy(problem, lam)
    assert solved_by_scipy(free, lam)[1] < minimum - 1e-3  # the bound matters
    fit = bcfw(problem, lam=lam, passes=2000, tolerance=2e-3)
    assert fit.status == "converged"
    assert (fit.weights[2:] >= 0).all()
    assert minimum - 1e-7 <= fit.primal <= minimum + fit.gap + 1e-7
    assert lam / 2 * np.sum((fit.weights - w) ** 2) <= fit.gap + 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_with_a_bound_too_the_dual_never_falls_and_the_gap_is_primal_less_dual(seed):
    free = Listed.random(8, 5, seed=seed)
    problem = Listed(free.psi, free.loss, nonnegative=2)
    lam = 0.05
    _, minimum = solved_by_scipy(problem, lam)
    fit = bcfw(problem, lam=lam, passes=60, tolerance=0, seed=seed)
    for row in fit.history:
        for primal, dual, gap in (row[3:6], row[6:9]):
            assert dual - 1e-7 <= minimum <= primal + 1e-7
            assert gap == pytest.approx(primal - dual, abs=1e-12)
            assert gap >= 0
    assert (np.diff([row.dual for row in fit.history]) >= -1e-13).all()
    assert problem.primal(fit.weights, lam) == pytest.approx(fit.primal)


def test_with_a_bound_the_dual_rises_with_every_single_step():
    free = Listed.random(1, 5, seed=3)  # one block: a pass is a step
    problem = Listed(free.psi, free.loss, nonnegative=1)
    fit = bcfw(problem, lam=0.05, passes=200, tolerance=0, cache=0)
    assert (np.diff([row.dual for row in fit.history]) >= -1e-14).all()


def test_costs_of_extra_links_are_learnt():
    problem = fertile_pairs(40, 6, 6, seed=2)
    fit = bcfw(problem, lam=0.01, passes=500, tolerance=1e-3)
    assert fit.status == "converged"
    always, unless = fit.weights[6:8]
    assert unless > 0
    assert always >= 0
    assert (fit.weights[6:] >= 0).all()
    assert (np.diff([row.dual for row in fit.history]) >= -1e-12).all()
    plain = bcfw(Plain(problem), lam=0.01, passes=5, tolerance=0)
    compiled = bcfw(problem, lam=0.01, passes=5, tolerance=0)
    np.testing.assert_array_equal(plain.weights, compiled.weights)


def test_resuming_with_a_bound_gives_the_same_bits(tmp_path):
    problem, path = fertile_pairs(15, 5, 6, seed=4), tmp_path / "state.npz"
    whole = bcfw(problem, passes=7, tolerance=0)
    bcfw(problem, passes=3, tolerance=0, on_pass=lambda progress: progress.state.save(path))
    resumed = bcfw(problem, passes=7, tolerance=0, resume=BlockState.load(path))
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert resumed.primal == whole.primal
    assert resumed.gap == whole.gap


class TestOrigin:
    """Weights that are left only for a reason."""

    @pytest.mark.parametrize("nonnegative", [5, 2])
    @pytest.mark.parametrize("lam", [0.02, 0.3, 5.0])
    def test_agrees_with_a_quadratic_programme(self, lam, nonnegative):
        free = Listed.random(6, 5, seed=11)
        problem = Listed(free.psi, free.loss, nonnegative=nonnegative)
        origin = np.array([0.5, -1.0, 0.7, 0.0, 2.0])
        w, minimum = solved_by_scipy(problem, lam, origin)
        fit = bcfw(problem, lam=lam, passes=2000, tolerance=2e-3, origin=origin)
        assert fit.status == "converged"
        assert minimum - 1e-7 <= fit.primal <= minimum + fit.gap + 1e-7
        assert fit.primal == pytest.approx(problem.primal(fit.weights, lam, origin))
        assert lam / 2 * np.sum((fit.weights - w) ** 2) <= fit.gap + 1e-7

    def test_the_certificate_holds_at_every_pass(self):
        free = Listed.random(8, 5, seed=0)
        problem = Listed(free.psi, free.loss, nonnegative=3)
        origin = np.array([0.5, -1.0, 0.7, 0.0, 2.0])
        _, minimum = solved_by_scipy(problem, 0.05, origin)
        fit = bcfw(problem, lam=0.05, passes=60, tolerance=0, origin=origin)
        for row in fit.history:
            for primal, dual, gap in (row[3:6], row[6:9]):
                assert dual - 1e-7 <= minimum <= primal + 1e-7
                assert gap == pytest.approx(primal - dual, abs=1e-12)
        assert (np.diff([row.dual for row in fit.history]) >= -1e-13).all()

    def test_it_is_where_strong_regularisation_stays(self):
        problem, origin = pairs(5, 4, 3, seed=6), np.array([1.0, -2.0, 0.5])
        fit = bcfw(problem, lam=1e6, origin=origin)
        assert np.abs(fit.weights - origin).max() < 1e-4

    def test_zero_changes_no_bit(self):
        problem = pairs(5, 4, 3, seed=6)
        plain, zero = bcfw(problem, passes=3), bcfw(problem, passes=3, origin=np.zeros(3))
        assert plain.weights.tolist() == zero.weights.tolist()

    def test_a_wrong_one_is_refused(self):
        free = Listed.random(2, 3, seed=0)
        problem = Listed(free.psi, free.loss, nonnegative=2)
        for origin, told in (
            (np.zeros(2), "give 3 finite weights"),
            (np.array([0.0, np.nan, 0.0]), "give 3 finite weights"),
            (np.array([0.0, 0.0, -1.0]), "negative where none may be"),
        ):
            with pytest.raises(ValueError, match=told):
                bcfw(problem, origin=origin)

    def test_resuming_with_another_is_refused(self):
        problem, states = pairs(5, 4, 3, seed=6), []
        bcfw(problem, passes=1, origin=np.ones(3), on_pass=lambda progress: states.append(progress.state))
        with pytest.raises(ValueError, match="another origin"):
            bcfw(problem, resume=states[0])
