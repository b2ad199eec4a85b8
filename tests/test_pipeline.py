"""The whole pipeline on the embedded sample: run, skipped, killed anywhere, the same bytes with any jobs."""

import json
import os
import random
import re
import shutil
import signal
import time

import pyarrow.parquet as pq
import pytest

from pipeline.run.graph import STAGES
from tests.runs import ROOT, begin, digests, run, without


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A work folder where everything is done, the run's output, and its results."""
    workdir = tmp_path_factory.mktemp("done")
    ran = run(workdir, "--jobs", "1", anew=True)
    return workdir, ran, digests(workdir)


def same(workdir, done, *stages):
    """Say whether stages left the bytes that they left in the finished run."""
    expected = {name: value for name, value in done[2].items() if name.split("/")[0] in stages}
    return bool(expected) and digests(workdir, *stages) == expected


def test_every_stage_leaves_its_results(done):
    workdir, ran, found = done
    assert {name.split("/")[0] for name in found} == set(STAGES)
    latest = workdir / "sample" / "latest"
    lines = (latest / "align" / "links.txt").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(lines) == 710
    source = (latest / "align" / "source.txt").read_text(encoding="utf-8").split("\n")
    target = (latest / "align" / "target.txt").read_text(encoding="utf-8").split("\n")
    for line, left, right in zip(lines, source, target, strict=False):
        for link in line.split():
            j, k = map(int, link.split("-"))
            assert 0 <= j < len(left.split(" "))
            assert 0 <= k < len(right.split(" "))
    assert sum(map(len, lines)) > 710
    pattern = r"AER 0\.\d{4} P 0\.\d{4} R 0\.\d{4} F1 0\.\d{4} pairs 140 links \d+ sure \d+ possible \d+"
    assert re.fullmatch(pattern, ran.stdout.strip().split("\n")[-1])
    assert (latest / "inspect" / "report.html").stat().st_size > 10_000


def test_every_link_of_the_report_has_the_reasons_that_made_it(done):
    """Of pairs that were sampled too: their scores are those of the stage that linked them."""
    latest = done[0] / "sample" / "latest"
    page = (latest / "inspect" / "report.html").read_text(encoding="utf-8")
    shown = json.loads(re.search(r'<script type="application/json" id="data">(.*)</script>', page).group(1))
    made = pq.read_table(latest / "align" / "links.parquet").to_pydict()
    scores = {
        (line, j, k): score
        for line, j, k, score in zip(made["line"], made["source"], made["target"], made["score"], strict=True)
    }
    explained = 0
    for pair in shown["pairs"]:
        for j, k, _, score, reasons, others in pair["links"]:
            assert sum(value for _, value in reasons) + others == pytest.approx(score, abs=2e-3)
            if pair["kind"] == "corpus":
                assert score == pytest.approx(scores[pair["number"], j, k], abs=1e-3)
            explained += 1
    assert {pair["kind"] for pair in shown["pairs"]} == {"gold", "corpus"}
    assert explained > 1000


def test_the_table_of_gold_links_says_what_the_error_rate_counts(done):
    latest = done[0] / "sample" / "latest"
    table = pq.read_table(latest / "evaluate" / "links.parquet").to_pydict()
    report = json.loads((latest / "evaluate" / "evaluation.json").read_text())
    numbered = zip(table["line"], table["gold"], strict=True)
    test = [kind for line, kind in numbered if line > report["train_pairs"]]
    assert len(test) == report["links"]
    assert test.count("sure") == report["sure_matched"]
    assert len(test) - test.count("none") == report["possible_matched"]
    for side in ("source", "target"):
        text = (latest / "preprocess" / f"gold.{side}.txt").read_text(encoding="utf-8").split("\n")
        rows = zip(table["line"], table[side], table[f"{side}_word"], strict=True)
        assert all(text[line - 1].split(" ")[token] == word for line, token, word in rows)


def test_a_second_run_skips_everything_and_tells_the_result_again(done):
    workdir, ran, _ = done
    again = run(workdir)
    assert len(re.findall(r"skipped, done", again.stderr)) == len(STAGES)
    assert again.stdout == ran.stdout


