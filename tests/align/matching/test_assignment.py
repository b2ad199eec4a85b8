import itertools
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from align.core.errors import WorkError
from align.matching import linear_program
from align.matching.assignment import solve


def lp(theta):
    return linear_program.solve(theta, np.zeros(theta.shape[0]), np.zeros(theta.shape[-1]))


def solve_one(theta):
    theta = np.asarray(theta, dtype=np.float64)
    n, m = theta.shape
    links = solve(theta.ravel(), np.array([[n, m]], dtype=np.int32), np.array([0, n * m]))
    return links.reshape(n, m)


def solve_many(thetas):
    shapes = np.array([theta.shape for theta in thetas], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([theta.size for theta in thetas])])
    links = solve(np.concatenate([theta.ravel() for theta in thetas]), shapes, offsets)
    return [
        links[start:stop].reshape(theta.shape)
        for start, stop, theta in zip(offsets, offsets[1:], thetas, strict=False)
    ]


def is_matching(links):
    return (links.sum(axis=0) <= 1).all() and (links.sum(axis=1) <= 1).all()


def best_by_trying_all(theta):
    """The largest weight of any matching, each tried: row by row any free column or none."""

    def best(row, taken):
        if row == len(theta):
            return 0.0
        found = best(row + 1, taken)
        for column in range(theta.shape[1]):
            if column not in taken:
                found = max(found, theta[row, column] + best(row + 1, taken | {column}))
        return found

    return best(0, frozenset())


def best_by_scipy(theta):
    """Weights below 0 are no better than staying alone: a complete assignment of the clipped weights."""
    gain = np.maximum(theta, 0)
    return gain[linear_sum_assignment(gain, maximize=True)].sum()


shapes_up_to_four = st.tuples(st.integers(0, 4), st.integers(0, 4))


@settings(max_examples=300)
@given(shapes_up_to_four.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(-2, 3))))
def test_small_weights_with_ties_against_trying_all(theta):
    links = solve_one(theta)
    assert is_matching(links)
    assert theta[links].sum() == best_by_trying_all(theta)
    assert (theta[links] > 0).all()


@settings(max_examples=300)
@given(shapes_up_to_four.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-1e3, 1e3))))
def test_any_small_weights_against_trying_all(theta):
    links = solve_one(theta)
    assert is_matching(links)
    assert theta[links].sum() == pytest.approx(best_by_trying_all(theta), rel=1e-12, abs=1e-12)
    assert (theta[links] > 0).all()


def test_every_two_by_three_matrix_of_four_values():
    thetas = [
        np.array(values, dtype=np.float64).reshape(2, 3)
        for values in itertools.product((-1, 0, 1, 2), repeat=6)
    ]
    for theta, links in zip(thetas, solve_many(thetas), strict=True):
        assert is_matching(links)
        assert theta[links].sum() == best_by_trying_all(theta)


def random_weights(generator, kind, n, m):
    """Kinds of weights that stress different parts of the search."""
    match kind:
        case "normal":
            return generator.normal(size=(n, m))
        case "all positive":
            return generator.random((n, m))
        case "few values":
            return generator.integers(-1, 4, (n, m)).astype(np.float64)
        case "products":  # long alternating paths
            return np.outer(generator.random(n), generator.random(m))
        case "mostly negative":
            return generator.normal(size=(n, m)) - 1.5
        case "far apart":
            return generator.normal(size=(n, m)) * 10.0 ** generator.integers(-6, 7, (n, m))


