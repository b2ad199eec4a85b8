"""The first use on a machine is told, two processes compile what is needed; a cache for each version."""

import gc
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.errors import TypingError

from align.core import kernels
from align.core.kernels import TOLD
from align.model import first_use
from align.model.first_use import compiling
from pipeline.run import command
from pipeline.run.plan import Settings
from pipeline.work.budget import LEAST
from pipeline.work.progress import Reporter
from tests.align import toy
from tests.align.core.test_kernels import CALLEE, package, run  # noqa: F401 (a fixture)

ROOT = Path(__file__).resolve().parents[2]


def start(words, cache, **given):
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=280,
        check=True,
        **given,
    )


def compiled_in(cache):
    return {path.name.partition("-")[0] for path in cache.rglob("*.nbi")}


@pytest.mark.slow
def test_g04_the_first_links_tell_at_once_and_compile_what_they_need(tmp_path):
    """What the other process compiles is part of it, the part that is needed last."""
    model, cache = tmp_path / "model", tmp_path / "cache"
    toy.toy_model().save(model)
    start(["-m", "align.model.first_use", str(model)], cache)
    last = compiled_in(cache)
    assert any(each.startswith("assignment") for each in last)
    words = ["-m", "align", "links", "--model", str(model)]
    first, second = (start(words, cache, input="the house\tla maison\n") for _ in range(2))
    assert TOLD in first.stderr
    assert TOLD not in second.stderr
    assert first.stdout == second.stdout
    found = compiled_in(cache)
    assert last < found
    # Each word of this model has one link: no flow is needed. All else belongs to training.
    needed = ("features", "chain", "context", "cosine", "frequency", "lexical", "maps", "position", "scoring")
    needed += ("spelling", "likeness", "partner", "evidence", "alignments", "assignment", "stem_links")
    assert not [each for each in found if not each.startswith(needed)]


def test_g04_the_other_process_is_started_by_the_first_kernel_and_ended(tmp_path, monkeypatch):
    started, told = [], []
    begin = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(begin(*a, **k)) or started[-1])
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(kernels, "is_first_start", lambda: False)
    fresh = kernels._njit(nogil=True)(lambda x: x + 1)
    fresh.py_func.__module__ = "align.made_here"
    with compiling(tmp_path, told.append):
        assert started == []
        fresh(1)
        fresh(1.0)
        assert len(started) == 1
    assert told == [1, 2]
    assert started[0].returncode is not None


def test_g04_where_nothing_is_compiled_the_other_process_is_started_at_once(tmp_path, monkeypatch):
    started, told = [], []
    begin = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(begin(*a, **k)) or started[-1])
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(kernels, "is_first_start", lambda: True)
    with compiling(None, told.append):
        assert len(started) == 1
        fresh = kernels._njit(nogil=True)(lambda x: x + 1)
        fresh.py_func.__module__ = "align.made_here"
        fresh(1)
    assert len(started) == 1
    assert told == [1]
    assert started[0].args[-1] == "--run"
    assert started[0].returncode is not None


@pytest.mark.parametrize(
    ("changed", "remote", "count"),
    [({}, False, 1), ({"jobs": 1}, False, 0), ({"memory": 2 * LEAST - 1}, False, 0), ({}, True, 0)],
)
def test_g04_a_run_compiles_by_two_processes_where_it_may_have_two(
    changed, remote, count, tmp_path, monkeypatch
):
    started = []
    monkeypatch.setattr(first_use, "_start", lambda model: started.append(model) or _Ended())
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(kernels, "is_first_start", lambda: True)
    settings = replace(Settings(tmp_path, None, jobs=2, memory=2 * LEAST, seed=0), **changed)
    with command._compiled_by_two(settings, SimpleNamespace(remote=remote)):
        assert len(started) == count
    assert started == [None] * count


class _Ended:
    """A process that need not be ended."""

    def kill(self):
        pass

    def wait(self):
        pass


def test_g04_python_does_not_look_for_circles_of_objects_while_it_compiles():
    found = []
    fresh = kernels._njit(nogil=True)(lambda x: x + 1)
    fresh.py_func.__module__ = "align.made_here"
    assert gc.isenabled()
    with kernels.watching(lambda count: found.append(gc.isenabled())):
        fresh(1)
        assert gc.isenabled()
    assert found == [False]
    with pytest.raises(TypingError), kernels.watching(lambda count: None):
        fresh("a")
    assert gc.isenabled()


def test_g04_a_run_tells_once_at_length_and_then_of_each_stage_that_compiles(capsys):
    fresh = kernels._njit(nogil=True)(lambda x: x + 1)
    fresh.py_func.__module__ = "align.made_here"
    reporter = Reporter("name")
    for values in ((1, 1.0), (1j, 1), (1, 1.0)):
        with reporter.watching_kernels():
            for value in values:
                fresh(value)
    assert capsys.readouterr().err == f"[name] {TOLD}\n[name] compiling what this stage needs, too\n"


# G03


def versions_sharing_a_place(package, tmp_path):  # noqa: F811
    """Two versions of a package, each started once with the same place of machine code."""
    other = tmp_path / "other" / "align"
    shutil.copytree(package, other)
    (other / "callee.py").write_text(CALLEE.replace("x + 1", "x + 2"), encoding="utf-8")
    place = str(tmp_path / "place")
    assert run(package, NUMBA_CACHE_DIR=place) == ["20", "0"]
    assert run(other, NUMBA_CACHE_DIR=place) == ["30", "0"]
    return other, place


def test_g03_two_versions_that_share_a_place_keep_their_code(package, tmp_path):  # noqa: F811
    other, place = versions_sharing_a_place(package, tmp_path)
    assert run(package, NUMBA_CACHE_DIR=place) == ["20", "1"]
    assert run(other, NUMBA_CACHE_DIR=place) == ["30", "1"]


def test_g03_code_that_no_version_used_for_months_is_removed(package, tmp_path):  # noqa: F811
    _, place = versions_sharing_a_place(package, tmp_path)
    kept = list((tmp_path / "place" / "liaison").glob("kernels-*"))
    for folder in kept:
        os.utime(folder, (0, 0))
    assert run(package, NUMBA_CACHE_DIR=place) == ["20", "1"]
    (package / "callee.py").write_text(CALLEE.replace("x + 1", "x + 3"), encoding="utf-8")
    assert run(package, NUMBA_CACHE_DIR=place) == ["40", "0"]
    left = list((tmp_path / "place" / "liaison").glob("kernels-*"))
    assert len(set(kept) & set(left)) == 1, "the one that was used again stays"
    assert len(left) == 2


def test_g03_private_names_of_numba_are_used_with_the_versions_that_are_allowed(package):  # noqa: F811
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pinned,) = (each for each in project["dependencies"] if each.startswith("numba"))
    versions = (".".join(map(str, each)) for each in (kernels.NUMBA_FROM, kernels.NUMBA_BELOW))
    assert pinned == "numba>={},<{}".format(*versions)
    path = package / "core" / "kernels.py"
    path.write_text(path.read_text("utf-8").replace("(0, 60), (0, 69)", "(0, 1), (0, 2)"), encoding="utf-8")
    for _ in range(2):
        assert run(package) == ["20", "0"], "kept with a version that is not known"
