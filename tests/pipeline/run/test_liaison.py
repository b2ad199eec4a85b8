"""The command ``liaison``: its commands, their examples, completion, and an ``align.py`` in the way."""

import os
import shlex
import subprocess
import sys

import pytest

import align
from align.cli.main import COMMANDS, Program, parser_of
from pipeline.run import command
from pipeline.run.liaison import OTHERS, PROGRAM, main
from tests.runs import ROOT
from tests.test_packaging import project

LIAISON = Program(PROGRAM, OTHERS)


def ended(capsys, words):
    """Return exit status and output of a command that its parser ends."""
    with pytest.raises(SystemExit) as end:
        main(words)
    shown = capsys.readouterr()
    return end.value.code, shown.out, shown.err


@pytest.mark.parametrize("words", [["--version"], ["run", "--version"], ["--version", "run"]])
def test_the_version(capsys, words):
    assert ended(capsys, words) == (0, f"liaison {align.__version__}\n", "")


def test_help_names_every_command(capsys):
    status, told, _ = ended(capsys, ["--help"])
    assert status == 0
    assert all(f"\n    {name}" in told for name in [*COMMANDS, *OTHERS])


def test_run_is_the_pipeline_under_its_own_name(capsys):
    assert main(["run", "--list", "train"]) == 0
    assert "  solver (" in capsys.readouterr().out
    status, _, told = ended(capsys, ["--debug", "run", "--nonsense"])
    assert (status, told) == (
        2,
        "error: unrecognized arguments: --nonsense; liaison run --help lists the options\n",
    )
    told = ended(capsys, ["run", "--help"])[1]
    assert told.startswith("usage: liaison run ")
    assert "  liaison run --config my.toml\n" in told
    with pytest.raises(SystemExit):
        command.main(["--help"])
    assert "  python run_pipeline.py --config my.toml\n" in capsys.readouterr().out


def test_commands_of_the_library(capsys, tmp_path):
    links = tmp_path / "links"
    links.write_text("0-0 1p1\n", encoding="utf-8")
    assert main(["convert", "--from", "pharaoh", "--to", "wpt", "-i", str(links)]) == 0
    assert capsys.readouterr().out == "0001 1 1 S\n0001 2 2 P\n"
    assert "; liaison convert --help lists" in ended(capsys, ["convert"])[2]


@pytest.mark.parametrize("name", [*COMMANDS, *(name for name in OTHERS if name != "run")])
def test_examples_can_be_typed(capsys, name):
    module = LIAISON.load(name)
    parser = parser_of(LIAISON, {name: module})
    for example in module.EXAMPLES:
        words = shlex.split(example.partition(" <")[0].partition(" >")[0])
        assert words[0] == name
        assert parser.parse_args(words).command == name
    assert f"examples:\n  liaison {module.EXAMPLES[0]}" in ended(capsys, [name, "--help"])[1]


def test_examples_of_run_can_be_typed():
    parser = command._parser("liaison run")
    for example in command.EXAMPLES:
        parser.parse_args(shlex.split(example))


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(capsys, shell):
    assert main(["completion", shell]) == 0
    told = capsys.readouterr().out
    for word in ("liaison", "--sentence-scores", "grow-diag-final", "--tmp-dir", "run"):
        assert word in told


def test_bash_completes(capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "liaison.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    lines = (
        f"source {script}",
        "COMP_WORDS=(liaison run --no-such --wor) COMP_CWORD=3",
        "complete -p liaison >&2",
        "_shtab_liaison liaison --wor",
        "echo ${COMPREPLY[@]}",
    )
    done = subprocess.run(["bash", "-c", "; ".join(lines)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "--workdir", done.stderr


def test_completion_without_its_package(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert capsys.readouterr().err == "error: completion: the package shtab is missing; pip install shtab\n"


def test_nothing_else_imports_the_package_for_completion():
    code = "import sys; from pipeline.run import command, liaison; from pipeline.run.graph import STAGES"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; assert 'shtab' not in sys.modules"], cwd=ROOT, check=False
    )
    assert done.returncode == 0


@pytest.fixture
def beside_their_align(tmp_path):
    """A function that runs Python in a folder with a user's ``align.py``."""
    (tmp_path / "align.py").write_text("print('mine')\n", encoding="utf-8")

    def call(*words):
        return subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_an_align_of_the_users_own_is_told(beside_their_align, tmp_path):
    """Where theirs comes first ``python -m align`` is theirs; the pipeline can tell."""
    done = beside_their_align("-m", "pipeline", "--list")
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {tmp_path / 'align.py'}: is imported in place of {ROOT / 'align'}; rename it, or leave its "
        "folder out of PYTHONPATH, or use the command liaison\n"
    )


def test_liaison_does_not_look_into_the_current_folder(beside_their_align, tmp_path):
    name, function = project()["scripts"]["liaison"].split(":")
    script = tmp_path / "bin" / "liaison"
    script.parent.mkdir()
    # What an installer makes of the entry point.
    program = f"import sys\nfrom {name} import {function}\nsys.exit({function}())\n"
    script.write_text(program, encoding="utf-8")
    done = beside_their_align(script, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"liaison {align.__version__}\n", "")
