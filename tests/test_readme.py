"""Every command of the README is run, in a folder that looks like a checkout; none is left out silently."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

import pytest

from tests import prepared

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FAST = ["--set", "embed.dim=10", "--set", "embed.epochs=1", "--set", "lexicon.chains=4", "--jobs", "1"]

# What an installer makes of the entry point.
LIAISON = ["-c", "import sys; from pipeline.run.liaison import begin; sys.exit(begin())"]

# Installing and the tests themselves are what runs this: .ci/run does both from nothing.
BY_CI = ("pip install", "python -m pytest")


def commands():
    found = []
    for line in re.findall(r"^    ((?:python|pip|liaison) .*)$", README, re.M):
        found += [part.strip() for part in line.split("&&")]
    return found


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder with what the README's commands find in a checkout, and the files they name."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "run_pipeline.py", folder)
    shutil.copytree(ROOT / "data", folder / "data", ignore=shutil.ignore_patterns("work"))
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pairs.tsv").write_text("The train is late.\tLe train est en retard.\n", encoding="utf-8")
    texts = {"gold.align": "0-0 1p1\n", "forward.txt": "0-0 1-1\n", "reverse.txt": "0-0\n"}
    for name, text in (texts | {"rows.txt": "a b ||| c d ||| 0-0 1-1\n"}).items():
        (folder / name).write_text(text, encoding="utf-8")
    sample = folder / "data" / "sample"
    for side in ("en", "fr"):
        lines = (sample / f"sample.{side}").read_text(encoding="utf-8").split("\n")[:60]
        (folder / f"text.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / f"gold.{side}").write_text(
            (sample / f"gold.{side}").read_text(encoding="utf-8"), encoding="utf-8"
        )
    configuration = re.search(r"^    \[corpus\]\n(?:^    .*\n|^\n)*", README, re.M).group()
    (folder / "my.toml").write_text(re.sub(r"^    ", "", configuration, flags=re.M), encoding="utf-8")
    with tarfile.open(folder / "fr-en.tgz", "w:gz") as archive:
        for side in ("en", "fr"):
            archive.add(folder / f"text.{side}", f"europarl-v7.fr-en.{side}")
    return folder


def python_words(command):
    """Return what Python is told for a command."""
    program, *words = shlex.split(command)
    assert program in ("python", "liaison")
    return [*(LIAISON if program == "liaison" else ()), *words]


def run(checkout, command, *more, status=0):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = prepared.run([*python_words(command), *more], cwd=checkout, env=environment)
    assert done.returncode == status, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def sample(checkout):
    """The checkout, after the first command of the README."""
    run(checkout, "liaison run", *FAST)
    return checkout


@pytest.mark.slow
@pytest.mark.parametrize("command", [each for each in commands() if not each.startswith(BY_CI)])
def test_a_command_works_as_written(sample, command):
    more = []
    if command.startswith("liaison run"):
        more = [*FAST]
    if "my.toml" in command:
        shutil.copy(sample / "data" / "sample" / "gold.align", sample / "gold.align")
    if "europarl" in command:
        more += ["--set", f"corpus.url={sample / 'fr-en.tgz'}"]
    if " score " in command:
        (sample / "links.txt").write_text("0-0\n", encoding="utf-8")
        (sample / "gold.align").write_text("0-0 1p1\n", encoding="utf-8")
    if " serve " in command:
        check_serve(sample, command)
        return
    if "benchmarks.solvers" in command:
        more += ["--passes", "3"]
    output = run(sample, command, *more)
    if "benchmarks.solvers" in command:
        assert output.startswith("# How fast the solvers close the duality gap")
        assert (sample / "solvers" / "sample-gold.png").read_bytes().startswith(b"\x89PNG")
    if command == "liaison run" or "my.toml" in command:
        assert output.startswith(("AER 0.", "map "))
        assert re.search(r"^AER 0\.\d{4} P ", output, re.M)
    if "--scores" in command:
        links = (sample / "links.txt").read_text(encoding="utf-8")
        assert re.fullmatch(r"(\d+-\d+:[01](\.\d+)? ?)+\n", links)
    if " explain " in command:
        assert "train" in output
    if " combine " in command:
        assert output == "0-0 1-1\n"
    if " convert " in command:
        assert (sample / "links.wpt").exists()


def check_serve(sample, command):
    process = subprocess.Popen(
        [sys.executable, *python_words(command), "--port", "0"],
        cwd=sample,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"<html" in page.read()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_the_python_examples_work(sample):
    aligning, solving = blocks("python")
    aligning = aligning.replace("aligner.align(", "print(aligner.align(", 1).replace(
        'retard.")\n', 'retard."))\n', 1
    )
    (sample / "example.py").write_text(aligning, encoding="utf-8")
    assert run(sample, "python example.py").startswith("[(0, 0)")
    (sample / "solving.py").write_text(solving, encoding="utf-8")
    status, primal, gap = run(sample, "python solving.py").split()
    assert status == "converged"
    assert 0 <= float(gap) <= 1e-4 * float(primal)


def test_files_the_readme_names_exist():
    for name in re.findall(r"\]\(([\w./-]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`(data/[\w./-]+\.toml)`", README):
        assert (ROOT / name).exists(), name


def test_the_two_commands_of_the_start_are_what_ci_runs():
    assert "pip install -e . && liaison run" in README
    assert 'pip install -e ".[test]" && python -m pytest' in README
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in (
        'install() { python -m pip install --quiet --disable-pip-version-check "$@"; }',
        "\ninstall -e .\nliaison run ",
        '\ninstall -e ".[test]"\n',
        "\npython -m pytest\n",
    ):
        assert command in ci
