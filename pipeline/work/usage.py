"""Seconds and peak memory of a stage, its worker processes included."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from align.core.errors import InputError

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Usage:
    """What a stage took: wall-clock and processor seconds, and peak memory in bytes."""

    seconds: float
    cpu_seconds: float
    peak_memory: int


class Meter:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._cpu = _cpu_seconds()
        for process in _processes():
            _forget_peak(process)

    def read(self) -> Usage:
        """Return what was used so far.

        The peak is the sum of the processes' own peaks (an upper bound of the peak of their sum). Where
        the system cannot forget an earlier peak (not Linux), it is the peak since the program's start.
        """
        peaks = [_peak(process) for process in _processes()]
        return Usage(time.perf_counter() - self._begun, _cpu_seconds() - self._cpu, sum(peaks))


def resident_memory() -> int:
    """Return the bytes of this process that are in memory, where the system does not tell its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _peak("self")


def default_memory() -> int:
    """Return three quarters of the machine's memory, in bytes."""
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.75)


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


def _processes() -> list[int | str]:
    return ["self", *(child.pid for child in multiprocessing.active_children() if child.pid is not None)]


def _forget_peak(process: int | str) -> None:
    try:
        Path(f"/proc/{process}/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return  # the peak then counts from the process's start


def _peak(process: int | str) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.split("\n") if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        if process != "self":
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _cpu_seconds() -> float:
    own = time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own + children.ru_utime + children.ru_stime
    for process in _processes()[1:]:
        total += _child_cpu_seconds(process)
    return total


def _child_cpu_seconds(process: int | str) -> float:
    """Return the processor seconds of a running child, 0 where the system does not tell."""
    try:
        fields = (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
