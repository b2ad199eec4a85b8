import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from align.problems.matching import MatchingProblem
from align.solvers import SOLVERS
from align.solvers.extragradient import Extragradient, SaddleState
from align.solvers.extragradient_metric import METRICS, gram_metric, identity_metric, operator_norm
from align.solvers.saddle import MatchingSaddle, divergence
from tests.align.solvers.problems import (
    Edges,
    Labels,
    bcfw,
    check_resumed,
    extragradient,
    fertile_pairs,
    pairs,
)

GEOMETRIES = ("euclidean", "kl")
BOTH = pytest.mark.parametrize("geometry", GEOMETRIES)


def states_of(problem, **options):
    """The states after each iteration: all the same object, as it is in the end."""
    states = []
    extragradient(problem, tolerance=0, on_pass=lambda progress: states.append(progress.state), **options)
    return states


def dense(problem):
    """The features (E, d), the costs c and the gold links of all pairs, one after the other."""
    features, kinds, shapes, starts, (wrong, sure) = problem.data[:5]
    rows = np.concatenate([np.arange(s, s + n * m) for s, (n, m) in zip(starts, shapes, strict=True)])
    c = np.choose(kinds[rows], [wrong, -sure, 0.0])
    return features[rows].astype(np.float64), c, (kinds[rows] == 1).astype(np.float64)


class FreeLabels(Labels):
    """Some links that are not sure are free."""

    def dense(self, shapes):
        free = np.zeros_like(self.sure)
        free[::7] = True
        return self.sure, free & ~self.sure


def with_free_links(seed=0):
    plain = pairs(12, 5, 6, seed=seed)
    features, kinds, shapes, starts = plain.data[:4]
    offsets = np.append(starts, len(features))
    return MatchingProblem(
        Edges(shapes, offsets, features), FreeLabels(np.zeros(13, dtype=np.int64), kinds == 1), cost_fn=2.0
    )


@BOTH
@pytest.mark.parametrize("lam", [0.02, 0.3, 5.0])
def test_the_minimum_is_that_of_block_frank_wolfe(geometry, lam):
    problem = with_free_links()
    best = bcfw(problem, lam=lam, passes=4000, tolerance=1e-5)
    fit = extragradient(problem, lam=lam, passes=4000, tolerance=2e-3, geometry=geometry, gap_every=20)
    assert fit.status == "converged"
    assert best.dual - 1e-9 <= fit.primal <= best.primal + fit.gap
    assert fit.primal <= 1.003 * best.primal
    # strong convexity: lam/2 |w - w*|^2 <= P(w) - P(w*)
    assert lam / 2 * np.sum((fit.weights - best.weights) ** 2) <= 2 * (fit.gap + best.gap)


@BOTH
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ball", [None, 0.5])
def test_the_gap_is_never_below_the_suboptimality(geometry, metric, ball):
    problem = pairs(10, 5, 4, seed=3)
    options = {"lam": 0.05, "ball": ball, "tolerance": 0}
    best = extragradient(problem, **options, passes=3000, gap_every=3000)
    if ball is None:
        assert best.primal <= bcfw(problem, lam=0.05, passes=3000, tolerance=1e-4).primal + 1e-3
    fit = extragradient(problem, **options, passes=60, geometry=geometry, metric=metric)
    assert [row.passes for row in fit.history] == list(range(61))
    for row in fit.history:
        for primal, dual, gap in (row[3:6], row[6:9]):
            assert gap >= primal - best.primal - 1e-9
            assert gap == pytest.approx(primal - dual, abs=1e-9)
            assert dual <= best.primal + 1e-9
    assert fit.history[-1].average_gap < 0.2 * fit.history[0].average_gap


@BOTH
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ball", [None, 0.7])
def test_both_forms_give_the_same_iterates(geometry, metric, ball):
    problem, seen = with_free_links(), {}
    for memory in ("weights", "edges"):
        iterates = seen[memory] = []

        def keep(progress, iterates=iterates):
            state = progress.state
            iterates.append(np.concatenate([state.w, state.s, state.w_sum, [state.cost_sum]]))

        fit = extragradient(
            problem, passes=50, tolerance=0, geometry=geometry, metric=metric, ball=ball, memory=memory,
            on_pass=keep,
        )  # fmt: skip
        seen[memory, "gaps"] = [row[3:] for row in fit.history]
    np.testing.assert_allclose(seen["weights"], seen["edges"], atol=1e-8, rtol=1e-8)
    np.testing.assert_allclose(seen["weights", "gaps"], seen["edges", "gaps"], atol=1e-8, rtol=1e-8)


