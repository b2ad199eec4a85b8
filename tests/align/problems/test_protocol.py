"""What every structured problem owes a solver, each held against a list of all its labellings."""

import itertools

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from align.problems.attractive import AttractiveProblem
from align.problems.compiled import CompiledProblem
from align.problems.linear_program import LinearProgramProblem
from align.problems.matching import MatchingProblem
from align.problems.multilabel import MultilabelProblem, all_edges
from align.problems.protocol import Vertex
from align.problems.quadratic import QuadraticProblem
from align.problems.sequences import ChainProblem
from align.problems.triplets import TripletProblem
from tests.align.solvers.problems import FertileEdges, MarkedLabels, WordFeatures, bcfw

COST_FN, COST_FP = 3.0, 1.0


def alignment(most):
    """Pairs with at most ``most`` sure links a word, in some of them none."""
    generator = np.random.default_rng(3)
    shapes = np.array([[2, 3], [3, 2], [2, 2], [1, 3], [2, 3]], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    marks = []
    for place, (n, m) in enumerate(shapes.tolist()):
        own = (generator.random((n, m)) < 0.2).astype(int)
        if place != 2:
            np.fill_diagonal(own, 2)
            if most > 1 and m > n:
                own[n - 1, n] = 2
        marks.append(own.ravel())
    features = generator.normal(size=(offsets[-1], 3)).astype(np.float32)
    words = [generator.random((total, 2)).astype(np.float32) for total in shapes.sum(axis=0)]
    labels = MarkedLabels(np.zeros(len(shapes) + 1, dtype=np.int64), np.concatenate(marks))
    return FertileEdges(shapes, offsets, features, WordFeatures(*words)), labels


def all_links(n, m, most):
    for cells in itertools.product((0, 1), repeat=n * m):
        y = np.array(cells).reshape(n, m)
        if max(y.sum(axis=0).max(), y.sum(axis=1).max()) <= most:
            yield y


def matching(most):
    edges, labels = alignment(most)
    problem = MatchingProblem(edges, labels, cost_fn=COST_FN, cost_fp=COST_FP, max_fertility=most)
    starts = np.cumsum(edges.shapes, axis=0) - edges.shapes

    def listed(i):
        (n, m), rows = edges.shapes[i], slice(edges.offsets[i], edges.offsets[i + 1])
        marks = labels.marks[rows].reshape(n, m)
        phi = [
            side[start : start + count].astype(float)
            for side, start, count in zip(
                (edges.word_features.source, edges.word_features.target), starts[i], (n, m), strict=True
            )
        ]

        def features(y):
            found = y.ravel() @ edges.features[rows].astype(float)
            more = [-np.maximum(y.sum(axis=axis) - 1, 0) @ phi[1 - axis] for axis in (1, 0)]
            return found if most == 1 else np.concatenate([found, *more])

        gold = (marks == 2).astype(int)
        for y in all_links(n, m, most):
            loss = COST_FN * (gold * (1 - y)).sum() + COST_FP * ((marks == 0) * y).sum()
            yield features(gold) - features(y), loss

    return problem, listed


def linear_program(most):
    problem, listed = matching(most)
    return LinearProgramProblem(problem), listed


def quadratic():
    """Its labellings are vertices of a relaxation: not listed here."""
    edges, labels = alignment(1)
    phi = np.random.default_rng(4).random((len(edges.features), 2)).astype(np.float32)
    return QuadraticProblem(edges, labels, phi, cost_fn=COST_FN, cost_fp=COST_FP), None


def multilabel(edges, states):
    generator = np.random.default_rng(5)
    x, y = generator.normal(size=(6, 2)), generator.integers(0, 2, (6, 3))
    y[0] = 0
    problem = MultilabelProblem(x, y, edges=edges, states=states)

    def features(own, i):
        unary = np.concatenate([label * x[i] for label in own])
        pairwise = []
        for a, b in edges:
            state = np.zeros(4)
            state[2 * own[a] + own[b]] = 1
            pairwise.append(state if states == 4 else state[3:])
        return np.concatenate([unary, *pairwise])

    def listed(i):
        for own in itertools.product((0, 1), repeat=3):
            yield features(y[i], i) - features(own, i), float((y[i] != own).sum())

    return problem, listed


def attractive(edges):
    generator = np.random.default_rng(8)
    x, y = generator.normal(size=(6, 2)), generator.integers(0, 2, (6, 3))

    def features(own, i):
        return np.concatenate([*(label * x[i] for label in own), [own[a] * own[b] for a, b in edges]])

    def listed(i):
        for own in itertools.product((0, 1), repeat=3):
            yield features(y[i], i) - features(own, i), float((y[i] != own).sum())

    return AttractiveProblem(x, y, edges=edges), listed


def triplets(**options):
    generator = np.random.default_rng(6)
    e, odd = generator.normal(size=(7, 3, 4)), generator.integers(0, 3, 7)
    product = options.get("similarity") == "product"

    def features(k, i):
        first, second = np.delete(e[i], k, axis=0)
        return first * second if product else -((first - second) ** 2)

    def listed(i):
        for k in range(3):
            yield features(odd[i], i) - features(k, i), float(k != odd[i])

    return TripletProblem(e, odd, **options), listed


def chains():
    generator = np.random.default_rng(7)
    lengths = [3, 1, 2, 4]
    x = [generator.normal(size=(length, 2)) for length in lengths]
    gold = [generator.integers(0, 3, length) for length in lengths]

    def features(y, i):
        unary, pairwise = np.zeros((3, 2)), np.zeros((3, 3))
        for place, label in enumerate(y):
            unary[label] += x[i][place]
        for pair in itertools.pairwise(y):
            pairwise[pair] += 1
        return np.concatenate([unary.ravel(), pairwise.ravel()])

    def listed(i):
        for y in itertools.product(range(3), repeat=lengths[i]):
            yield features(gold[i], i) - features(y, i), float((gold[i] != y).sum())

    return ChainProblem(x, gold, labels=3), listed


CASES = {
    "matching": lambda: matching(1),
    "two links a word": lambda: matching(2),
    "matching, linear program": lambda: linear_program(1),
    "two links a word, linear program": lambda: linear_program(2),
    "quadratic": quadratic,
    "multilabel": lambda: multilabel((), 4),
    "multilabel, one weight a pair": lambda: multilabel(all_edges(3), 1),
    "multilabel, four weights a pair": lambda: multilabel(((0, 2), (1, 2)), 4),
    "attractive": lambda: attractive(all_edges(3)),
    "triplets": triplets,
    "triplets, product": lambda: triplets(similarity="product"),
    "triplets, metric": lambda: triplets(metric=True),
    "chains": chains,
}
LISTED = [name for name in CASES if name != "quadratic"]
COMPILED = [name for name in LISTED if not name.endswith("linear program") and name != "attractive"]


@pytest.fixture
def problem(request):
    return CASES[request.param]()[0]


@pytest.fixture
def known(request):
    """The problem, and (psi, loss) of all labellings of each block."""
    made, listed = CASES[request.param]()
    return made, [tuple(map(np.array, zip(*listed(i), strict=True))) for i in range(made.n)]


def weights(problem, count, seed=0):
    w = np.random.default_rng(seed).normal(size=(count, problem.d))
    w[:, problem.nonnegative :] = np.abs(w[:, problem.nonnegative :])
    return w * np.geomspace(0.01, 3.0, count)[:, None]


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_sizes(problem):
    assert problem.n >= 1
    assert problem.d >= 1
    assert 0 <= problem.nonnegative <= problem.d


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_the_gold_labelling_is_never_better_than_the_maximum(problem):
    for w in weights(problem, 20):
        for i in range(problem.n):
            vertex = problem.oracle(w, i)
            assert isinstance(vertex, Vertex)
            psi, loss = vertex
            assert psi.dtype == np.float64
            assert psi.shape == (problem.d,)
            assert loss >= 0
            assert loss - w @ psi >= -1e-9


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_no_vertex_met_elsewhere_is_better_than_the_maximum(problem):
    """The hinge is a maximum over the same vertices whatever the weights."""
    w = weights(problem, 12)
    for i in range(problem.n):
        found = [problem.oracle(each, i) for each in w]
        psi, loss = np.array([own.psi for own in found]), np.array([own.loss for own in found])
        values = loss - w @ psi.T
        assert (values.max(axis=1) <= values.diagonal() + 1e-8).all()


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_blocks_together_are_the_blocks_alone_to_the_bit(problem):
    w = weights(problem, 3)
    block = np.array([problem.n - 1, 0, 0, problem.n // 2])
    psi, loss = problem.oracles(w, block)
    assert (psi.shape, loss.shape) == ((3, 4, problem.d), (3, 4))
    assert psi.dtype == loss.dtype == np.float64
    for r in range(3):
        one = problem.oracles(w[r], block)
        assert (one[0].shape, one[1].shape) == ((4, problem.d), (4,))
        np.testing.assert_array_equal(one[0], psi[r])
        np.testing.assert_array_equal(one[1], loss[r])
        for place, i in enumerate(block.tolist()):
            alone = problem.oracle(w[r], i)
            np.testing.assert_array_equal(alone.psi, psi[r, place])
            assert alone.loss == loss[r, place]
    psi, loss = problem.oracles(w, block[:0])
    assert (psi.shape, loss.shape) == ((3, 0, problem.d), (3, 0))


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_what_the_oracle_returns_is_the_callers(problem):
    w, other = weights(problem, 2)
    first = problem.oracle(w, 0)
    kept = first.psi.copy()
    problem.oracle(other, 0)
    np.testing.assert_array_equal(first.psi, kept)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_weights_that_are_no_numbers_are_refused(problem, bad):
    w = np.full(problem.d, bad)
    with pytest.raises(ValueError, match="NaN or infinite"):
        problem.oracle(w, 0)
    with pytest.raises(ValueError, match="NaN or infinite"):
        problem.oracles(w, np.arange(problem.n))


@pytest.mark.parametrize("known", LISTED, indirect=True)
def test_the_oracle_is_the_best_of_all_labellings(known):
    problem, listed = known
    for w in weights(problem, 30, seed=1):
        for i, (psi, loss) in enumerate(listed):
            found = problem.oracle(w, i)
            assert found.loss - w @ found.psi == pytest.approx((loss - psi @ w).max(), abs=1e-9)
            same = np.abs(psi - found.psi).max(axis=1) + np.abs(loss - found.loss)
            assert same.min() < 1e-6  # it is one of them


@pytest.mark.parametrize("lam", [0.05, 0.5])
@pytest.mark.parametrize("known", LISTED, indirect=True)
def test_the_certificate_holds_against_a_quadratic_programme(known, lam):
    problem, listed = known
    w, minimum = minimised(problem, listed, lam)
    fit = bcfw(problem, lam=lam, passes=500, tolerance=1e-3)
    assert fit.status == "converged"
    assert minimum - 1e-6 <= fit.primal <= minimum + fit.gap + 1e-6
    # strong convexity: lam/2 |w - w*|^2 <= P(w) - P(w*) <= gap
    assert lam / 2 * np.sum((fit.weights - w) ** 2) <= fit.gap + 1e-6
    for row in fit.history:
        assert row.dual - 1e-6 <= minimum <= row.primal + 1e-6


@pytest.mark.parametrize("problem", CASES, indirect=True)
def test_every_problem_is_solved_to_a_small_gap(problem):
    fit = bcfw(problem, lam=0.1, passes=300, tolerance=1e-3)
    assert fit.status == "converged"
    assert (fit.weights[problem.nonnegative :] >= 0).all()


class Plain:
    """The same problem without its kernels: a solver sees the protocol alone."""

    def __init__(self, problem):
        self.n, self.d, self.nonnegative = problem.n, problem.d, problem.nonnegative
        self.oracle, self.oracles = problem.oracle, problem.oracles


@pytest.mark.parametrize("problem", COMPILED, indirect=True)
def test_the_compiled_pass_is_the_plain_loop_to_the_bit(problem):
    assert isinstance(problem, CompiledProblem)
    compiled, plain = (bcfw(each, lam=0.1, passes=5, tolerance=0) for each in (problem, Plain(problem)))
    np.testing.assert_array_equal(compiled.weights, plain.weights)
    for row, other in zip(compiled.history, plain.history, strict=True):
        np.testing.assert_array_equal(row._replace(seconds=0), other._replace(seconds=0))


def test_a_problem_without_kernels_is_solved_through_its_methods():
    assert not isinstance(quadratic()[0], CompiledProblem)


def minimised(problem, listed, lam):
    """The quadratic programme in (w, xi): lam/2 |w|^2 + mean xi, xi_i >= loss_iy - <w, psi_iy>."""
    n, d = problem.n, problem.d
    rows = np.concatenate(
        [np.hstack([psi, np.tile(np.eye(n)[i], (len(psi), 1))]) for i, (psi, _) in enumerate(listed)]
    )
    losses = np.concatenate([loss for _, loss in listed])
    result = minimize(
        lambda x: (lam / 2 * x[:d] @ x[:d] + x[d:].mean(), np.concatenate([lam * x[:d], np.full(n, 1 / n)])),
        np.concatenate([np.zeros(d), [loss.max() for _, loss in listed]]),
        jac=True,
        method="SLSQP",
        constraints=LinearConstraint(rows, lb=losses),
        bounds=[(0 if problem.nonnegative <= j < d else None, None) for j in range(d + n)],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert result.success
    return result.x[:d], result.fun
