import csv
import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from align.core.errors import InputError, WorkError
from align.data.corpus import Corpus, Sentences
from align.data.vocabulary import Vocabulary
from align.features import Edges, PairBlock, Resources, compute
from align.learning import cross_validation
from align.learning.calibration import Calibration, word_counts
from align.learning.cross_validation import Learner, Setting
from align.learning.gold import adapted_lam
from align.learning.held_out_calibration import calibrate
from align.links import Link
from align.matching.assignment import solve
from align.matching.decoding import decode, score
from align.model.folder import Model
from align.model.weights import Weights
from align.problems.labels import Labels
from align.solvers import SOLVERS, Fit, Row
from align.solvers.block import BlockFrankWolfe
from align.statistics.lexicon import estimate
from pipeline.config.configuration import Config
from pipeline.config.options import options_of
from pipeline.stages.train import solving
from pipeline.stages.train import stage as train
from pipeline.stages.train.options import oracle_of
from pipeline.stages.train.plots import training_curve
from pipeline.work.stage import Stage
from tests.pipeline.stages.made_by_hand import plain_context

GROUPS = ("position", "spelling", "lexical")
EXTRA = ("always", "content")
WORDS = 40


def written(folder, seed=0, count=60):
    """Write what the stages before training leave: word i of one side translates word i of the other."""
    generator = np.random.default_rng(seed)
    source, target, links = [], [], []
    for _ in range(count):
        words = generator.choice(WORDS, generator.integers(2, 9), replace=False)
        order = np.argsort(np.arange(len(words)) + generator.normal(size=len(words)))
        source.append(words.tolist())
        target.append(words[order].tolist())
        links.append([Link(int(j), k) for k, j in enumerate(order)])
    corpus = Corpus(Sentences.from_lists(source), Sentences.from_lists(target))
    vocabularies = [
        Vocabulary([f"{letter}{word}" for word in range(WORDS)], np.full(WORDS, 9)) for letter in "st"
    ]
    lexicon = estimate(corpus, WORDS, WORDS)
    resources = Resources(lexicon, None, None, *vocabularies)
    for side, vocabulary in zip(("source", "target"), vocabularies, strict=True):
        for name in ("preprocess", "embed"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        vocabulary.save(folder / "preprocess" / f"{side}.vocabulary.tsv")
        np.save(folder / "embed" / f"{side}.vectors.npy", np.zeros((WORDS, 0), dtype=np.float32))
    text = {side: {"language": language} for side, language in (("source", "en"), ("target", "fr"))}
    (folder / "preprocess" / "text.json").write_text(json.dumps(text), encoding="utf-8")
    corpus.save(folder / "preprocess" / "corpus")
    lexicon.save(folder / "lexicon")
    label(folder, Labels.from_lists(links))
    compute(PairBlock(corpus), resources, groups=GROUPS, word_groups=EXTRA).save(
        folder / "featurize" / "edges"
    )
    return folder


def label(folder, labels):
    for stage in ("label", "featurize"):
        for path in (folder / stage).glob("*.*"):  # of files with two names this one alone
            path.unlink()
        labels.save(folder / stage)
    np.save(folder / "label" / "kind.npy", np.zeros(len(labels), dtype=np.int8))
    np.save(folder / "label" / "pairs.npy", np.arange(len(labels)))
    (folder / "label" / "summary.json").write_text('{"threshold": 0.4}', encoding="utf-8")


@pytest.fixture(scope="module")
def _made(tmp_path_factory):
    return written(tmp_path_factory.mktemp("stages"))


@pytest.fixture
def stages(_made, tmp_path):
    """A copy by hard links, so that a test may replace a file."""
    for path in _made.rglob("*"):
        if path.is_file():
            copy = tmp_path / "stages" / path.relative_to(_made)
            copy.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, copy)
    return tmp_path / "stages"


def context_of(stages, folder, *, seed=0, weights="none"):
    folder.mkdir(exist_ok=True)
    stage = Stage("train", train.run, uses=("corpus.name", "gold.train"))
    inputs = {name: stages / name for name in ("preprocess", "embed", "lexicon", "label", "featurize")}
    values = {"corpus": {"name": "tiny"}, "gold": {"train": 60}, "train": {"weights": weights}}
    return plain_context(stage, folder, inputs, values, seed=seed)


def training_of(folder):
    return json.loads((folder / "training.json").read_text(encoding="utf-8"))