def test_the_iterates_are_those_of_the_published_method():
    """Written out with whole vectors and a slow projection of one pair."""
    from tests.align.matching.test_projections import by_dykstra

    problem = pairs(3, 3, 4, seed=1)
    lam, n = 0.1, problem.n
    f, c, y = dense(problem)
    shapes = problem.data[2]
    cuts = np.cumsum(shapes.prod(axis=1))[:-1]
    parts = []
    extragradient(
        problem, lam=lam, passes=12, tolerance=0, metric="identity",
        on_pass=lambda progress: parts.append((progress.state.w.copy(), progress.state.cost)),
    )  # fmt: skip
    states = states_of(problem, lam=lam, passes=1, metric="identity")
    eta, rho2 = 1 / states[0].lipschitz, states[0].metric.units[0]

    def project(z):
        pieces = [
            by_dykstra(piece.reshape(shape)).ravel()
            for piece, shape in zip(np.split(z, cuts), shapes, strict=True)
        ]
        return np.concatenate(pieces)

    def operator(w, z):
        return f.T @ (z - y) + n * lam * w, -f @ w - c

    start = np.concatenate([np.full(a * b, 1 / max(a, b)) for a, b in shapes])
    s_w, s_z = np.zeros(4), np.zeros(len(c))
    for w, cost in parts:
        v = eta * rho2 * s_w, project(start + eta * s_z)
        t_w, t_z = operator(*v)
        u = v[0] - eta * rho2 * t_w, project(v[1] - eta * t_z)
        t_w, t_z = operator(*u)
        s_w, s_z = s_w - t_w, s_z - t_z
        np.testing.assert_allclose(w, u[0], atol=1e-8)
        assert cost == pytest.approx(c @ u[1], abs=1e-8)


@BOTH
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ball", [None, 0.4, 3.0])
def test_the_gap_of_the_average_keeps_its_bound(geometry, metric, ball):
    problem = pairs(15, 5, 4, seed=2)
    lam, checked = 0.05, []

    def check(progress):
        state, t = progress.state, progress.state.passes
        inverse = state.metric.axes / state.metric.units @ state.metric.axes.T if metric == "gram" else None
        pull = 0.0 if ball else problem.n * lam
        average = state.w_sum / t
        moved = -state.s / t - pull * average
        # the minimising w of the gap's second term
        w = -moved / (problem.n * lam) if ball is None else -ball * moved / np.linalg.norm(moved)
        d_w = 0.5 * (w @ inverse @ w if metric == "gram" else w @ w / state.metric.units[0])
        bound = (d_w + divergence(problem, entropic=geometry == "kl")) * state.lipschitz / t
        checked.append(progress.row.average_gap * problem.n / bound)

    extragradient(
        problem, lam=lam, ball=ball, passes=80, tolerance=0, geometry=geometry, metric=metric, on_pass=check
    )
    assert 0 < max(checked) <= 1


def test_the_norm_is_measured():
    problem = pairs(8, 4, 5, seed=6)
    f, _, _ = dense(problem)
    saddle = MatchingSaddle(problem)
    largest = np.linalg.svd(f, compute_uv=False)[0]
    assert largest <= operator_norm(saddle) <= 1.02 * largest
    assert identity_metric(saddle, 4.0).norm == pytest.approx(2 * operator_norm(saddle))
    metric = gram_metric(saddle, 4.0)
    root = metric.axes * np.sqrt(metric.units) @ metric.axes.T
    assert np.linalg.svd(f @ root, compute_uv=False)[0] == pytest.approx(metric.norm)
    x = np.arange(5.0)
    np.testing.assert_allclose(metric.times(x), root @ root @ x)
    # the whole linear part of the operator
    lam, n = 0.3, problem.n
    for name in METRICS:
        states = states_of(problem, lam=lam, passes=1, metric=name)
        metric = states[-1].metric
        axes = metric.axes if name == "gram" else np.eye(5)
        root = axes * np.sqrt(metric.units) @ axes.T
        whole = np.block([[n * lam * root @ root, root @ f.T], [-f @ root, np.zeros((len(f), len(f)))]])
        assert np.linalg.svd(whole, compute_uv=False)[0] <= states[-1].lipschitz * (1 + 1e-12)


