import itertools

import numpy as np
import pytest

from align.problems.matching import SURE, MatchingProblem
from tests.align.solvers.problems import Edges, FertileEdges, MarkedLabels, WordFeatures, check_many_at_once


def made(shapes, d, seed=0, marks=None):
    """Pairs of the given shapes with random features and random gold links."""
    generator = np.random.default_rng(seed)
    shapes = np.array(shapes, dtype=np.int32).reshape(-1, 2)
    offsets = np.concatenate([[0], np.cumsum(shapes.prod(axis=1, dtype=np.int64))])
    features = generator.normal(size=(offsets[-1], d)).astype(np.float32)
    if marks is None:
        marks = np.concatenate([np.zeros(0), *(random_marks(generator, n, m).ravel() for n, m in shapes)])
    return Edges(shapes, offsets, features), MarkedLabels(np.zeros(len(shapes) + 1, dtype=np.int64), marks)


def random_marks(generator, n, m):
    marks = (generator.random((n, m)) < 0.3).astype(int)
    size = min(n, m)
    rows, columns = generator.permutation(n)[:size], generator.permutation(m)[:size]
    keep = generator.random(size) < 0.7
    marks[rows[keep], columns[keep]] = 2
    return marks


def matchings(n, m):
    """Every matching of n and m words as a flat 0-1 array."""
    for columns in itertools.product(range(-1, m), repeat=n):
        used = [column for column in columns if column >= 0]
        if len(set(used)) == len(used):
            y = np.zeros((n, m))
            for row, column in enumerate(columns):
                if column >= 0:
                    y[row, column] = 1
            yield y.ravel()


def psi_and_loss(x, marks, y, cost_fn, cost_fp):
    """The definitions, in plain numpy."""
    gold, wrong = marks == 2, marks == 0
    return x.T @ (gold - y), cost_fn * (gold * (1 - y)).sum() + cost_fp * (wrong * y).sum()


def test_oracle_maximises_over_every_matching():
    shapes = [(1, 1), (1, 4), (4, 1), (2, 3), (3, 3), (3, 2), (0, 2), (2, 0), (0, 0), (4, 3)]
    edges, labels = made(shapes, 5, seed=1)
    problem = MatchingProblem(edges, labels, cost_fn=2.5, cost_fp=0.75)
    assert (problem.n, problem.d) == (10, 5)
    generator = np.random.default_rng(2)
    for i, (n, m) in enumerate(shapes):
        rows = slice(edges.offsets[i], edges.offsets[i + 1])
        x, marks = edges.features[rows].astype(np.float64), labels.marks[rows]
        for size in (0.0, 0.1, 1.0, 100.0):
            w = size * generator.normal(size=5)
            vertex = problem.oracle(w, i)
            psi, loss = map(
                np.array, zip(*(psi_and_loss(x, marks, y, 2.5, 0.75) for y in matchings(n, m)), strict=True)
            )
            best = (loss - psi @ w).max()
            # psi and loss are those of one matching
            assert (np.abs(psi - vertex.psi).max(axis=1) + np.abs(loss - vertex.loss)).min() < 1e-11
            assert vertex.loss - w @ vertex.psi == pytest.approx(best, rel=1e-12, abs=1e-10)
            assert vertex.loss - w @ vertex.psi >= -1e-9


def test_links_free_of_cost_cost_nothing_either_way():
    edges, labels = made([(1, 1)], 1, marks=np.array([1]))
    edges.features[:] = 1.0
    problem = MatchingProblem(edges, labels)
    linked, apart = problem.oracle(np.array([9.0]), 0), problem.oracle(np.array([-9.0]), 0)
    assert (linked.loss, linked.psi.tolist()) == (0.0, [-1.0])  # linked, though not in the gold labelling
    assert (apart.loss, apart.psi.tolist()) == (0.0, [0.0])


def test_many_blocks_and_many_weights_at_once_are_the_same_to_the_bit():
    edges, labels = made([(5, 7), (1, 3), (8, 4), (0, 3), (6, 6)], 9, seed=5)
    problem = MatchingProblem(edges, labels)
    weights = np.random.default_rng(6).normal(size=(3, 9))
    block = np.array([4, 0, 3, 2])
    check_many_at_once(problem, weights, block)


def test_a_chosen_part_of_the_pairs():
    edges, labels = made([(2, 3), (4, 4), (3, 2), (5, 1)], 4, seed=7)
    whole = MatchingProblem(edges, labels)
    part = MatchingProblem(edges, labels, pairs=np.array([3, 1]))
    assert part.n == 2
    w = np.random.default_rng(8).normal(size=4)
    for mine, theirs in ((0, 3), (1, 1)):
        np.testing.assert_array_equal(part.oracle(w, mine).psi, whole.oracle(w, theirs).psi)


