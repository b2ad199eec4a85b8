"""The library and its commands as a program uses them: sharing, types, pipes, standard output, gold."""

import copy
import json
import os
import pickle
import pty
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import align
import pipeline
from align.core.errors import InputError
from align.data.corpus import Corpus, Sentences
from align.links import Link
from align.model.aligner import Aligner
from align.model.pairs import SideText
from pipeline.stages import evaluate
from pipeline.stages.gold import Gold
from tests.align import toy

SOURCE, TARGET = "The red house.", "La maison rouge."
ROW, ANSWER = f"{SOURCE}\t{TARGET}\n", "1-2 2-1 3-3\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("models") / "toy"
    toy.toy_model().save(place)
    return place


@pytest.fixture(scope="module")
def aligner(folder):
    return Aligner.load(folder)


# G32: the library


def test_g32_an_aligner_is_pickled_as_the_place_of_its_model(aligner, folder, monkeypatch, tmp_path):
    data = pickle.dumps(aligner)
    assert len(data) < 5_000  # no tables
    monkeypatch.chdir(tmp_path)
    for again in (pickle.loads(data), copy.deepcopy(aligner)):
        assert again.align(SOURCE, TARGET) == aligner.align(SOURCE, TARGET) == [(1, 2), (2, 1), (3, 3)]
    spaced = pickle.loads(pickle.dumps(Aligner.load(folder, tokenizer="spaces")))
    assert spaced.tokens("red house.", "x")[0].surface == ["red", "house."]


def test_g32_a_model_in_memory_says_how_to_share_it():
    model = toy.toy_model()
    made = Aligner(model, SideText(model.text["source"]), SideText(model.text["target"]))
    with pytest.raises(TypeError, match=r"save the model .* and share Aligner\.load"):
        pickle.dumps(made)


def test_g32_a_model_that_has_changed_since_is_told(tmp_path):
    toy.toy_model().save(tmp_path / "m")
    data = pickle.dumps(Aligner.load(tmp_path / "m"))
    (tmp_path / "m" / "checksums.tsv").unlink()
    path = tmp_path / "m" / "weights.tsv"
    text = re.sub(r"(?m)^bias\t.*$", "bias\t-2", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="another model since this Aligner was pickled"):
        pickle.loads(data)


@pytest.mark.parametrize("odd", [None, 3, float("nan"), b"ab", {"a": 1}, {"a"}])
def test_g32_what_is_no_text_is_a_clear_type_error(aligner, odd):
    for call in (aligner.align, aligner.scores, aligner.explain):
        with pytest.raises(TypeError, match=r"^target: .* is no text; give a str or a list of str"):
            call("a", odd)
        with pytest.raises(TypeError, match=r"^source: .* is no text; give a str or a list of str"):
            call(odd, "a")
    with pytest.raises(TypeError, match=r"^pair 1: target: .* is no text"):
        aligner.align_many([("a", "b"), ("a", odd)])


@pytest.mark.parametrize(
    "odd", ["ab", "abc", b"ab", None, ("a",), ("a", "b", "c"), {"a": 1, "b": 2}, {"a", "b"}]
)
def test_g32_what_is_no_pair_is_a_clear_type_error(aligner, odd):
    with pytest.raises(TypeError, match=r"^pair 1: .* is no \(source, target\); give a list of pairs"):
        aligner.align_many([("a", "b"), odd])


def test_g32_pairs_must_be_listed(aligner):
    for odd in ("ab", None):
        with pytest.raises(TypeError, match="is no list of pairs"):
            aligner.align_many(odd)
    assert aligner.align_many(iter([[SOURCE, TARGET]])) == [[(1, 2), (2, 1), (3, 3)]]


def test_g32_both_packages_say_that_they_are_typed():
    """tests/test_packaging.py looks for the two files in the wheel."""
    for package in (align, pipeline):
        assert os.path.isfile(os.path.join(os.path.dirname(package.__file__), "py.typed"))


# G31: links over pipes


def started(folder, *options, **streams):
    command = [sys.executable, "-m", "align", "links", "--model", str(folder), *options]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen(command, **streams)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("options", [[], ["--flush"]])
def test_g31_a_co_process_is_answered_when_its_input_pauses(folder, options):
    with started(folder, *options) as process:
        stop = threading.Timer(200, process.kill)
        stop.start()
        for rows in (1, 3):
            process.stdin.write(ROW.encode() * rows)
            process.stdin.flush()
            assert [process.stdout.readline().decode() for _ in range(rows)] == [ANSWER] * rows
        process.stdin.write(ROW.encode()[:9])  # a row that comes in two pieces is one row
        process.stdin.flush()
        process.stdin.write(ROW.encode()[9:])
        process.stdin.close()
        assert process.stdout.read().decode() == ANSWER
        stop.cancel()
        assert process.wait() == 0


