"""The dual extragradient method on any problem that has a polytope; those that have none are refused."""

from functools import partial

import numpy as np
import pytest

from align.core.errors import WorkError
from align.matching.projections import onto_matchings
from align.problems.attractive import AttractiveProblem
from align.problems.linear_program import LinearProgramProblem
from align.problems.multilabel import MultilabelProblem, all_edges
from align.problems.polytopes import GEOMETRIES, MatrixPolytope
from align.problems.protocol import Polytope
from align.problems.sequences import ChainProblem
from align.problems.triplets import TripletProblem
from align.solvers import SOLVERS
from align.solvers.extragradient import EntropicExtragradient, Extragradient, SaddleState
from align.solvers.extragradient_metric import METRICS, gram_metric, operator_norm
from align.solvers.saddle import MatchingSaddle, PolytopeSaddle, divergence
from tests.align.solvers.problems import (
    Listed,
    block_away,
    check_resumed,
    extragradient,
    fertile_pairs,
    pairs,
)

BOTH = pytest.mark.parametrize("entropic", [False, True], ids=GEOMETRIES)


class DenseMatchings(MatrixPolytope):
    """The polytope of matchings in whole arrays: what the compiled pass does pair by pair."""

    def __init__(self, problem):
        features, kinds, self.shapes, _, (wrong, sure) = problem.data[:5]
        self.offsets = np.append(0, np.cumsum(self.shapes.prod(axis=1, dtype=np.int64)))
        super().__init__(
            features.astype(np.float64), np.choose(kinds, [wrong, -sure, 0.0]), (kinds == 1).astype(float)
        )
        self._longer = np.repeat(self.shapes.max(axis=1), np.diff(self.offsets)).astype(float)
        self._radii = [divergence(problem, entropic=entropic) for entropic in (False, True)]

    def start(self, *, entropic):
        return -np.log(self._longer) if entropic else 1 / self._longer

    def radius(self, *, entropic):
        return self._radii[entropic]

    def project(self, x, *, entropic, prices):
        z = onto_matchings(x, self.shapes, self.offsets, entropic=entropic)
        return z, np.log(z) if entropic else z


class WithPolytope:
    """A problem and a polytope of it."""

    summing = None

    def __init__(self, problem, polytope):
        self.n, self.d, self.nonnegative = problem.n, problem.d, problem.nonnegative
        self.oracle, self.oracles, self.polytope = problem.oracle, problem.oracles, polytope


@BOTH
@pytest.mark.parametrize("metric", METRICS)
def test_matchings_in_whole_arrays_take_the_steps_of_the_compiled_pass(entropic, metric):
    problem = pairs(6, 4, 5, seed=1)
    solver = (EntropicExtragradient if entropic else Extragradient)(
        lam=0.05, passes=12, tolerance=0, metric=metric
    )
    fused, whole = (solver.run(own) for own in (problem, WithPolytope(problem, DenseMatchings(problem))))
    np.testing.assert_allclose(whole.weights, fused.weights, atol=1e-7)
    for row, other in zip(whole.history, fused.history, strict=True):
        np.testing.assert_allclose(row[3:], other[3:], atol=1e-7)


def test_what_is_measured_once_is_that_of_the_compiled_pass():
    problem = pairs(6, 4, 5, seed=1)
    fused, whole = MatchingSaddle(problem), PolytopeSaddle(DenseMatchings(problem), 6, 5, 5)
    assert whole.constant == pytest.approx(fused.constant)
    assert whole.entries == fused.entries
    np.testing.assert_allclose(whole.gram(), fused.gram(), atol=1e-5)  # its products are float32
    assert operator_norm(whole) == pytest.approx(operator_norm(fused), rel=1e-5)
    for entropic in (False, True):
        for mine, its in zip(whole.begin(entropic=entropic), fused.begin(entropic=entropic), strict=True):
            np.testing.assert_allclose(mine, its, atol=1e-9)


def triplets(*, metric=False):
    generator = np.random.default_rng(6)
    return TripletProblem(generator.normal(size=(9, 3, 4)), generator.integers(0, 3, 9), metric=metric)


def chains():
    generator = np.random.default_rng(7)
    lengths = (3, 1, 2, 4)
    x = [generator.normal(size=(length, 2)) for length in lengths]
    return ChainProblem(x, [generator.integers(0, 3, length) for length in lengths], labels=3)


