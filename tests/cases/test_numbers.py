"""Numbers that once broke a solver or the vectors: no limits of time, huge costs, long features, tiny rows.

Each test is named after the case it holds.
"""

import json
import math

import numpy as np
import pytest

from align.core.errors import InputError
from align.problems.linear_program import LinearProgramProblem
from align.problems.matching import SURE, WRONG, MatchingProblem
from align.solvers import SOLVERS
from align.solvers import state as solver_state
from align.solvers.generic.away_steps import frank_wolfe
from align.solvers.options import OptionError
from align.vectors.mapping import has_vector, unit_rows
from align.vectors.vec import read_vec
from pipeline.config.options import options_of
from pipeline.stages.train import stage as train
from tests.align.solvers.problems import Edges, Listed, pairs, solve
from tests.align.solvers.problems import Labels as DenseLabels
from tests.pipeline.stages.embed.test_embed import DIM, WORDS, World, rows
from tests.pipeline.stages.train.test_train import context_of, training_of, written

everyone = pytest.mark.parametrize("name", SOLVERS)
dual = pytest.mark.parametrize("name", [name for name in SOLVERS if SOLVERS[name].needs_oracle])


@pytest.fixture
def world(tmp_path, capsys):
    return World(tmp_path, capsys)


def scaled(problem, scale):
    return Listed(problem.psi * scale, problem.loss)


def costly(cost_fn):
    made = pairs(8, 4, 3, seed=2)
    offsets = np.concatenate([[0], np.cumsum(made.data.shapes.prod(axis=1, dtype=np.int64))])
    edges = Edges(made.data.shapes, offsets, made.data.features)
    return MatchingProblem(
        edges, DenseLabels(np.zeros(9, dtype=np.int64), made.data.kinds == SURE), cost_fn=cost_fn
    )


# G07: a checkpoint of another problem of the same shape


def changed(problem, name, place, value):
    """Change one number that a problem is made of."""
    values = getattr(problem.data, name).copy()
    values[place] = value
    problem.data = problem.data._replace(**{name: values})
    return problem


def state_of(name, problem, path):
    def stop(progress):
        progress.state.save(path)

    solve(name, problem, passes=2, tolerance=0, on_pass=stop)
    return SOLVERS[name].load(path)


@everyone
def test_g07_a_state_of_another_problem_of_the_same_shape_is_refused(name, tmp_path):
    problem = pairs(8, 4, 3, seed=0)
    gold = np.flatnonzero(problem.data.kinds == SURE)
    for other in (
        changed(pairs(8, 4, 3, seed=0), "features", (5, 1), 0.25),
        changed(pairs(8, 4, 3, seed=0), "kinds", gold[0], WRONG),
        changed(pairs(8, 4, 3, seed=0), "costs", 1, 3.5),
    ):
        with pytest.raises(ValueError, match=f"{name}: the state is of a run on other data; start anew"):
            solve(name, other, passes=4, tolerance=0, resume=state_of(name, problem, tmp_path / "state"))
    state = state_of(name, problem, tmp_path / "state")
    assert solve(name, pairs(8, 4, 3, seed=0), passes=4, tolerance=0, resume=state).passes == 4


@dual
def test_g07_so_is_one_of_a_problem_without_kernels(name, tmp_path):
    problem, other = Listed.random(6, 4, seed=0), Listed.random(6, 4, seed=1)
    with pytest.raises(ValueError, match="the state is of a run on other data"):
        solve(name, other, passes=4, tolerance=0, resume=state_of(name, problem, tmp_path / "state"))
    state = state_of(name, problem, tmp_path / "state")
    assert solve(name, Listed.random(6, 4, seed=0), passes=4, tolerance=0, resume=state).passes == 4


def test_g07_so_is_one_of_the_linear_program(tmp_path):
    problem = LinearProgramProblem(pairs(3, 3, 3, seed=0))
    other = LinearProgramProblem(changed(pairs(3, 3, 3, seed=0), "features", (5, 1), 0.25))
    with pytest.raises(ValueError, match="the state is of a run on other data"):
        solve("bcfw", other, passes=4, resume=state_of("bcfw", problem, tmp_path / "state"))


def test_g07_every_row_of_large_arrays_counts(monkeypatch):
    monkeypatch.setattr(solver_state, "_WHOLE", 512)
    monkeypatch.setattr(solver_state, "_ROWS", 4)
    problem = pairs(8, 4, 3, seed=0)
    before = solver_state.fingerprint(problem)
    assert solver_state.fingerprint(pairs(8, 4, 3, seed=0)) == before
    for row in range(len(problem.data.features)):
        other = changed(pairs(8, 4, 3, seed=0), "features", (row, 1), 0.25)
        assert solver_state.fingerprint(other) != before


# G09: no pass at all, and figures that are not finite


