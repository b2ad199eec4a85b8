"""The stage label: which pairs are labelled, by what, and what is said when that cannot be right."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from align.core.errors import InputError, WorkError
from align.data.corpus import Corpus, Sentences
from align.learning import silver
from align.problems.labels import Labels
from align.statistics.lexicon import Lexicon, estimate
from align.statistics.posteriors import SCALE
from pipeline.stages.label import silver as label_silver
from pipeline.stages.label import stage as label
from pipeline.work.engine import Local, open_engine
from pipeline.work.stage import Stage
from tests.align import toy
from tests.pipeline.stages.made_by_hand import Counting, plain_context

WORDS = 40
GOLD_TEXT = ["s1 s2", "s3 s4 s5", "s6", "s7 s8"], ["t1 t2", "t3 t5 t4", "t6", "t7 t8"]
GOLD_LINKS = ["0-0 1-1", "0-0 1-2 2-1 0p1", "", "0-0 0-1 1-1"]


def bitext(seed, pairs):
    """Pairs in which word i of one side translates word i of the other, order kept."""
    generator = np.random.default_rng(seed)
    lines = [generator.choice(WORDS, generator.integers(2, 8), replace=False).tolist() for _ in range(pairs)]
    return Corpus(Sentences.from_lists(lines), Sentences.from_lists(lines))


def shuffled(corpus):
    return Corpus(corpus.source, corpus.target.take(np.random.default_rng(9).permutation(len(corpus))))


def write_gold(folder, links=GOLD_LINKS):
    (folder / "preprocess").mkdir(exist_ok=True)
    sides = []
    for side, lines in zip(("source", "target"), GOLD_TEXT, strict=True):
        text = "".join(f"{line}\n" for line in lines)
        (folder / "preprocess" / f"gold.{side}.txt").write_text(text, encoding="utf-8")
        sides.append(Sentences.from_lists([[int(word[1:]) for word in line.split()] for line in lines]))
    Corpus(*sides).save(folder / "preprocess" / "gold")
    (folder / "gold.align").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    (folder / "download").mkdir(exist_ok=True)
    sources = {
        "corpus": {"kind": "files", "paths": [], "sha256": []},
        "vectors": {"source": None, "target": None, "dictionary": None},
        "gold": {"files": ["a", "b"], "links": str(folder / "gold.align")},
    }
    (folder / "download" / "sources.json").write_text(json.dumps(sources), encoding="utf-8")


def write_corpus(folder, corpus):
    corpus.save(folder / "preprocess" / "corpus")
    np.save(folder / "preprocess" / "in_statistics.npy", np.arange(len(corpus)) % 5 > 0)
    estimate(corpus, WORDS, WORDS).save(folder / "lexicon")


@pytest.fixture
def stages(tmp_path):
    write_gold(tmp_path)
    write_corpus(tmp_path, bitext(0, 200))
    (tmp_path / "embed").mkdir()
    for side in ("source", "target"):
        np.save(tmp_path / "embed" / f"{side}.vectors.npy", np.eye(WORDS, dtype=np.float32))
    return tmp_path


@pytest.fixture
def context(stages):
    values = {
        "train": {"labels": None, "fertility": 1, "solver": "bcfw"},
        "gold": {
            "links": str(stages / "gold.align"),
            "format": "pharaoh",
            "columns": None,
            "base": 0,
            "train": 0,
        },
    }
    folder = stages / "label"
    folder.mkdir()
    stage = Stage("label", label.run, uses=("train.labels", "train.fertility", "train.solver", "gold.*"))
    inputs = {name: stages / name for name in ("download", "preprocess", "embed", "lexicon")}
    return plain_context(stage, folder, inputs, values)


@pytest.fixture(autouse=True)
def _nothing_is_shipped(monkeypatch):
    """So that labels are silver where nothing else is said."""
    monkeypatch.setattr(label, "known_weights", list)


def made(context):
    """The kinds, the pairs and the labels that were written, and the summary."""
    folder = context.folder
    kind, pairs = np.load(folder / "kind.npy"), np.load(folder / "pairs.npy")
    labels = Labels.load(folder)
    assert kind.dtype == np.uint8
    assert pairs.dtype == np.int64
    assert len(kind) == len(pairs) == len(labels)
    return kind, pairs, labels, json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def links_of(labels, pair):
    here = slice(labels.offsets[pair], labels.offsets[pair + 1])
    return list(zip(labels.source[here].tolist(), labels.target[here].tolist(), strict=True))


def test_silver_labels(context, stages):
    label.run(context, pairs=50)
    kind, pairs, labels, summary = made(context)
    assert (kind == label.CORPUS).all()
    assert len(pairs) == 50
    assert (np.diff(pairs) > 0).all()
    assert np.load(stages / "preprocess" / "in_statistics.npy")[pairs].all()
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    for place, pair in enumerate(pairs):
        n = int(corpus.source.lengths()[pair])
        assert links_of(labels, place) == [(j, j) for j in range(n)]
    assert labels.sure.all()
    assert summary["labels"] == "silver"
    assert summary["threshold"] == summary["silver"]["threshold"] == 0.3
    assert summary["silver"]["pairs"] == 50
    assert summary["gold"] is None
    assert context.notes["silver"] == summary["silver"]


def test_the_sample_is_seeded(context):
    label.run(context, pairs=20)
    first = made(context)[1]
    label.run(context, pairs=20)
    assert made(context)[1].tolist() == first.tolist()
    label.run(replace(context, seed=1), pairs=20)
    assert made(context)[1].tolist() != first.tolist()
    label.run(context)
    assert len(made(context)[1]) == 160


def test_only_the_part_of_the_gold_that_may_train_is_used(context):
    context.config.values["gold"]["train"] = 3
    label.run(context)
    kind, pairs, labels, summary = made(context)
    assert (kind == label.GOLD).all()
    assert pairs.tolist() == [0, 1]  # the third has no link, the fourth is for the test
    assert links_of(labels, 1) == [(0, 0), (0, 1), (1, 2), (2, 1)]
    assert labels.sure.tolist() == [True, True, True, False, True, True]
    assert summary["labels"] == "gold"
    assert summary["gold"] == {
        "pairs": 2, "pairs_without_link": 1, "links": 5, "free": 1, "sure_links_of_gold": 5,
    }  # fmt: skip
    assert summary["silver"] is None


def test_gold_that_is_no_matching_is_made_one_with_the_likelier_links(context):
    context.config.values["gold"]["train"] = 4
    label.run(context)
    _, pairs, labels, summary = made(context)
    assert pairs.tolist() == [0, 1, 3]
    assert links_of(labels, 2) == [(0, 0), (0, 1), (1, 1)]
    assert labels.sure.tolist()[-3:] == [True, False, True]
    assert summary["gold"]["sure_links_of_gold"] == 8
    assert summary["gold"]["links"] == 7


def test_both_kinds_stand_one_after_the_other(context):
    context.config.values["gold"]["train"] = 3
    context.config.values["train"]["labels"] = "both"
    label.run(context, pairs=10)
    kind, pairs, labels, summary = made(context)
    assert kind.tolist() == [0] * 10 + [1] * 2
    assert pairs.tolist()[10:] == [0, 1]
    assert links_of(labels, 10) == [(0, 0), (1, 1)]
    assert summary["silver"]["pairs"] == 10
    assert summary["gold"]["pairs"] == 2


@pytest.mark.parametrize(
    ("labels", "train", "shipped", "expected"),
    [
        (None, 3, True, "gold"),
        (None, 0, True, "none"),
        (None, 0, False, "silver"),
        ("silver", 3, True, "silver"),
    ],
)
def test_what_is_not_said_follows_from_the_gold(labels, train, shipped, expected, monkeypatch):
    monkeypatch.setattr(label, "known_weights", lambda: [Path("models/default")] if shipped else [])
    assert label.wanted_labels(labels, train) == expected


def test_no_labels_can_be_asked_for(context):
    context.config.values["train"]["labels"] = "none"
    label.run(context)
    kind, _, labels, summary = made(context)
    assert len(kind) == len(labels) == 0
    assert summary == {"labels": "none", "silver": None, "gold": None}


def test_what_was_sampled_makes_labels_if_there_is_any(context, stages):
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    shapes = corpus.shapes()
    right = np.concatenate([np.eye(n, dtype=np.uint16).ravel() for n in corpus.source.lengths()])
    found = toy.posteriors_of(shapes, right * SCALE, right * SCALE)
    found.save(stages / "lexicon" / "posteriors" / "corpus")
    label.run(context, pairs=50)
    _, pairs, labels, summary = made(context)
    assert (summary["silver"]["method"], summary["threshold"]) == ("sampled", 0.6)
    expected = silver.sampled(corpus.take(pairs), found.take(pairs))
    assert labels.source.tolist() == expected.source.tolist()
    assert labels.sure.tolist() == expected.sure.tolist()
    assert len(labels.source) == corpus.source.lengths()[pairs].sum()


@pytest.mark.parametrize("method", ["mutual", "cosine"])
def test_the_methods_are_those_of_the_library(context, stages, method):
    label.run(context, pairs=30, method=method, threshold=0.4)
    _, pairs, labels, summary = made(context)
    block = Corpus.load(stages / "preprocess" / "corpus").take(pairs)
    sides = [np.load(stages / "embed" / f"{side}.vectors.npy") for side in ("source", "target")]
    if method == "mutual":
        expected = silver.mutual(block, *sides, Lexicon.load(stages / "lexicon"), threshold=0.4)
    else:
        expected = silver.cosine(block, *sides, threshold=0.4)
    assert labels.source.tolist() == expected.source.tolist()
    assert labels.target.tolist() == expected.target.tolist()
    assert summary["silver"]["method"] == method


def sampled_of(corpus):
    """Posteriors that speak for the diagonal, more or less, and leave some pairs out."""
    shapes = corpus.shapes()
    generator = np.random.default_rng(4)
    right = np.concatenate([np.eye(n).ravel() for n in corpus.source.lengths()])
    both = (right * generator.uniform(0.3, 1, (2, len(right))) * SCALE).astype(np.uint16)
    return replace(toy.posteriors_of(shapes, *both), sampled=generator.random(len(corpus)) < 0.9)


def shared_out(context, engine, folder, **options):
    """The bytes that the stage leaves."""
    folder.mkdir()
    label.run(replace(context, engine=engine, folder=folder, jobs=2), **options)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("method", ["sampled", "mutual", "cosine"])
def test_the_same_bytes_however_the_work_is_shared(context, stages, tmp_path, monkeypatch, method):
    sampled_of(Corpus.load(stages / "preprocess" / "corpus")).save(
        stages / "lexicon" / "posteriors" / "corpus"
    )
    whole = shared_out(context, Local(1), tmp_path / "whole", method=method)
    monkeypatch.setattr(label_silver, "_PAIRS_A_BLOCK", 48)
    counting = Counting()
    expected = shared_out(context, counting, tmp_path / "one", method=method)
    assert [len(block.pairs) for block in counting.items] == [48, 48, 48, 16]
    assert shared_out(context, Local(2), tmp_path / "two", method=method) == expected
    figures = [json.loads(found.pop("summary.json")) for found in (whole, expected)]
    assert whole == expected
    evidence = [each["silver"].pop("parallel") for each in figures]
    assert figures[0] == figures[1]
    assert evidence[0] == pytest.approx(evidence[1], rel=1e-12)  # added up in blocks


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Port .* is already in use")
def test_the_same_bytes_on_a_cluster(context, stages, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    sampled_of(Corpus.load(stages / "preprocess" / "corpus")).save(
        stages / "lexicon" / "posteriors" / "corpus"
    )
    monkeypatch.setattr(label_silver, "_PAIRS_A_BLOCK", 48)
    expected = shared_out(context, Local(1), tmp_path / "one")
    with open_engine("dask", jobs=2) as engine:
        assert shared_out(context, engine, tmp_path / "cluster") == expected


def test_chance_pairs_sentences_half_the_sample_apart(context, stages):
    counting = Counting()
    context = replace(context, engine=counting)
    label.run(context, pairs=50)
    (block,) = counting.items
    assert block.others.tolist() == [*block.pairs[25:], *block.pairs[:25]]
    corpus = Corpus.load(stages / "preprocess" / "corpus")
    lexicon = Lexicon.load(stages / "lexicon")
    chance = Corpus(corpus.source.take(block.pairs), corpus.target.take(block.others))
    parallel = made(context)[3]["silver"]["parallel"]
    assert parallel["true"] == silver.evidence(corpus.take(block.pairs), lexicon, counted=True).mean
    assert parallel["chance"] == silver.evidence(chance, lexicon, counted=False).mean


def test_weights_of_the_mutual_method_count(context):
    with pytest.raises(WorkError, match="got a silver link"):
        label.run(context, lexical=0.0, neighbours=0.0, threshold=1.01)
    label.run(context, lexical=2.0, neighbours=0.0, threshold=1.01)
    assert made(context)[3]["silver"]["pairs"] > 100


def test_vectors_may_be_missing(context, stages):
    for side in ("source", "target"):
        np.save(stages / "embed" / f"{side}.vectors.npy", np.zeros((WORDS, 0), dtype=np.float32))
    label.run(context, pairs=30)
    assert made(context)[3]["silver"]["pairs"] == 30


def test_too_few_usable_pairs_stop_with_the_threshold(context):
    with pytest.raises(
        WorkError,
        match=r"label: 0 of 160 pairs got a silver link with label\.method cosine above "
        r"label\.threshold 1\.5, at least 5% are needed; lower the threshold, or look whether the sides are "
        r"translations",
    ):
        label.run(context, method="cosine", threshold=1.5)


def test_pairs_that_are_no_translations_are_warned_of(context, stages, capsys):
    label.run(context)
    assert "warning" not in capsys.readouterr().err
    parallel = made(context)[3]["silver"]["parallel"]
    assert parallel["ratio"] == pytest.approx(parallel["true"] / parallel["chance"])
    assert parallel["ratio"] > 1.5
    write_corpus(stages, shuffled(bitext(0, 200)))
    label.run(context)
    assert "warning: label: the two sides hardly look like translations" in capsys.readouterr().err
    assert made(context)[3]["silver"]["parallel"]["ratio"] < 1.25


def test_two_pairs_are_enough(context, stages, capsys):
    write_corpus(stages, bitext(0, 3))
    label.run(context)
    assert made(context)[1].tolist() == [1, 2]
    assert "warning" not in capsys.readouterr().err


def test_a_link_outside_its_sentence_names_file_and_line(context, stages):
    write_gold(stages, ["0-0 1-1", "0-0 3-1", "", ""])
    context.config.values["gold"]["train"] = 1
    with pytest.raises(
        InputError, match=r"gold\.align:2: link 3-1 .* outside the pair of 3 source tokens \(s3 s4 s5\)"
    ):
        label.run(context)


@pytest.mark.parametrize(
    ("labels", "train", "message"),
    [
        (
            "gold",
            0,
            r"train\.labels: 'gold' but no gold pair may train; set gold\.train, or use silver labels",
        ),
        (
            "both",
            0,
            r"train\.labels: 'both' but no gold pair may train; set gold\.train, or use silver labels",
        ),
        ("golden", 1, r"train\.labels: 'golden' is no kind of labels; give one of silver, gold, both, none"),
        (None, 9, r"gold\.train: 9 is more than the 4 gold pairs; give fewer"),
    ],
)
def test_labels_that_cannot_be_are_refused(context, labels, train, message):
    context.config.values["train"]["labels"] = labels
    context.config.values["gold"]["train"] = train
    with pytest.raises(InputError, match=message):
        label.run(context)


def test_gold_without_links_or_without_gold_is_refused(context, stages):
    context.config.values["gold"]["train"] = 2
    write_gold(stages, ["", "", "0-0", ""])
    with pytest.raises(InputError, match="none of the first 2 pairs has a link; nothing can be learnt"):
        label.run(context)
    write_gold(stages, ["0p0", "1p1 0p0", "0-0", ""])
    with pytest.raises(InputError, match=r"align: none of the first 2 pairs has a sure link, .*; mark sure"):
        label.run(context)
    path = stages / "download" / "sources.json"
    path.write_text(
        json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"gold": None}), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"gold\.train: there is no gold; set gold\.files and gold\.links"):
        label.run(context)


def test_a_corpus_without_usable_pairs_is_refused(context, stages):
    np.save(stages / "preprocess" / "in_statistics.npy", np.zeros(200, dtype=bool))
    with pytest.raises(InputError, match=r"no pair can be labelled; look at the reasons in its rejects\.tsv"):
        label.run(context)


def test_with_several_links_a_word_more_of_the_gold_is_sure(context, stages, capsys):
    write_gold(stages, ["0-0 0-1 1-0 1-1", "0-0 1-1 1-2", *GOLD_LINKS[2:]])
    context.config.values["gold"]["train"] = 2
    label.run(context)
    assert made(context)[2].counts().tolist() == [2, 2]
    context.config.values["train"]["fertility"] = 2
    label.run(context, least=0.0)
    _, _, labels, summary = made(context)
    assert labels.counts().tolist() == [4, 3]
    assert summary["gold"]["links"] == 7
    assert "7 links of at most 2 a word, from 7 sure ones; 0 free" in capsys.readouterr().err
    # in the first pair no word is left alone by the matching
    label.run(context)
    assert made(context)[2].counts().tolist() == [2, 3]


def test_unlikely_links_beyond_the_matching_are_free(context, stages):
    write_gold(stages, ["0-0 1-1", "0-0 1-1 1-2", *GOLD_LINKS[2:]])
    context.config.values["gold"]["train"] = 2
    context.config.values["train"]["fertility"] = 2
    shapes = np.array([[2, 2], [3, 3], [1, 1], [2, 2]])
    edges = int(shapes.prod(axis=1).sum())
    for certain, sampled, expected in ((True, True, 3), (False, True, 2), (False, False, 3)):
        both = np.full((2, edges), 65535 if certain else 0, dtype=np.uint16)
        posteriors = replace(toy.posteriors_of(shapes, *both), sampled=np.full(4, sampled))
        posteriors.save(stages / "lexicon" / "posteriors" / "gold")
        label.run(context)
        assert made(context)[2].counts().tolist() == [2, expected]