def test_features_on_disk_are_not_copied(tmp_path):
    edges, labels = made([(3, 4), (5, 5)], 6, seed=9)
    np.save(tmp_path / "features.npy", edges.features)
    mapped = np.load(tmp_path / "features.npy", mmap_mode="r", allow_pickle=False)
    problem = MatchingProblem(Edges(edges.shapes, edges.offsets, mapped), labels)
    assert np.shares_memory(problem.data[0], mapped)
    w = np.ones(6)
    np.testing.assert_array_equal(problem.oracle(w, 1).psi, MatchingProblem(edges, labels).oracle(w, 1).psi)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_no_numbers_are_refused(value):
    edges, labels = made([(2, 2)], 2, marks=np.zeros(4))
    edges.features[1, 1] = value
    with pytest.raises(ValueError, match=r"a score <w, x> is NaN or infinite; give finite features"):
        MatchingProblem(edges, labels).oracle(np.ones(2), 0)


def test_a_gold_labelling_out_of_reach_is_noticed():
    """No matching reaches this gold: loss - <w, psi> falls below 0, and the oracle says so."""
    edges, labels = made([(1, 2)], 1, marks=np.array([2, 0]))
    edges.features[:] = 1.0
    problem = MatchingProblem(edges, labels)
    problem.data[1][:] = SURE
    with pytest.raises(AssertionError, match="loss - <w, psi> is negative"):
        problem.oracle(np.array([100.0]), 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost_fn": -1.0}, r"costs -1\.0 and 1\.0; give finite costs >= 0"),
        ({"cost_fp": np.nan}, r"costs 3\.0 and nan; give finite"),
        ({"cost_fp": np.inf}, r"costs 3\.0 and inf; give finite"),
        ({"pairs": np.zeros(0, dtype=int)}, "0 pairs with 2 features; give at least one of each"),
    ],
)
def test_options_out_of_range_are_refused(change, message):
    edges, labels = made([(2, 2)], 2)
    with pytest.raises(ValueError, match=message):
        MatchingProblem(edges, labels, **change)


def test_arrays_that_do_not_fit_are_refused():
    edges, labels = made([(2, 2), (1, 3)], 2)
    fewer = MarkedLabels(np.zeros(2), labels.marks)
    with pytest.raises(ValueError, match="edges of 2 pairs, labels of 1; give both of the same pairs"):
        MatchingProblem(edges, fewer)
    for wrong in (
        Edges(edges.shapes, edges.offsets + 1, edges.features),
        Edges(edges.shapes, edges.offsets, edges.features[:-1]),
    ):
        with pytest.raises(ValueError, match=r"features, offsets and shapes do not fit; give n \* m rows"):
            MatchingProblem(wrong, labels)
    with pytest.raises(ValueError, match="2 pairs with 0 features"):
        MatchingProblem(Edges(edges.shapes, edges.offsets, edges.features[:, :0]), labels)


@pytest.mark.parametrize("second", [[2, 2, 0, 0], [2, 0, 2, 0]])
def test_two_sure_links_of_one_word_are_refused(second):
    edges, labels = made([(2, 2), (0, 3), (2, 2)], 2, marks=np.array([2, 0, 0, 2, *second]))
    with pytest.raises(ValueError, match="the sure links of pair 2 are no matching; keep one link a word"):
        MatchingProblem(edges, labels)


def test_sums_over_the_features_run_in_order():
    """The compiled scores are those of the plain loop, to the bit: 1e16 swallows what comes after it."""
    edges, labels = made([(1, 1), (2, 3)], 3, marks=np.zeros(7))
    edges.features[:] = [1.0, 1.0, -1.0]
    w = np.array([1e16, 1.0, 1e16])
    problem = MatchingProblem(edges, labels, cost_fp=0.5)
    for i in range(2):
        vertex = problem.oracle(w, i)
        assert vertex.loss == 0.5 * min(edges.shapes[i])  # score 0 of each edge, so the cost alone decides


def fertile(shapes, d, most, seed):
    """Pairs whose words have features (2 of source, 3 of target words) and up to ``most`` gold links."""
    generator = np.random.default_rng(seed)
    edges, labels = made(shapes, d, seed=seed)
    words = edges.shapes.sum(axis=0)
    extra = WordFeatures(
        *(generator.random((count, k)).astype(np.float32) for count, k in zip(words, (2, 3), strict=True))
    )
    for (n, m), start in zip(edges.shapes, edges.offsets, strict=False):
        marks = labels.marks[start : start + n * m].reshape(n, m)
        for j, k in generator.permutation(list(np.ndindex(n, m))):
            if max((marks[j] == 2).sum(), (marks[:, k] == 2).sum()) < most and generator.random() < 0.4:
                marks[j, k] = 2
    return FertileEdges(edges.shapes, edges.offsets, edges.features, extra), labels


def labellings(n, m, most):
    """Every set of edges with at most ``most`` links a word, (n, m) bool."""
    for number in range(2 ** (n * m)):
        y = np.array([number >> edge & 1 for edge in range(n * m)], dtype=bool).reshape(n, m)
        if y.sum(axis=0).max(initial=0) <= most and y.sum(axis=1).max(initial=0) <= most:
            yield y


