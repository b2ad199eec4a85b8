"""The commands that measure speed, growth and restarts, run to their end on made text."""

import csv
import json
from pathlib import Path

import pytest

from align.core.errors import WorkError
from benchmarks import __main__ as speed
from benchmarks import process, restart, scaling
from benchmarks.stages import Runs
from pipeline.work.journal import NAME, Journal
from tests import prepared
from tests.runs import ROOT

pytestmark = pytest.mark.slow


# What is run to be measured is a copy of the prepared process.
MEASURED = """
import os, subprocess, sys
from benchmarks import measured
from tests.prepared import Fork
begin = subprocess.Popen
subprocess.Popen = lambda words: (Fork if os.path.samefile(words[0], sys.executable) else begin)(words)
sys.exit(measured.main())
"""


@pytest.fixture
def warm(monkeypatch):
    """No kernel is compiled beforehand: what the runs take is not looked at."""
    monkeypatch.setattr(Runs, "warm_up", lambda *words: None)


def call(command, log, environment):
    """Stand in for ``benchmarks.process.call`` of a command that is measured."""
    done = prepared.run(["-c", MEASURED, *command[3:]], cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def copies(monkeypatch):
    """Let measured commands run in copies of a prepared process; no figure is looked at closely."""
    monkeypatch.setattr(process, "call", call)


@pytest.fixture
def copies_unwatched(monkeypatch):
    """Let commands run so of which nobody watches the memory."""
    anew = process.call

    def either(command, *given):
        plan = json.loads(Path(command[4]).read_text(encoding="utf-8"))
        return (anew if plan["poll"] else call)(command, *given)

    monkeypatch.setattr(process, "call", either)


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_speed_with_a_stand_in_and_aligners_that_are_missing(
    command, bitext, gold, environments, monkeypatch, warm, copies
):
    monkeypatch.setenv("PATH", str(environments))
    printed, out = command(
        speed, "--bitext", *bitext(150), "--gold", gold, "--repeats", 2, "--pairs", 120,
        "--peers", "eflomal", "fast_align", "--peers-venv", environments,
    )  # fmt: skip
    assert "fast_align: not measured: no fast_align on the PATH" in printed
    assert (out / "table.md").read_text(encoding="utf-8") in printed
    found = rows(out / "results.csv")
    whole = [row for row in found if row["what"] == "tokens to links"]
    # Every other round is backwards.
    order = [(row["name"], row["round"]) for row in whole]
    assert order == [("Liaison", "1"), ("eflomal", "1"), ("eflomal", "2"), ("Liaison", "2")]
    assert all(float(row["cpu_seconds"]) > 0 for row in whole)
    # The text is word for word, and so is what the stand-in links.
    assert {row["aer intersect"] for row in whole if row["name"] == "eflomal"} == {"0.0"}
    stages = {row["stage"] for row in found if row["what"] == "stage" and row["round"] == "2"}
    assert {"download", "preprocess", "embed", "lexicon", "train", "align", "evaluate"} <= stages
    told = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert told["pairs"] == 120
    assert told["pairs of other aligners"] == 132
    assert told["versions"]["eflomal"] == "0.1"
    assert told["absent"] == {"fast_align": "no fast_align on the PATH"}
    assert told["command"].startswith("python -m benchmarks ")
    assert not list((out / "work").glob("round-*"))


def test_speed_without_any_other_aligner_and_without_gold(command, bitext, copies):
    printed, out = command(speed, "--bitext", *bitext(60), "--repeats", 1, "--jobs", 2, "--peers", "eflomal")
    assert "eflomal: left out: give --peers-venv FOLDER" in printed
    assert "| Liaison, tokens to links, --jobs 1 | 1 |" in printed
    assert "| Liaison, tokens to links, --jobs 2 | 1 |" in printed
    assert "## Accuracy" not in printed
    assert {row["name"] for row in rows(out / "results.csv")} == {"Liaison"}


def test_more_pairs_than_there_are_is_one_line(command, bitext, capsys, warm):
    with pytest.raises(SystemExit) as ended:
        command(speed, "--bitext", *bitext(20), "--pairs", 21, "--peers")
    assert ended.value.code == 2
    assert "error: 21 pairs were asked for; the text has only 20" in capsys.readouterr().err


def test_scaling_leaves_fits_a_figure_and_a_forecast(command, bitext, warm, copies):
    printed, out = command(scaling, "--bitext", *bitext(200), "--sizes", 100, 200)
    assert "FORECAST, not measured" in printed
    assert "2M pairs: CPU s" in printed
    runs = rows(out / "runs.csv")
    assert {row["pairs"] for row in runs} == {"100", "200"}
    assert {row["stage"] for row in runs} >= {"preprocess", "lexicon", "align", "all"}
    assert "download" not in {row["stage"] for row in runs}
    fits = {(row["stage"], row["cost"]): row for row in rows(out / "fits.csv")}
    assert float(fits["all", "cpu_seconds"]["plain_exponent"]) < 1.5
    assert fits["all", "cpu_seconds"]["marginal_exponent"] == ""
    assert (out / "scaling.png").stat().st_size > 10_000


def test_a_killed_run_is_started_again_and_memory_is_watched(command, bitext, warm, copies_unwatched):
    printed, out = command(restart, "--bitext", *bitext(300), "--kill-at", 0.2, "--memory", "1G")
    told = json.loads((out / "results.json").read_text(encoding="utf-8"))
    (only,) = told["restart"]
    assert only["killed"]["killed"].startswith("align after ")
    assert 0 <= only["kept"] < 1
    assert only["same"] == {"links.txt": True, "scores.txt": True, "links.parquet": True}
    assert told["memory"]["same"] == only["same"]
    assert told["memory"]["sample"] == told["memory"]["pairs_of_corpus"]
    assert 50 << 20 < told["memory"]["whole"]["pss"] <= told["memory"]["whole"]["rss"] < 1 << 30
    assert "RSS within the limit; PSS within the limit" in printed
    assert rows(out / "restart.csv")[0]["same links.txt"] == "yes"


@pytest.mark.parametrize("lines", [None, 0, 1, 7])
def test_the_lines_that_a_killed_run_kept_are_those_of_its_journal(tmp_path, lines):
    class Run:
        def unfinished(self, stage):
            assert stage == "align"
            return tmp_path

    if lines is not None:
        with Journal(tmp_path, ["links.txt"], "align 9 lines") as journal:
            for done in range(1, lines + 1):
                journal.commit({"lines": done})
        with open(tmp_path / NAME, "ab") as file:
            file.write(b'{"sizes": {')
    assert restart.kept_lines(Run()) == (lines or 0)


def test_a_run_that_cannot_be_killed_in_time_is_told(monkeypatch):
    class Run:
        killed = ""

    class Pipeline:
        def run(self, *words):
            pass

        def watched(self, *words, **options):
            return Run()

    class Runs:
        options = ()

        def fresh(self, *words, **options):
            return Pipeline(), None, [Run()]

        def pipeline(self, *words):
            return Pipeline(), None

    monkeypatch.setattr(restart, "figures_of", lambda *words: {"align": type("F", (), {"seconds": 1.0})})
    monkeypatch.setattr(restart, "digests", lambda pipeline: {})
    with pytest.raises(WorkError, match="align was over before it could be killed"):
        restart.killed_round(Runs(), 0, 1, 0.5, 0)
