"""What a run may take of the machine, and what a stage took: memory, processors, the disk."""

from __future__ import annotations

import math
import os
import shutil
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from align.core.errors import InputError, WorkError
from align.core.limits import UNUSED_ADDRESSES, address_limit, group_limits, group_memory

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

# Left free on the disk beside what is written.
MARGIN = 64 << 20

# Seconds between two looks at the memory of a stage's processes, and looks between two at which there are:
# to find children all processes of the machine are listed.
_SECONDS_A_LOOK, _LOOKS_A_LIST = 0.05, 20


@dataclass(frozen=True)
class Usage:
    """What a stage took: wall-clock and processor seconds, and peak memory in bytes."""

    seconds: float
    cpu_seconds: float
    peak_memory: int


class Meter:
    """Measures what this process and its children take, as a context manager."""

    def __enter__(self) -> Meter:
        self._begun, self._cpu = time.perf_counter(), _cpu_seconds()
        self._peak = 0
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def read(self) -> Usage:
        """Return what was used so far; the peak is the largest sum of all processes that was seen."""
        self._peak = max(self._peak, _memory_of(_processes()))
        return Usage(time.perf_counter() - self._begun, _cpu_seconds() - self._cpu, self._peak)

    def _look(self) -> None:
        looks = 0
        while not self._ended.wait(_SECONDS_A_LOOK):
            if looks % _LOOKS_A_LIST == 0:
                processes = _processes()
            self._peak = max(self._peak, _memory_of(processes))
            looks += 1


def resident_memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(psutil.Process().memory_info().rss)


def default_memory() -> int:
    """Return three quarters of the machine's memory in bytes, or of what limits leave of it.

    Limits are those of the control groups, and of addresses and data of the process (``ulimit -v``, ``-d``).
    """
    group, addresses = group_memory(), address_limit()
    limits = [psutil.virtual_memory().total, *([] if group is None else [group])]
    if addresses is not None:
        limits.append(max(0, addresses - UNUSED_ADDRESSES))
    return int(min(limits) * 0.75)


def default_jobs() -> int:
    """Return how many processors this process may use, >= 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = [text.partition(" ")[::2] for text in group_limits("cpu", "cpu.max")]
    # Version 1 has a file for each of the two, and -1 where there is no limit.
    quotas, periods = (group_limits("cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period"))
    shares += zip(quotas, periods, strict=False)
    for quota, period in shares:
        if (share := _number(quota)) and (length := _number(period)):
            count = min(count, math.ceil(share / length))
    return max(1, count)


def _number(text: str) -> int | None:
    """Return a limit; None for ``max``, which is none."""
    return int(text) if text.isdigit() else None


def _processes() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def _memory_of(processes: Iterable[psutil.Process]) -> int:
    size = 0
    for process in processes:
        with suppress(psutil.Error):  # it may have ended meanwhile
            size += process.memory_info().rss
    return size


def _cpu_seconds() -> float:
    """Return the processor seconds of this process and its children, those that have ended included."""
    seconds = 0.0
    for process in _processes():
        with suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def check_space(folder: Path, size: int, what: str, *, elsewhere: str = "give another --workdir") -> None:
    """Refuse to write ``size`` bytes where the disk has no room for them.

    ``elsewhere`` says how the user can have them written to another disk.

    Raises
    ------
    WorkError
        If less is free.
    """
    free = shutil.disk_usage(folder).free
    if size + MARGIN > free:
        raise WorkError(
            f"{what}: needs {show_bytes(size)} but {folder} has {show_bytes(free)} free; free space, or "
            f"{elsewhere}"
        )


def show_bytes(size: int) -> str:
    """Return a size for people: ``512 bytes``, ``1.4 GB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def parse_size(text: str) -> int:
    """Return the bytes of a size such as ``4G``, ``512M`` or ``1000000`` (powers of 1,024).

    Raises
    ------
    InputError
        If the text is no size above zero.
    """
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number and number[-1] in UNITS:
        number, unit = number[:-1], number[-1]
    try:
        size = int(float(number) * UNITS[unit])
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise InputError(f"--memory {text}: no size; give for example 4G or 512M")
    return size


def show_size(size: float) -> str:
    """Write a number of bytes the short way: ``1.5 GB`` (powers of 1,024)."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit in ("B", "KB") else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"