def examples(labels=4):
    generator = np.random.default_rng(5)
    x = generator.normal(size=(8, 2))
    return x, (x @ generator.normal(size=(2, labels)) + x[:, :1] > 0).astype(int)


def attractive():
    return AttractiveProblem(*examples(), edges=all_edges(4))


def three_links():
    """The same words and features, with up to three links a word."""
    problem = fertile_pairs(4, 4, 4, seed=1)
    problem.data = problem.data._replace(max_fertility=np.array([3]))
    return problem


CASES = {
    "triplets": (triplets, GEOMETRIES),
    "triplets, metric": (lambda: triplets(metric=True), GEOMETRIES),
    "chains": (chains, ("entropic",)),
    "labels": (lambda: MultilabelProblem(*examples()), GEOMETRIES),
    "attractive": (attractive, ("euclidean",)),
    "two links a word": (lambda: fertile_pairs(5, 3, 4, seed=0), GEOMETRIES),
    "three links a word": (three_links, GEOMETRIES),
}
RUNS = [(name, geometry) for name, (_, geometries) in CASES.items() for geometry in geometries]
EACH = pytest.mark.parametrize(("name", "geometry"), RUNS)


def weights_of(problem, count, seed=0):
    w = np.random.default_rng(seed).normal(size=(count, problem.d)) * np.geomspace(0.1, 5, count)[:, None]
    w[:, problem.nonnegative :] = np.abs(w[:, problem.nonnegative :])
    return w


@EACH
def test_the_oracle_is_the_support_function(name, geometry):
    """max_z <F' w + c, z - y> is the sum of all hinges: no point is above, that of far ones near."""
    problem = CASES[name][0]()
    polytope, entropic = problem.polytope, geometry == "entropic"
    assert geometry in polytope.geometries
    assert polytope.costs.shape == polytope.gold.shape
    generator = np.random.default_rng(1)
    for w in weights_of(problem, 6):
        psi, loss = problem.oracles(w, np.arange(problem.n))
        hinges = (loss - psi @ w).sum()
        theta = polytope.scores(w) + polytope.costs
        for scale in (0.3, 3.0):
            x = generator.normal(size=len(theta)) * scale
            z, _ = polytope.project(x, entropic=entropic, prices=np.zeros(polytope.prices))
            assert theta @ (z - polytope.gold) <= hinges + 1e-8
            np.testing.assert_allclose(polytope.features(z) @ w, polytope.scores(w) @ z, atol=1e-9)
        size = 300 if "links" in name else 1e5  # flows by entropy: further out the prices are not found
        far, _ = polytope.project(size * theta, entropic=entropic, prices=np.zeros(polytope.prices))
        assert theta @ (far - polytope.gold) == pytest.approx(hinges, abs=200 / size)


@EACH
def test_the_projection_is_the_best_of_its_neighbours(name, geometry):
    """z maximises <x, z> - h(z): no point of Z is beyond it in the direction x - dual; and h is 1-convex."""
    problem = CASES[name][0]()
    polytope, entropic = problem.polytope, geometry == "entropic"
    generator = np.random.default_rng(2)

    def projected(x):
        return polytope.project(x, entropic=entropic, prices=np.zeros(polytope.prices))

    points = [projected(generator.normal(size=len(polytope.costs)) * 2) for _ in range(12)]
    for _ in range(5):
        x = generator.normal(size=len(polytope.costs)) * 2
        z, dual = projected(x)
        for other, its in points:
            assert (x - dual) @ (other - z) <= 1e-8
            # 1-strongly convex: gradients differ by no less than the points do
            assert (dual - its) @ (z - other) >= np.sum((z - other) ** 2) - 1e-9
        again, _ = projected(dual)
        np.testing.assert_allclose(again, z, atol=1e-7)
    # the divergence from the start is nowhere above its bound: D(z, z_0) = D*(x_0, x) <= <x - x_0, z - z_0>
    start = polytope.start(entropic=entropic)
    z_0, _ = projected(start)
    if not entropic:
        for z, _ in points:
            assert 0.5 * np.sum((z - z_0) ** 2) <= polytope.radius(entropic=False)


