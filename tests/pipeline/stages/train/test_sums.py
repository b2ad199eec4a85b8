"""Sums over the labelled pairs, shared out: the same bytes whoever makes them."""

from dataclasses import replace

import numpy as np
import pytest

from align.learning.cross_validation import Learner
from align.problems import objective
from align.problems.labels import Labels
from align.problems.objective import batch_vertex
from pipeline.stages.featurize import load_edges
from pipeline.stages.train import stage as train
from pipeline.stages.train import sums as train_sums
from pipeline.work.engine import Local, open_engine
from tests.pipeline.stages.made_by_hand import Counting
from tests.pipeline.stages.train.test_train import context_of, lasting, written

OPTIONS = {"passes": 4, "tolerance": 0.0}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    return written(tmp_path_factory.mktemp("stages"))


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(objective, "PIECE", 16)
    monkeypatch.setattr(train_sums, "LEAST_PAIRS", 50)


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setattr(train_sums, "Dask", Counting)
    return Counting()


def trained(stages, folder, engine=None, *, jobs=1, **options):
    context = replace(context_of(stages, folder), engine=engine or Local(1), jobs=jobs)
    train.run(context, **OPTIONS | options)
    return lasting(folder)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "fw", "fertility": 1},
        {"solver": "minibatch"},
        {"solver": "bcfw-pairwise", "cost_fn": 2.0, "cost_fp": 0.5},
        {"solver": "extragradient"},
        pytest.param({"oracle": "linear_program", "passes": 1}, marks=pytest.mark.slow),
        {"passes": 1, "folds": 2},
    ],
    ids=["bcfw", "fw", "minibatch", "pairwise", "extragradient", "linear program", "folds"],
)
def test_the_same_bytes(stages, tmp_path, elsewhere, options):
    expected = trained(stages, tmp_path / "one", **options)
    assert trained(stages, tmp_path / "two", Local(2), jobs=2, **options) == expected
    assert not elsewhere.items
    assert trained(stages, tmp_path / "cluster", elsewhere, **options) == expected
    assert {tuple(piece.pairs[:1]) for piece in elsewhere.items} == {(0,), (16,), (32,), (48,)}


def test_the_sums_are_those_of_a_plain_loop(stages, tmp_path, elsewhere):
    """Of chosen pairs, with gaps between them."""
    context = replace(context_of(stages, tmp_path / "out"), engine=elsewhere)
    learner = Learner(
        load_edges(stages / "featurize"),
        Labels.load(stages / "label"),
        cost_fn=2.0,
        cost_fp=0.5,
        max_fertility=2,
        sharing=train_sums.sharing(context),
    )
    pairs = np.delete(np.arange(60), [0, 7, 20, 21])
    problem = learner.problem(pairs)
    weights = np.abs(np.random.default_rng(5).normal(size=(2, problem.d)))
    psi, loss = np.zeros((2, problem.d)), np.zeros(2)
    for r, w in enumerate(weights):
        for i in range(56):
            vertex = problem.oracle(w, i)
            psi[r] += vertex.psi
            loss[r] += vertex.loss
    w_s, ell_s = batch_vertex(problem, weights, 0.5)
    assert [len(piece.pairs) for piece in elsewhere.items] == [16, 16, 16, 8]
    np.testing.assert_allclose(w_s, psi / (0.5 * 56), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ell_s, loss / 56, rtol=1e-12)


def test_few_pairs_are_not_sent(stages, tmp_path, elsewhere, monkeypatch):
    monkeypatch.setattr(train_sums, "LEAST_PAIRS", 61)
    trained(stages, tmp_path / "out", elsewhere)
    assert not elsewhere.items


def test_features_made_again_in_the_same_folder_are_read_again(tmp_path, elsewhere):
    """As by a worker of a cluster that serves one run after the other."""
    found = []
    for seed in (0, 1):
        stages = written(tmp_path / "stages", seed=seed)
        (stages / "featurize" / "manifest.json").write_text(str(seed), encoding="utf-8")
        found.append(trained(stages, tmp_path / f"cluster{seed}", elsewhere))
        assert found[-1] == trained(stages, tmp_path / f"here{seed}")
    assert found[0] != found[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Port .* is already in use")
def test_the_same_bytes_on_a_cluster(stages, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    expected = trained(stages, tmp_path / "one")
    with open_engine("dask", jobs=2) as engine:
        sent, own = [], engine.map
        monkeypatch.setattr(engine, "map", lambda *told: sent.append(told) or own(*told))
        assert trained(stages, tmp_path / "cluster", engine, jobs=2) == expected
    assert len(sent) == 1 + OPTIONS["passes"]
