"""The benchmark of solvers: what is told of a run, and the problems it is of."""

import argparse
import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from align.core.arrays import save_array
from align.core.errors import InputError
from align.core.ragged import edge_offsets
from align.features import Edges
from align.links import Link
from align.problems.labels import Labels
from align.problems.matching import MatchingProblem
from align.problems.multilabel import MultilabelProblem, all_edges
from align.solvers import SOLVERS, Row
from benchmarks import runs, solvers
from benchmarks.solvers import LEVELS, VARIANTS, Point, Run, Task, first_at, points_of

NAN = math.nan


def point(passes, primal, gap):
    return Point(passes, 10 * passes, 0.0, 0.5 * passes, primal, primal - gap, gap)


@pytest.fixture
def task():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 3))
    problem = MultilabelProblem(x, (x @ generator.normal(size=(3, 2)) > 0).astype(int))
    return Task("made", problem, 0.1, lambda weights: float(np.isnan(weights).any()))


@pytest.fixture
def scene(tmp_path):
    """Return a function that writes a small file in the layout of the scene data."""

    def write(**other):
        generator = np.random.default_rng(1)
        arrays = {}
        for part, count in (("train", 12), ("test", 8)):
            arrays[f"X_{part}"] = generator.random((count, 4))
            arrays[f"y_{part}"] = generator.integers(0, 2, (count, 3))
        path = tmp_path / "scene.npz"
        np.savez(path, **{name: value for name, value in (arrays | other).items() if value is not None})
        return path

    return write


