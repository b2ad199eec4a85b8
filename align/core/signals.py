"""Ending in time when a signal asks for it, with nothing unfinished left behind.

Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) raise KeyboardInterrupt in the main thread, so that
what is under way cleans up after itself. The main thread hears of a signal only between two steps of Python:
compiled code, a name server or threads that it waits for may keep it for minutes. So another thread looks at
the time, removes what is unfinished, and ends the process. Signals belong to the process as a whole, and so
does the list of what is unfinished.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# Seconds that the main thread has, from the signal to its end.
PATIENCE = 1.0
_TICK = 0.02

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

# Files and folders that are removed at the end, however it comes.
_UNFINISHED: set[Path] = set()

# What a stop is told as, the innermost last.
_STOPS: list[KeyboardInterrupt] = []


@contextmanager
def removed_after(path: Path) -> Iterator[Path]:
    """Remove a file or folder afterwards, if it is there, also where a signal ends the process meanwhile."""
    _UNFINISHED.add(path)
    try:
        yield path
    finally:
        _remove(path)
        # Not reached where a stop breaks off the removal: it is done again.
        _UNFINISHED.discard(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def stopped_as(stop: KeyboardInterrupt) -> Iterator[None]:
    """Let a stop meanwhile be raised, and told, as the given one."""
    _STOPS.append(stop)
    try:
        yield
    except KeyboardInterrupt:
        raise stop from None
    finally:
        _STOPS.remove(stop)


def end_silently() -> None:
    """Let signals end the process without a word while there is nothing to undo: modules are being loaded."""
    for number in _usual():
        signal.signal(number, signal.SIG_DFL)


def _usual() -> list[signal.Signals]:
    """Return the signals that nobody has given a meaning of their own; nohup has them ignored."""
    return [
        each for each in SIGNALS if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler)
    ]


@contextmanager
def unheard_by_children() -> Iterator[None]:
    """Let processes that are started meanwhile be deaf to Ctrl-C and a closed terminal.

    A terminal tells all of its processes; workers are ended by the one that started them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Stopping:
    """Whether a signal asked this process to end, and which.

    Attributes
    ----------
    number : int or None
        The first signal that came.
    over : bool
        Whether the work is done, so that signals come too late.
    lost : bool
    lost : bool
        Whether KeyboardInterrupt was raised where Python drops it, in a function that compiled code calls or
        while an object is taken apart: it is raised again.
    """

    number: int | None = None
    over: bool = False
    lost: bool = False

    @property
    def exit_status(self) -> int:
        """What a shell says of a process that a signal ended."""
        return 128 + (self.number or signal.SIGINT)


@contextmanager
def stoppable(tell: Callable[[KeyboardInterrupt], None] = lambda stop: None) -> Iterator[Stopping]:
    """Let signals raise KeyboardInterrupt, and end the process where that has not done so within a second.

    Nothing is changed outside the main thread, nor for signals that have a meaning already.

    Parameters
    ----------
    tell : callable
        Called with the stop before the process is ended from the other thread.
    """
    state = Stopping()
    if threading.current_thread() is not threading.main_thread():
        yield state
        return

    def handle(number: int, frame: Any) -> None:
        if (state.number is None or state.lost) and not state.over:
            state.number, state.lost = state.number or number, False
            raise KeyboardInterrupt

    def dropped(what: Any) -> None:
        if state.number is not None and issubclass(what.exc_type, KeyboardInterrupt):
            state.lost = True
        else:
            hook_before(what)

    before = {number: signal.getsignal(number) for number in _usual()}
    heard, bell = socket.socketpair()
    bell.setblocking(False)
    watch = threading.Thread(target=_watch, args=(heard, set(before), state, tell), daemon=True)
    watch.start()
    hook_before, sys.unraisablehook = sys.unraisablehook, dropped
    bell_before = signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    for number in before:
        signal.signal(number, handle)
    try:
        yield state
    finally:
        state.over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(bell_before)
        sys.unraisablehook = hook_before
        bell.close()
        watch.join()
        heard.close()
        if state.number is not None:
            _remove_unfinished()


def _watch(
    heard: socket.socket,
    numbers: set[signal.Signals],
    state: Stopping,
    tell: Callable[[KeyboardInterrupt], None],
) -> None:
    """Wait for a signal, and end the process if the other end is not closed in time after it."""
    number = 0
    while number not in numbers:
        data = heard.recv(1)
        if not data:
            return
        number = data[0]
    if _closed(heard, state):
        return
    for child in _children():
        with suppress(Exception):
            child.kill()
    _remove_unfinished()
    with suppress(Exception):
        tell(_STOPS[-1] if _STOPS else KeyboardInterrupt())
    os._exit(128 + number)


def _closed(heard: socket.socket, state: Stopping) -> bool:
    """Tell whether the other end is closed in time; further signals change nothing."""
    end = time.monotonic() + PATIENCE
    while (left := end - time.monotonic()) > 0:
        if select.select([heard], [], [], min(left, _TICK))[0] and not heard.recv(16):
            return True
        if state.lost and state.number and hasattr(signal, "pthread_kill"):
            # A signal proper: the main thread may wait for something by now.
            signal.pthread_kill(threading.main_thread().ident or 0, state.number)
    return False


def _children() -> list[Any]:
    """Return the worker processes; multiprocessing is loaded where there are any."""
    module = sys.modules.get("multiprocessing.process")
    return [] if module is None else list(module.active_children())


def _remove_unfinished() -> None:
    for path in list(_UNFINISHED):
        _remove(path)
        _UNFINISHED.discard(path)