@EACH
@pytest.mark.parametrize("metric", METRICS)
def test_the_certificate_holds_and_the_minimum_is_that_of_bcfw(name, geometry, metric):
    problem = CASES[name][0]()
    best = block_away(problem, pairwise=True, lam=0.1, passes=300, tolerance=1e-7)
    options = {"lam": 0.1, "metric": metric, "geometry": {"euclidean": "euclidean"}.get(geometry, "kl")}
    fit = extragradient(problem, **options, passes=6000, tolerance=1e-3, gap_every=10)
    assert fit.status == "converged"
    assert fit.primal <= best.primal + fit.gap
    assert (fit.weights[problem.nonnegative :] >= 0).all()
    for row in extragradient(problem, **options, passes=20, tolerance=0).history:
        assert max(row.dual, row.average_dual) <= best.primal + 1e-9
        assert min(row.primal, row.average_primal) >= best.dual - 1e-9


@EACH
@pytest.mark.parametrize("metric", METRICS)
def test_the_gap_of_the_average_keeps_its_bound(name, geometry, metric):
    problem, lam = CASES[name][0](), 0.1
    entropic, checked = geometry == "entropic", []
    polytope = problem.polytope

    def check(progress):
        state, t = progress.state, progress.state.passes
        axes = state.metric.axes if state.metric.axes.size else np.eye(problem.d)
        average = state.w_sum / t
        moved = -state.s / t - problem.n * lam * average
        w = -moved / (problem.n * lam)
        w[problem.nonnegative :] = np.maximum(w[problem.nonnegative :], 0)
        d_w = 0.5 * w @ (axes / state.metric.units @ axes.T) @ w
        bound = (d_w + polytope.radius(entropic=entropic)) * state.lipschitz / t
        checked.append(progress.row.average_gap * problem.n / bound)

    extragradient(
        problem, lam=lam, passes=60, tolerance=0, metric=metric, geometry="kl" if entropic else "euclidean",
        on_pass=check,
    )  # fmt: skip
    assert 0 < max(checked) <= 1


@EACH
@pytest.mark.parametrize("memory", ["weights", "edges"])
def test_a_run_resumed_from_a_file_goes_on_to_the_same_bits(tmp_path, name, geometry, memory):
    problem = CASES[name][0]()
    options = {"lam": 0.03, "passes": 9, "tolerance": 0, "memory": memory}
    options["geometry"] = "kl" if geometry == "entropic" else "euclidean"
    check_resumed(tmp_path, partial(extragradient, problem, **options), SaddleState)


@pytest.mark.parametrize("name", CASES)
def test_the_gram_matrix_is_that_of_the_features(name):
    problem = CASES[name][0]()
    polytope, d = problem.polytope, problem.d
    rows = np.stack([polytope.scores(e) for e in np.eye(d)])
    np.testing.assert_allclose(polytope.gram(), rows @ rows.T, atol=1e-12)
    saddle = PolytopeSaddle(polytope, problem.n, d, problem.nonnegative)
    metric = gram_metric(saddle, 2.0)
    assert (metric.units > 0).all()
    root = metric.axes * np.sqrt(metric.units) @ metric.axes.T
    assert np.linalg.norm(root @ rows, 2) == pytest.approx(metric.norm)
    if problem.nonnegative < d:  # an axis each
        np.testing.assert_array_equal(metric.axes[problem.nonnegative :], np.eye(d)[problem.nonnegative :])


