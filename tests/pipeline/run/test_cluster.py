"""A Dask cluster of separate processes: the same bytes, workers that die, a scheduler that dies."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from align.core.errors import WorkError
from pipeline.stages.align.block import align_lines
from pipeline.work import engine
from tests import prepared, runs
from tests.runs import ROOT

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

FAST = ("--stage", "align", "--set", "lexicon.chains=2", "--set", "align.block=4")
# ``python -m dask`` in a session of its own.
DASK = "import os, runpy; os.setsid(); runpy.run_module('dask', run_name='__main__', alter_sys=True)"
RESULTS = ("links.txt", "scores.txt", "links.parquet")


class Cluster:
    """A scheduler and workers, each a process of its own, on this machine."""

    def __init__(self, folder):
        self._folder, self._told = folder, folder / "scheduler.json"
        words = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._told))
        self.scheduler = self._start("scheduler", *words)
        self.workers = []

    @property
    def address(self):
        """Where the scheduler listens: on any free port, which it tells by itself."""
        deadline = time.monotonic() + 60
        while True:
            assert time.monotonic() < deadline
            assert self.scheduler.poll() is None
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
                return json.loads(self._told.read_text(encoding="utf-8"))["address"]
            time.sleep(0.01)

    def _start(self, *words, code=ROOT):
        given = {"cwd": self._folder, "env": {**os.environ, "PYTHONPATH": str(code)}}
        words = (*words, "--no-dashboard")
        if code == ROOT:
            return prepared.Command(["-c", DASK, *words], **given)
        with open(self._folder / "cluster.log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **given,
            )

    def add(self, *options, code=ROOT):
        """Start a worker of one thread."""
        place = ("--scheduler-file", str(self._told), "--local-directory", str(self._folder))
        self.workers.append(self._start("worker", *place, "--nthreads", "1", *options, code=code))

    def close(self):
        for process in (*self.workers, self.scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    found = Cluster(tmp_path)
    yield found
    found.close()


def run(workdir, *arguments):
    runs.run(workdir, *FAST, *arguments)
    return digests(workdir)


def digests(workdir):
    found = runs.digests(workdir, "align")
    return [found[f"align/{name}"] for name in RESULTS]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A work folder where all is done by one process, and the hashes of the links."""
    workdir = tmp_path_factory.mktemp("one") / "work"
    return workdir, run(workdir, "--jobs", "1")


def align_begun(process, workdir):
    """Wait until the stage has begun and some blocks are done."""
    deadline = time.monotonic() + 100
    while not list((workdir / "sample" / "align").glob("*.partial/journal.txt")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(0.4)
    assert process.poll() is None, "the stage was over before anything was killed"


def without_links(done, tmp_path):
    """Return a copy of the work folder that lacks the links."""
    workdir = tmp_path / "work"
    shutil.copytree(done[0], workdir, symlinks=True)
    shutil.rmtree(workdir / "sample" / "align")
    return workdir


def test_the_same_bytes(cluster, done, tmp_path):
    """From nothing: no stage before it leaves other bytes that the links come from."""
    cluster.add("--no-nanny")
    cluster.add("--no-nanny")
    assert run(tmp_path / "dask", "--engine", "dask", "--scheduler", cluster.address) == done[1]


def test_the_same_bytes_of_workers_with_a_nanny(cluster, done, tmp_path):
    cluster.add()
    cluster.add()
    workdir = without_links(done, tmp_path)
    assert run(workdir, "--engine", "dask", "--scheduler", cluster.address) == done[1]


def test_the_same_bytes_from_two_jobs(done, tmp_path):
    assert run(tmp_path / "two", "--jobs", "2") == done[1]


@pytest.mark.parametrize("victim", ["worker", "scheduler"])
def test_killed_in_the_middle(cluster, done, tmp_path, victim):
    """Without one of two workers the run goes on; without the scheduler it ends, and the next one goes on."""
    workdir = without_links(done, tmp_path)
    cluster.add("--no-nanny")
    cluster.add("--no-nanny")
    process = runs.begin(workdir, *FAST, "--engine", "dask", "--scheduler", cluster.address)
    align_begun(process, workdir)
    (cluster.workers[0] if victim == "worker" else cluster.scheduler).kill()
    _, told = process.communicate(timeout=120)
    if victim == "worker":
        assert process.returncode == 0, told
    else:
        assert process.returncode == 1
        assert told.split("\n")[-2].startswith("error: the Dask scheduler does not answer any more; start it")
        assert "Traceback" not in told
        run(workdir, "--jobs", "1")
    assert digests(workdir) == done[1]


def later(seconds, process):
    threading.Timer(seconds, process.kill).start()


def test_no_worker_left(cluster, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 2.0)
    cluster.add("--no-nanny")
    with engine.open_engine("dask", jobs=1, scheduler=cluster.address) as workers:
        results = workers.map(time.sleep, [0.2] * 100)
        next(results)
        later(0.5, cluster.workers[0])
        begun = time.monotonic()
        with pytest.raises(WorkError, match="no worker of the Dask cluster for 2 seconds; start workers"):
            list(results)
        assert time.monotonic() - begun < 15


def test_workers_may_come_late(cluster, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 60.0)
    threading.Timer(3, cluster.add, ["--no-nanny"]).start()
    with engine.open_engine("dask", jobs=1, scheduler=cluster.address) as workers:
        assert list(workers.map(abs, [-1, 2])) == [1, 2]


def test_an_item_that_kills_workers(cluster):
    for _ in range(4):
        cluster.add("--no-nanny")
    with (
        engine.open_engine("dask", jobs=1, scheduler=cluster.address) as workers,
        pytest.raises(WorkError, match=r"several workers .* died one after the other of the same block"),
    ):
        list(workers.map(signal.raise_signal, [signal.SIGKILL.value]))


def test_other_code_on_a_worker(cluster, tmp_path):
    other = tmp_path / "other"
    for package in ("align", "pipeline"):
        shutil.copytree(ROOT / package, other / package, ignore=shutil.ignore_patterns("__pycache__"))
    with open(other / "pipeline" / "stages" / "align" / "links_table.py", "a", encoding="utf-8") as code:
        code.write("OTHER = 1\n")
    cluster.add("--no-nanny", code=other)
    with (
        engine.open_engine("dask", jobs=1, scheduler=cluster.address) as workers,
        pytest.raises(
            WorkError, match=r"a worker .* has another version of pipeline\.stages\.align\.block; install"
        ),
    ):
        list(workers.map(align_lines, [None]))


def test_code_that_is_not_there(cluster, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "only_here.py").write_text("def f(x):\n    return x\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "here")
    import only_here

    cluster.add("--no-nanny")
    with (
        engine.open_engine("dask", jobs=1, scheduler=cluster.address) as workers,
        pytest.raises(WorkError, match="cannot import liaison, or has another version of Python or Dask"),
    ):
        list(workers.map(only_here.f, [1, 2]))
