import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from align.matching import assignment as matching
from align.matching.quadratic import consecutive, relaxation, solve, total


def solve_one(theta, bonus, **options):
    theta = np.asarray(theta, dtype=np.float64)
    found = solve(
        theta.ravel(), np.ravel(bonus), np.array([theta.shape]), np.array([0, theta.size]), **options
    )
    return found.links.reshape(theta.shape), found.values[0], found.bounds[0]


def matchings(n, m):
    for columns in itertools.product(range(-1, m), repeat=n):
        used = [column for column in columns if column >= 0]
        if len(set(used)) == len(used):
            links = np.zeros((n, m), dtype=bool)
            for row, column in enumerate(columns):
                if column >= 0:
                    links[row, column] = True
            yield links


def value_of(theta, bonus, links):
    """The definition, link by link."""
    n, m = theta.shape
    value = 0.0
    for j, k in zip(*np.nonzero(links), strict=True):
        value += theta[j, k]
        if j + 1 < n and k + 1 < m and links[j + 1, k + 1]:
            value += bonus[j, k]
    return value


def is_matching(links):
    return (links.sum(axis=0) <= 1).all() and (links.sum(axis=1) <= 1).all()


def random_instance(generator, kind, n, m):
    """Kinds of weights and bonuses that stress different parts of the search."""
    match kind:
        case "normal":
            return generator.normal(size=(n, m)) - 1.0, generator.exponential(0.5, (n, m))
        case "few values":
            whole = generator.integers(-3, 3, (n, m)), generator.integers(0, 3, (n, m))
            return whole[0].astype(np.float64), whole[1].astype(np.float64)
        case "sentence":  # a diagonal of good links, one bonus for all, as in a real pair
            return generator.normal(size=(n, m)) - 2.5 + 3.0 * np.eye(n, m), np.full((n, m), 0.7)
        case "all positive":
            return generator.random((n, m)), np.full((n, m), 0.3)
        case "large":
            return 1e6 * generator.normal(size=(n, m)), 1e6 * generator.random((n, m))


KINDS = ("normal", "few values", "sentence", "all positive", "large")
small_shapes = st.tuples(st.integers(0, 4), st.integers(0, 4))


@st.composite
def small_instances(draw):
    shape = draw(small_shapes)
    numbers = st.floats(-1e3, 1e3, allow_subnormal=False) if draw(st.booleans()) else st.integers(-3, 3)
    return draw(arrays(np.float64, shape, elements=numbers)), draw(
        arrays(np.float64, shape, elements=st.integers(0, 3))
    )


@settings(max_examples=100, deadline=None)
@given(small_instances())
def test_small_pairs_against_trying_all(instance):
    theta, bonus = instance
    links, value, bound = solve_one(theta, bonus)
    best = max(value_of(theta, bonus, each) for each in matchings(*theta.shape))
    near = 1e-9 * (1.0 + abs(best))
    assert is_matching(links)
    assert value == pytest.approx(value_of(theta, bonus, links), abs=near)
    assert value <= best + near
    assert bound >= best - near
    assert bound >= value >= 0.0
    assert relaxation(theta, bonus, integral=True).value == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert relaxation(theta, bonus).value >= best - 1e-6 * (1.0 + best)


@pytest.mark.parametrize("kind", KINDS)
def test_value_exact_maximum_relaxation_and_bound_are_in_order(kind):
    generator = np.random.default_rng(KINDS.index(kind))
    best_found, certified = 0, 0
    for _ in range(20):
        theta, bonus = random_instance(generator, kind, *generator.integers(2, 14, 2))
        links, value, bound = solve_one(theta, bonus)
        exact, relaxed = relaxation(theta, bonus, integral=True), relaxation(theta, bonus)
        near = 1e-6 * (1.0 + exact.value)
        assert is_matching(links)
        assert is_matching(exact.links)
        assert value == pytest.approx(total(theta, bonus, links), rel=1e-12)
        assert value <= exact.value + near
        assert exact.value <= relaxed.value + near
        assert relaxed.value <= bound + near
        # the split of the bonuses is the dual of the relaxation
        assert bound <= relaxed.value + 0.02 * (1.0 + relaxed.value)
        if relaxed.integral:
            assert relaxed.value == pytest.approx(exact.value, rel=1e-6)
        best_found += value >= exact.value - near
        certified += bound - value <= near
    assert best_found >= 15
    if kind == "sentence":
        assert certified == best_found == 20


def test_the_local_search_finds_what_the_first_matching_lacks():
    generator = np.random.default_rng(7)
    optimal = 0
    for _ in range(40):
        theta, bonus = random_instance(generator, "normal", 9, 9)
        links, value, bound = solve_one(theta, bonus, steps=1)
        assert is_matching(links)
        assert value <= bound
        optimal += value >= relaxation(theta, bonus, integral=True).value - 1e-6
    assert optimal >= 25


