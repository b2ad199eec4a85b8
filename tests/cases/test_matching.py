"""Sentences, matching and training: each test is named after the case it holds."""

import csv
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from align.cli import links as links_command
from align.core.errors import InputError, WorkError
from align.features import compute
from align.features.groups import GROUPS
from align.links import FORMATS, read_file
from align.links.symmetrize import METHODS, symmetrize
from align.model.aligner import Aligner
from align.model.alignments import Alignments
from align.model.folder import Model
from align.model.pairs import look_up
from align.problems.labels import Labels
from align.solvers import SOLVERS, Row
from pipeline.stages.train import solving
from pipeline.stages.train import stage as train
from tests.align import toy
from tests.align.solvers.problems import pairs, solve
from tests.pipeline.stages.align.test_align import COUNT, LINES, files, lines_of, made
from tests.pipeline.stages.align.test_align import run as align
from tests.pipeline.stages.preprocess import test_preprocess
from tests.pipeline.stages.train import test_train
from tests.pipeline.stages.train.test_train import context_of, fit_with, label, training_of

_made, stages = test_train._made, test_train.stages
preprocessed = test_preprocess.run

ROW, LINKS = "The red house.\tLe maison rouge.\n", "0-0 1-2 2-1 3-3"


@pytest.fixture
def model(tmp_path):
    toy.toy_model().save(tmp_path / "toy")
    return tmp_path / "toy"


@pytest.fixture
def aligner(model):
    return Aligner.load(model)


@pytest.fixture
def inputs(tmp_path):
    return made(tmp_path)


def test_d01_what_cannot_be_split_is_rejected_and_nothing_is_cut_off(preprocessed):
    long = " ".join(["word"] * 1500)
    result = preprocessed(["a", long, "b"], ["x", "mot", "y"])
    assert result.reasons == [(2, "too_long", "dropped")]
    assert "1500 and 1 analysis tokens, over 100, and no place to split" in result.rejects[0]["detail"]
    assert result.text[0] == ["a", "", "b"]
    assert result.lines.tolist() == [0, 2]
    assert result.spans(1) == []
    whole = preprocessed(["a", long], ["x", long.replace("word", "mot")], options={"max_length": 2000})
    assert whole.corpus.source.lengths().tolist() == [1, 1500]


@pytest.mark.parametrize(("n", "m"), [(2000, 2000), (1024, 1024), (3, 400_000)])
def test_d01_too_long_a_pair_keeps_its_line_and_is_told(run, model, n, m):
    row = " ".join(["a"] * n) + "\t" + " ".join(["b"] * m) + "\n"
    status, out, err = run("links --model toy", stdin=ROW + row + ROW)
    assert (status, out) == (0, f"{LINKS}\n\n{LINKS}\n")
    assert f"<stdin>:2: pair: {n} and {m} words without a place to split" in err


def test_d02_very_long_pairs_are_split_not_cut_off(aligner):
    source, target = "I see the red house . " * 150, "Je vois le maison rouge . " * 150
    links = aligner.align(source, target)
    assert links[-1] == (899, 899)
    assert len(links) == 900
    explained = aligner.explain(source, target)["links"]
    assert [(link["source"], link["target"]) for link in explained] == links


@pytest.mark.parametrize("length", [512, 513, 900])
def test_d02_words_past_any_limit_are_linked_too(aligner, length):
    """Without a place to split as well: there is no window that the last words could fall out of."""
    source = [f"name{number}" for number in range(length)]
    assert aligner.align(source, source) == [(j, j) for j in range(length)]


@pytest.mark.parametrize("n", [0, 1, 2, 9])
@pytest.mark.parametrize("m", [0, 1, 2, 9])
def test_d04_sides_of_one_word_and_of_different_lengths(aligner, n, m):
    source = ["house", *["x"] * (n - 1)][:n]
    target = [*["y"] * (m - 1), "maison"][-m:] if m else []
    links = aligner.align(source, target)
    assert ((0, m - 1) in links) == bool(n and m)
    assert len({j for j, _ in links}) == len({k for _, k in links}) == len(links) <= min(n, m)
    block = aligner_block(aligner, source, target)
    features = compute(block, aligner.model.resources, groups=tuple(GROUPS)).features
    assert np.isfinite(features).all()