def test_the_ball_in_its_metric():
    problem = pairs(8, 4, 5, seed=6)
    generator = np.random.default_rng(0)
    for make in (identity_metric, gram_metric):
        metric = make(MatchingSaddle(problem), 3.0)
        for radius in (0.01, 0.5, 2.0):
            x = generator.normal(size=5)
            w = metric.onto_ball(x, radius)
            assert np.linalg.norm(w) <= radius * (1 + 1e-12)
            if make is identity_metric:
                np.testing.assert_allclose(w, x * min(1.0, radius / np.linalg.norm(x)), atol=1e-12)
            # optimal: no point of the ball is in the direction x - w, measured by M^-1
            axes = metric.axes if metric.axes.size else np.eye(5)
            direction = axes @ ((axes.T @ (x - w)) / metric.units)
            assert direction @ w >= radius * np.linalg.norm(direction) * (1 - 1e-9) - 1e-12
    inside = np.full(5, 0.1)
    np.testing.assert_array_equal(metric.onto_ball(inside, 2.0), inside)


def test_d_z_is_the_largest_divergence_from_the_start():
    shapes = np.array([[2, 3], [1, 1], [4, 2]], dtype=np.int32)
    offsets = np.array([0, 6, 7, 15])
    problem = MatchingProblem(
        Edges(shapes, offsets, np.ones((15, 1), dtype=np.float32)),
        Labels(np.zeros(4, dtype=np.int64), np.zeros(15, dtype=bool)),
    )
    expected = dict.fromkeys(GEOMETRIES, 0.0)
    for n, m in shapes.tolist():
        start = np.full(n * m, 1 / max(n, m))
        found = {geometry: [] for geometry in GEOMETRIES}
        for links in range(min(n, m) + 1):
            z = np.zeros((n, m))
            z[np.arange(links), np.arange(links)] = 1
            z = z.ravel()
            found["euclidean"].append(0.5 * np.sum((z - start) ** 2))
            logs = np.where(z > 0, -np.log(start), 0)
            found["kl"].append(np.sum(z * logs - z + start))
        for geometry in GEOMETRIES:
            expected[geometry] += max(found[geometry])
    for geometry in GEOMETRIES:
        assert divergence(problem, entropic=geometry == "kl") == pytest.approx(expected[geometry])


@BOTH
@pytest.mark.parametrize("metric", METRICS)
def test_the_dual_is_the_minimum_over_weights(geometry, metric):
    problem, origin = with_free_links(), np.linspace(-1, 1, 6)
    _, c, y = dense(problem)
    for ball in (None, 0.8):
        options = {"lam": 0.2, "ball": ball, "origin": origin, "geometry": geometry, "metric": metric}
        states = states_of(problem, passes=3, memory="edges", **options)
        state = states[-1]
        solver = Extragradient(lam=0.2, ball=ball)
        dual = solver._dual(problem, state, state.moved, state.cost)
        constant = 2.0 * y.sum() / problem.n
        generator = np.random.default_rng(1)
        for _ in range(200):
            step = generator.normal(size=6)
            step *= (generator.random() * (ball or 3.0)) / np.linalg.norm(step)
            regular = 0 if ball else problem.n * 0.1 * step @ step
            value = (regular + (origin + step) @ state.moved + state.cost) / problem.n + constant
            assert value >= dual - 1e-9
        moved = state.moved
        best = -moved / (problem.n * 0.2) if ball is None else -ball * moved / np.linalg.norm(moved)
        regular = 0 if ball else problem.n * 0.1 * best @ best
        value = (regular + (origin + best) @ moved + state.cost) / problem.n + constant
        assert value == pytest.approx(dual)
        assert len(state.edges) == len(c)


