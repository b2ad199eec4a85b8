import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from align.matching import assignment as matching
from align.matching.fertility import solve, total
from align.matching.linear_program import solve as lp
from tests.align.matching.test_assignment import ticks_during


def solve_one(theta, source_costs, target_costs, max_fertility):
    theta = np.asarray(theta, dtype=np.float64)
    shapes, offsets = np.array([theta.shape], dtype=np.int32), np.array([0, theta.size])
    links = solve(theta.ravel(), shapes, offsets, source_costs, target_costs, max_fertility=max_fertility)
    return links.reshape(theta.shape)


def fits(links, max_fertility):
    return (links.sum(axis=0) <= max_fertility).all() and (links.sum(axis=1) <= max_fertility).all()


def best_by_trying_all(theta, source_costs, target_costs, max_fertility):
    """The largest value of any set of edges, each tried."""
    n, m = theta.shape
    best = 0.0
    for number in range(2 ** (n * m)):
        links = np.array([number >> edge & 1 for edge in range(n * m)], dtype=bool).reshape(n, m)
        if fits(links, max_fertility):
            best = max(best, total(theta, source_costs, target_costs, links))
    return best


def random_instance(generator, kind, n, m):
    """Kinds of weights and costs that stress different parts of the search."""
    costs = generator.exponential(0.5, n), generator.exponential(0.5, m)
    match kind:
        case "normal":
            return generator.normal(size=(n, m)), *costs
        case "all positive":
            return generator.random((n, m)), *costs
        case "few values":
            integers = generator.integers(0, 3, n + m).astype(np.float64)
            return generator.integers(-1, 4, (n, m)).astype(np.float64), integers[:n], integers[n:]
        case "products":  # long alternating paths
            return np.outer(generator.random(n), generator.random(m)), costs[0] / 10, costs[1] / 10
        case "no cost":
            return generator.normal(size=(n, m)), np.zeros(n), np.zeros(m)
        case "far apart":
            weights = generator.normal(size=(n, m)) * 10.0 ** generator.integers(-6, 7, (n, m))
            return weights, costs[0] * 10.0 ** generator.integers(-4, 5, n), costs[1]


KINDS = ("normal", "all positive", "few values", "products", "no cost", "far apart")
small_shapes = st.tuples(st.integers(0, 3), st.integers(0, 3))


@st.composite
def small_instances(draw, elements, costs):
    n, m = draw(small_shapes)
    return (
        draw(arrays(np.float64, (n, m), elements=elements)),
        draw(arrays(np.float64, n, elements=costs)),
        draw(arrays(np.float64, m, elements=costs)),
    )


@settings(max_examples=150, deadline=None)
@given(small_instances(st.integers(-2, 3), st.integers(0, 3)), st.integers(1, 3))
def test_small_weights_with_ties_against_trying_all(instance, max_fertility):
    links = solve_one(*instance, max_fertility)
    assert fits(links, max_fertility)
    assert total(*instance, links) == best_by_trying_all(*instance, max_fertility)
    assert (instance[0][links] > 0).all()