@everyone
@pytest.mark.parametrize("tolerance", [1.0, 2, 1e6, math.inf])
def test_g09_a_tolerance_by_which_nothing_is_learnt_is_refused(name, tolerance):
    with pytest.raises(OptionError, match=f"{name}: tolerance is .*; give 0 or more, below 1"):
        SOLVERS[name](tolerance=tolerance)


@everyone
def test_g09_with_hardly_any_time_there_is_one_pass(name):
    fit = solve(name, pairs(8, 4, 3, seed=0), time_limit=1e-9, tolerance=0)
    assert (fit.status, fit.passes) == ("time-limit", 1)
    assert fit.history[-1].passes == 1


@everyone
def test_g09_an_objective_that_is_not_finite_is_refused(name):
    with pytest.raises(ValueError, match=r"NaN or infinite|no finite number \(primal .*\); lower the costs"):
        solve(name, costly(1e308), passes=20, tolerance=0)


@everyone
@pytest.mark.parametrize(("lam", "cost_fn"), [(5e-324, 3), (1e-300, 3), (1e300, 3), (0.01, 1e200)])
def test_g09_nothing_leads_to_a_figure_that_is_not_finite(name, lam, cost_fn):
    try:
        fit = solve(name, costly(cost_fn), lam=lam, passes=5)
    except ValueError as error:
        assert "finite" in str(error)  # noqa: PT017
        return
    assert np.isfinite([fit.primal, fit.dual, fit.gap, *fit.weights]).all()


@everyone
def test_g09_the_largest_costs_that_are_taken_are_learnt_with(name):
    fit = solve(name, costly(train.MOST_COST), passes=3, tolerance=0)
    assert np.isfinite([fit.primal, fit.dual, fit.gap, *fit.weights]).all()


def test_g09_the_stage_refuses_them(tmp_path):
    stages = written(tmp_path / "stages")
    for cost in ("cost_fn", "cost_fp"):
        with pytest.raises(InputError, match=rf"train\.{cost}: 1e\+308 is out of range; give 0 to 1"):
            options_of(train.run)[cost].check(1e308, f"train.{cost}")
    with pytest.raises(InputError, match="train.tolerance: 2.0 is out of range; give 0 or more, below 1"):
        train.run(context_of(stages, tmp_path / "out"), tolerance=2.0)
    with pytest.raises(InputError, match=r"train: .*finite"):
        train.run(context_of(stages, tmp_path / "out"), cost_fn=1e308)
    train.run(context_of(stages, tmp_path / "out"), time_limit=1e-4, tolerance=0.0)
    assert training_of(tmp_path / "out")["passes"] == 1
    text = (tmp_path / "out" / "training.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in training.json"))


# G10: long features beside little regularisation


@dual
@pytest.mark.parametrize(("scale", "lam"), [(1e6, 1e-6), (1e6, 1e-3), (1e3, 1e-9), (1e12, 1e-12)])
def test_g10_long_features_with_little_regularisation(name, scale, lam):
    for seed in range(3):
        problem = scaled(Listed.random(6, 4, seed=seed), scale)
        fit = solve(name, problem, lam=lam, passes=40, tolerance=0)
        assert fit.primal == pytest.approx(problem.primal(fit.weights, lam))
        assert fit.primal <= fit.history[0].primal
        assert fit.gap == pytest.approx(fit.primal - fit.dual)
        assert (np.diff([row.dual for row in fit.history]) >= -1e-9).all()


def test_g10_a_weight_that_is_rounded_to_one_in_any_convex_function():
    """The minimum takes 1e-20 of the long atom: beside that the weight of the other is 1 to the last bit."""

    class Atoms:
        count, atoms = 3, np.array([[0.0, 0.0], [1e20, 0.0], [0.0, 1e20]])

        def slopes(self, g, numbers):
            return self.atoms[numbers] @ g

        def atom(self, number):
            return self.atoms[number]

    goal = np.array([1.0, 0.5])
    for variant in ("away", "pairwise"):
        found = frank_wolfe(lambda x: x - goal, Atoms(), variant=variant, steps=200, tolerance=0.0)
        assert np.isfinite(found.x).all()
        assert found.weights.sum() == pytest.approx(1.0)


# G11: the best primal that was met, and one line where a run did not converge


@everyone
@pytest.mark.parametrize("seed", range(4))
def test_g11_a_run_that_did_not_converge_returns_the_best_primal_met(name, seed, tmp_path):
    problem = pairs(8, 4, 3, seed=seed, noise=3.0)
    for passes in range(2, 12):
        fit = solve(name, problem, lam=1e-3, passes=passes, tolerance=0)
        met = np.array([[row.primal, row.average_primal] for row in fit.history])
        assert fit.primal == np.nanmin(met)
        psi, loss = problem.oracles(fit.weights, np.arange(problem.n))
        primal = 5e-4 * fit.weights @ fit.weights + (loss - psi @ fit.weights).mean()
        assert fit.primal == pytest.approx(primal, rel=1e-9)
        assert fit.gap == pytest.approx(fit.primal - fit.dual, abs=1e-12)


