"""Fixtures for all tests."""

import gc
import io
import os
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import just

from tests import prepared

ROOT = Path(__file__).resolve().parent.parent

# The same examples every time, and no limit on the time of one: other processes may take the machine.
settings.register_profile("liaison", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("liaison")

# Tests start hundreds of processes: each would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Workers of Dask begin in copies of a process that has their libraries loaded.
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"

prepared.wait_for_no_disk()

# Models that somebody fetched on this machine are none of the tests'.
os.environ["LIAISON_MODELS"] = str(ROOT / "none")

# What calls few kernels or none, so that it need not compile what another process is at compiling.
FEW_KERNELS = tuple(
    ROOT / "tests" / name
    for name in (
        *("align/core", "align/data", "align/evaluation", "align/links", "align/text", "align/vectors"),
        *("browser/test_corrections.py", "browser/test_report.py", "browser/test_views.py"),
    )
)

# Not as many as there are processors: tests start processes, clusters and browsers of their own.
WORKERS = 2


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Share the files out to two processes, unless one file is asked for or the command says otherwise.

    Done here, not by ``addopts``: one file starts at once, and without pytest-xdist, or with ``-p no:xdist``,
    the tests still run, one after the other.
    """
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    watched = option.usepdb or option.capture == "no" or option.collectonly
    one_file = len(config.args) == 1 and Path(config.args[0].partition("::")[0]).is_file()
    if option.numprocesses is None and not (watched or one_file):
        option.numprocesses = WORKERS
    if option.numprocesses and option.dist == "no":
        option.dist = "loadfile"
        option.loadscopereorder = False  # the order is made below


def pytest_make_parametrize_id(val, argname):
    """Name bytes and long text after their argument: two workers must collect the same names.

    Packed data may hold the time they were packed at, and nobody reads them in a name.
    """
    if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 80):
        return argname
    return None


@pytest.fixture
def real_data():
    """Return a function that gives the path of a measuring file, or skips the test naming it."""
    folder = Path(os.environ.get("LIAISON_DATA") or ROOT.parent / "shared" / "data")

    def find(name):
        path = folder / name
        if not path.exists():
            pytest.skip(f"no {path} (LIAISON_DATA names the folder of the measuring data)")
        return path

    return find


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command in this process: words to (status, stdout, stderr).

    Keyword arguments are files to make first in the working folder; ``stdin`` is the standard input.
    """
    monkeypatch.chdir(tmp_path)

    def call(words, stdin="", **files):
        for name, text in files.items():
            Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        from align.cli.main import main
        from align.core.kernels import TOLD

        status = main(words.split())
        output = capsys.readouterr()
        # The first test that needs kernels is told that they are compiled.
        told = [line for line in output.err.split("\n") if TOLD not in line]
        return status, output.out, "\n".join(told)

    return call


@pytest.fixture
def site(monkeypatch):
    """A local web server whose faults the test sets."""
    from tests.pipeline.site import Site

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Site()
    yield server
    server.close()


def _leave_out(phase, info):
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()


def pytest_collection_finish():
    """Let looking for garbage, with which every stage ends, pass over what lived through it before."""
    # Hypothesis asks at its first test who holds its random numbers: nobody, it would seem later.
    given(just(None))(lambda nothing: None)()
    gc.callbacks.append(_leave_out)
    gc.collect()


def pytest_sessionfinish():
    """Look through all at the end: files that a test left open are told then."""
    with suppress(ValueError):
        gc.callbacks.remove(_leave_out)
    gc.unfreeze()


def pytest_collection_modifyitems(items):
    """Mark the tests that ask for the measuring data, and put the files in order.

    First the one with the most slow tests: its commands compile all kernels, while the other process has what
    calls few of them, and then the method's own tests, which start no commands. Then the files with slow
    tests: begun last, they would keep one process busy while the other has nothing left to do.
    """
    for item in items:
        if "real_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.real_data)
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    first = max(slow, key=slow.get, default=None)
    method = ROOT / "tests" / "align"

    def place(item):
        few = any(item.path.is_relative_to(each) for each in FEW_KERNELS)
        return item.path != first, not few, method not in item.path.parents, -slow[item.path]

    items.sort(key=place)
