"""Ctrl-C, SIGTERM and a closed terminal: nothing unfinished is left, the process is out in two seconds."""

import ctypes
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from align.core import signals
from pipeline.run import results
from tests import prepared
from tests.align import toy

fcntl = pytest.importorskip("fcntl", reason="signals and locks are of POSIX")

ROOT = Path(__file__).resolve().parents[2]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
TRAIN = [sys.executable, "run_pipeline.py", "--stage", "embed", "--jobs", "1"]

# Two seconds are promised; another test may have the machine.
IN_TIME = 6.0

# Locks a lock that it holds: a call of compiled code that no signal ends.
STUCK = """
import ctypes
library, lock = ctypes.CDLL(None), ctypes.create_string_buffer(256)
library.pthread_mutex_init(lock, None), library.pthread_mutex_lock(lock)
print("stuck", flush=True), library.pthread_mutex_lock(lock)
"""


@pytest.fixture
def start():
    """Return a function that starts a command, with the usual signals even where a shell ignores them."""
    running = []

    def usual():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def begin(words, **options):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        options = {"preexec_fn": usual, "encoding": "utf-8", "start_new_session": True, **pipes, **options}
        running.append(subprocess.Popen(words, cwd=ROOT, **options))
        return running[-1]

    yield begin
    for each in running:
        each.kill()
        each.communicate()


def mapped(process):
    """Return which files a process has loaded, as far as the system tells."""
    maps = Path(f"/proc/{process.pid}/maps")
    return maps.read_text(encoding="utf-8") if maps.exists() else "numpy fasttext"


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def stopped(process, number, *, group=False):
    """Send a signal; return the exit status and what was said, and check that the end comes in time."""
    begun = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, number)
    status = process.wait(60)
    assert time.monotonic() - begun < IN_TIME
    return status, process.stderr.read()


@pytest.mark.parametrize("number", SIGNALS)
def test_g19_links_leaves_nothing_unfinished(start, tmp_path, number):
    toy.toy_model().save(tmp_path / "toy")
    out = tmp_path / "out"
    out.mkdir()
    (out / "links").write_text("old\n", encoding="utf-8")
    files = ["-o", str(out / "links"), "--sentence-scores", str(out / "scores")]
    process = start([sys.executable, "-m", "align", "links", "--model", str(tmp_path / "toy"), *files])
    process.stdin.write("The red house.\tLa maison rouge.\n")
    process.stdin.flush()
    wait_for(lambda: any(path.stat().st_size for path in out.glob("links.*")), process)
    status, told = stopped(process, number)
    assert status == 128 + number
    # Where kernels had to be compiled first, that is told.
    assert not re.search("Traceback|error|interrupt", told)
    assert [path.name for path in out.iterdir()] == ["links"]
    assert (out / "links").read_text(encoding="utf-8") == "old\n"


def test_g19_what_a_killed_command_left_is_removed_by_the_next(start, run, tmp_path):
    """Only what nobody writes any more: another command may be at the same output."""
    words = [
        "convert",
        "--from",
        "pharaoh",
        "--to",
        "pharaoh",
        "--from-base",
        "0",
        "-o",
        str(tmp_path / "out"),
    ]

    def begun():
        before = set(tmp_path.glob("out.*"))
        process = start([sys.executable, "-m", "align", *words])
        process.stdin.write("2-2\n")
        process.stdin.flush()
        wait_for(lambda: set(tmp_path.glob("out.*")) - before, process)
        (left,) = set(tmp_path.glob("out.*")) - before
        return process, left

    (killed, left), (living, its) = begun(), begun()
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(60)
    others = [
        tmp_path / f"{name}.{'0' * 32}{ending}" for name, ending in (("out", ""), ("other", its.suffix))
    ]
    for path in others:
        path.touch()
    assert left.exists()
    assert run(" ".join(words), stdin="0-0\n1-1\n")[0] == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "0-0\n1-1\n"
    assert not left.exists()
    assert all(path.exists() for path in [its, *others])
    assert living.communicate("3-3\n")[1] == ""
    assert living.returncode == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "2-2\n3-3\n"
    assert set(tmp_path.glob("o*")) == {tmp_path / "out", *others}


@pytest.mark.parametrize("locks", ["none", "late"])
def test_g19_an_output_is_written_where_locks_fail(run, tmp_path, monkeypatch, locks):
    left = tmp_path / f"out.{'0' * 32}.unfinished"
    left.touch()
    taken, lock = [], fcntl.flock

    def fail(descriptor, how):
        if locks == "none":
            raise OSError(errno.ENOLCK, "No locks available")
        # Another process was faster than the lock and took the new file for one that was left.
        for new in set(tmp_path.glob("out.*")) - {left, *taken}:
            taken.append(new)
            new.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", fail)
    assert run("convert --from pharaoh --to pharaoh -o out", stdin="0-0\n")[0] == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "0-0\n"
    assert (left.exists(), len(taken)) == ((True, 0) if locks == "none" else (False, 1))
    assert set(tmp_path.glob("out*")) <= {tmp_path / "out", left}


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_g19_training_of_vectors_hears_a_signal_at_once(start, tmp_path, number):
    """It is one call of compiled code, half a minute long; what was made before is not made again."""
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    scratch.mkdir()
    places = ["--workdir", str(work), "--tmp-dir", str(scratch)]
    process = start([*TRAIN, *places, "--set", "embed.epochs=900"])
    said = ""
    while "training vectors" not in said:
        said = process.stderr.readline()
        assert said
    wait_for(lambda: "fasttext" in mapped(process), process)
    time.sleep(0.5)
    told = "interrupted; the same command goes on where it stopped\n"
    assert stopped(process, number) == (128 + number, told)
    assert list(scratch.iterdir()) == []
    assert list((work / "sample" / "embed").iterdir()) == []
    again = prepared.run([*TRAIN[1:], *places, "--set", "embed.epochs=1", "--set", "embed.dim=5"], cwd=ROOT)
    assert (again.returncode, "preprocess: skipped, done" in again.stderr) == (0, True)


