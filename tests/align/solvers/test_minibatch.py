import threading

import numpy as np
import pytest

from align.problems.objective import dual
from align.solvers.minibatch import Minibatch, _joint_step
from tests.align.solvers.problems import Listed, Plain, bcfw, fertile_pairs, minibatch, pairs


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("fertile", [False, True])
def test_threads_change_no_bit(joint, fertile):
    problem = fertile_pairs(23, 4, 6, seed=1) if fertile else pairs(23, 6, 5, seed=0)
    options = {"lam": 0.02, "passes": 6, "tolerance": 0, "batch": 9, "joint": joint}
    one, *others = (minibatch(problem, **options, jobs=jobs) for jobs in (1, 2, 3, 16))
    for other in others:
        np.testing.assert_array_equal(one.weights, other.weights)
        assert [row[3:] for row in one.history] == [row[3:] for row in other.history]


def test_oracles_are_shared_between_threads():
    problem, seen = Plain(pairs(24, 6, 5, seed=0)), set()
    oracles, meeting = problem.oracles, threading.Barrier(3)

    def watched(w, block):
        if w.ndim == 1 and len(block) == 4:  # a third of a minibatch
            meeting.wait(timeout=20)  # passes only if three threads are here at a time
            seen.add(threading.get_ident())
        return oracles(w, block)

    problem.oracles = watched
    minibatch(problem, passes=2, tolerance=0, batch=12, jobs=3)
    assert threading.get_ident() not in seen
    assert len(seen) == 3


def test_a_batch_of_one_is_bcfw():
    problem = pairs(12, 6, 5, seed=0)
    options = {"lam": 0.05, "passes": 6, "tolerance": 0}
    np.testing.assert_array_equal(
        minibatch(problem, **options, batch=1).weights, bcfw(problem, **options).weights
    )
    joint = minibatch(problem, **options, batch=1, joint=True)
    np.testing.assert_allclose(joint.weights, bcfw(problem, **options).weights, rtol=1e-8)


def test_a_joint_step_is_the_best_along_the_joint_direction():
    problem, lam = Listed.random(4, 3, seed=2), 0.05
    fit = minibatch(problem, lam=lam, passes=1, tolerance=0, batch=4, joint=True, cache=0, averaging=False)
    psi, loss = problem.oracles(np.zeros(3), np.arange(4))
    w_s, ell_s = psi.sum(axis=0) / (4 * lam), loss.mean()
    gamma = min(1.0, ell_s / (lam * w_s @ w_s))
    np.testing.assert_allclose(fit.weights, gamma * w_s, rtol=1e-12)
    assert fit.dual == pytest.approx(dual(gamma * w_s, gamma * ell_s, lam))


def test_single_steps_use_what_the_blocks_before_have_changed():
    problem, lam = Listed.random(4, 3, seed=2), 0.5
    fit = minibatch(
        problem, lam=lam, passes=1, tolerance=0, batch=4, block_order="cyclic", cache=0, averaging=False
    )
    psi, loss = problem.oracles(np.zeros(3), np.arange(4))
    w = np.zeros(3)
    for i in range(4):
        w_s = psi[i] / (4 * lam)
        gamma = np.clip((loss[i] / 4 - lam * w_s @ w) / (lam * w_s @ w_s), 0, 1)
        w = w + gamma * w_s
    np.testing.assert_allclose(fit.weights, w, rtol=1e-12)


def test_a_block_drawn_twice_moves_once():
    problem, lam, states = Listed.random(4, 3, seed=2), 0.5, []
    psi, loss = problem.oracles(np.zeros(3), np.arange(4))
    for blocks in ([1, 1, 3], [1, 3]):
        state, order = Minibatch(cache=3, averaging=False).start(problem, np.zeros(3)), np.array(blocks)
        states.append(state.blocks(lam))
        _joint_step(order, psi[order], loss[order], 0, 5, states[-1])
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)
    assert states[0].w.any()