def test_listing_and_dry_run_touch_nothing(done, tmp_path):
    workdir, _, _ = done
    before = sorted(workdir.rglob("*"))
    assert run(workdir, "--list").stdout.count(" done ") == len(STAGES)
    changed = run(workdir, "--dry-run", "--set", "train.lam=0.5").stdout
    assert "train.lam was not set, is 0.5" in changed
    assert changed.count("  run ") + changed.count(" run  ") >= 1
    assert re.search(r"label +skip", changed)
    assert re.search(r"align +run +train changed", changed) or re.search(
        r"align +run .*train changed", changed
    )
    assert sorted(workdir.rglob("*")) == before
    run(tmp_path / "new", "--dry-run")
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_jobs_do_not_change_a_byte(done, tmp_path):
    run(tmp_path, "--jobs", "2")
    assert digests(tmp_path) == done[2]


@pytest.mark.slow
def test_align_stays_within_the_memory_given(done, tmp_path):
    """More jobs than would fit as processes of their own: threads, the same bytes, the peak of all below."""
    copy = tmp_path / "work"
    shutil.copytree(done[0], copy, symlinks=True)
    run(copy, "--jobs", "6", "--memory", "1G", "--stage", "align", "--force", anew=True)
    assert digests(copy) == done[2]
    manifest = (copy / "sample" / "latest" / "align" / "manifest.json").read_text(encoding="utf-8")
    assert json.loads(manifest)["peak_memory"] < 2**30
    told = run(copy, "--jobs", "6", "--memory", "500M", "--stage", "align", "--force", anew=True).stderr
    assert re.search(r"align: [1-4] of 6 jobs: more do not go into --memory 500\.0 MB", told)
    assert digests(copy) == done[2]


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_killed_in_a_stage_the_rerun_ends_with_the_same_bytes(done, tmp_path, stage):
    """Let the run come to the stage, kill it at a random moment of it, and run again."""
    copy = without(stage, done[0], tmp_path)
    process = begin(copy, "--jobs", "1", "--stage", stage)
    deadline = time.monotonic() + 60
    folder = copy / "sample" / stage
    while not folder.exists() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.wait()
    run(copy, "--jobs", "1", "--stage", stage)
    assert same(copy, done, stage)
    assert not list(copy.rglob("*.partial"))


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_inside_align_the_rerun_does_the_rest(done, tmp_path, jobs):
    """Kill it after a random number of blocks, twice; each run goes on where the last commit was."""
    copy = without("align", done[0], tmp_path)
    program = (
        "import sys; from pipeline.work import journal; journal.EVERY = journal.REST = 0\n"
        "from pipeline.run.command import main; sys.exit(main(sys.argv[1:]))"
    )
    options = ("--jobs", jobs, "--set", "align.block=5", "--stage", "align")
    lines = [""]
    for _ in range(2):
        process = begin(copy, *options, code=program)
        journal = _wait_for_lines(copy, process, len(lines) + random.randint(1, 40))
        process.send_signal(signal.SIGKILL)
        told = process.communicate()[1]
        assert ("going on after line" in told) == (len(lines) > 1)
        lines = journal.read_text(encoding="ascii").split("\n")
    ran = run(copy, *options)
    line = int(re.search(r"align: going on after line (\d+) of 710", ran.stderr)[1])
    assert len(lines) - 3 <= line / 5 <= len(lines) + 3
    assert same(copy, done, "align")
    assert not list(copy.rglob("*.partial"))


def _wait_for_lines(workdir, process, count):
    """Wait until the journal of align has so many lines, and return it."""
    deadline = time.monotonic() + 100
    while True:
        assert time.monotonic() < deadline
        assert process.poll() is None, "the run was over before it was killed"
        for journal in (workdir / "sample" / "align").glob("*.partial/journal.txt"):
            if journal.read_bytes().count(b"\n") >= count:
                return journal
        time.sleep(0.001)