def aligner_block(aligner, source, target):
    resources = aligner.model.resources
    vocabularies = resources.source_vocabulary, resources.target_vocabulary
    return look_up([aligner.tokens(source, target)], vocabularies)[0]


def test_d05_identical_pairs_are_aligned_but_say_nothing_of_translation(preprocessed):
    result = preprocessed(["The end", "12.", "a b"], ["The end", "12.", "x y"])
    assert result.reasons == [(1, "identical", "no-statistics")]
    assert result.used.tolist() == [False, True, True]
    assert result.text[0][0] == "The end"
    # They are in the vocabulary, not in its counts.
    assert dict(zip(result.words[0].words, result.words[0].counts.tolist(), strict=True))["the"] == 0


@pytest.mark.parametrize(
    "text",
    ["zxq vbn fgh jkl", "the the the the", "a a b a a b a a", "! ! ! !", "x , x , 5 5 .", "the red house"],
)
def test_d05_identical_pairs_are_linked_along_the_diagonal(aligner, text):
    assert aligner.align(text, text) == [(j, j) for j in range(len(text.split(" ")))]


def test_d05_a_corpus_of_nothing_else_is_told(pipeline):
    rows = "the end\tthe end\na cat\ta cat\n"
    for option in ("embed.vectors=auto", "embed.vectors=none"):
        status, out, err = pipeline('tsv = "c.tsv"', "--set", option, **{"c.tsv": rows})
        assert (status, out) == (2, "")
        told = "rejects.tsv: 0 usable pairs to learn from, of 2 (reported: identical 2); give text that is"
        assert told in err.rpartition("error: ")[2]


def test_d08_words_without_a_counterpart_stay_alone_and_the_sentence_scores_low(aligner, run):
    half = "the red house i see big dog\tle maison rouge"
    whole = f"{half} je vois grand chien"
    status, out, err = run("links --model toy --sentence-scores scores", stdin=f"{half}\n{whole}\n")
    assert (status, err) == (0, "")
    lines = out.split("\n")
    assert [link.split("-")[0] for link in lines[0].split(" ")] == ["0", "1", "2"]
    assert len(lines[1].split(" ")) == 7
    low, high = map(float, Path("scores").read_text(encoding="utf-8").split("\n")[:2])
    assert low < 0.6 < 0.9 < high
    # No link that scores no more than none at all.
    for row in (half, whole):
        assert all(link["score"] > 0 for link in aligner.explain(*row.split("\t"))["links"])


def test_d09_pairs_without_links_are_empty_lines_and_counted_once(inputs, tmp_path, capsys, run, model):
    align(inputs, tmp_path / "out")
    err = capsys.readouterr().err
    assert lines_of(tmp_path / "out" / "links.txt")[7] == ""
    assert lines_of(tmp_path / "out" / "scores.txt")[7] == "0.0000"
    assert err.count("of them without any") == 1
    assert f"links in {len(set(LINES))} pairs, 1 of them without any; mean score 0." in err
    assert run("links --model toy", stdin="dog\tvois\n" * 3 + ROW) == (0, f"\n\n\n{LINKS}\n", "")


@pytest.mark.parametrize("method", METHODS)
def test_d11_symmetrization_looks_at_links_alone(method, run):
    """Not at the table that they span, which here has 10**18 cells."""
    far = 10**9 - 1
    forward, reverse = {(0, 0), (far, far), (5, far)}, {(0, 0), (far, far), (far, 5)}
    both = [(0, 0), (far, far)]
    found = symmetrize(forward=forward, reverse=reverse, method=method)
    assert found == (sorted(forward | reverse) if method == "union" else found)
    assert set(both) <= set(found)
    words = f"combine --forward f --reverse r --method {method}"
    texts = {name: " ".join(f"{j}-{k}" for j, k in cells) for name, cells in (("f", forward), ("r", reverse))}
    assert run(words, **texts)[:2] == (0, " ".join(f"{j}-{k}" for j, k in found) + "\n")


