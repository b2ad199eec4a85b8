"""Python programs begun in copies of one prepared process: libraries are imported and kernels loaded.

A command is a process of its own, with its words, folder, environment, standard streams and exit status, and
can be killed like any other; only the work of its start is saved. What the environment changes while Python
or a library starts (the locale, threads, the place of machine code) does nothing here, and all have one hash
seed: that no byte depends on these is shown by tests that start Python.
"""

import atexit
import contextlib
import gc
import io
import json
import os
import runpy
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Command:
    """``python WORDS``, begun: what ``subprocess.Popen`` is for a process that is started anew."""

    def __init__(self, words, *, cwd=None, env=None, stdin=""):
        self._files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115 (closed when it has ended)
        self._files[0].write(stdin.encode())
        self._files[0].seek(0)
        self._told, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        about = {"words": [str(word) for word in words], "cwd": str(cwd or os.getcwd())}
        about["env"] = dict(os.environ if env is None else env)
        with end:
            handed = [file.fileno() for file in (*self._files, end)]
            socket.send_fds(_server(), [json.dumps(about).encode()], handed)
        self.returncode, self._said, self.pid = None, [], int(self._told.recv(100))

    def wait(self, timeout=None):
        """Return the exit status, negative for a signal, as soon as there is one."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(100))
            except TimeoutError:
                raise subprocess.TimeoutExpired("python", timeout) from None
            self._told.close()
            for file in self._files:
                file.seek(0)
                self._said.append(file.read().decode())
                file.close()
        return self.returncode

    def line(self, timeout=60):
        """Return the first line it prints, without its end, as soon as it has."""
        until = time.monotonic() + timeout
        while True:
            ended = self.poll() is not None
            # Where it writes next is told by the place in the file: reading must not move it.
            said = self._said[1].encode() if ended else os.pread(self._files[1].fileno(), 1 << 16, 0)
            if b"\n" in said:
                return said.partition(b"\n")[0].decode()
            assert not ended, f"it ended without a line: {self._said[2]}"
            assert time.monotonic() < until, "it prints no line"
            time.sleep(0.005)

    def poll(self):
        """Return the exit status, or None as long as it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired, BlockingIOError):
            self.wait(0)
        return self.returncode

    def send_signal(self, number):
        """Send a signal to it, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout=None):
        """Wait for the end, and return what it printed: standard output and standard error."""
        self.wait(timeout)
        return tuple(self._said[1:])


def run(words, *, timeout=280, **given):
    """Run ``python WORDS`` to its end; return it with ``returncode``, ``stdout`` and ``stderr``."""
    begun = Command(words, **given)
    try:
        said = begun.communicate(timeout)
    except BaseException:
        begun.kill()
        raise
    return subprocess.CompletedProcess(words, begun.returncode, *said)


@cache
def _server():
    """Start the process that is copied; it ends when this one does, for it reads from it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        words = [sys.executable, "-m", "tests.prepared", str(there.fileno())]
        server = subprocess.Popen(words, cwd=ROOT, pass_fds=[there.fileno()])
    atexit.register(server.wait)
    atexit.register(here.close)  # this first
    return here


def _serve(place):
    """Begin each command that is asked for; return in its process alone, with its words."""
    while True:
        told, handed, _, _ = socket.recv_fds(place, 1 << 20, 4)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG if told else 0)[0]:
                pass
        if not told:
            sys.exit()
        if os.fork() == 0:
            break
        for each in handed:
            os.close(each)
    place.close()
    end = socket.socket(fileno=handed[3])
    begun = os.fork()
    if begun:  # this one waits for it
        end.send(str(begun).encode())
        end.send(str(os.waitstatus_to_exitcode(os.waitpid(begun, 0)[1])).encode())
        os._exit(0)
    end.close()
    return _become(json.loads(told), handed[:3])


def _become(about, handed):
    """Take over the folder, environment and streams of a command; return its words."""
    os.chdir(about["cwd"])
    os.environ.clear()
    os.environ.update(about["env"])
    for number, each in enumerate(handed):
        os.dup2(each, number)
        os.close(each)
    streams = [os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate(("r", "w", "w"))]
    sys.stdin, sys.stdout, sys.stderr = streams
    return about["words"]


def wait_for_no_disk():
    """Let nothing wait until the disk has what was written, which the end of a process does not undo.

    What a power cut undoes is made by the tests themselves. Programs that Python starts anew do wait.
    """
    flush = os.fsync

    def fsync(descriptor):
        kind = stat.S_IFMT(os.stat(descriptor).st_mode)
        if kind not in (stat.S_IFREG, stat.S_IFDIR):  # of others it is an error
            flush(descriptor)

    os.fsync = fsync


def _prepare():
    """Run the sample once: all stages are imported, and the kernels they call are loaded."""
    from align.cli import serve  # noqa: F401 (and what it imports)
    from pipeline.run.command import main
    from tests.runs import FAST

    wait_for_no_disk()
    with contextlib.suppress(ImportError):
        import distributed  # noqa: F401

    settings = [word for each in FAST for word in ("--set", each)]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as quiet:
        quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
        quiet.enter_context(contextlib.redirect_stderr(io.StringIO()))
        main(["--workdir", folder, "--jobs", "1", *settings])
    gc.collect()
    gc.freeze()


class Fork:
    """Stands in for ``subprocess.Popen`` in a command: a Python program is begun in a copy of its process."""

    def __init__(self, words):
        self.returncode, self.pid = None, os.fork()
        if self.pid == 0:
            _go(words[1:])


def _go(words):
    """Do what Python does with its words, and end; what the system takes back is not taken apart before."""
    status = 0
    try:
        _run(words)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if not isinstance(ended.code, int | None):
            print(ended.code, file=sys.stderr)
    except BaseException:
        status = 1
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush(), sys.stderr.flush()
    os._exit(status & 255)


def _run(words):
    first, *rest = sys.argv = words
    sys.path[0] = str(Path(first).resolve().parent) if first[0] != "-" else os.getcwd()
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(rest[0], {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(first, run_name="__main__")


def _main():
    _prepare()
    with socket.socket(fileno=int(sys.argv[1])) as place:
        words = _serve(place)
    _go(words)


if __name__ == "__main__":
    _main()