@BOTH
@pytest.mark.parametrize("ball", [None, 0.5])
def test_figures_are_those_of_the_weights(geometry, ball):
    problem, origin = pairs(15, 5, 4, seed=2, noise=2.0), np.array([0.2, -0.1, 0.0, 0.3])
    for passes in (1, 5, 40):
        fit = extragradient(
            problem, lam=0.02, ball=ball, passes=passes, tolerance=0, geometry=geometry, origin=origin
        )
        psi, loss = problem.oracles(fit.weights, np.arange(15))
        primal = (loss - psi @ fit.weights).mean()
        if ball is None:
            primal += 0.01 * np.sum((fit.weights - origin) ** 2)
        else:
            assert np.linalg.norm(fit.weights - origin) <= ball + 1e-12
        assert fit.primal == pytest.approx(primal, rel=1e-12)
        assert fit.gap == pytest.approx(fit.primal - fit.dual, rel=1e-9)
        if passes > 1:
            assert fit.primal == min(min(row.primal, row.average_primal) for row in fit.history)


@BOTH
def test_known_weights_are_honoured(geometry):
    problem, origin = pairs(12, 5, 4, seed=5), np.array([0.5, -1.0, 0.7, 2.0])
    best = bcfw(problem, lam=0.1, passes=3000, tolerance=1e-5, origin=origin)
    fit = extragradient(
        problem, lam=0.1, passes=3000, tolerance=1e-3, origin=origin, geometry=geometry, gap_every=20
    )
    assert fit.status == "converged"
    assert fit.primal == pytest.approx(best.primal, rel=2e-3)
    still = extragradient(problem, lam=1e6, origin=origin, geometry=geometry)
    assert np.abs(still.weights - origin).max() < 1e-3


def test_the_ball_that_the_regularised_minimum_touches_has_its_minimum():
    """With |w*| the radius, the constrained minimum of the mean hinge is w* again."""
    problem = pairs(12, 5, 4, seed=5)
    best = bcfw(problem, lam=0.3, passes=4000, tolerance=1e-6)
    radius = float(np.linalg.norm(best.weights))
    fit = extragradient(problem, ball=radius, passes=3000, tolerance=2e-3, gap_every=20)
    assert fit.status == "converged"
    hinge = best.primal - 0.15 * radius**2
    assert fit.primal == pytest.approx(hinge, rel=4e-3)
    assert fit.dual <= hinge + 1e-6


@BOTH
@pytest.mark.parametrize("memory", ["weights", "edges"])
@pytest.mark.parametrize("ball", [None, 0.5])
def test_a_run_resumed_from_a_file_goes_on_to_the_same_bits(tmp_path, geometry, memory, ball):
    problem = pairs(10, 5, 4, seed=3)
    options = {"lam": 0.03, "passes": 9, "tolerance": 0, "geometry": geometry, "memory": memory, "ball": ball}
    check_resumed(tmp_path, partial(extragradient, problem, **options), SaddleState)


def test_a_resumed_run_over_its_limit_measures_and_ends(tmp_path):
    problem, path = pairs(5, 4, 3, seed=6), tmp_path / "state.npz"
    options = {"tolerance": 0, "gap_every": 10}

    def stop(progress):
        progress.state.save(path)
        if progress.row.passes == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extragradient(problem, **options, passes=9, on_pass=stop)
    fit = extragradient(problem, **options, passes=2, resume=SaddleState.load(path))
    assert (fit.status, fit.passes) == ("pass-limit", 3)
    assert fit.gap > 0


def test_states_of_other_runs_are_refused(tmp_path):
    problem, path = pairs(5, 4, 3, seed=6), tmp_path / "state.npz"
    extragradient(problem, passes=1, tolerance=0, on_pass=lambda progress: progress.state.save(path))
    for other, options in (
        (pairs(6, 4, 3, seed=6), {}),
        (problem, {"lam": 0.5}),
        (problem, {"ball": 1.0}),
        (problem, {"geometry": "kl"}),
        (problem, {"memory": "edges"}),
        (problem, {"metric": "identity"}),
    ):
        with pytest.raises(ValueError, match="the state is of a run with .*, asked is .*; start anew"):
            extragradient(other, **options, resume=SaddleState.load(path))
    with pytest.raises(ValueError, match="another origin; start anew"):
        extragradient(problem, origin=np.ones(3), resume=SaddleState.load(path))
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"not a state"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"state\.npz: no saved state of this solver .*; remove it"):
            SaddleState.load(path)
    bcfw(problem, passes=1, on_pass=lambda progress: progress.state.save(path))
    with pytest.raises(ValueError, match="no saved state of this solver"):
        SaddleState.load(path)