def test_points_are_of_whichever_has_the_smaller_gap():
    history = [
        Row(0, 5, 0.1, 9.0, 0.0, 9.0, 9.0, 0.0, 9.0),
        Row(1, 10, 0.2, 8.0, 1.0, 7.0, 6.0, 1.5, 4.5),
        Row(2, 15, 0.3, NAN, NAN, NAN, NAN, NAN, NAN),
        Row(3, 20, 0.4, 4.0, 3.0, 1.0, 5.0, 2.0, 3.0),
        Row(4, 25, 0.5, 4.0, 3.5, 0.5, NAN, NAN, NAN),
        Row(5, 30, 0.6, NAN, NAN, NAN, 4.0, 3.75, 0.25),
    ]
    found = points_of(history, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert [own.passes for own in found] == [0, 1, 3, 4, 5]
    assert [own[4:] for own in found[1:]] == [
        (6.0, 1.5, 4.5),
        (4.0, 3.0, 1.0),
        (4.0, 3.5, 0.5),
        (4.0, 3.75, 0.25),
    ]
    assert [own.cpu_seconds for own in found] == [0.0, 0.1, 0.3, 0.4, 0.5]


def test_a_level_is_reached_where_the_gap_is_that_share_of_the_primal():
    points = [point(1, 10.0, 5.0), point(2, 8.0, 0.8), point(3, 7.0, 0.9), point(4, 6.0, 0.06)]
    assert first_at(points, 0.1) == points[1]
    assert first_at(points, 0.01) == points[3]
    assert first_at(points, 0.001) is None


EVERY = [*SOLVERS, *VARIANTS]
PROJECT = [name for name in EVERY if name.startswith("extragradient")]


def test_some_solvers_need_a_polytope(task):
    assert [name for name in EVERY if solvers.fits(name, task.problem)] == EVERY
    labels = MultilabelProblem(np.ones((2, 1)), np.eye(2), edges=all_edges(2))
    assert {name for name in EVERY if not solvers.fits(name, labels)} == set(PROJECT)
    shapes = np.ones((1, 2), dtype=np.int32)
    edges = Edges(shapes, np.array([0, 1]), np.ones((1, 1), dtype=np.float32), ("bias",))
    matching = MatchingProblem(edges, Labels.from_lists([[Link(0, 0)]]))
    assert all(solvers.fits(name, matching) for name in EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_every_solver_is_run_and_told(task, tmp_path, name):
    own = solvers.solve(task, name, passes=200, seconds=20.0, seed=0)
    assert own.points[0].passes == 0
    assert (np.diff([each.cpu_seconds for each in own.points]) >= 0).all()
    # where the passes ended the run, the best primal met is returned
    assert own.fit.gap in [each.gap for each in own.points]
    assert own.points[-1].gap == own.fit.gap or own.fit.status == "pass-limit"
    assert first_at(own.points, LEVELS[0]) is not None
    cells = solvers.line(own, task)
    reached = first_at(own.points, 0.1)
    assert cells["solver"] == name
    told = f"{reached.passes} / {reached.oracle_calls} / {reached.cpu_seconds:.2f}"
    assert cells["to 1e-01: passes / calls / CPU s"] == told
    assert cells["test"] == "0.0000"
    solvers.write_points(tmp_path / "points.csv", [own, own])
    with open(tmp_path / "points.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(own.points)
    assert [float(row["gap"]) for row in rows[: len(own.points)]] == [each.gap for each in own.points]
    solvers.plot(tmp_path / "gap.png", "made", [own])
    assert (tmp_path / "gap.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_not_reached_is_a_dash(task):
    fit = SOLVERS["bcfw"](lam=0.1, passes=1).run(task.problem)
    cells = solvers.line(Run("bcfw", fit, [point(0, 10.0, 10.0)]), task)
    assert [cells[f"to {level:.0e}: passes / calls / CPU s"] for level in LEVELS] == ["-"] * 4
    assert cells["CPU ms a pass"] == "nan"


def test_scene_problems(scene):
    unary, pairwise = solvers.scene_tasks(scene())
    assert (unary.problem.n, unary.problem.d, pairwise.problem.d) == (12, 12, 24)
    assert unary.lam == pytest.approx(1 / (0.1 * 12))
    with np.load(scene()) as file:
        expected = file["y_test"].mean()
    assert unary.test(np.zeros(12)) == expected  # no label is set
    assert pairwise.test(np.zeros(24)) == expected


def test_a_wrong_scene_file_is_refused(scene, tmp_path):
    with pytest.raises(InputError, match=r"scene\.npz: .*y_test.*; give a file with arrays X_train"):
        solvers.scene_tasks(scene(y_test=None))
    with pytest.raises(InputError, match=r"scene\.npz: multilabel: labels of shape"):
        solvers.scene_tasks(scene(y_train=np.full((12, 3), 2)))
    with pytest.raises(InputError, match=r"none\.npz: .*; give a file"):
        solvers.scene_tasks(tmp_path / "none.npz")


def test_solvers_are_chosen_by_name():
    assert solvers.solvers_of(None) == [*SOLVERS, *VARIANTS]
    assert solvers.solvers_of("bcfw, no cache; bcfw") == ["bcfw, no cache", "bcfw"]
    with pytest.raises(InputError, match="'simplex' is no solver; give some of bcfw"):
        solvers.solvers_of("simplex")


def test_pairs_without_a_sure_link_are_not_learnt_from(tmp_path):
    shapes = np.array([[1, 2], [2, 2], [1, 1]], dtype=np.int32)
    features = np.arange(14, dtype=np.float32).reshape(7, 2)
    (tmp_path / "featurize" / "edges").mkdir(parents=True)
    (tmp_path / "label").mkdir()
    edges = Edges(shapes, edge_offsets(shapes), features, ("first", "second"))
    edges.save(tmp_path / "featurize" / "edges")
    Labels.from_lists([[Link(0, 1)], [], [Link(0, 0)]]).save(tmp_path / "label")
    save_array(tmp_path / "label" / "pairs.npy", np.arange(3))
    problem = solvers.alignment_problem(tmp_path / "featurize", tmp_path / "label")
    assert (problem.n, problem.d) == (2, 2)
    np.testing.assert_array_equal(problem.oracle(np.array([0.0, -1e6]), 1).psi, features[6])


def test_a_problem_that_none_of_the_chosen_solves_is_left_out(scene, tmp_path, capsys):
    args = argparse.Namespace(
        hansards=None, gold=None, scene=scene(), solvers="extragradient", size=1, silver=0, passes=3,
        seconds=20.0, seed=0, out=tmp_path,
    )  # fmt: skip
    solvers.run(args)
    text = capsys.readouterr().out
    assert "## scene-unary" in text
    assert "scene-pairwise" not in text


def test_one_command_leaves_tables_and_curves(task, scene, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(solvers, "_alignment_tasks", lambda args: [replace(task, name="hansards-gold")])
    out = tmp_path / "out"
    args = argparse.Namespace(
        hansards=tmp_path, gold=tmp_path, scene=scene(), solvers=None, size=1, silver=0, passes=3,
        seconds=20.0, seed=0, out=out,
    )  # fmt: skip
    solvers.run(args)
    text = (out / "solvers.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    assert "## scene-unary: n = 12, d = 12, lam = 0.833" in text
    runs = json.loads((out / "solvers.json").read_text(encoding="utf-8"))["runs"]
    without = len(EVERY) - len(PROJECT)  # labels with weights of pairs have no polytope
    assert [each["problem"] for each in runs] == [
        *["scene-unary"] * len(EVERY),
        *["scene-pairwise"] * without,
        *["hansards-gold"] * len(EVERY),
    ]
    names = {path.name for path in out.iterdir()}
    assert {
        "hansards-gold-curve.png",
        "scene-pairwise-curve.png",
        "scene-unary.csv",
        "scene-unary.png",
    } <= names
    assert "scene-unary-curve.png" not in names


@pytest.mark.parametrize(("name", "value"), [("size", 0), ("silver", -1), ("passes", 0), ("seconds", 0.0)])
def test_numbers_out_of_range_are_refused(tmp_path, name, value):
    args = argparse.Namespace(solvers=None, size=1, silver=0, passes=1, seconds=1.0, scene=None, out=tmp_path)
    setattr(args, name, value)
    with pytest.raises(InputError, match="give numbers above 0"):
        solvers.run(args)


def test_without_data_it_is_the_embedded_sample(task, tmp_path, monkeypatch):
    made = []

    class Made:
        def __init__(self, config, settings, **other):
            made.append(settings)

        def run(self, stages, options):
            made.append(options)

        def folder(self, stage):
            return tmp_path / stage

    monkeypatch.setattr(runs, "Pipeline", Made)
    monkeypatch.setattr(solvers, "alignment_problem", lambda featurize, label: task.problem)
    args = argparse.Namespace(
        hansards=None, gold=None, scene=None, solvers="bcfw", size=1, silver=0, passes=2, seconds=20.0,
        seed=0, jobs=1, workdir=tmp_path, out=tmp_path / "out",
    )  # fmt: skip
    solvers.run(args)
    settings, options = made
    assert settings["corpus"]["files"][0] == str(solvers.SAMPLE.parent / "sample.en")
    assert settings["gold"]["train"] == 60
    assert settings["train"] == {"fertility": 1}
    assert options == ["train.labels=gold"]
    assert (tmp_path / "out" / "sample-gold.png").exists()
    args.gold = tmp_path
    with pytest.raises(InputError, match="--hansards, --gold: give both or none"):
        solvers.run(args)