@pytest.mark.parametrize("method", METHODS)
def test_d11_a_long_chain_of_neighbours_ends(method):
    chain = {(j, j + up) for j in range(20_000) for up in (0, 1)}
    assert (0, 0) in symmetrize(forward={(0, 0)}, reverse=chain, method=method) or method == "intersect"


def test_d12_the_same_bytes_for_any_block_and_any_number_of_jobs(inputs, tmp_path):
    """Of the other stages: tests of preprocess and train for any number of jobs; tests/test_pipeline.py."""
    align(inputs, tmp_path / "whole")
    expected = files(tmp_path / "whole")
    assert set(expected) == {"links.txt", "scores.txt", "links.parquet", "source.txt", "target.txt"}
    for block, jobs in ((1, 1), (3, 1), (2, 2), (1, 8)):
        folder = tmp_path / f"{block}-{jobs}"
        align(inputs, folder, block=block, jobs=jobs)
        assert files(folder) == expected, (block, jobs)


READERS = {
    "score": "score --gold links --hyp links --source s --target t",
    "score as hypothesis": "score --gold good --hyp links --source s --target t",
    "convert": "convert --from pharaoh --to jsonl -i links -o out --source s --target t",
    "lexicon": "lexicon --links links --source s --target t",
    "giza": "convert --from giza --to pharaoh -i giza -o out",
    "jsonl": "convert --from jsonl --to pharaoh -i jsonl -o out",
}
TEXTS = {
    "s": "a b\nc d\n",
    "t": "x y\nz w\n",
    "good": "0-0\n0-0\n",
    "giza": "# Sentence pair (1)\nx y\nNULL ({ }) a ({ 1 }) b ({ 3 })\n",
    "jsonl": '{"links": [{"source": 0, "target": 2}], "source": ["a", "b"], "target": ["x", "y"]}\n',
}


@pytest.mark.parametrize("link", ["0-2", "2-0", "0p2", "1-999999999"])
@pytest.mark.parametrize("reader", READERS)
def test_d13_a_link_beyond_the_end_is_refused_on_reading(run, reader, link):
    status, _, err = run(READERS[reader], links=f"0-0\n{link}\n", **TEXTS)
    assert (status, Path("out").exists()) == (2, False)
    assert f"error: {reader if reader in TEXTS else 'links'}:" in err
    assert "lies outside the pair of 2 source tokens" in err or "is not one of the 2 target positions" in err
    assert "Traceback" not in err


def of_giza(source, target):
    rows = [f"{word} ({{ {target + 1 if place == source else ''} }})" for place, word in enumerate("cd")]
    return f"# Sentence pair (1)\nz w\n{' '.join(['NULL ({ })', *rows])}\n"


def of_tmx(source, target):
    sides = "".join(f"<tuv><seg>{words}</seg></tuv>" for words in ("c d", "z w"))
    link = f'<prop type="x-word-alignment">0-0 {source}-{target}</prop>'
    return f"<tmx><body>\n<tu>{link}{sides}</tu>\n</body></tmx>\n"


# A file whose pair of two words a side has that link, and the line on which it stands.
WITH_LINK = {
    "pharaoh": (lambda *link: "0-0 {}p{}\n".format(*link), 1),
    "talp": (lambda *link: "0-0 {}-{}\n".format(*link), 1),
    "berkeley": (lambda *link: "0-0 {1}-{0}-P\n".format(*link), 1),
    "wpt": (lambda *link: "1 {} {}\n1 1 1\n".format(*(index + 1 for index in link)), 1),
    "giza": (of_giza, 3),
    "tmx": (of_tmx, 2),
    "jsonl": (lambda *link: f'{{"source": ["c", "d"], "target": ["z", "w"], "links": [{list(link)}]}}\n', 1),
    "nltk": (lambda *link: "c d\nz w\n0-0 {}-{}\n".format(*link), 3),
}
OWN_TEXT = ("giza", "tmx", "jsonl", "nltk")