@settings(max_examples=150, deadline=None)
@given(small_instances(st.floats(-1e3, 1e3), st.floats(0, 1e3)), st.integers(1, 3))
def test_any_small_weights_against_trying_all(instance, max_fertility):
    links = solve_one(*instance, max_fertility)
    assert fits(links, max_fertility)
    assert total(*instance, links) == pytest.approx(
        best_by_trying_all(*instance, max_fertility), rel=1e-12, abs=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_fertility", [1, 2, 3, 50])
def test_agrees_with_the_linear_program(kind, max_fertility):
    generator = np.random.default_rng([KINDS.index(kind), max_fertility])
    for _ in range(25):
        instance = random_instance(generator, kind, *generator.integers(1, 25, 2))
        links, reference = solve_one(*instance, max_fertility), lp(*instance, max_fertility=max_fertility)
        assert fits(links, max_fertility)
        assert fits(reference, max_fertility)
        assert total(*instance, links) == pytest.approx(total(*instance, reference), rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_one_link_a_word_is_the_matching(kind):
    generator = np.random.default_rng(KINDS.index(kind))
    for _ in range(200):
        theta, *costs = random_instance(generator, kind, *generator.integers(1, 30, 2))
        links = solve_one(theta, *costs, 1)
        shapes, offsets = np.array([theta.shape], dtype=np.int32), np.array([0, theta.size])
        matched = matching.solve(theta.ravel(), shapes, offsets).reshape(theta.shape)
        assert theta[links].sum() == pytest.approx(theta[matched].sum(), rel=1e-12)


def test_an_extra_link_is_made_where_it_is_worth_its_cost():
    theta = np.array([[3.0, 2.0]])
    target_costs = np.zeros(2)
    assert solve_one(theta, np.array([1.9]), target_costs, 2).tolist() == [[True, True]]
    assert solve_one(theta, np.array([2.1]), target_costs, 2).tolist() == [[True, False]]
    assert solve_one(theta, np.array([1.9]), target_costs, 1).tolist() == [[True, False]]
    # both words of an edge pay for it
    square = np.array([[3.0, 2.0], [2.0, -1.0]])
    assert solve_one(square, np.full(2, 0.9), np.full(2, 0.9), 2).sum() == 3
    assert solve_one(square, np.full(2, 0.9), np.full(2, 1.2), 2).tolist() == [[True, True], [True, False]]
    assert solve_one(square, np.full(2, 1.2), np.full(2, 1.9), 2).sum() == 2


def test_pairs_of_a_block_do_not_see_each_other():
    generator = np.random.default_rng(5)
    instances = [
        random_instance(generator, KINDS[turn % len(KINDS)], *generator.integers(0, 12, 2))
        for turn in range(120)
    ]
    shapes = np.array([theta.shape for theta, _, _ in instances], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([theta.size for theta, _, _ in instances])])
    theta, source, target = (np.concatenate([part[i].ravel() for part in instances]) for i in range(3))
    links = solve(theta, shapes, offsets, source, target, max_fertility=2)
    for instance, first, last in zip(instances, offsets, offsets[1:], strict=False):
        assert np.array_equal(links[first:last], solve_one(*instance, 2).ravel())
    assert np.array_equal(links, solve(theta, shapes, offsets, source, target, max_fertility=2))


def test_costs_without_bound_and_read_only_input():
    theta = np.array([[3.0, 2.0], [1.0, -1.0]])
    theta.flags.writeable = False
    links = solve_one(theta, np.full(2, np.inf), np.full(2, np.inf), 3)
    assert links.tolist() == [[False, True], [True, False]] or links.tolist() == [
        [True, False],
        [False, False],
    ]
    assert theta[links].sum() == 3.0


def test_bad_input_is_refused():
    shape, offsets, costs = np.array([[1, 2]]), np.array([0, 2]), (np.zeros(1), np.zeros(2))
    theta = np.array([1.0, 2.0])
    for bad, message in (
        ((np.array([1.0, np.nan]), shape, offsets, *costs), "pair 0 has a weight"),
        ((theta, shape, np.array([0, 3]), *costs), "offsets of pair 0"),
        ((theta, shape, offsets, np.array([-1.0]), costs[1]), "pair 0 has a cost"),
        ((theta, shape, offsets, np.array([np.nan]), costs[1]), "pair 0 has a cost"),
        ((theta, shape, offsets, np.zeros(2), costs[1]), "give one a word"),
        ((theta, shape, np.array([0]), *costs), "do not fit"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(*bad, max_fertility=2)
    with pytest.raises(ValueError, match="give 1 or more"):
        solve(theta, shape, offsets, *costs, max_fertility=0)


def test_the_interpreter_runs_meanwhile():
    generator = np.random.default_rng(0)
    theta = np.outer(generator.random(700), generator.random(700)).ravel()
    block = theta, np.array([[700, 700]]), np.array([0, 490_000]), np.full(700, 0.01), np.full(700, 0.01)
    solve(np.ones(1), np.array([[1, 1]]), np.array([0, 1]), np.zeros(1), np.zeros(1), max_fertility=2)
    assert ticks_during(solve, *block, max_fertility=2) > 5
