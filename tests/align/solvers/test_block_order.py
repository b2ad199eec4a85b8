import numpy as np
import pytest

from align.solvers.block_order import _drawn, gap_tree, next_block, plan, renew
from tests.align.solvers.problems import Listed, bcfw, block_away


def test_blocks_are_drawn_in_proportion_to_their_gaps():
    gaps = np.array([0.0, 1.0, 3.0, 0.0, 4.0, 0.0])
    tree = gap_tree(gaps)
    drawn = [_drawn(tree, 6, chance) for chance in (np.arange(8000) + 0.5) / 8000]
    np.testing.assert_array_equal(np.bincount(drawn, minlength=6), 1000 * gaps)
    assert _drawn(tree, 6, 0.0) == 1
    assert _drawn(tree, 6, np.nextafter(1.0, 0.0)) == 4


def test_renewed_gaps_make_the_tree_that_is_built_of_them():
    generator = np.random.default_rng(0)
    for n in (1, 2, 7, 16, 33):
        gaps = generator.random(n)
        tree = gap_tree(gaps)
        for _ in range(50):
            i = int(generator.integers(n))
            gaps[i] = generator.random()
            renew(tree, i, gaps[i])
        np.testing.assert_array_equal(tree, gap_tree(gaps))
        drawn = {_drawn(tree, n, chance) for chance in generator.random(4000)}
        assert drawn <= set(range(n))
        assert {i for i in range(n) if gaps[i] > 0.05 * gaps.sum()} <= drawn


def test_without_any_gap_all_blocks_are_as_likely():
    tree = gap_tree(np.zeros(5))
    drawn = [_drawn(tree, 5, chance) for chance in (np.arange(50) + 0.5) / 50]
    assert np.bincount(drawn).tolist() == [10] * 5
    assert _drawn(gap_tree(np.zeros(3)), 3, np.nextafter(1.0, 0.0)) == 2


def test_every_tenth_pass_takes_each_block_once():
    generator = np.random.default_rng(0)
    for passes in range(21):
        order, chances = plan("gaps", generator, passes, 30)
        if passes % 10 == 0:
            assert sorted(order) == list(range(30))
            assert len(chances) == 0
        else:
            assert len(chances) == len(order) == 30
            assert (chances >= 0).all()
            assert (chances < 1).all()


def test_a_drawn_block_is_put_into_the_order():
    order, tree = np.zeros(3, dtype=np.int64), gap_tree(np.array([1.0, 0.0, 1.0]))
    chances = np.array([0.9, 0.1, 0.7])
    assert [next_block(place, order, chances, tree) for place in range(3)] == [2, 0, 2]
    assert order.tolist() == [2, 0, 2]


@pytest.mark.parametrize("solver", [bcfw, block_away])
def test_blocks_that_are_at_their_best_are_left_alone(solver):
    problem = Listed.random(8, 5, seed=0)
    problem.loss[::2] = 0.0
    problem.psi[::2] = 0.0
    seen = []

    class Watched(Listed):
        def oracle(self, w, i):
            seen.append(i)
            return super().oracle(w, i)

    solver(Watched(problem.psi, problem.loss), lam=0.05, passes=12, tolerance=0, block_order="gaps")
    passes = np.array(seen).reshape(12, 8)
    for number, blocks in enumerate(passes):
        if number % 10 == 0:
            assert sorted(blocks) == list(range(8))
        else:
            assert set(blocks % 2) == {1}  # only those with something to gain
