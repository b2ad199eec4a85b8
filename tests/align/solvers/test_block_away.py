import numpy as np
import pytest

from align.problems.objective import projection
from align.solvers.block import remember
from align.solvers.block_away import AwaySteps, step_towards
from tests.align.solvers.problems import Listed, bcfw, block_away, pairs, solved_by_scipy

# The last of them are some of the few whose step drops an atom.
SEEDS = (*range(20), 107, 115, 120, 183, 189)
both = pytest.mark.parametrize("pairwise", [False, True])


def at_some_point(seed, d=5, places=4):
    """One block at a random convex combination of random atoms, the first of them gold."""
    generator = np.random.default_rng(seed)
    problem = Listed.random(1, d, seed=seed, count=places + 2)
    state = AwaySteps(lam=0.1, room=places + 2).start(problem, np.zeros(d))
    state.w_known[0, :places] = problem.psi[0, :places] / 0.1
    state.ell_known[0, :places] = problem.loss[0, :places]
    state.stamps[0, :places] = 1
    state.alphas[0, :places] = generator.dirichlet(np.full(places, 0.3)) + 1e-6
    state.alphas[0, :places] /= state.alphas[0].sum()
    state.w_blocks[0] = state.alphas[0] @ state.w_known[0]
    state.ell_blocks[0] = state.ells[0] = state.alphas[0] @ state.ell_known[0]
    state.v[:] = state.w_blocks[0]
    state.w[:] = projection(state.v, state.nonnegative)
    return problem, state


def dual_at(state, alphas):
    w = alphas @ state.w_known[0]
    return alphas @ state.ell_known[0] - 0.05 * w @ w


@both
@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_the_best_along_the_direction_of_the_definition(pairwise, seed):
    problem, state = at_some_point(seed)
    psi, loss = problem.oracle(state.w, 0)
    s = remember(0, psi / 0.1, loss, 2, state.blocks(0.1))
    before = state.alphas[0].copy()
    values = state.ell_known[0] - 0.1 * state.w_known[0] @ state.w
    v = int(np.argmin(np.where(before > 0, values, np.inf)))
    mean = before @ values
    unit = np.eye(len(before))
    if pairwise:
        direction, most = unit[s] - unit[v], before[v]
    elif values[s] - mean >= mean - values[v]:
        direction, most = unit[s] - before, 1.0
    else:
        direction, most = before - unit[v], before[v] / (1 - before[v])
    # the dual along the line is a parabola through three of its points
    at = [dual_at(state, before + share * most * direction) for share in (0.0, 0.5, 1.0)]
    curve, slope = 2 * (at[0] - 2 * at[1] + at[2]), 4 * at[1] - 3 * at[0] - at[2]
    share = 1.0 if slope + 2 * curve >= 0 else -slope / (2 * curve)
    gap = step_towards(0, s, state.blocks(0.1), pairwise)
    assert gap == pytest.approx(values[s] - mean, abs=1e-10)
    np.testing.assert_allclose(state.alphas[0], before + share * most * direction, atol=1e-9)
    assert (state.alphas >= 0).all()
    if share == 1.0 and direction[v] < 0:
        assert state.alphas[0, v] == 0.0  # dropped, not nearly so
    np.testing.assert_allclose(state.w_blocks[0], state.alphas[0] @ state.w_known[0], atol=1e-9)
    assert state.ells[0] == pytest.approx(state.alphas[0] @ state.ell_known[0], abs=1e-9)
    np.testing.assert_allclose(state.v, state.w_blocks[0], atol=1e-9)


def test_towards_and_away_with_drops_and_without_all_occur():
    kinds = set()
    for seed in SEEDS:
        problem, state = at_some_point(seed)
        psi, loss = problem.oracle(state.w, 0)
        s = remember(0, psi / 0.1, loss, 2, state.blocks(0.1))
        before = state.alphas[0].copy()
        step_towards(0, s, state.blocks(0.1), False)
        kinds.add((state.alphas[0, s] > before[s], (state.alphas[0][before > 0] == 0).any()))
    assert len(kinds) == 4