def _killed_in_lexicon(done, tmp_path):
    """Return a copy of the finished run that was killed when two chains of the sampler were made anew."""
    copy = without("lexicon", done[0], tmp_path)
    process = begin(copy, "--jobs", "1")
    deadline = time.monotonic() + 120
    while not list(copy.glob("sample/lexicon/*.partial/sampling/chains/0-1")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.0, 0.5, None], ids=["empty", "half", "zeros"])
def test_after_a_power_cut_what_is_left_of_files_is_made_anew(done, tmp_path, kept):
    """Each file that a killed run left has, with a chance of a third, lost what had not come to the disk."""
    copy = _killed_in_lexicon(done, tmp_path)
    chosen = random.Random(0)
    files = sorted(path for path in copy.glob("sample/lexicon/*.partial/**/*") if path.is_file())
    for path in files:
        if chosen.random() < 1 / 3:
            size = path.stat().st_size
            path.write_bytes(bytes(size) if kept is None else path.read_bytes()[: int(kept * size)])
    ran = run(copy, "--jobs", "1", "--stage", "lexicon")
    assert "cannot be read whole" in ran.stderr
    assert same(copy, done, "lexicon")
    assert not list(copy.rglob("*.partial"))


@pytest.mark.slow
def test_killed_between_chains_the_rerun_makes_only_those_that_are_missing(done, tmp_path):
    copy = _killed_in_lexicon(done, tmp_path)
    ran = run(copy, "--jobs", "1")
    there, wanted = map(int, re.search(r"(\d+) of (\d+) chains are there already", ran.stderr).groups())
    assert 3 <= there < wanted
    assert "pairs are there already" in ran.stderr
    assert digests(copy) == done[2]
    assert not list(copy.rglob("sampling"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--stage", "trian"], "error: --stage trian: no such stage; valid: download"),
        (["--set", "train.lamb=1"], "error: --set train.lamb: [train] has no key 'lamb'"),
        (["--config", "none.toml"], "error: none.toml: no such configuration file"),
        (["--jobs", "0"], "error: --jobs 0: less than one process"),
        (["--memory", "lots"], "error: --memory lots: no size"),
        (["--memory", "100M"], "error: --memory 100M: libraries and compiled code alone take"),
        (["--set", "featurize.groups=cosine,magic"], "magic"),
        (["--set", "train.solver=newton"], "newton"),
        (["--set", "train.lam=-1"], "train.lam"),
        (["--set", "corpus.files=a.en,b.fr"], "a.en"),
        (["--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(done, tmp_path, arguments, told):
    workdir = tmp_path / "work"
    if arguments[1:] and arguments[1].startswith(("featurize", "train.s", "train.lam=")):
        workdir = done[0]
    failed = run(workdir, *arguments, status=2)
    assert told in failed.stderr
    assert "Traceback" not in failed.stderr
    errors = [line for line in failed.stderr.split("\n") if "error:" in line]
    assert len(errors) == 1


def test_several_corpora_and_one_that_fails(done, tmp_path):
    workdir, _, _ = done
    broken = tmp_path / "broken.toml"
    broken.write_text(
        '[corpus]\nname = "broken"\nsource = "en"\ntarget = "fr"\nfiles = ["no.en", "no.fr"]\n',
        encoding="utf-8",
    )
    sample = ROOT / "data" / "sample" / "sample.toml"
    ran = run(workdir, "--config", str(broken), "--config", str(sample), status=2)
    table = ran.stdout.strip().split("\n")[-2:]
    assert re.match(r"broken +failed .*no\.en", table[0])
    assert re.match(r"sample +done +[\d.]+ +0 +AER 0\.", table[1])


def test_odd_surroundings_change_nothing(done, tmp_path, monkeypatch):
    """An ASCII locale, another time zone, no home, folders whose names need care, one that is not UTF-8."""
    monkeypatch.delenv("HOME", raising=False)
    workdir = tmp_path / os.fsdecode(b"caf\xe9") / "dossier été" / "naïve $x"
    odd = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "TZ": "Pacific/Kiritimati"}
    ran = run(workdir, "--jobs", "1", anew=True, **odd)
    assert ran.stdout == done[1].stdout
    assert digests(workdir) == done[2]
