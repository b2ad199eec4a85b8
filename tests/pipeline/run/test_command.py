"""What the command line of the pipeline says where it is stopped."""

import os
import subprocess
import sys

import pytest

from pipeline.run import command, runner
from tests.conftest import ROOT

AGAIN = "interrupted; the same command goes on where it stopped"


@pytest.mark.parametrize(
    ("arguments", "forced", "left", "first", "told"),
    [
        ([], False, False, True, AGAIN),
        (["--from", "lexicon"], False, False, True, AGAIN),
        (
            ["--force", "--stage", "train"],
            True,
            False,
            False,
            "interrupted in train; the same command without --force goes on where it stopped",
        ),
        (
            ["--from", "lexicon"],
            True,
            True,
            False,
            "interrupted in train; the same command with --from train in place of --from lexicon begins that "
            "stage anew and keeps what was made before it",
        ),
        (
            ["--from", "train"],
            True,
            True,
            True,
            "interrupted in train; the same command begins that stage anew",
        ),
        (
            ["--force", "--from", "label", "--config", "a.toml", "--config", "b.toml"],
            True,
            False,
            False,
            "interrupted in train; the same command without --force and --from label goes on where it "
            "stopped; leave out the --config of what is done",
        ),
    ],
)
def test_stopped_by_the_user(monkeypatch, capsys, arguments, forced, left, first, told):
    def stop(options):
        raise runner.Interrupted("train", forced=forced, left=left, first=first)

    monkeypatch.setattr(command, "_run", stop)
    assert command.main(arguments) == 130
    assert capsys.readouterr().err == f"{told}\n"


def test_stopped_before_a_stage_was_begun(monkeypatch, capsys):
    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_run", stop)
    assert command.main(["--force"]) == 130
    assert capsys.readouterr().err == f"{AGAIN}\n"


@pytest.mark.parametrize("question", [["--list"], ["--list", "train"], ["--dry-run"]])
def test_a_reader_that_goes_away(tmp_path, question):
    """As `head` does: there is nothing to tell, and nobody to tell it to."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [*question, "--workdir", str(tmp_path)]
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "run_pipeline.py", *words],
            cwd=ROOT,
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
