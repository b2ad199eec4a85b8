"""The engines give the same results in the same order."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

from align.core.errors import InputError, WorkError
from pipeline.work import engine as engine_module
from pipeline.work.engine import Dask, _in_order, open_engine

ROOT = Path(__file__).resolve().parents[3]


def square(number):
    time.sleep(0.01 * (number % 3))
    return number * number


def fail_at_three(number):
    if number == 3:
        raise InputError("three: too many; give two")
    return number


def count_and_fail(task):
    """Add a line to a file for each try; fail as told."""
    path, error = task
    with open(path, "a", encoding="utf-8") as tries:
        tries.write("try\n")
    raise error


def die_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def pid(number):
    time.sleep(0.05)
    return os.getpid()


EXPECTED = [square(number) for number in range(10)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs):
    with open_engine("local", jobs=jobs) as engine:
        assert list(engine.map(square, range(10))) == EXPECTED
        assert list(engine.map(square, [])) == []
        assert list(engine.map(square, iter([4]))) == [16]


def test_where_one_process_has_room_there_are_only_threads():
    with open_engine("local", jobs=1) as engine:
        assert set(engine.map(pid, range(6))) == {os.getpid()}
        assert set(engine.map(pid, range(6), threads=3)) == {os.getpid()}
    with open_engine("local", jobs=2) as engine:
        found = set(engine.map(pid, range(20)))
        assert 1 <= len(found) <= 2
        assert os.getpid() not in found


def test_items_are_drawn_as_results_are_taken():
    drawn = []

    def items():
        for number in range(100):
            drawn.append(number)
            yield number

    with open_engine("local", jobs=2) as engine:
        results = engine.map(square, items())
        next(results)
        assert len(drawn) <= 6
        results.close()


def test_workers_that_come_later_get_items_too(monkeypatch):
    """The number of items under way follows the number of threads of the cluster."""

    class Client:
        workers: ClassVar = {"one": 1}

        def nthreads(self):
            return self.workers

    monkeypatch.setattr(engine_module, "_SECONDS_BETWEEN_COUNTS", 0.0)
    client = Client()
    dask, under_way, most = Dask(client, 1), [], []

    def submit(item):
        under_way.append(item)
        most.append(len(under_way))
        client.workers = {"one": 1} if item < 10 else {"one": 1, "two": 3}
        return item

    def result(item):
        under_way.remove(item)
        return item

    assert list(_in_order(submit, range(30), dask._in_flight, result)) == list(range(30))
    assert max(most[:10]) == 2
    assert max(most) == 8


def test_a_workers_error_is_told_as_such():
    with open_engine("local", jobs=2) as engine, pytest.raises(InputError, match="three: too many"):
        list(engine.map(fail_at_three, range(10)))


def test_a_dead_worker_is_told():
    with (
        open_engine("local", jobs=2) as engine,
        pytest.raises(WorkError, match="worker process died.*--jobs"),
    ):
        list(engine.map(die_at_three, range(10)))


def _run_then_be_killed(queue):
    with open_engine("local", jobs=2) as engine:
        for worker in engine.map(pid, range(1000)):
            queue.put(worker)


def test_workers_end_with_a_killed_run():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    run = context.Process(target=_run_then_be_killed, args=(queue,))
    run.start()
    workers = {queue.get(timeout=60) for _ in range(8)}
    run.kill()
    run.join()
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{worker}/cmdline") and _alive(worker) for worker in workers):
        assert time.monotonic() < deadline, "a worker outlived the run that started it"
        time.sleep(0.05)


def _alive(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_unknown_engine_and_stray_scheduler_are_refused():
    with pytest.raises(InputError, match="no such engine"), open_engine("slurm", jobs=1):
        pass
    with (
        pytest.raises(InputError, match="needs --engine dask"),
        open_engine("local", jobs=1, scheduler="tcp://x:1"),
    ):
        pass


@pytest.mark.slow
def test_dask_keeps_its_workers_troubles_to_itself():
    pytest.importorskip("distributed")
    program = (
        "import logging; from pipeline.work.engine import open_engine\n"
        "with open_engine('dask', jobs=1): logging.getLogger('distributed.nanny').warning('still alive')"
    )
    environment = dict(os.environ)
    environment.pop("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", None)  # as users have it
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.slow
def test_two_local_clusters_side_by_side_serve_this_machine_alone():
    with open_engine("dask", jobs=1) as one, open_engine("dask", jobs=1) as other:
        servers = [each._client.cluster.scheduler.http_server for each in (one, other)]
        assert {server.address for server in servers} == {"127.0.0.1"}
        assert len({server.port for server in servers}) == 2
        assert list(one.map(square, range(4))) == list(other.map(square, range(4)))


def test_dask_tries_again_only_what_another_machine_may_do(tmp_path):
    """A bad input is the same for every worker: one try, one message. The system may refuse it elsewhere."""
    pytest.importorskip("distributed")
    cases = (
        (InputError("a.en:3: odd; mend it"), 1),
        (WorkError("the gap did not fall; raise lam"), 1),
        (AssertionError("a fault"), 1),
        (ValueError("a fault"), 1),
        (OSError(5, "Input/output error", "x"), 4),
        (MemoryError("too large"), 4),
    )
    with open_engine("dask", jobs=1) as engine:
        for number, (error, tries) in enumerate(cases):
            path = tmp_path / str(number)
            with pytest.raises(type(error)) as raised:
                list(engine.map(count_and_fail, [(path, error)]))
            assert str(raised.value) == str(error)
            assert path.read_text(encoding="utf-8").count("try\n") == tries
            if tries == 1:
                assert "in count_and_fail" in raised.value.__notes__[0]


def test_dask_gives_the_same():
    pytest.importorskip("distributed")
    with open_engine("dask", jobs=2) as engine:
        assert list(engine.map(square, range(10))) == EXPECTED
        with pytest.raises(InputError, match="three: too many"):
            list(engine.map(fail_at_three, range(10)))
