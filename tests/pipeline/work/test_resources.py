"""What a run may take, and what a stage took."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from align.core import limits
from align.core.errors import InputError, WorkError
from pipeline.work import resources
from pipeline.work.resources import (
    Meter,
    check_space,
    default_jobs,
    default_memory,
    parse_size,
    show_bytes,
    show_size,
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 * 2**30), ("512m", 512 * 2**20), ("1.5GiB", 3 * 2**29), ("100kb", 102400), ("1000000", 10**6)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "0", "-1G", "4X", "lots", "nan", "inf"])
def test_odd_sizes_are_refused(text):
    with pytest.raises(InputError, match="--memory .*: no size; give for example 4G"):
        parse_size(text)


def test_sizes_are_shown_short():
    assert show_size(10) == "10 B"
    assert show_size(1.5 * 2**30) == "1.5 GB"
    assert show_size(3 * 2**40) == "3.0 TB"


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 bytes"), (999_999, "999999 bytes"), (1_000_000, "1.0 MB"), (1_400_000_000, "1.4 GB")],
)
def test_sizes_for_people(size, shown):
    assert show_bytes(size) == shown


def test_room_is_asked_for_with_a_margin(tmp_path, monkeypatch):
    usage = resources.shutil.disk_usage(tmp_path)._replace(free=resources.MARGIN + 100)
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda _: usage)
    check_space(tmp_path, 100, "x")
    with pytest.raises(
        WorkError, match=r"x: needs 101 bytes but .* has 67\.1 MB free; free space, or give another"
    ):
        check_space(tmp_path, 101, "x")


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Write control groups: ``groups(own, {file: text})``."""

    def write(own, files):
        (tmp_path / "own").write_text(own, encoding="ascii")
        for name, text in files.items():
            path = tmp_path / "groups" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n", encoding="ascii")

    monkeypatch.setattr(limits, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(limits, "CONTROL_GROUPS", tmp_path / "groups")
    return write


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"memory.max": 2**28}),
        ("0::/batch/job\n", {"batch/job/memory.max": "max", "batch/memory.max": 2**28, "memory.max": 2**29}),
        ("0::/seen/outside\n", {"memory.max": 2**28}),
        ("5:memory:/job\n0::/\n", {"memory/job/memory.limit_in_bytes": 2**28}),
        ("9:cpu,memory:/\n", {"memory/memory.limit_in_bytes": 2**28}),
    ],
)
def test_g02_the_control_group_limits_memory(groups, own, files):
    groups(own, files)
    assert default_memory() == 2**28 * 3 // 4


@pytest.mark.parametrize("files", [{}, {"memory.max": "max"}, {"memory.max": 2**62}])
def test_without_a_limit_memory_is_that_of_the_machine(groups, files):
    groups("0::/\n", files)
    assert default_memory() == int(psutil.virtual_memory().total * 0.75)


@pytest.mark.parametrize("kind", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_limits_of_the_process_limit_memory(groups, monkeypatch, kind):
    groups("0::/\n", {})
    limited = {kind: 2**30}
    monkeypatch.setattr(
        resource, "getrlimit", lambda asked: (limited.get(asked, resource.RLIM_INFINITY),) * 2
    )
    # of 1 GiB of addresses libraries take 480 MiB without using them
    assert default_memory() == (1024 - 480) * 2**20 * 3 // 4


def test_the_control_group_limits_processors(groups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    groups("0::/job\n", {"job/cpu.max": "250000 100000", "cpu.max": "max 100000"})
    assert default_jobs() == 3
    groups("0::/job\n", {"job/cpu.max": "max 100000"})
    assert default_jobs() == 8


def test_nothing_needs_what_only_unix_has():
    """``resource`` and ``fcntl`` are missing on Windows."""
    for path in [*ROOT.glob("align/**/*.py"), *ROOT.glob("pipeline/**/*.py")]:
        assert not re.search(r"^import (resource|fcntl)\b", path.read_text(encoding="utf-8"), re.M), path


def test_memory_and_time_are_of_the_stretch_measured():
    with Meter() as meter:
        before = meter.read().peak_memory
        held = np.ones(10_000_000)
        used = meter.read()
        assert held.sum() == 1e7
    assert 60e6 < used.peak_memory - before < 200e6
    assert used.seconds > 0
    assert used.cpu_seconds >= 0


def test_worker_processes_count():
    program = "import time; held = b'x' * 10**8; print(len(held), flush=True); time.sleep(60)"
    with Meter() as meter:
        before = meter.read().peak_memory
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as worker:
            worker.stdout.readline()
            used = meter.read()
            worker.kill()
    assert used.peak_memory - before > 10**8