@pytest.mark.parametrize("kind", KINDS)
def test_without_bonus_it_is_the_plain_matching(kind):
    generator = np.random.default_rng(KINDS.index(kind))
    for _ in range(50):
        theta, _ = random_instance(generator, kind, *generator.integers(0, 20, 2))
        links, value, bound = solve_one(theta, np.zeros(theta.shape))
        matched = matching.solve(theta.ravel(), np.array([theta.shape]), np.array([0, theta.size]))
        assert np.array_equal(links.ravel(), matched)
        assert value == pytest.approx(theta[links].sum(), rel=1e-12, abs=1e-12)
        assert bound == pytest.approx(value, rel=1e-12)


def test_a_bonus_changes_the_links():
    theta = np.array([[2.0, -9.0, -9.0], [-9.0, 1.0, 1.2], [-9.0, -9.0, -0.5]])
    links = solve_one(theta, np.zeros((3, 3)))[0]
    assert np.argwhere(links).tolist() == [[0, 0], [1, 2]]
    links, value, bound = solve_one(theta, np.full((3, 3), 0.3))
    assert np.argwhere(links).tolist() == [[0, 0], [1, 1]]
    assert (value, bound) == (pytest.approx(3.3), pytest.approx(3.3))
    # a link that is worth less than nothing by itself, for the sake of its neighbour
    links, value, bound = solve_one(theta, np.full((3, 3), 0.6))
    assert np.argwhere(links).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert value == bound == pytest.approx(3.7)


def test_a_fractional_relaxation_is_told_from_a_matching():
    assert relaxation(np.eye(4), np.ones((4, 4))).integral
    generator = np.random.default_rng(3)
    gaps = []
    for _ in range(30):
        theta, bonus = random_instance(generator, "all positive", 8, 9)
        relaxed = relaxation(theta, bonus)
        if not relaxed.integral:
            gaps.append(relaxed.value - relaxation(theta, bonus, integral=True).value)
    assert gaps
    assert max(gaps) > 1e-3


def test_consecutive_takes_the_lesser_of_two_links():
    links = np.array([[0.5, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.25]])
    assert consecutive(links).tolist() == [[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 0.0]]
    assert total(links, np.full((3, 3), 2.0), links) == 0.25 + 1.0 + 0.0625 + 2.0 * 0.75


def test_pairs_of_a_block_do_not_see_each_other():
    generator = np.random.default_rng(5)
    instances = [
        random_instance(generator, KINDS[turn % 4], *generator.integers(0, 12, 2)) for turn in range(80)
    ]
    shapes = np.array([theta.shape for theta, _ in instances], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([theta.size for theta, _ in instances])])
    theta, bonus = (np.concatenate([part[i].ravel() for part in instances]) for i in range(2))
    for array in (theta, bonus):
        array.flags.writeable = False
    found = solve(theta, bonus, shapes, offsets)
    for pair, (instance, first, last) in enumerate(zip(instances, offsets, offsets[1:], strict=False)):
        links, value, bound = solve_one(*instance)
        assert np.array_equal(found.links[first:last], links.ravel())
        assert (found.values[pair], found.bounds[pair]) == (value, bound)


def test_bad_input_is_refused():
    shape, offsets, theta, bonus = np.array([[1, 2]]), np.array([0, 2]), np.ones(2), np.zeros(2)
    for bad, message in (
        ((np.array([1.0, np.nan]), bonus, shape, offsets), "has a weight that is NaN"),
        ((theta, np.array([0.0, -1.0]), shape, offsets), "a bonus is negative"),
        ((theta, np.array([0.0, np.inf]), shape, offsets), "NaN or infinite"),
        ((theta, bonus, shape, np.array([0, 3])), "offsets of pair 0 do not fit its shape"),
        ((theta, np.zeros(3), shape, offsets), "2 weights and 3 bonuses of 2 edges"),
        ((np.ones(3), np.zeros(3), shape, offsets), "3 weights and 3 bonuses of 2 edges"),
    ):
        with pytest.raises(ValueError, match=message):
            solve(*bad)
    with pytest.raises(ValueError, match="0 steps"):
        solve(theta, bonus, shape, offsets, steps=0)
    with pytest.raises(ValueError, match="give two of"):
        relaxation(np.ones((1, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="a weight or bonus is NaN"):
        relaxation(np.full((1, 2), np.nan), np.ones((1, 2)))


def test_the_local_search_moves_whole_runs():
    theta = np.full((4, 4), -9.0)
    theta[range(3), range(3)] = 1.0
    theta[range(3), range(1, 4)] = 1.1
    bonus = np.full((4, 4), 0.3)
    bonus[2, 2] = 2.0  # never earned, but half of it draws the first matching to the diagonal
    links, value, _ = solve_one(theta, bonus, steps=1)
    # one link at a time there is no way from a run of three to the better one beside it
    assert np.argwhere(links).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert value == pytest.approx(3 * 1.1 + 2 * 0.3)