def test_d13_all_formats_of_links_are_in_the_table(run):
    assert list(WITH_LINK) == list(FORMATS)
    for format, (text, _) in WITH_LINK.items():
        assert run(f"convert --from {format} --to pharaoh -i f", f=text(1, 1))[0] == 0


@pytest.mark.parametrize("link", [(0, 2), (2, 0), (9, 9), (-2, 0), (0, -2)])
@pytest.mark.parametrize("format", WITH_LINK)
def test_d13_no_format_brings_a_link_beyond_its_pair(run, format, link):
    """Whichever side, below the first word or beyond the last; in giza the sources are not numbered."""
    text, line = WITH_LINK[format]
    if format == "giza":
        link = (0, next(index for index in link if index))
    files = {"f": text(*link), "s": "c d\n", "t": "z w\n"}
    known = "" if format in OWN_TEXT else "--source s --target t"
    commands = [
        f"convert --from {format} --to pharaoh -i f -o out {known}",
        f"score --gold f --hyp f --gold-format {format} --hyp-format {format} {known}",
    ]
    if format in OWN_TEXT:
        commands.append(f"combine --forward f --reverse f --format {format} --method union -o out")
        Path("f").write_text(files["f"], encoding="utf-8")
        with pytest.raises(InputError, match=f"^f:{line}: "):
            read_file("f", format=format)
    for words in commands:
        status, _, err = run(words, **files)
        assert (status, Path("out").exists(), err.count("error: ")) == (2, False, 1)
        assert f"error: f:{line}: " in err


@pytest.mark.parametrize("link", ["-1-0", "0--1", "0-1.5", "9999999999-0", "٣-0", "0-", "a-b"])
def test_d13_what_is_no_index_is_refused_on_reading(run, link):
    status, _, err = run("convert --from pharaoh --to wpt", stdin=f"0-0\n{link}\n")
    assert status == 2
    assert f"error: <stdin>:2: '{link}' is not a link" in err


def test_d13_a_link_outside_its_pair_stops_the_stage(inputs, tmp_path, monkeypatch):
    def stray(self, block, **options):
        links = Alignments.build(
            *np.zeros((3, 1), np.int64), *np.ones((2, 1)), *np.ones((2, len(block.corpus)))
        )
        return Alignments(links.offsets, links.source + 40, *list(vars(links).values())[2:])

    monkeypatch.setattr(Aligner, "align_block", stray)
    with pytest.raises(AssertionError, match="a link outside its pair in line 2"):
        align(inputs, tmp_path / "out")


def test_d15_line_n_for_line_n_over_blocks(run, model, monkeypatch):
    rows = [f"see {i} dog\tvois {i} chien\n" if i % 3 else "bad row\n" for i in range(100)]
    whole = run("links --model toy", stdin="".join(rows))
    monkeypatch.setattr(links_command, "_PAIRS_AT_A_TIME", 7)
    status, out, err = run("links --model toy", stdin="".join(rows))
    assert (status, out, err) == whole
    assert out.split("\n")[:-1] == ["0-0 1-1 2-2" if i % 3 else "" for i in range(100)]
    assert err.count("\n") == 34
    assert "<stdin>:4: 1 field(s) instead of 2 with a TAB between; the line is left empty\n" in err


def test_d15_as_many_lines_out_as_in_by_every_way(run, model, inputs, tmp_path):
    align(inputs, tmp_path / "stage")
    for name in ("links.txt", "scores.txt", "source.txt", "target.txt"):
        assert len(lines_of(tmp_path / "stage" / name)) == COUNT
    sides = {"s": "house\n\n \nred\n" * 300, "t": "maison\nle\n\nrouge\n" * 300}
    lines = (text.split("\n")[:-1] for text in sides.values())
    joint = "".join(f"{source} ||| {target}\n" for source, target in zip(*lines, strict=True))
    for words in ("--source s --target t", "-i joint --format joint", "-i joint.gz --format joint"):
        packed = {"joint.gz": gzip.compress(joint.encode())}
        options = "--scores --sentence-scores sums"
        status, out, _ = run(f"links --model toy {words} {options}", joint=joint, **packed, **sides)
        assert status == 0
        assert out.count("\n") == Path("sums").read_text(encoding="utf-8").count("\n") == 1200
        assert [bool(line) for line in out.split("\n")[:4]] == [True, False, False, True]