def lasting(folder):
    """The bytes of all files, without the seconds that differ from run to run."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name == "training.json":
            kept = json.loads(path.read_text(encoding="utf-8"))
            assert kept.pop("seconds") > 0
            found[path.name] = json.dumps(kept)
        elif path.name == "history.csv":
            found[path.name] = [
                {**row, "seconds": ""} for row in csv.DictReader(path.read_text(encoding="utf-8").split("\n"))
            ]
        elif path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def test_the_model_folder_is_whole_and_says_how_it_was_made(stages, tmp_path, capsys):
    context = context_of(stages, tmp_path / "out", seed=3)
    train.run(context, lam=0.02)
    model = Model.load(tmp_path / "out")
    edges = Edges.load(stages / "featurize" / "edges")
    assert model.names == edges.names + edges.word_features.names
    assert set(model.groups) == set(GROUPS)
    assert model.languages == ("en", "fr")
    assert model.options == {
        "solver": "bcfw", "cost_fn": 3.0, "cost_fp": 1.0, "lam": 0.02, "passes": 50, "tolerance": 1e-3,
        "gap_every": 1, "block_order": "permutation", "averaging": True, "cache": 10,
        "seed": 3, "weights": "default", "fertility": 2,
    }  # fmt: skip
    training = training_of(tmp_path / "out")
    assert training["solver"] == "bcfw"
    assert training["status"] == "converged"
    assert training["gap"] <= 1e-3 * training["primal"]
    assert training["gap"] == pytest.approx(training["primal"] - training["dual"], abs=1e-12)
    assert training["pairs"] == 60
    assert training["pairs_without_links"] == 0
    assert isinstance(training["averaged"], bool)
    assert training["passes"] >= 1
    assert training["oracle_calls"] >= 60 * training["passes"]
    assert model.provenance["corpus"] == "tiny"
    assert model.provenance["gap"] == training["gap"]
    assert context.notes["training"] == training
    assert "60 pairs, " in capsys.readouterr().err
    assert not (tmp_path / "out" / train.CHECKPOINT).exists()


def test_pairs_that_were_featurized_twice_are_learnt_from_twice(stages, tmp_path):
    edges, labels = Edges.load(stages / "featurize" / "edges"), Labels.load(stages / "label")
    shutil.rmtree(stages / "featurize")
    Edges.join([edges, edges.take(np.arange(60))]).save(stages / "featurize" / "edges")
    twice = Labels.join([labels, labels])
    twice.save(stages / "featurize")
    train.run(context_of(stages, tmp_path / "out"))
    found = Learner(
        Edges.load(stages / "featurize" / "edges"),
        twice,
        solver=BlockFrankWolfe(lam=0.01),
        max_fertility=2,
        copies=60 + np.arange(60),
    )
    model = Model.load(tmp_path / "out")
    assert np.array_equal(model.weights, found.weights(np.arange(60)))
    assert training_of(tmp_path / "out")["pairs"] == 60
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    resources = model.resources
    assert model.calibration == calibrate(
        found,
        model.weights,
        pairs=np.arange(60),
        texts=cross_validation.texts_of(corpus),
        seen=word_counts(corpus, (resources.source_vocabulary, resources.target_vocabulary)),
    )


def test_the_weights_link_the_pairs_as_they_were_labelled(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), fertility=1)
    weights = Model.load(tmp_path / "out").weights
    edges = Edges.load(stages / "featurize" / "edges")
    linked = solve(edges.features @ weights, edges.shapes, edges.offsets)
    gold, _ = Labels.load(stages / "label").dense(edges.shapes)
    assert (linked & gold).sum() >= 0.95 * gold.sum()
    assert (linked & gold).sum() >= 0.95 * linked.sum()


def test_figures_are_those_of_the_saved_weights(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), passes=2, tolerance=0.0, lam=0.1, fertility=1)
    training = training_of(tmp_path / "out")
    assert training["status"] == "pass-limit"
    weights = Model.load(tmp_path / "out").weights
    edges = Edges.load(stages / "featurize" / "edges")
    gold, _ = Labels.load(stages / "label").dense(edges.shapes)
    scores = edges.features @ weights
    worst = solve(scores + np.where(gold, -3.0, 1.0), edges.shapes, edges.offsets)
    losses = 3.0 * (gold & ~worst).sum() + (worst & ~gold).sum()
    hinges = losses + scores[worst].sum() - scores[gold].sum()
    assert training["primal"] == pytest.approx(0.05 * weights @ weights + hinges / 60, rel=1e-9)


@pytest.mark.parametrize(("pairs", "lam"), [(1, 0.1), (70, 0.1), (140, 0.05), (700, 0.01), (10_000, 0.01)])
def test_known_weights_keep_to_their_place_where_few_pairs_ask(pairs, lam):
    assert adapted_lam(pairs) == pytest.approx(lam)


def test_a_model_of_several_links_a_word(stages, tmp_path):
    edges, labels = Edges.load(stages / "featurize" / "edges"), Labels.load(stages / "label")
    train.run(context_of(stages, tmp_path / "out"), fertility=2)
    model = Model.load(tmp_path / "out")
    assert (model.fertility, model.word_groups) == (2, EXTRA)
    assert model.options["fertility"] == 2
    assert model.names == edges.names + edges.word_features.names
    assert (model.weights[len(edges.names) :] >= 0).all()
    assert (model.weights[len(edges.names) :] > 0).any()  # no word has two links in this gold
    linked = decode(score(edges, model.weights), max_fertility=2).linked
    gold, _ = labels.dense(edges.shapes)
    assert gold[linked].sum() >= 0.95 * max(gold.sum(), len(linked))
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    seen = word_counts(corpus, (model.resources.source_vocabulary, model.resources.target_vocabulary))
    assert model.calibration == calibrate(
        Learner(edges, labels, max_fertility=2),
        model.weights,
        pairs=np.arange(60),
        texts=cross_validation.texts_of(corpus),
        seen=seen,
    )


@pytest.mark.parametrize("fertility", [1, 2])
def test_lam_and_cost_are_chosen_by_folds(stages, tmp_path, capsys, fertility):
    known = train_known(stages, tmp_path / "known", fertility)
    context = context_of(stages, tmp_path / "out", seed=2, weights=str(known))
    train.run(context, lam=0.05, cost_fn=1.5, folds=3, fertility=fertility, weights=str(known))
    training = training_of(tmp_path / "out")
    assert training["folds"] == 3
    assert training["given"] == {"lam": 0.05, "cost_fn": 1.5}
    table = training["held_out"]
    assert len(table) == 15
    best = min(table, key=lambda row: (row["aer"], -row["lam"]))
    assert (training["lam"], training["cost_fn"]) == (best["lam"], best["cost_fn"])
    assert all(row["sure"] == training["sure_links"] for row in table)
    # The table is that of refits that start from the known weights, and the model that of the chosen values.
    edges, labels = Edges.load(stages / "featurize" / "edges"), Labels.load(stages / "label")
    learner = Learner(
        edges,
        labels,
        solver=BlockFrankWolfe(lam=0.05, seed=2),
        cost_fn=1.5,
        max_fertility=fertility,
        origin=Weights.load(known).weights,
    )
    parts = cross_validation.folds(
        cross_validation.texts_of(Corpus.load(stages / "preprocess" / "corpus")), 3, 2
    )
    _, expected = cross_validation.select(learner, cross_validation.grid_around(0.05, 1.5)[:2], parts)
    assert table[:2] == [row.as_dict() for row in expected]
    model = Model.load(tmp_path / "out")
    chosen = cross_validation.with_setting(learner, Setting(best["lam"], best["cost_fn"]))
    np.testing.assert_array_equal(model.weights, chosen.weights(np.arange(60)))
    assert model.options["lam"] == best["lam"]
    line = f"3 folds, 15 settings: lam {best['lam']:g} and cost_fn {best['cost_fn']:g} chosen, held-out AER"
    assert line in capsys.readouterr().err


def train_known(stages, folder, fertility):
    """Train weights to start from."""
    train.run(context_of(stages, folder), passes=2, fertility=fertility)
    return folder


def test_folds_are_refused_where_there_are_too_few_different_pairs(stages, tmp_path):
    with pytest.raises(InputError, match="train.folds: 99 folds but .* different labelled pairs; give"):
        train.run(context_of(stages, tmp_path / "out"), folds=99)


def test_several_links_a_word_need_features_of_words(stages, tmp_path):
    (stages / "featurize" / "edges" / "extra.names.json").unlink()
    train.run(context_of(stages, tmp_path / "one"), fertility=1)
    with pytest.raises(InputError, match="no features of words; run label and featurize again"):
        train.run(context_of(stages, tmp_path / "two"), fertility=2)


def test_the_same_input_and_seed_give_the_same_bytes(stages, tmp_path):
    for name, seed in (("one", 1), ("two", 1), ("other", 2)):
        train.run(context_of(stages, tmp_path / name, seed=seed), passes=3, tolerance=0.0)
    assert lasting(tmp_path / "one") == lasting(tmp_path / "two")
    assert lasting(tmp_path / "one")["weights.tsv"] != lasting(tmp_path / "other")["weights.tsv"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_learns_the_same_for_any_number_of_jobs(stages, tmp_path, solver):
    for jobs in (1, 3):
        context = context_of(stages, tmp_path / str(jobs))
        train.run(replace(context, jobs=jobs), solver=solver, passes=4, tolerance=0.0)
    assert lasting(tmp_path / "1") == lasting(tmp_path / "3")
    training = training_of(tmp_path / "1")
    assert training["solver"] == solver
    assert 0 <= training["gap"] == pytest.approx(training["primal"] - training["dual"])


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def killed_and_gone_on_with(stages, tmp_path, monkeypatch, capsys, at, options):
    """Kill a run after a pass and run it again: it must end with the bytes of an undisturbed one."""
    train.run(context_of(stages, tmp_path / "undisturbed"), **options)

    def kill(progress):
        if progress.row.passes == at:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(solving, "_teller", lambda context: kill)
        with pytest.raises(Killed):
            train.run(context_of(stages, tmp_path / "killed"), **options)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == [train.CHECKPOINT]
    capsys.readouterr()
    train.run(context_of(stages, tmp_path / "killed"), **options)
    assert "goes on after pass " in capsys.readouterr().err
    assert lasting(tmp_path / "killed") == lasting(tmp_path / "undisturbed")


@pytest.mark.parametrize(("solver", "at"), [("bcfw", 1), *((solver, 4) for solver in SOLVERS)])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(stages, tmp_path, monkeypatch, capsys, solver, at):
    options = {"passes": 7, "tolerance": 0.0, "solver": solver}
    killed_and_gone_on_with(stages, tmp_path, monkeypatch, capsys, at, options)


@pytest.mark.parametrize("at", [1, 6])
def test_a_killed_run_that_stops_on_the_error_goes_on_too(stages, tmp_path, monkeypatch, capsys, at):
    options = {"solver": "subgradient", "stop_on": "aer", "tolerance": 0.0, "lam": 1e-4, "passes": 30}
    killed_and_gone_on_with(stages, tmp_path, monkeypatch, capsys, at, options)


def test_an_early_stop_takes_the_pass_with_the_lowest_error_in_pairs_left_out(stages, tmp_path, capsys):
    train.run(
        context_of(stages, tmp_path / "out"), stop_on="aer", patience=3, tolerance=0.0, passes=200, lam=1e-5
    )
    told, model = training_of(tmp_path / "out"), Model.load(tmp_path / "out")
    errors = {passes: error for passes, error in told["held_out_aer"]}
    best = min(errors, key=errors.get)
    assert (told["status"], told["stopped_by"], told["best_pass"]) == ("held-out", "patience", best)
    assert told["passes"] == best + 3 == max(errors)
    assert (told["pairs"], told["pairs_held_out"], told["stop_on"], told["patience"]) == (48, 12, "aer", 3)
    assert model.options["stop_on"] == "aer"
    said = capsys.readouterr().err
    assert (
        f"held-out AER {errors[best]:.4f} after pass {best}, the lowest of {len(errors)}; stopped by" in said
    )
    assert "not converged" not in said
    # by hand: the same pairs are left out, and the links that the weights make there have that error
    edges, labels = Edges.load(stages / "featurize" / "edges"), Labels.load(stages / "label")
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    left = cross_validation.folds(cross_validation.texts_of(corpus), 5, 0)[0]
    found = Learner(edges, labels, max_fertility=2).links(model.weights, left)
    wrong = 1 - 2 * found.sure.sum() / (len(found.scores) + labels.counts()[left].sum())
    assert errors[best] == pytest.approx(wrong, abs=1e-12)


def test_pairs_that_judge_have_no_part_in_the_choice_of_lam_and_costs(stages, tmp_path, monkeypatch):
    seen, own = [], train.choose

    def spied(context, learner, usable, count):
        seen.append(usable)
        return own(context, learner, usable, count)

    monkeypatch.setattr(train, "choose", spied)
    train.run(context_of(stages, tmp_path / "out"), stop_on="aer", folds=2, passes=3, patience=1)
    corpus, labels = Corpus.load(stages / "preprocess" / "corpus"), Labels.load(stages / "label")
    judged, *others = cross_validation.folds(cross_validation.texts_of(corpus), 5, 0)
    np.testing.assert_array_equal(seen[0], np.sort(np.concatenate(others)))
    told = training_of(tmp_path / "out")
    assert (told["pairs"], told["pairs_held_out"], told["folds"]) == (48, len(judged), 2)
    assert {row["sure"] for row in told["held_out"]} == {int(labels.counts()[seen[0]].sum())}


def test_without_an_early_stop_nothing_is_left_out(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), passes=3)
    told = training_of(tmp_path / "out")
    assert told["pairs"] == 60
    assert not {"stop_on", "held_out_aer", "pairs_held_out"}.intersection(told)


def test_too_few_pairs_for_an_early_stop_are_told(stages, tmp_path):
    labels = Labels.load(stages / "label")
    few = [[Link(0, 0)] if pair < 4 else [] for pair in range(len(labels))]
    label(stages, Labels.from_lists(few))
    with pytest.raises(
        InputError, match=r"train\.stop_on: aer leaves out a fifth .*, 4 different ones are too few; label 5"
    ):
        train.run(context_of(stages, tmp_path / "out"), stop_on="aer")


def test_a_run_killed_while_it_writes_the_model_ends_with_the_same_bytes(stages, tmp_path, monkeypatch):
    train.run(context_of(stages, tmp_path / "undisturbed"), passes=3)
    for name in ("training_curve", "write_training", "calibration_of"):

        def kill(*arguments, **options):
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(train, name, kill)
            with pytest.raises(Killed):
                train.run(context_of(stages, tmp_path / "killed"), passes=3)
    train.run(context_of(stages, tmp_path / "killed"), passes=3)
    assert lasting(tmp_path / "killed") == lasting(tmp_path / "undisturbed")


@pytest.mark.parametrize("kept", [0, 0.5, None])
def test_a_broken_checkpoint_is_started_over(stages, tmp_path, monkeypatch, capsys, kept):
    train.run(context_of(stages, tmp_path / "undisturbed"), passes=3)
    context = context_of(stages, tmp_path / "broken")
    with monkeypatch.context() as patched:
        patched.setattr(solving, "_check_progress", lambda fit: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train.run(context, passes=2)
    path = context.folder / train.CHECKPOINT
    size = path.stat().st_size
    path.write_bytes(bytes(size) if kept is None else path.read_bytes()[: int(kept * size)])
    train.run(context, passes=3)
    assert "starts anew: " in capsys.readouterr().err
    assert lasting(tmp_path / "broken") == lasting(tmp_path / "undisturbed")


def test_checkpoints_take_a_tenth_of_the_time_at_most(monkeypatch, tmp_path):
    now, saved = [0.0], []
    monkeypatch.setattr(solving.time, "perf_counter", lambda: now[0])

    class State:
        def save(self, path):
            saved.append(now[0])
            now[0] += 1.0

    class Progress:
        state = State()

    save = solving._checkpoints(tmp_path / "checkpoint")
    for _ in range(30):
        now[0] += 2.0
        save(Progress())
    assert saved[0] == 2.0  # at once, then no more often than every ten seconds
    assert min(np.diff(saved)) >= 10.0
    assert len(saved) >= 5


def test_a_long_run_says_where_it_stands(stages, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(solving, "_SECONDS_BETWEEN_LINES", 0.0)
    train.run(context_of(stages, tmp_path / "out"), passes=2, tolerance=0.0)
    said = capsys.readouterr().err
    assert "train: pass 1 of 2: primal " in said
    assert "train: bcfw pass-limit after 2 passes, " in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "golden"}, "train.labels: 'golden' is no kind of labels; give one of silver, gold"),
        ({"solver": "svm"}, "train.solver: 'svm' is no solver; give one of bcfw"),
        ({"lam": 0.0}, r"train.lam: 0\.0 is out of range; give a number above 0"),
        ({"lam": math.inf}, "train.lam: inf is out of range"),
        ({"passes": 0}, "train.passes: 0 is out of range; give at least 1"),
        ({"tolerance": -0.1}, r"train.tolerance: -0\.1 is out of range"),
        ({"time_limit": 0.0}, r"train.time_limit: 0\.0 is out of range; give seconds above 0"),
    ],
)  # fmt: skip
def test_wrong_options_are_told_before_any_work(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        train.run(context_of(tmp_path / "nothing is read", tmp_path / "out"), **options)


class TestGivenWeights:
    def test_those_of_words_with_several_links_stay_so(self, stages, tmp_path):
        train.run(context_of(stages, tmp_path / "first"), fertility=2)
        given = Model.load(tmp_path / "first")
        context = context_of(stages, tmp_path / "second")
        context.config.values["train"] = {"labels": "none", "weights": str(tmp_path / "first")}
        train.run(context, labels="none", weights=str(tmp_path / "first"))
        taken = Model.load(tmp_path / "second")
        assert (taken.fertility, taken.word_groups) == (2, given.word_groups)
        assert np.array_equal(taken.weights, given.weights)

    def given(self, stages, folder):
        """Train a model in ``folder``, to take its weights."""
        train.run(context_of(stages, folder))
        return Model.load(folder)

    def test_a_model_lends_its_weights(self, stages, tmp_path, capsys):
        known = self.given(stages, tmp_path / "known")
        context = context_of(stages, tmp_path / "out", weights=str(tmp_path / "known"))
        train.run(context, labels="none")
        model = Model.load(tmp_path / "out")
        assert model.names == known.names
        assert model.weights.tolist() == known.weights.tolist()
        assert model.calibration == known.calibration
        assert model.provenance["weights_from"] == known.provenance
        training = training_of(tmp_path / "out")
        assert training["status"] == "weights given"
        assert training["solver"] is None
        assert "no training: the weights of" in capsys.readouterr().err

    def test_they_are_adapted_to_gold_with_defaults_of_their_own(self, stages, tmp_path):
        self.given(stages, tmp_path / "known")
        for name, given, found in (
            ("one", {}, (0.1, 3.0)),
            ("two", {"lam": 0.02, "cost_fn": 2.0}, (0.02, 2.0)),
        ):
            context = context_of(stages, tmp_path / name, weights=str(tmp_path / "known"))
            train.run(context, weights=str(tmp_path / "known"), **given)
            training = training_of(tmp_path / name)
            assert (training["lam"], training["cost_fn"]) == found

    def test_weights_alone_are_enough(self, stages, tmp_path):
        known = self.given(stages, tmp_path / "known")
        (tmp_path / "configs").mkdir()
        calibration = Calibration(2.0, -1.0, -0.5)
        several = {"fertility": 2, "word_groups": EXTRA}
        given = Weights(
            known.names, known.weights, known.groups, calibration, {"lam": 1}, {"by": "hand"}, **several
        )
        given.save(tmp_path / "configs" / "mine")
        # relative to the configuration file
        context = context_of(stages, tmp_path / "out", weights="mine")
        context = replace(context, config=replace(context.config, path=tmp_path / "configs" / "c.toml"))
        train.run(context, labels="none")
        model = Model.load(tmp_path / "out")
        assert model.weights.tolist() == known.weights.tolist()
        assert (model.calibration, model.options["lam"]) == (Calibration(2.0, -1.0, -0.5), 1)

    def test_weights_of_other_features_are_refused(self, stages, tmp_path):
        known = self.given(stages, tmp_path / "known")
        names = ("bias", "warmth", *known.names[2:])
        given = Weights(
            names, known.weights, known.groups, (1.0, 0.0), {}, {}, fertility=2, word_groups=EXTRA
        )
        given.save(tmp_path / "mine")
        context = context_of(stages, tmp_path / "out", weights=str(tmp_path / "mine"))
        with pytest.raises(InputError, match=r"mine: a weight of warmth, but no such .*; get the weights"):
            train.run(context, labels="none")

    def test_features_without_a_weight_count_0_and_are_told_once(self, stages, tmp_path, capsys):
        known = self.given(stages, tmp_path / "known")
        given = Weights(
            known.names[:1] + known.names[2:], np.delete(known.weights, 1), known.groups, (1.0, 0.0), {}, {},
            fertility=2, word_groups=EXTRA,
        )  # fmt: skip
        given.save(tmp_path / "mine")
        context = context_of(stages, tmp_path / "out", weights=str(tmp_path / "mine"))
        train.run(context, labels="none")
        told = f"1 feature has no weight and counts 0 ({known.names[1]}); train anew"
        assert capsys.readouterr().err.count(told) == 1
        model = Model.load(tmp_path / "out")
        assert model.names == known.names
        assert model.weights.tolist() == [known.weights[0], 0.0, *known.weights[2:]]

    def test_weights_that_are_not_there_are_told(self, stages, tmp_path):
        context = context_of(stages, tmp_path / "out", weights="nowhere")
        with pytest.raises(InputError, match=r"train\.weights: nowhere: no such weights; give a folder"):
            train.run(context, labels="none")

    def test_options_of_a_training_that_is_none_are_warned_of(self, stages, tmp_path):
        self.given(stages, tmp_path / "known")
        context = context_of(stages, tmp_path / "out", weights=str(tmp_path / "known"))
        given = frozenset({"train.lam", "train.solver", "train.weights"})
        context = replace(context, config=replace(context.config, given=given))
        train.run(context, labels="none")
        (warning,) = context.notes["warnings"]
        assert warning.startswith("train.lam, train.solver: without effect, for nothing is learnt")

    def test_training_starts_from_them(self, stages, tmp_path):
        known = self.given(stages, tmp_path / "known")
        far = Weights(known.names[:5], known.weights[:5] + 3, known.groups, (1.0, 0.0), {}, {})
        far.save(tmp_path / "far")
        folder = str(tmp_path / "far")
        train.run(context_of(stages, tmp_path / "out", weights=folder), weights=folder, lam=1e6)
        model = Model.load(tmp_path / "out")
        # so strong a regularisation leaves the known weights as they are, and others at 0
        assert np.abs(model.weights[:5] - far.weights).max() < 1e-3
        assert np.abs(model.weights[5:]).max() < 1e-3
        assert model.options["weights"] == folder

    def test_nothing_at_all_is_refused(self, tmp_path):
        values = {"gold": {"train": 0}, "train": {"labels": "none", "weights": "none"}}
        with pytest.raises(InputError, match=r"train\.weights: none, and train\.labels is none too"):
            train.local_files(Config(Path("tiny.toml"), values, frozenset()))

    def test_their_files_are_an_input(self, tmp_path):
        Weights(("bias",), np.zeros(1), (), (1.0, 0.0), {}, {}).save(tmp_path / "mine")
        values = {"gold": {"train": 0}, "train": {"labels": "none", "weights": str(tmp_path / "mine")}}
        config = Config(Path("tiny.toml"), values, frozenset())
        files = [tmp_path / "mine" / name for name in ("weights.json", "weights.tsv")]
        assert train.local_files(config) == files
        values["train"]["labels"] = "silver"
        assert train.local_files(config) == files
        values["train"]["weights"] = "none"
        assert train.local_files(config) == []


def test_a_time_limit_is_no_error(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), time_limit=1e-9, tolerance=0.0)
    training = training_of(tmp_path / "out")
    assert training["status"] == "time-limit"
    Model.load(tmp_path / "out")


def without_links(stages, kept):
    """Take the links from all pairs but ``kept``."""
    labels = Labels.load(stages / "label")
    sizes = np.diff(labels.offsets)
    keep = np.isin(np.repeat(np.arange(60), sizes), kept)
    sizes[~np.isin(np.arange(60), kept)] = 0
    label(
        stages,
        Labels(
            np.concatenate([[0], np.cumsum(sizes)]),
            labels.source[keep],
            labels.target[keep],
            labels.sure[keep],
        ),
    )


def test_labels_that_do_not_fit_the_features_are_told(stages, tmp_path):
    labels = Labels.load(stages / "label").block(0, 30)
    label(stages, labels)
    with pytest.raises(
        InputError, match="edges of 60 pairs, labels of 30; .*; run label and featurize again"
    ):
        train.run(context_of(stages, tmp_path / "out"))


def test_features_that_are_no_numbers_are_told(stages, tmp_path):
    path = stages / "featurize" / "edges" / "features.npy"
    features = np.load(path, allow_pickle=False)
    features[5, 2] = np.nan
    path.unlink()
    np.save(path, features)
    with pytest.raises(WorkError, match="train: .* NaN or infinite.*; run featurize again with --force"):
        train.run(context_of(stages, tmp_path / "out"))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_options_of_every_solver_can_be_set(solver):
    known = options_of(train.run)
    for name, declared in SOLVERS[solver].options().items():
        assert known[name].meaning
        assert known[name].default in (None, declared.default)
        assert declared.default is None or isinstance(declared.default, known[name].kind)


def test_an_option_has_its_own_default_and_is_recorded(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), solver="minibatch", batch=7, passes=2)
    options = Model.load(tmp_path / "out").options
    assert {name: options[name] for name in ("batch", "joint", "cache", "passes")} == {
        "batch": 7, "joint": False, "cache": 10, "passes": 2,
    }  # fmt: skip
    with pytest.raises(InputError, match=r"train\.batch: -1 is out of range; give at least 1"):
        train.run(context_of(stages, tmp_path / "no"), solver="minibatch", batch=-1)
    with pytest.raises(InputError, match=r"train\.cache: the solver fw has no such option; it has lam, "):
        train.run(context_of(stages, tmp_path / "no"), solver="fw", cache=3)


def test_a_checkpoint_of_other_data_is_started_over(stages, tmp_path, monkeypatch, capsys):
    other = written(tmp_path / "other", seed=1)
    context = context_of(other, tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(solving, "_check_progress", lambda fit: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train.run(context, passes=2)
    train.run(context_of(stages, tmp_path / "out"), passes=3)
    assert "starts anew: bcfw: the state is of a run " in capsys.readouterr().err
    train.run(context_of(stages, tmp_path / "undisturbed"), passes=3)
    assert lasting(tmp_path / "out") == lasting(tmp_path / "undisturbed")


def fit_with(gaps, status="pass-limit"):
    history = tuple(
        Row(passes, 0, 0.0, 10.0, 10.0 - gap, gap, 10.0, 10.0 - gap - 1, gap + 1)
        for passes, gap in enumerate(gaps)
    )
    by = {"converged": "gap"}.get(status, status)
    return Fit(np.zeros(2), False, 10.0, 0.0, gaps[-1], status, by, len(gaps) - 1, 0, 0.0, history)


def test_the_curve_has_the_same_bytes_for_the_same_figures(tmp_path):
    history = fit_with([8.0, 4.0, 1.0, math.nan, 0.0]).history
    for name in ("one.png", "two.png"):
        training_curve(history, 1e-3, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    training_curve(history[:1], 0.0, tmp_path / "short.png")
    assert (tmp_path / "short.png").read_bytes() != (tmp_path / "one.png").read_bytes()
    nothing = Row(0, 0, 0.0, *[math.nan] * 6)
    training_curve([nothing], 0.0, tmp_path / "empty.png")
    assert (tmp_path / "empty.png").exists()


class TestExtragradient:
    """The solvers of matchings that take a ball."""

    @pytest.mark.parametrize("solver", ["extragradient", "extragradient-kl"])
    @pytest.mark.parametrize("ball", [None, 2.0])
    def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
        self, stages, tmp_path, monkeypatch, capsys, solver, ball
    ):
        options = {"solver": solver, "fertility": 1, "passes": 12, "tolerance": 0.0, "ball": ball}
        killed_and_gone_on_with(stages, tmp_path, monkeypatch, capsys, 4, options)
        model = Model.load(tmp_path / "killed")
        assert model.options["solver"] == solver
        assert model.options.get("ball") == ball
        if ball is not None:
            assert np.linalg.norm(model.weights) <= ball + 1e-12

    def test_the_minimum_is_that_of_bcfw(self, stages, tmp_path):
        for name, passes in (("bcfw", 50), ("extragradient", 1000)):
            train.run(context_of(stages, tmp_path / name), solver=name, fertility=1, passes=passes, lam=1.0)
        mine, its = (training_of(tmp_path / name) for name in ("extragradient", "bcfw"))
        assert mine["status"] == its["status"] == "converged"
        assert mine["primal"] == pytest.approx(its["primal"], rel=2e-3)
        assert mine["solver"] == "extragradient"

    def test_what_they_cannot_do_is_refused(self, stages, tmp_path):
        context = context_of(stages, tmp_path / "out")
        with pytest.raises(InputError, match=r"train\.fertility: extragradient-kl with .* at most 1 links a"):
            train.run(context, solver="extragradient-kl", fertility=2, ball=1.0)
        with pytest.raises(
            InputError, match=r"train\.ball: the solver bcfw has no such option; it has lam, passes, "
        ):
            train.run(context, ball=1.0, fertility=1)
        with pytest.raises(InputError, match=r"train\.ball: 0\.0 is out of range; give a radius above 0"):
            train.run(context, solver="extragradient", fertility=1, ball=0.0)
        with pytest.raises(InputError, match=r"train\.oracle: extragradient takes the assignment only"):
            train.run(context, solver="extragradient", fertility=1, oracle="linear_program")


class TestLinearPrograms:
    @pytest.mark.parametrize("fertility", [1, 2])
    def test_the_minimum_is_that_of_the_assignment(self, tmp_path, fertility):
        stages = written(tmp_path / "stages", count=12)  # a linear program takes some hundred times as long
        for name in ("assignment", "linear_program"):
            train.run(
                context_of(stages, tmp_path / name), oracle=name, fertility=fertility, tolerance=1e-4, lam=1.0
            )
        fast, slow = (training_of(tmp_path / name) for name in ("assignment", "linear_program"))
        assert fast["status"] == slow["status"] == "converged"
        assert slow["primal"] == pytest.approx(fast["primal"], rel=2e-4)
        assert slow["oracle"] == "linear_program"

    def test_the_old_name_is_known(self):
        assert oracle_of("programme", BlockFrankWolfe()) == "linear_program"

    def test_another_oracle_is_refused(self, stages, tmp_path):
        with pytest.raises(InputError, match=r"train\.oracle: 'simplex' is no oracle; give one of assi"):
            train.run(context_of(stages, tmp_path / "out"), oracle="simplex")
