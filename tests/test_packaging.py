"""pyproject.toml and environment.yml list the same packages; versions and licence are stated once."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import align

ROOT = Path(__file__).resolve().parent.parent
CONDA_NAMES = {
    "fasttext-community": "fasttext",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
}
BOUNDS_DIFFER = {"fasttext"}  # conda-forge packages the original, with its own versions


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def from_pyproject():
    extras = project()["optional-dependencies"]
    found = {}
    for line in [*project()["dependencies"], *extras["completion"], *extras["cluster"], *extras["test"]]:
        name, bound = re.fullmatch(r"([A-Za-z0-9-]+(?:\[\w+\])?)(.*)", line).groups()
        for each in ("dask", "distributed") if name == "dask[distributed]" else (name,):
            found[CONDA_NAMES.get(each, each)] = bound
    return found


def from_environment():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    found = {}
    for line in re.findall(r"^  - (\S.*)$", text.partition("dependencies:")[2], re.M):
        name, _, bound = line.partition(" ")
        found[name] = bound
    return found


def test_conda_and_pip_install_the_same():
    pip, conda = from_pyproject(), from_environment()
    assert conda.pop("python") == project()["requires-python"]
    conda.pop("pip")
    assert set(pip) == set(conda)
    for name, bound in pip.items():
        if name not in BOUNDS_DIFFER:
            assert conda[name] == bound, name


def locked():
    """Return the releases that the lock installs, by name: version, marker, hashes."""
    text = (ROOT / "requirements" / "tests.lock").read_text(encoding="utf-8")
    row = r"^([a-z0-9-]+)==(\S+)(?: ; (.*?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
    found = {}
    for name, version, marker, hashes in re.findall(row, text, re.M):
        found.setdefault(name, []).append((version, marker, hashes.count("--hash=")))
    assert sum(map(len, found.values())) == len(re.findall(r"^[^ #\n]", text, re.M))
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_of_the_tests_names_every_dependency(python):
    """One release of each for every Python, with hashes, inside the bounds."""
    assert python in SpecifierSet(project()["requires-python"])
    linux = {
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
    }
    here = {**linux, "python_version": python, "python_full_version": f"{python}.5"}
    versions = {
        name: [version for version, marker, _ in rows if not marker or Marker(marker).evaluate(here)]
        for name, rows in locked().items()
    }
    extras = project()["optional-dependencies"].values()
    for line in [*project()["dependencies"], *(each for extra in extras for each in extra)]:
        wanted = Requirement(line)
        for name in {wanted.name, *wanted.extras} - {project()["name"]} - {"test", "docs"}:
            assert len(versions.get(name, ())) == 1, f"{name}: not in requirements/tests.lock once"
            assert versions[name][0] in wanted.specifier, f"{name} {versions[name][0]}: make the lock again"


def test_the_lock_is_made_by_the_command_that_is_told():
    told = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    command = re.search(r"^    made/bin/(uv pip compile .*)$", told, re.M)[1]
    head = (ROOT / "requirements" / "tests.lock").read_text(encoding="utf-8").split("\n")[1]
    assert head == f"#    {command}"
    assert "requirements/tests.lock" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_dependency_is_explained():
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for line in project()["dependencies"]:
        name = re.match(r"[a-z0-9-]+", line).group()
        assert re.search(rf"^\| {re.escape(name)} \|", text, re.M), (
            f"docs/dependencies.md does not explain {name}"
        )


def test_one_version():
    assert project()["version"] == align.__version__
    assert f"## {align.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_classifiers_name_the_pythons_that_are_admitted():
    named = [each.rpartition(" ")[2] for each in project()["classifiers"] if ":: 3." in each]
    admitted = SpecifierSet(project()["requires-python"])
    assert named == [f"3.{minor}" for minor in range(30) if f"3.{minor}" in admitted]


def test_licence():
    assert project()["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel as it is installed; built from a copy, for building leaves folders behind."""
    copy = tmp_path_factory.mktemp("built") / "project"
    kept = shutil.ignore_patterns(".*", "work", "tests", "__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT, copy, ignore=kept)
    command = [sys.executable, "-c", "import setuptools.build_meta as b; print(b.build_wheel('.'))"]
    built = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    folder = copy.parent / "installed"
    with zipfile.ZipFile(next(copy.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.mark.slow
def test_a_wheel_holds_the_shipped_weights_and_the_sample(installed):
    places = {f"models/{name}": f"align/models/{name}" for name in ("default", "en-fr")}
    for source, target in (places | {"data/sample": "pipeline/sample"}).items():
        for path in (path for path in (ROOT / source).rglob("*") if path.is_file()):
            there = installed / target / path.relative_to(ROOT / source)
            assert there.read_bytes() == path.read_bytes()
    assert all((installed / package / "py.typed").exists() for package in ("align", "pipeline"))
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {
        "align",
        "pipeline",
    }


@pytest.mark.slow
def test_the_sample_runs_without_a_checkout(installed, tmp_path):
    """In an empty folder but for a module of the user's own with our name."""
    (tmp_path / "align.py").write_text("print('mine')\n", encoding="utf-8")
    entry = next(installed.glob("*.dist-info")) / "entry_points.txt"
    name, function = re.search(
        r"^liaison = ([\w.]+):(\w+)$", entry.read_text(encoding="utf-8"), re.M
    ).groups()
    code = f"import sys; del sys.path[0]; from {name} import {function}; sys.exit({function}())"
    command = [sys.executable, "-c", code, "run", "--stage", "preprocess", "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    latest = tmp_path / "data" / "work" / "sample" / "latest"
    assert (latest / "preprocess" / "source.txt").read_bytes().count(b"\n") == 710