def test_d16_pairs_without_links_are_left_out(stages, tmp_path):
    test_train.without_links(stages, np.arange(1, 60, 3))
    train.run(context_of(stages, tmp_path / "out"), passes=3)
    training = training_of(tmp_path / "out")
    assert (training["pairs"], training["pairs_without_links"]) == (20, 40)
    Model.load(tmp_path / "out")


@pytest.mark.parametrize("kept", [[], [7, 8]])
def test_d16_hardly_any_links_stop_the_run_with_the_threshold(stages, tmp_path, kept):
    test_train.without_links(stages, kept)
    message = (
        rf"label: {len(kept)} of 60 labelled pairs have a sure link, at least 5% is needed \(threshold 0\.4\)"
    )
    with pytest.raises(InputError, match=message):
        train.run(context_of(stages, tmp_path / "out"))


def test_d16_no_pairs_at_all_stop_the_run(stages, tmp_path):
    (stages / "label" / "summary.json").unlink()
    for path in (stages / "label").iterdir():
        path.unlink()
    Labels.from_lists([]).save(stages / "label")
    with pytest.raises(
        InputError, match="0 of 0 labelled pairs have a sure link, at least 5% is needed; lower"
    ):
        train.run(context_of(stages, tmp_path / "out"))


def test_d17_the_gap_of_each_pass_is_a_line_of_the_history(stages, tmp_path):
    train.run(context_of(stages, tmp_path / "out"), passes=4, tolerance=0.0)
    text = (tmp_path / "out" / "history.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.split("\n")))
    assert [row["passes"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert list(rows[0]) == list(Row._fields)
    gaps = [float(row["gap"]) for row in rows]
    assert gaps[-1] < gaps[0]
    duals = [float(row["dual"]) for row in rows]
    assert duals == sorted(duals)
    assert (tmp_path / "out" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_d17_a_gap_that_does_not_fall_is_an_error():
    stuck = fit_with([5.0] * 11)
    message = r"the duality gap did not fall in 10 passes \(5 at the start, 5 at the end\); raise train.lam"
    with pytest.raises(WorkError, match=message) as caught:
        solving._check_progress(stuck)
    assert caught.value.exit_status == 1
    solving._check_progress(fit_with([5.0] * 10 + [4.9]))  # it fell
    solving._check_progress(fit_with([5.0] * 10))  # too early to say
    solving._check_progress(fit_with([0.0] * 12, status="converged"))
    low_average = stuck.history[4]._replace(average_gap=1.0)
    solving._check_progress(replace(stuck, history=(*stuck.history, low_average)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_d17_no_gap_is_below_0_however_long_a_solver_runs(solver):
    fit = solve(solver, pairs(6, 3, 3, seed=1), lam=0.1, passes=600, tolerance=0.0)
    assert fit.gap >= 0
    assert fit.gap == fit.primal - fit.dual
    gaps = [min(row.gap, row.average_gap) for row in fit.history]
    assert np.nanmin(gaps) >= 0
    assert fit.gap < 1e-2 * gaps[0]
    assert fit.status in ("converged", "pass-limit")


def test_d17_where_one_class_dominates_w_leaves_0_all_the_same(stages, tmp_path):
    """One link a pair, of some forty possible ones."""
    labels = Labels.load(stages / "label")
    first = labels.offsets[:-1]
    for path in (stages / "label").iterdir():
        path.unlink()
    sure, offsets = np.ones(len(first), dtype=bool), np.arange(len(first) + 1)
    label(stages, Labels(offsets, labels.source[first], labels.target[first], sure))
    train.run(context_of(stages, tmp_path / "out"), passes=15)
    assert np.abs(Model.load(tmp_path / "out").weights).max() > 0