def test_g11_batch_steps_that_overshoot():
    problem = pairs(8, 4, 3, seed=1, noise=3.0)
    fit = solve("fw", problem, lam=1e-3, passes=3, tolerance=0)
    assert fit.history[-1].primal > fit.primal


@everyone
def test_g11_the_best_is_kept_over_a_restart(name, tmp_path):
    problem, path = pairs(8, 4, 3, seed=1, noise=3.0), tmp_path / "state.npz"
    options = {"lam": 1e-3, "tolerance": 0}

    def save(progress):
        if progress.row.passes == 4:
            progress.state.save(path)

    whole = solve(name, problem, passes=9, on_pass=save, **options)
    resumed = solve(name, problem, passes=9, resume=SOLVERS[name].load(path), **options)
    np.testing.assert_array_equal(resumed.weights, whole.weights)
    assert (resumed.primal, resumed.gap, resumed.averaged) == (whole.primal, whole.gap, whole.averaged)


def test_g11_a_run_that_did_not_converge_says_so_in_one_line(tmp_path, capsys):
    fit = solve("fw", pairs(8, 4, 3, seed=1), passes=2, tolerance=0)
    assert fit.shortfall.startswith("not converged: stopped by the pass-limit after 2 passes, ")
    assert "\n" not in fit.shortfall
    assert not solve("bcfw", pairs(8, 4, 3, seed=1), tolerance=0.5).shortfall
    stages = written(tmp_path / "stages")
    train.run(context_of(stages, tmp_path / "out"), passes=1, tolerance=0.0)
    said = capsys.readouterr().err
    assert said.count("warning: train: not converged: stopped by the pass-limit after 1 passes") == 1
    assert "; raise train.passes, or train.tolerance (0)" in said
    train.run(context_of(stages, tmp_path / "enough"), tolerance=0.5)
    assert "not converged" not in capsys.readouterr().err


# G12: vectors without a direction, and a map that is no better than chance


def test_g12_rows_of_subnormal_numbers_are_no_vectors():
    matrix = np.array([[1e-45] * 64, [1e-39] * 64, [0.0] * 64, [1e-37] * 64, [3e38] * 64], dtype=np.float32)
    assert has_vector(matrix).tolist() == [False, False, False, True, True]
    lengths = np.linalg.norm(unit_rows(matrix), axis=1)
    np.testing.assert_allclose(lengths, [0, 0, 0, 1, 1], atol=1e-5)


def test_g12_nor_are_they_in_files(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("a 1e-45 1e-45\nb 1 2\nc 0 0\nd 1e-39 0\n", encoding="utf-8")
    read = read_vec(path, ["a", "b", "c", "d"])
    assert read.found.tolist() == [False, True, False, False]
    assert read.report.zero == 3
    assert not read.matrix[[0, 2, 3]].any()


def test_g12_a_stage_with_such_rows_goes_on(world):
    world.give_vectors()
    generator = np.random.default_rng(5)
    matrix = generator.normal(size=(WORDS, DIM))
    text = rows(world.vocabularies[0].words, matrix).split("\n")
    text[3] = text[3].split(" ")[0] + " 1e-45" * DIM
    turn = np.linalg.qr(generator.normal(size=(DIM, DIM)))[0]
    world.give("source", "\n".join(text))
    world.give("target", rows(world.vocabularies[1].words, matrix @ turn))
    world.run()
    source, _, _ = world.output()
    assert not source[2].any()
    assert source.any(axis=1).sum() == WORDS - 1
    assert "rows passed over: 1 zero" in world.said


def few_pairs(world, *, dim, shuffled, seed=0):
    generator = np.random.default_rng(seed)
    source = generator.normal(size=(WORDS, dim))
    target = source @ np.linalg.qr(generator.normal(size=(dim, dim)))[0]
    if shuffled:
        target = generator.normal(size=target.shape)
    for key, matrix, vocabulary in zip(
        ("source", "target"), (source, target), world.vocabularies, strict=True
    ):
        world.give(key, rows(vocabulary.words, matrix))
    words = zip(*(vocabulary.words[:60] for vocabulary in world.vocabularies), strict=True)
    world.give("dictionary", "".join(f"{one}\t{other}\n" for one, other in words), "words.tsv")


@pytest.mark.parametrize("seed", range(4))
def test_g12_a_map_no_better_than_chance_is_said(world, seed):
    few_pairs(world, dim=64, shuffled=True, seed=seed)
    world.run()
    assert world.said.count("a map no better than chance, as far as so few word pairs tell: the mean") == 1
    assert "cosine of 12 held-out word pairs is " in world.said


@pytest.mark.parametrize("dim", [4, 32])
def test_g12_a_good_map_from_as_few_pairs_is_not_complained_of(world, dim):
    few_pairs(world, dim=dim, shuffled=False)
    world.run()
    assert "warning" not in world.said