def test_g31_a_named_pipe_is_answered_too(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with started(folder, "-i", str(tmp_path / "pipe")) as process:
        stop = threading.Timer(200, process.kill)
        stop.start()
        with open(tmp_path / "pipe", "wb") as rows:
            rows.write(ROW.encode())
            rows.flush()
            assert process.stdout.readline().decode() == ANSWER
        assert process.stdout.read() == b""
        stop.cancel()


def test_g31_a_terminal_is_told_what_is_waited_for(folder):
    master, slave = pty.openpty()
    with started(folder, stdin=slave) as process:
        stop = threading.Timer(200, process.kill)
        stop.start()
        assert b"waiting for rows of source TAB target on the terminal" in process.stderr.readline()
        process.terminate()
        stop.cancel()
    os.close(master)
    os.close(slave)


def test_g31_every_row_of_a_long_input_is_answered_once(run, folder):
    status, out, _ = run(f"links --model {folder}", stdin=ROW * 1100)
    assert (status, out) == (0, ANSWER * 1100)


# G28: a stated base that is wrong

GOLD = " ".join(f"{i}-{i}" for i in range(10)) + "\n"
SHIFTED = " ".join(f"{i}-{i}" for i in range(1, 11)) + "\n"


def test_g28_a_stated_base_that_is_wrong_is_warned_of(run):
    words = "score --gold g --hyp h --gold-base 0 --hyp-base 0"
    status, out, err = run(words, g=GOLD, h=SHIFTED)
    assert status == 0
    assert out.startswith("AER 0.1000 ")
    assert "\nwith --hyp-base 1 AER 0.0000 P 1.0000 R 1.0000 F1 1.0000\n" in out
    assert "--gold-base 1" not in out  # the gold has an index 0
    assert "warning: h is said to count from 0, but AER 0.1000 would be 0.0000 if it counted from 1" in err
    report = json.loads(run(words + " --json")[1])
    assert (report["aer"], report["other_base"]) == (pytest.approx(0.1), {"--hyp-base 1": 0.0})


def test_g28_so_is_one_of_the_gold_and_one_that_says_1(run):
    _, out, err = run("score --gold g --hyp h --gold-base 0 --hyp-base 0", g=SHIFTED, h=GOLD)
    assert "with --gold-base 1 AER 0.0000" in out
    assert "warning: g is said to count from 0, but AER 0.1000 would be 0.0000" in err
    _, out, err = run("score --gold g --hyp h --gold-base 0 --hyp-base 1", g=SHIFTED, h=SHIFTED)
    assert "with --hyp-base 0 AER 0.0000" in out
    assert "warning: h is said to count from 1" in err


def test_g28_a_right_base_is_not_warned_of(run):
    _, out, err = run("score --gold g --hyp h --gold-base 0 --hyp-base 1", g=GOLD, h=SHIFTED)
    assert out.startswith("AER 0.0000 ")
    assert "with --hyp-base 0 AER 0.1000" in out
    assert "warning" not in err


def test_g28_the_pipeline_says_it_too():
    said = []
    context = SimpleNamespace(warn=said.append)
    right, wrong = ([[Link(i, i) for i in range(start, start + 10)]] for start in (0, 1))
    text = [[["w"] * 11]]
    gold = Gold("g", *text * 2, wrong, "", 0, right)
    score = evaluate.metrics.score(evaluate.metrics.statistics(right, wrong))
    other = evaluate._under_other_base(context, gold, right, score, 0)
    assert (other["base"], other["aer"]) == (1, 0.0)
    assert len(said) == 1
    assert re.match(
        r"g: taken to count from 0, but AER 0\.1000 would be 0\.0000 if it counted from 1", said[0]
    )
    score = evaluate.metrics.score(evaluate.metrics.statistics(wrong, wrong))
    assert evaluate._under_other_base(context, gold, wrong, score, 0)["aer"] == pytest.approx(0.1)
    assert len(said) == 1


# G29: test pairs that are copies of training pairs


@pytest.mark.parametrize(
    ("kind", "pairs", "copies"),
    [([1, 1], [0, 1], [True, False, False]), ([0], [1], [False, True, False]), ([], [], [False] * 3)],
)
def test_g29_copies_of_training_pairs_are_found(tmp_path, kind, pairs, copies):
    gold = [[1, 2], [3], [1, 2], [4, 5], [6]]
    sides = [Sentences.from_lists(gold), Sentences.from_lists(gold)]
    Corpus(*sides).save(tmp_path / "gold")
    corpus = [[9], [4, 5], [8]]
    Corpus(Sentences.from_lists(corpus), Sentences.from_lists(corpus)).save(tmp_path / "corpus")
    np.save(tmp_path / "kind.npy", np.array(kind, dtype=np.uint8))
    np.save(tmp_path / "pairs.npy", np.array(pairs, dtype=np.int64))
    context = SimpleNamespace(inputs={"label": tmp_path, "preprocess": tmp_path})
    assert evaluate._copies_of_training(context, 2).tolist() == copies


def test_g29_and_the_same_source_with_another_target_is_no_copy(tmp_path):
    source = Sentences.from_lists([[1], [1]])
    Corpus(source, Sentences.from_lists([[1], [2]])).save(tmp_path / "gold")
    np.save(tmp_path / "kind.npy", np.ones(1, dtype=np.uint8))
    np.save(tmp_path / "pairs.npy", np.zeros(1, dtype=np.int64))
    context = SimpleNamespace(inputs={"label": tmp_path, "preprocess": tmp_path})
    assert evaluate._copies_of_training(context, 1).tolist() == [False]


# G35: results alone on standard output: tests/pipeline/stages/embed/test_embed.py asks it of the line about
# the map; here it is fastText's own.


def test_g35_fasttext_writes_nothing_on_standard_output(tmp_path, capfd):
    from align.vectors.training import train

    (tmp_path / "t").write_text("\ue000a \ue001b\n" * 50, encoding="utf-8")
    train(
        tmp_path / "t",
        [["a"], ["b"]],
        dim=3,
        epochs=1,
        window=5,
        rate=0.05,
        sampling=1.0,
        min_count=1,
        buckets=10,
        verbose=True,
    )
    out, err = capfd.readouterr()
    assert out == ""
    assert "words/sec" in err
