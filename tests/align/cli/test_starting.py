"""A program whose memory is limited: however it ends, it is told in one line."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from align.cli import starting
from align.core import errors, limits

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 3 << 30
START = "import sys; from align.cli.starting import start; sys.exit(start('program', by_command=not {}))"


def prepare(size):
    """Limit a process about to begin; what nohup or a shell's & has it ignore, it heeds again."""
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def begin(tmp_path):
    """Begin a program with a limit of addresses."""

    def begin(text, *, size=LIMIT, compiled=False, **given):
        (tmp_path / "program.py").write_text(f"import os, sys, signal, time\n{text}\n", encoding="utf-8")
        return subprocess.Popen(
            [sys.executable, "-c", START.format(compiled)],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=lambda: prepare(size),
            **given,
        )

    return begin


def main_that(does):
    return f"def main():\n    {does}"


@pytest.mark.parametrize(
    ("does", "status"),
    [("return 0", 0), ("return 3", 3), ("sys.exit(2)", 2), ("return 1", 1), ("os._exit(143)", 143)],
)
def test_an_end_of_its_own_is_handed_on(begin, does, status):
    program = begin(main_that(f"print('done', flush=True); {does}"))
    assert program.communicate(timeout=60) == ("done\n", "")
    assert program.returncode == status


@pytest.mark.parametrize(
    ("does", "how"),
    [
        ("sys.stderr.write('OpenBLAS error: giving up\\n'); sys.stderr.flush(); os._exit(1)", "status 1"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
    ],
)
def test_what_ends_without_a_word_is_told_in_a_line(begin, does, how):
    program = begin(main_that(does))
    _, said = program.communicate(timeout=60)
    assert program.returncode == 1
    assert said.split("\n")[-2] == (
        "error: memory: the system or a library ended the program, most likely for lack of memory "
        f"({how}); 3072 MB of addresses are the limit of this process; raise it (ulimit -v, -d)"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(("heeds", "status"), [(True, 9), (False, None)])
def test_signals_reach_the_program(begin, number, heeds, status):
    heed = f"signal.signal({int(number)}, lambda *_: sys.exit(9)); " if heeds else ""
    program = begin(main_that(f"{heed}print('there', flush=True); time.sleep(60)"))
    assert program.stdout.readline() == "there\n"
    program.send_signal(number)
    assert program.communicate(timeout=30) == ("", "")
    assert program.returncode == (-number if status is None else status)


def test_the_program_ends_with_the_process_that_waits_for_it(begin):
    program = begin(main_that("print(os.getpid(), flush=True); time.sleep(60)"))
    own = int(program.stdout.readline())
    assert own != program.pid
    program.kill()
    program.communicate(timeout=30)  # its streams are closed
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{own}") and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{own}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise MemoryError", "too little to begin"),
        ("raise ImportError('lib.so: failed to map segment from shared object')", "too little to begin"),
    ],
)
def test_memory_that_is_missing_for_modules_is_told(begin, text, told):
    program = begin(text)
    _, said = program.communicate(timeout=60)
    assert (program.returncode, said.count("\n")) == (1, 1)
    assert said.startswith(f"error: memory: {told}; 3072 MB of addresses are the limit")


def test_a_limit_that_libraries_do_not_fit_is_refused_before_they_are_loaded(begin):
    program = begin(main_that("return 0"), size=500 << 20, compiled=True)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 1
    assert said == (
        "error: memory: libraries and compiled code take 880 MB; "
        "500 MB of addresses are the limit of this process; raise it (ulimit -v, -d)\n"
    )


def test_libraries_use_one_thread_each(begin):
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"]
    program = begin(main_that(f"print([os.environ[each] for each in {names}]); return 0"))
    assert program.communicate(timeout=60) == (f"{['1'] * 4}\n", "")


@pytest.mark.parametrize(
    ("addresses", "group", "told"),
    [
        (None, None, ""),
        (2 << 30, None, "2048 MB of addresses are the limit of this process; raise it (ulimit -v, -d)"),
        (None, 1 << 30, "1024 MB are the limit of its control group; raise it"),
        (2 << 30, 1 << 30, "1024 MB are the limit of its control group; raise it"),
        (1 << 30, 1 << 30, "1024 MB of addresses are the limit of this process; raise it (ulimit -v, -d)"),
    ],
)
def test_the_limit_that_holds_is_told(monkeypatch, addresses, group, told):
    monkeypatch.setattr(limits, "address_limit", lambda: addresses)
    monkeypatch.setattr(limits, "group_memory", lambda: group)
    assert limits.described() == told


def test_without_a_limit_the_program_runs_in_this_process(monkeypatch, tmp_path):
    (tmp_path / "program_here.py").write_text("def main(): return 7\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(limits, "described", lambda: "")
    monkeypatch.setattr(starting, "end_silently", lambda: None)
    monkeypatch.setattr(os, "fork", None)
    assert starting.start("program_here") == 7


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("other"), False),
        (SystemError("error return without exception set"), True),
        (SystemError("other"), False),
        (OSError("Could not find/load shared object file 'libllvmlite.so'"), True),
        (OSError(28, "No space left on device"), False),
        (OSError(12, "Cannot allocate memory"), True),
        (ImportError("No module named 'x'"), False),
    ],
)
def test_what_means_that_there_is_no_memory(error, expected):
    assert errors.is_out_of_memory(error) == expected
    led_to = ValueError("x")
    led_to.__cause__ = error
    assert errors.is_out_of_memory(led_to) == expected