def test_g19_compiled_code_that_does_not_return_is_left(start, tmp_path):
    code = (
        "import pathlib\nfrom align.core.signals import removed_after, stoppable, stopped_as\n"
        "stop = KeyboardInterrupt('in the middle')\n"
        "with stoppable(lambda stop: print(stop)), stopped_as(stop):\n"
        f"  with removed_after(pathlib.Path({str(tmp_path / 'folder')!r})) as folder:\n"
        f"    folder.mkdir(); (folder / 'file').touch(); exec({STUCK!r})\n"
    )
    process = start([sys.executable, "-u", "-c", code])
    assert process.stdout.readline() == "stuck\n"
    time.sleep(0.5)
    assert stopped(process, signal.SIGTERM) == (143, "")
    assert process.stdout.read() == "in the middle\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("group", [False, True])
def test_g19_worker_processes_end_with_the_run_and_say_nothing(start, group):
    """A terminal sends Ctrl-C to all of a group, ``kill`` to the one process."""
    code = (
        "import sys, time; from align.core.signals import stoppable; from pipeline.work.engine import *\n"
        "if __name__ == '__main__':\n"
        "  with stoppable() as stopping:\n"
        "    try:\n"
        "      with open_engine('local', jobs=2) as engine:\n"
        "        for _ in engine.map(time.sleep, [0, 0, 50, 50]): print('begun', flush=True)\n"
        "    except KeyboardInterrupt: sys.exit(stopping.exit_status)\n"
    )
    process = start([sys.executable, "-c", code])
    assert process.stdout.readline() + process.stdout.readline() == "begun\n" * 2
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    assert stopped(process, signal.SIGINT, group=group) == (130, "")
    assert not psutil.wait_procs(children, timeout=IN_TIME)[1]


def test_g19_while_modules_are_loaded_a_signal_ends_without_a_traceback(start):
    process = start([sys.executable, "run_pipeline.py", "--list"])
    wait_for(lambda: "numpy" in mapped(process), process)
    status, told = stopped(process, signal.SIGINT)
    assert status in (-signal.SIGINT, 128 + signal.SIGINT)
    assert "Traceback" not in told


def test_g19_signals_that_have_a_meaning_keep_it():
    """``nohup`` has SIGHUP ignored; a program that uses the library may have handlers of its own."""
    own = [lambda *_: None, signal.SIG_IGN, signal.SIG_DFL]
    before = [signal.signal(number, each) for number, each in zip(SIGNALS, own, strict=True)]
    try:
        with signals.stoppable():
            meanwhile = [signal.getsignal(number) for number in SIGNALS]
        assert meanwhile[:2] == own[:2]
        assert meanwhile[2] is not signal.SIG_DFL
        assert [signal.getsignal(number) for number in SIGNALS] == own
    finally:
        for number, each in zip(SIGNALS, before, strict=True):
            signal.signal(number, each)


def test_g19_a_stop_leaves_what_is_not_of_it(tmp_path):
    """Caught in time, the process lives on."""
    with signals.stoppable() as state:
        with signals.removed_after(tmp_path / "a") as path:
            path.touch()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert state.exit_status == 143
        signal.raise_signal(signal.SIGTERM)  # a second one breaks off nothing
    assert list(tmp_path.iterdir()) == []


def test_g19_a_stop_that_python_drops_is_raised_again(capfd):
    """Compiled code calls functions of Python while it compiles, and drops what they raise."""
    called = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGTERM))
    with signals.stoppable() as state:
        with pytest.raises(KeyboardInterrupt):
            called(), time.sleep(10)
        assert state.exit_status == 143
    assert capfd.readouterr().err == ""


def test_what_a_killed_run_has_left_among_temporary_files_goes_with_the_next(tmp_path):
    """SIGKILL leaves it; so may a power cut. Other folders, and those of other machines, are not touched."""
    root = tmp_path / "corpus"
    left, other = tmp_path / results.new_scratch(), tmp_path / "liaison-notes"
    for folder in (root, left, other):
        folder.mkdir()
    (left / "merged.txt").touch()
    holder = {"pid": 1, "host": socket.gethostname(), "since": "", "scratch": str(left)}
    for wrong in ({"scratch": str(other)}, {"host": "another"}, {"scratch": None}, {"scratch": left.name}):
        (root / "lock.json").write_text(json.dumps(holder | wrong), encoding="utf-8")
        with results.locked(root):
            assert left.exists()
    (root / "lock.json").write_text(json.dumps(holder), encoding="utf-8")
    with results.locked(root):
        assert not left.exists()
    assert other.exists()