def test_the_marginals_are_those_of_all_labellings():
    problem = chains()
    polytope = problem.polytope
    x = np.random.default_rng(3).normal(size=len(polytope.costs)) * 3
    z, _ = polytope.project(x, entropic=True, prices=np.zeros(0))
    nodes, joints = z[:30].reshape(10, 3), z[30:].reshape(6, 3, 3)
    x_nodes, x_joints = x[:30].reshape(10, 3), x[30:].reshape(6, 3, 3)
    first, pair = 0, 0
    for length in (3, 1, 2, 4):
        labellings = np.stack(np.meshgrid(*[np.arange(3)] * length, indexing="ij"), -1).reshape(-1, length)
        score = sum(x_nodes[first + t, labellings[:, t]] for t in range(length))
        score = score + sum(
            x_joints[pair + t, labellings[:, t], labellings[:, t + 1]] for t in range(length - 1)
        )
        chance = np.exp(2 / (2 * length - 1) * score)
        chance /= chance.sum()
        for t in range(length):
            for label in range(3):
                at = labellings[:, t] == label
                assert nodes[first + t, label] == pytest.approx(chance[at].sum(), abs=1e-12)
                for other in range(3) if t + 1 < length else ():
                    both = at & (labellings[:, t + 1] == other)
                    assert joints[pair + t, label, other] == pytest.approx(chance[both].sum(), abs=1e-12)
        first, pair = first + length, pair + length - 1
    # far out, where exponentials are no numbers
    far, _ = polytope.project(1e6 * x, entropic=True, prices=np.zeros(0))
    assert np.isfinite(far).all()
    assert set(np.round(far, 9).tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("problem", "solver", "message"),
    [
        (
            lambda: Listed.random(2, 2, seed=0),
            "extragradient",
            r"extragradient: Listed lacks polytope, the hull of its labellings with projections onto it "
            r"\(align\.problems\.protocol\.Polytope\); give it one, or take bcfw",
        ),
        (
            lambda: LinearProgramProblem(pairs(2, 2, 3, seed=0)),
            "extragradient-kl",
            "extragradient-kl: LinearProgramProblem lacks polytope, .* or take bcfw",
        ),
        (
            lambda: MultilabelProblem(*examples(), edges=all_edges(4)),
            "extragradient",
            "extragradient: MultilabelProblem has no polytope: its weights of pairs of labels may be "
            "negative; take AttractiveProblem, .* or bcfw",
        ),
        (
            chains,
            "extragradient",
            "extragradient: the polytope of ChainProblem lacks the euclidean projection; "
            "take extragradient-kl or bcfw",
        ),
        (
            attractive,
            "extragradient-kl",
            "extragradient-kl: the polytope of AttractiveProblem lacks the entropic projection; "
            "take extragradient or bcfw",
        ),
        (
            lambda: WithPolytope(triplets(), MatrixPolytope(np.eye(3), np.zeros(3), np.zeros(3))),
            "extragradient",
            r"extragradient: the polytope of WithPolytope lacks project, radius, start "
            r"\(align\.problems\.protocol\.Polytope\); give it that, or take bcfw",
        ),
    ],
)
def test_what_a_problem_lacks_is_told_by_name(problem, solver, message):
    problem = problem()
    with pytest.raises(ValueError, match=message):
        SOLVERS[solver]().run(problem)
    assert "\n" not in SOLVERS[solver]().refusal(problem)


def test_a_ball_is_for_free_weights():
    problem = triplets(metric=True)
    with pytest.raises(ValueError, match=r"weights that may not be negative, .* leave train\.ball out"):
        extragradient(problem, ball=1.0)
    fit = extragradient(triplets(), ball=1.0, passes=3000, tolerance=1e-3, gap_every=10)
    assert fit.status == "converged"
    assert np.linalg.norm(fit.weights) <= 1 + 1e-12


def test_scores_that_are_no_numbers_are_told():
    problem = triplets()
    problem.data.similarities[2, 1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or infinite; give finite"):
        extragradient(problem)


def test_the_rows_of_a_polytope_have_to_fit():
    with pytest.raises(ValueError, match="give a row, a cost and a number for each entry"):
        MatrixPolytope(np.eye(3), np.zeros(3), np.zeros(2))


def test_known_weights_are_honoured_where_some_may_not_be_negative():
    problem, origin = triplets(metric=True), np.array([0.5, 0.0, 1.0, 0.2])
    best = block_away(problem, pairwise=True, lam=0.1, passes=300, tolerance=1e-6, origin=origin)
    fit = extragradient(problem, lam=0.1, passes=5000, tolerance=1e-3, origin=origin, gap_every=10)
    assert fit.status == "converged"
    assert fit.primal == pytest.approx(best.primal, rel=2e-3)


def test_a_projection_that_is_not_found_ends_the_run(monkeypatch):
    from align.problems import attractive as module

    monkeypatch.setattr(module, "_in_order", lambda *_: 3)
    with pytest.raises(
        WorkError, match="attractive: example 3 was not projected; take fewer pairs of labels"
    ):
        extragradient(attractive())


def test_the_protocol_has_what_a_polytope_is_asked_for():
    parts = {name for name in vars(Polytope) if not name.startswith("_")}
    assert parts >= {"costs", "gold", "geometries", "prices", "project", "radius", "start"}