KINDS = ("normal", "all positive", "few values", "products", "mostly negative", "far apart")


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_scipy(kind):
    generator = np.random.default_rng(7)
    thetas = [random_weights(generator, kind, *generator.integers(1, 60, 2)) for _ in range(300)]
    for theta, links in zip(thetas, solve_many(thetas), strict=True):
        assert is_matching(links)
        assert theta[links].sum() == pytest.approx(best_by_scipy(theta), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_linear_program(kind):
    generator = np.random.default_rng(11)
    thetas = [random_weights(generator, kind, *generator.integers(1, 13, 2)) for _ in range(20)]
    for theta, links in zip(thetas, solve_many(thetas), strict=True):
        assert theta[links].sum() == pytest.approx(theta[lp(theta)].sum(), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_two_thousand_rectangles_against_the_linear_program():
    generator = np.random.default_rng(13)
    thetas = [
        random_weights(generator, KINDS[turn % 5], *generator.integers(1, 26, 2)) for turn in range(2000)
    ]
    for theta, links in zip(thetas, solve_many(thetas), strict=True):
        assert is_matching(links)
        assert theta[links].sum() == pytest.approx(theta[lp(theta)].sum(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_a_side_without_words(shape):
    assert solve_one(np.zeros(shape)).shape == shape
    assert lp(np.zeros(shape)).shape == shape


def test_no_pairs_at_all():
    assert solve(np.zeros(0), np.zeros((0, 2), dtype=np.int32), np.zeros(1, dtype=np.int64)).shape == (0,)


@pytest.mark.parametrize("method", [solve_one, lp])
def test_one_word_on_a_side(method):
    assert method(np.array([[0.5]])).tolist() == [[True]]
    assert method(np.array([[-0.5]])).tolist() == [[False]]
    assert method(np.array([[0.0]])).tolist() == [[False]]
    assert method(np.array([[-1.0, 3.0, 2.0]])).tolist() == [[False, True, False]]
    assert method(np.array([[-1.0], [3.0], [2.0]])).tolist() == [[False], [True], [False]]


@pytest.mark.parametrize("method", [solve_one, lp])
def test_nothing_is_linked_where_no_weight_is_above_zero(method):
    theta = -np.arange(12.0).reshape(3, 4)
    assert not method(theta).any()


def test_a_word_is_left_alone_where_that_is_better():
    # The first column can be had once; the second row's other choice costs more than it brings.
    assert solve_one([[5.0, -1.0], [4.0, -2.0]]).tolist() == [[True, False], [False, False]]
    # A row already linked gives way and stays alone.
    assert solve_one([[1.0, -9.0], [3.0, -9.0]]).tolist() == [[False, False], [True, False]]


def test_ties_are_broken_the_same_way_alone_and_in_a_block():
    generator = np.random.default_rng(3)
    thetas = [generator.integers(-1, 2, generator.integers(1, 8, 2)).astype(np.float64) for _ in range(100)]
    in_a_block = solve_many(thetas)
    for theta, links in zip(thetas, in_a_block, strict=True):
        np.testing.assert_array_equal(solve_one(theta), links)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300, 1.5e308])
def test_tiny_and_huge_weights(scale):
    theta = np.array([[1.0, 0.9, -1.0], [0.95, 0.5, -1.0], [0.2, 0.3, 0.1], [-1.0, 0.8, 0.0]])
    expected = solve_one(theta)
    assert expected.sum() == 3
    np.testing.assert_array_equal(solve_one(theta * scale), expected)
    np.testing.assert_array_equal(lp(theta * scale), expected)


def test_huge_and_small_weights_in_one_matrix():
    assert solve_one([[1.7e308, 1.6e308], [1.7e308, -1.7e308], [1.0, 2.0]]).tolist() == [
        [False, True],
        [True, False],
        [False, False],
    ]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value):
    theta = np.array([0.0, 1.0, value])
    shapes, offsets = np.array([[1, 2], [1, 1]], dtype=np.int32), np.array([0, 2, 3])
    with pytest.raises(ValueError, match=r"pair 1 has a weight that is NaN or infinite; give finite weights"):
        solve(theta, shapes, offsets)
    with pytest.raises(ValueError, match=r"linear program: a weight is NaN or infinite"):
        lp(theta[None])


@pytest.mark.parametrize(
    ("shapes", "offsets"),
    [([[2, 2], [1, 1]], [0, 4, 6]), ([[2, 2]], [0, 3]), ([[-1, -5]], [0, 5]), ([[1, 5]], [-5, 0])],
)
def test_offsets_that_do_not_fit_are_refused(shapes, offsets):
    with pytest.raises(ValueError, match=r"the offsets of pair \d do not fit its shape; give n \* m edges"):
        solve(np.ones(5), np.array(shapes, dtype=np.int32), np.array(offsets))


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"values \(1, 1\), shapes \(1, 2\) and offsets \(2,\) do not fit"):
        solve(np.ones((1, 1)), np.ones((1, 2), dtype=np.int32), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"linear program: theta has 1 dimensions; give a matrix \(n, m\)"):
        lp(np.ones(3))


def test_the_linear_program_reports_a_failure_of_highs(monkeypatch):
    from scipy import optimize

    class Stopped:
        status, message, x = 4, "numerical difficulties", None

    class Halved:
        status, message, x = 0, "", np.full(4, 0.5)

    monkeypatch.setattr(optimize, "linprog", lambda *args, **options: Stopped)
    with pytest.raises(WorkError, match="HiGHS stopped with 'numerical difficulties'; use the assignment"):
        lp(np.ones((2, 2)))
    monkeypatch.setattr(optimize, "linprog", lambda *args, **options: Halved)
    with pytest.raises(WorkError, match=r"linear program: 5\.0e-01 away from integers"):
        lp(np.ones((2, 2)))


def test_the_input_is_left_as_it_is():
    theta = np.random.default_rng(0).normal(size=(9, 4))
    copy = theta.copy()
    theta.flags.writeable = False  # weights mapped from disk cannot be written either
    solve_one(theta)
    np.testing.assert_array_equal(theta, copy)


def test_two_threads_run_at_once():
    """The interpreter lock is free while a block is solved: this thread goes on counting."""
    generator = np.random.default_rng(0)
    thetas = [np.outer(generator.random(300), generator.random(300)) for _ in range(8)]
    solve_many(thetas[:1])
    assert ticks_during(solve_many, thetas) > 5


def ticks_during(work, *args, **options):
    """How often another thread gets a turn while something is done."""
    worker, ticks = threading.Thread(target=work, args=args, kwargs=options), 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    return ticks
