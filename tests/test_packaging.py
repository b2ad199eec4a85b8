"""pyproject.toml, environment.yml and Dockerfile agree; what is built is whole and works by itself."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from numba.core.caching import _CacheLocator
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import align
from align.core.kernels import TOLD
from tests.runs import FAST, ROOT

CONDA_NAMES = {
    "fasttext-community": "fasttext",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
}
# What of models/ comes with an installation.
SHIPPED = [ROOT / "models" / name for name in ("default", "en-fr", "registry.toml")]
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
    for line in re.findall(r"^ +- (\S.*[^\s:])$", text.partition("dependencies:")[2], re.M):
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


def test_the_container_has_a_python_that_is_admitted_and_what_the_wheel_asks_for():
    """It names no package of its own, and nothing in it is the root's to run."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = [tuple(line.split(maxsplit=1)) for line in text.split("\n") if line and not line.startswith("#")]
    assert re.search(r"^ARG PYTHON=(\S+)$", text, re.M)[1] in SpecifierSet(project()["requires-python"])
    assert {value.split()[0] for step, value in steps if step == "FROM"} == {"python:${PYTHON}-slim"}
    installs = re.findall(r"pip install (.*?)(?: &&|$)", text, re.M)
    assert [install.split() for install in installs] == [["--no-cache-dir", "/wheels/*.whl"]]
    copied = [path for step, value in steps if step == "COPY" for path in value.split()[:-1]]
    assert all((ROOT / path).exists() for path in copied)
    # What is copied reaches the builder: all else is kept away from it.
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.M)
    assert {path for path in kept if not path.startswith("models/")} == set(copied) - {"models"}
    assert {f"models/{path.name}" for path in SHIPPED} == {
        path for path in kept if path.startswith("models/")
    }
    users = [value for step, value in steps if step == "USER"]
    assert users
    assert "0" not in users
    assert json.loads(dict(steps)["ENTRYPOINT"])[0] in project()["scripts"]


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


BUILD = """
import sys, setuptools.build_meta as b
into, *kinds = sys.argv[1:]  # building changes them
for kind in kinds:
    getattr(b, f"build_{kind}")(into)
"""


def build(folder, into, *kinds):
    into.mkdir()
    command = [sys.executable, "-c", BUILD, str(into), *kinds]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution; of a copy, for building leaves folders behind."""
    copy = tmp_path_factory.mktemp("built") / "project"
    left = shutil.ignore_patterns(".*", "tests", "__pycache__", "*.egg-info", "build", "dist", "site")

    def left_out(folder, names):
        results = {"work"} if Path(folder) == ROOT / "data" else set()
        return left(folder, names) | results

    shutil.copytree(ROOT, copy, ignore=left_out)
    build(copy, copy.parent / "dist", "sdist", "wheel")
    return copy.parent / "dist"


@pytest.fixture(scope="module")
def installed(built):
    """The modules of the wheel in an environment of their own, with what they need from that of the tests."""
    place = built.parent / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    modules = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    # Folders alone: what another .pth file names, such as the checkout, is not named by this one.
    others = [path for path in sys.path if path.endswith("site-packages")]
    (modules / "others.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    words = ["-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
    wheel = next(built.glob("*.whl"))
    subprocess.run([sys.executable, *words, "--ignore-installed", wheel], check=True)
    return modules


def hand_over_machine_code(modules, *, but):
    """Put what kernels of this checkout were compiled to where those installed look for it, the same code.

    But for those of one module, so that something is left to compile. Numba looks by the folder of a kernel's
    file, and compares the file's size and time. Where the checkout has none yet, all is made as usual.
    """
    place = _CacheLocator.get_suitable_cache_subpath
    for path in (ROOT / "align").rglob("*.py"):
        copy, state = modules / path.relative_to(ROOT), path.stat()
        assert copy.read_bytes() == path.read_bytes()
        os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))
    for made in (ROOT / "align" / "__pycache__").glob("kernels-*"):
        kept = modules / "align" / "__pycache__" / made.name
        for path in (ROOT / "align").rglob("__init__.py"):
            own, its = made / place(str(path)), kept / place(str(modules / path.relative_to(ROOT)))
            if own.is_dir():
                shutil.copytree(own, its, ignore=shutil.ignore_patterns(f"{but}.*"), dirs_exist_ok=True)


def contents(wheel):
    """Return the checksum of each file of a wheel, but of the list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            each.filename: each.CRC for each in archive.infolist() if not each.filename.endswith("RECORD")
        }


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        # Debian's 3.11.2 knows no filter, 3.13 warns where there is none.
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    build(next(tmp_path.iterdir()), tmp_path / "dist", "wheel")
    assert contents(next((tmp_path / "dist").glob("*.whl"))) == contents(next(built.glob("*.whl")))


@pytest.mark.slow
def test_the_wheel_is_small_and_says_what_it_is(built, installed):
    assert next(built.glob("*.whl")).stat().st_size < 16e6
    told = message_from_string(
        (next(installed.glob("liaison*.dist-info")) / "METADATA").read_text(encoding="utf-8")
    )
    assert told.get_all("Classifier") == project()["classifiers"]
    assert SpecifierSet(told["Requires-Python"]) == SpecifierSet(project()["requires-python"])
    needed = {str(Requirement(each)) for each in told.get_all("Requires-Dist") if "extra ==" not in each}
    assert needed == {str(Requirement(each)) for each in project()["dependencies"]}


@pytest.mark.slow
def test_a_wheel_holds_the_shipped_weights_and_the_sample(installed):
    places = {f"models/{path.name}": f"align/models/{path.name}" for path in SHIPPED}
    for source, target in (places | {"data/sample": "pipeline/sample"}).items():
        for path in (path for path in [ROOT / source, *(ROOT / source).rglob("*")] if path.is_file()):
            there = installed / target / path.relative_to(ROOT / source)
            assert there.read_bytes() == path.read_bytes()
    assert all((installed / package / "py.typed").exists() for package in ("align", "pipeline"))
    for package in ("align", "pipeline"):
        modules = [
            {path.relative_to(place) for path in (place / package).rglob("*.py")}
            for place in (ROOT, installed)
        ]
        assert modules[0] == modules[1]
    there = {path.name for path in installed.iterdir() if path.suffix not in (".dist-info", ".pth")}
    assert there == {"align", "pipeline"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_installed_wheel_aligns_a_sentence_and_the_sample(installed, tmp_path):
    """In an empty folder but for a module of the user's own with our name, and an empty home."""
    (tmp_path / "align.py").write_text("print('mine')\n", encoding="utf-8")
    scripts = Path(str(installed).partition("lib")[0]) / "bin"
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.pathsep.join([str(scripts), os.defpath])}

    def liaison(*words, stdin=""):
        done = subprocess.run(
            ["liaison", *words],
            cwd=tmp_path,
            env=environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    row = "It is late.\tIl est tard.\n"
    hand_over_machine_code(installed, but="frequency")
    links, told = liaison("links", "--languages", "en-fr", stdin=row)
    assert (links, TOLD in told) == ("0-0 1-1 2-2 3-3\n", True)
    # Nothing is compiled the second time, which would be told.
    assert liaison("links", "--languages", "en-fr", stdin=row) == ("0-0 1-1 2-2 3-3\n", "")
    told = liaison("run", *(word for each in FAST for word in ("--set", each)))[0]
    assert told.startswith("AER 0.")
    latest = tmp_path / "data" / "work" / "sample" / "latest"
    assert (latest / "align" / "links.txt").read_bytes().count(b"\n") == 710
    assert (latest / "inspect" / "report.html").stat().st_size > 100_000