def test_with_one_atom_left_the_step_is_towards_the_best():
    problem, state = at_some_point(0)
    state.alphas[0] = [1, 0, 0, 0, 0, 0]
    state.w_blocks[:], state.ell_blocks[:], state.ells[:] = 0.0, 0.0, 0.0
    state.v[:], state.w[:] = 0.0, 0.0
    psi, loss = problem.oracle(state.w, 0)
    s = remember(0, psi / 0.1, loss, 2, state.blocks(0.1))
    gap = step_towards(0, s, state.blocks(0.1), False)
    assert gap == pytest.approx(loss)
    gamma = min(1.0, loss / (psi @ psi / 0.1))
    assert state.alphas[0, s] == pytest.approx(gamma)
    assert state.alphas[0, 0] == pytest.approx(1 - gamma)


def test_atoms_with_a_weight_keep_their_places():
    _, state = at_some_point(1, d=2, places=3)
    state.alphas[0] = [0.5, 0.0, 0.5, 0.0, 0.0]
    state.stamps[0] = [1, 2, 3, 7, 5]
    kept = state.w_known[0, [0, 2]].copy()
    assert remember(0, state.w_known[0, 2].copy(), state.ell_known[0, 2], 8, state.blocks(0.1)) == 2  # known
    places = [
        remember(0, np.full(2, value), value, 9 + int(value), state.blocks(0.1)) for value in (1.0, 2.0, 3.0)
    ]
    assert places == [1, 4, 3]  # those without weight, the one unused for longest first
    np.testing.assert_array_equal(state.w_known[0, [0, 2]], kept)
    state.alphas[0] = 0.2
    assert remember(0, np.full(2, 4.0), 4.0, 13, state.blocks(0.1)) == -1  # no place is left
    np.testing.assert_array_equal(state.w_known[0, [0, 2]], kept)


@both
def test_room_is_made_where_atoms_need_it_and_changes_nothing_else(pairwise):
    problem, states = Listed.random(3, 12, seed=0, count=40), {}
    for room in (2, 60):
        fit = block_away(
            problem,
            lam=0.02,
            passes=4000,
            tolerance=1e-10,
            pairwise=pairwise,
            room=room,
            on_pass=lambda progress, room=room: states.update({room: progress.state}),
        )
        assert fit.status == "converged"
    small, large = states[2], states[60]
    assert 2 < small.alphas.shape[1] < 60
    np.testing.assert_allclose(small.w, large.w, atol=1e-4)
    np.testing.assert_allclose(small.alphas.sum(axis=1), 1.0)
    assert (small.alphas > 0).sum(axis=1).max() > 2


@both
def test_w_is_the_combination_of_the_atoms(pairwise):
    problem, states = pairs(20, 5, 4, seed=1), []
    origin = np.array([0.1, -0.2, 0.3, 0.0])
    block_away(
        problem,
        lam=0.02,
        passes=9,
        tolerance=0,
        pairwise=pairwise,
        origin=origin,
        on_pass=lambda progress: states.append(progress.state),
    )
    state = states[-1]
    assert (state.alphas >= 0).all()
    np.testing.assert_allclose(state.alphas.sum(axis=1), 1.0, rtol=1e-14)
    w_blocks = np.einsum("ik,ikd->id", state.alphas, state.w_known)
    np.testing.assert_allclose(state.v, origin + w_blocks.sum(axis=0), rtol=1e-12, atol=1e-12)
    assert state.ells[0] == pytest.approx((state.alphas * state.ell_known).sum(), rel=1e-12)


@both
@pytest.mark.parametrize("known", [True, False])
def test_the_rate_is_linear_where_steps_towards_vertices_zig_zag(pairwise, known):
    problem, lam = Listed.random(8, 5, seed=0), 0.05
    _, minimum = solved_by_scipy(problem, lam)
    options = {"lam": lam, "tolerance": 1e-11}
    fit = block_away(problem, **options, passes=2000, pairwise=pairwise, known=known)
    assert fit.status == "converged"
    assert fit.passes <= (50 if known else 1500)
    assert fit.primal == pytest.approx(minimum, abs=1e-7)
    slow = bcfw(problem, **options, passes=fit.passes, averaging=False, cache=10 if known else 0)
    assert slow.gap > 1e-4


@both
def test_known_atoms_save_passes(pairwise):
    problem = pairs(40, 5, 6, seed=1)
    with_known, without = (
        block_away(problem, lam=0.01, passes=3000, tolerance=1e-3, pairwise=pairwise, known=known)
        for known in (True, False)
    )
    assert with_known.status == without.status == "converged"
    assert 3 * with_known.passes <= without.passes
