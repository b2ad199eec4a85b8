"""The start of a program, so that its end is told in one line also where a library ends it.

Without memory some libraries print words of their own and end the process, and the system kills one that
takes more than its control group may have. So where memory is limited the program runs in a process of its
own, and the first one, which has loaded nothing, waits for it, hands on signals, and tells how it ended.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from contextlib import suppress

from align.core import limits
from align.core.errors import WorkError, is_out_of_memory
from align.core.signals import SIGNALS, end_silently

# The commands that need compiled code, and the memory for it.
COMPILED = frozenset(["links", "explain", "learn", "serve", "run"])

# Option of Linux's prctl: the signal that a process gets when the one that started it dies.
_PARENT_DEATH = 1


def start(module: str, *, by_command: bool = False) -> int:
    """Call ``main()`` of a module, and return the exit status.

    Parameters
    ----------
    module : str
        Its full name; it is imported here.
    by_command : bool
        Whether a word of the command line says what is to be done: not all needs compiled code.
    """
    end_silently()
    words = set(sys.argv[1:])
    compiled = not (by_command and COMPILED.isdisjoint(words)) and words.isdisjoint(["-h", "--help"])
    if limits.described() and hasattr(signal, "sigwaitinfo"):
        return _watched(module, compiled=compiled)
    return int(importlib.import_module(module).main())


def _watched(module: str, *, compiled: bool) -> int:
    """Call ``main()`` in a process of its own and return its exit status."""
    heard, told = os.pipe()
    os.set_blocking(heard, False)
    numbers = {*SIGNALS, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(told)
        return _end(_wait(child, numbers), heard)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    try:
        return _within_limits(module, compiled=compiled)
    finally:
        # What comes back to here has been told already, or is by Python.
        os.write(told, b".")


def _within_limits(module: str, *, compiled: bool) -> int:
    """Call ``main()`` with as little memory as may be; what is missing for its modules is told."""
    try:
        if compiled:
            limits.check_room()
        limits.take_less_addresses()
        if compiled:
            # Numba loads it with the first kernel: with little left by then its OpenBLAS may wait for ever.
            importlib.import_module("scipy.linalg.cython_blas")
        main = importlib.import_module(module).main
    except Exception as error:
        if not isinstance(error, WorkError):
            if not is_out_of_memory(error):
                raise
            error = WorkError(f"memory: too little to begin; {limits.described()}")
        print(f"error: {error}", file=sys.stderr, flush=True)
        return error.exit_status
    return int(main())


def _wait(child: int, numbers: set[signal.Signals]) -> int:
    """Wait for a process, handing on signals, and return how it ended, as ``os.waitpid`` does."""
    while True:
        info = signal.sigwaitinfo(numbers)
        if info.si_signo != signal.SIGCHLD:
            # One that the terminal sends has reached both: a second one changes nothing.
            os.kill(child, info.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status


def _end(status: int, heard: int) -> int:
    """Return the exit status of the program, or tell why it has none; where a signal was meant, end by it."""
    code = os.waitstatus_to_exitcode(status)
    if -code in SIGNALS:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    try:
        told = os.read(heard, 1)
    except BlockingIOError:
        told = b""
    if told or code not in (1, *range(-signal.NSIG, 0)):
        return code if code >= 0 else 128 - code
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    # Standard error may be closed.
    with suppress(OSError):
        why = "the system or a library ended the program, most likely for lack of memory"
        print(f"error: memory: {why} ({how}); {limits.described()}", file=sys.stderr, flush=True)
    return WorkError.exit_status