def score_features(x, phi_s, phi_t, y):
    """Features of a labelling: those of its edges, then those of extra links, counted negatively."""
    more_s, more_t = np.maximum(y.sum(axis=1) - 1, 0), np.maximum(y.sum(axis=0) - 1, 0)
    return np.concatenate([x.T @ y.ravel(), -(more_s @ phi_s), -(more_t @ phi_t)])


@pytest.mark.parametrize("most", [2, 3])
def test_oracle_with_several_links_a_word_maximises_over_every_labelling(most):
    shapes = [(1, 3), (3, 1), (2, 3), (3, 3), (0, 2), (3, 4), (4, 3)]
    edges, labels = fertile(shapes, 4, most, seed=7)
    problem = MatchingProblem(edges, labels, cost_fn=2.0, cost_fp=0.5, max_fertility=most)
    assert (problem.n, problem.d, problem.nonnegative) == (7, 9, 4)
    generator = np.random.default_rng(8)
    starts = np.cumsum(edges.shapes, axis=0) - edges.shapes
    weights = generator.normal(size=(3, 9)) * np.array([0.0, 0.3, 3.0])[:, None]
    weights[:, 4:] = np.abs(weights[:, 4:])
    psis, losses = problem.oracles(weights, np.arange(7))
    extra_links = 0
    for i, (n, m) in enumerate(shapes):
        rows = slice(edges.offsets[i], edges.offsets[i + 1])
        x, marks = edges.features[rows].astype(np.float64), labels.marks[rows].reshape(n, m)
        phi_s = edges.word_features.source[starts[i, 0] :][:n].astype(np.float64)
        phi_t = edges.word_features.target[starts[i, 1] :][:m].astype(np.float64)
        gold = score_features(x, phi_s, phi_t, marks == 2)
        for r, w in enumerate(weights):
            every = list(labellings(n, m, most))
            psi = np.array([gold - score_features(x, phi_s, phi_t, y) for y in every])
            loss = np.array([2.0 * ((marks == 2) & ~y).sum() + 0.5 * ((marks == 0) & y).sum() for y in every])
            vertex = problem.oracle(w, i)
            value = vertex.loss - w @ vertex.psi
            assert value == pytest.approx((loss - psi @ w).max(), abs=1e-9)
            assert value >= -1e-9
            off = np.abs(psi - vertex.psi).max(axis=1) + np.abs(loss - vertex.loss)
            assert off.min() < 1e-6
            y = every[int(off.argmin())]
            np.testing.assert_array_equal(psis[r, i], vertex.psi)
            assert losses[r, i] == vertex.loss
            extra_links += np.maximum(y.sum(axis=0) - 1, 0).sum()
    assert extra_links > 0


def test_pairs_keep_their_words_in_any_order():
    edges, labels = fertile([(2, 3), (3, 3), (1, 4), (4, 2)], 3, 2, seed=3)
    whole = MatchingProblem(edges, labels, max_fertility=2)
    chosen = np.array([3, 0, 2])
    part = MatchingProblem(edges, labels, max_fertility=2, pairs=chosen)
    w = np.concatenate([np.random.default_rng(1).normal(size=3), np.full(5, 0.2)])
    for place, pair in enumerate(chosen):
        np.testing.assert_array_equal(part.oracle(w, place).psi, whole.oracle(w, int(pair)).psi)


def test_one_link_a_word_needs_no_features_of_words():
    edges, labels = fertile([(2, 3), (3, 3)], 3, 1, seed=3)
    plain = Edges(edges.shapes, edges.offsets, edges.features)
    w = np.array([0.5, -0.2, 0.1])
    one, other = MatchingProblem(edges, labels), MatchingProblem(plain, labels)
    assert one.d == one.nonnegative == other.d == 3
    for i in range(2):
        np.testing.assert_array_equal(one.oracle(w, i).psi, other.oracle(w, i).psi)


def test_bad_words_are_refused():
    edges, labels = fertile([(2, 3), (3, 3)], 3, 2, seed=3)
    wrong = WordFeatures(-edges.word_features.source - 1, edges.word_features.target)
    short = WordFeatures(edges.word_features.source[1:], edges.word_features.target)
    for given, most, message in (
        (edges, 0, "0 links a word; give 1 or more"),
        (FertileEdges(edges.shapes, edges.offsets, edges.features), 2, "no features of words"),
        (FertileEdges(edges.shapes, edges.offsets, edges.features, wrong), 2, "is negative"),
        (FertileEdges(edges.shapes, edges.offsets, edges.features, short), 2, "one row a word"),
    ):
        with pytest.raises(ValueError, match=message):
            MatchingProblem(given, labels, max_fertility=most)
    marks = labels.marks.copy()
    marks[:3] = 2
    with pytest.raises(ValueError, match="pair 0 are too many; keep 2 links a word"):
        MatchingProblem(edges, MarkedLabels(labels.offsets, marks), max_fertility=2)