@BOTH
def test_equal_runs_have_equal_bits_whatever_the_seed(geometry):
    problem = pairs(10, 5, 4, seed=7)
    first, again = (
        extragradient(problem, passes=9, tolerance=0, geometry=geometry, seed=seed) for seed in (1, 2)
    )
    np.testing.assert_array_equal(first.weights, again.weights)
    assert first.gap == again.gap


def test_the_gap_is_measured_as_often_as_asked():
    problem = pairs(7, 4, 3, seed=4)
    fit = extragradient(problem, passes=5, tolerance=0, gap_every=2)
    assert [row.passes for row in fit.history if not math.isnan(row.gap)] == [0, 2, 4, 5]
    assert [row.oracle_calls for row in fit.history] == [14, 14, 28, 28, 42, 56]
    assert extragradient(problem, passes=1000, tolerance=0.9).status == "converged"
    stopped = extragradient(problem, passes=10**9, tolerance=0, time_limit=0.2)
    assert stopped.status == "time-limit"


@BOTH
def test_pairs_without_words_and_features_of_zero_are_harmless(geometry):
    shapes = np.array([[0, 3], [2, 2], [1, 0]], dtype=np.int32)
    edges = Edges(shapes, np.array([0, 0, 4, 4]), np.eye(4, dtype=np.float32))
    labels = Labels(np.zeros(4), np.array([True, False, False, True]))
    fit = extragradient(
        MatchingProblem(edges, labels), lam=0.1, passes=2000, tolerance=1e-3, geometry=geometry
    )
    assert fit.status == "converged"
    assert fit.weights[[0, 3]].min() > 0 > fit.weights[[1, 2]].max()
    nothing = MatchingProblem(replace(edges, features=np.zeros((4, 4), dtype=np.float32)), labels)
    fit = extragradient(nothing, passes=500, geometry=geometry)
    assert not fit.weights.any()
    assert fit.primal == pytest.approx(8 / 3)


def test_a_ball_is_for_one_link_a_word():
    assert SOLVERS["extragradient"]().max_fertility is None
    assert SOLVERS["extragradient"](ball=1.0).max_fertility == 1
    with pytest.raises(ValueError, match=r"MatchingProblem has weights that may not be negative, a ball has"):
        extragradient(fertile_pairs(5, 4, 4, seed=0), ball=1.0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lam": 0.0}, r"lam is 0\.0; give a number above 0"),
        ({"ball": 0.0}, r"ball is 0\.0; give a radius above 0, or None"),
        ({"ball": math.inf}, "ball is inf; give a radius"),
        ({"passes": 0}, "passes is 0; give at least 1"),
        ({"tolerance": math.nan}, "tolerance is nan; give 0 or more"),
        ({"memory": "all"}, "memory is 'all'; give one of weights, edges"),
        ({"metric": "mine"}, "metric is 'mine'; give one of gram, identity"),
        ({"time_limit": 0.0}, r"time_limit is 0\.0; give seconds above 0, or None"),
        ({"gap_every": 0}, "gap_every is 0; give at least 1"),
        ({"origin": np.zeros(2)}, "give 3 finite weights"),
    ],
)
def test_options_out_of_range_are_refused(option, message):
    with pytest.raises(ValueError, match=f"extragradient: .*{message}"):
        extragradient(pairs(2, 2, 3, seed=0), **option)


@pytest.mark.parametrize("metric", METRICS)
def test_features_that_are_no_numbers_are_told(metric):
    problem = pairs(3, 3, 3, seed=0)
    features = problem.data[0].copy()
    features[4, 1] = np.nan
    problem.data = problem.data._replace(features=features)
    with pytest.raises(ValueError, match="NaN or infinite; give finite features"):
        extragradient(problem, metric=metric)


def test_they_are_found_by_name():
    assert SOLVERS["extragradient"] is Extragradient
    for name in ("extragradient", "extragradient-kl"):
        assert (SOLVERS[name].usual_fertility, SOLVERS[name].needs_oracle) == (1, False)
