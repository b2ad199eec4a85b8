"""What commands took, and how failures are told."""

import sys

import pytest

from align.core.errors import WorkError
from benchmarks.process import Usage, call, environment, measure

WORKER = "s = 0\nfor i in range(3000000): s += i\nprint('done')"
# The work is done by a process of the process.
NESTED = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKER!r}], check=True)"
LARGE = "x = b'1' * (200 << 20); print(len(x))"


def test_usage_adds_up_but_for_memory():
    assert Usage(1, 2, 30) + Usage(10, 20, 3) == Usage(11, 22, 30)


def test_seconds_of_processes_of_a_process_count(tmp_path):
    used, output = measure([sys.executable, "-S", "-c", NESTED], tmp_path / "log", environment(threads=1))
    assert output == "done\n"
    assert 0.03 < used.cpu_seconds < 60
    assert used.seconds > 0.03


def test_memory_is_that_of_the_command_and_not_of_what_started_it(tmp_path):
    ballast = b"1" * (150 << 20)
    small, _ = measure([sys.executable, "-S", "-c", "pass"], tmp_path / "log", environment(threads=1))
    large, _ = measure([sys.executable, "-S", "-c", LARGE], tmp_path / "log", environment(threads=1))
    assert len(ballast)
    assert small.peak_memory < 100 << 20 < 200 << 20 < large.peak_memory < 400 << 20


def test_a_failure_is_told_with_its_last_line(tmp_path):
    program = "import sys; sys.stderr.write('first\\nthe reason\\n'); sys.exit(3)"
    for run in (measure, call):
        with pytest.raises(WorkError, match=r"exit status 3: the reason; the rest is in .*log"):
            run([sys.executable, "-c", program], tmp_path / "log", environment(threads=1))


def test_libraries_are_told_how_many_threads(tmp_path):
    program = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['X'])"
    given = {**environment(threads=3), "X": "y"}
    assert call([sys.executable, "-S", "-c", program], tmp_path / "log", given) == "3 y\n"
