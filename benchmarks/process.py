"""Running commands, and what they took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from align.core.errors import WorkError

ROOT = Path(__file__).resolve().parent.parent
_MEASURED = Path(__file__).resolve().with_name("measured.py")

# What numerical libraries read to know how many threads they may use.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Usage:
    """What one or several commands took, one after the other.

    ``rss`` and ``pss`` are the largest sums over all processes that were alive together, in bytes: of what is
    resident in each (shared pages count in each), and with shared pages shared out. 0 where nobody looked.
    """

    cpu_seconds: float = 0.0  # user and system time of all their processes
    seconds: float = 0.0  # wall time
    peak_memory: int = 0  # bytes of the largest process
    rss: int = 0
    pss: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.cpu_seconds + other.cpu_seconds,
            self.seconds + other.seconds,
            max(self.peak_memory, other.peak_memory),
            max(self.rss, other.rss),
            max(self.pss, other.pss),
        )


@dataclass(frozen=True)
class Plan:
    """How a command is watched: what the plan of :mod:`benchmarks.measured` says."""

    poll: float = 0.0
    folders: Mapping[str, str] = field(default_factory=dict)
    kill: tuple[str, float] | None = None
    limit: float = 0.0


@dataclass(frozen=True)
class Watched:
    """What a watched command took; ``stages``: ``rss`` and ``pss`` by stage; ``killed``: why, if it was."""

    usage: Usage
    stages: dict[str, dict[str, int]]
    killed: str = ""


def environment(*, threads: int) -> dict[str, str]:
    """Return the environment of a command whose libraries may use so many threads."""
    found = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
    if found.get("NUMBA_CACHE_DIR"):  # commands run in another folder
        found["NUMBA_CACHE_DIR"] = os.path.abspath(found["NUMBA_CACHE_DIR"])
    return found


def measure(command: Sequence[object], log: Path, environment: Mapping[str, str]) -> tuple[Usage, str]:
    """Run a command in the project's folder; return what it took and its standard output.

    Parameters
    ----------
    command : sequence of str or Path (anything that prints as a word)
        The program and its arguments.
    log : Path
        Where its standard error is appended.
    environment : mapping of str to str
        Its environment variables.

    Raises
    ------
    WorkError
        If it cannot be started or fails.
    """
    watched, output = watch(command, log, environment, Plan())
    return watched.usage, output


def watch(
    command: Sequence[object], log: Path, environment: Mapping[str, str], plan: Plan
) -> tuple[Watched, str]:
    """Run a command as :func:`measure` does and watch it; being killed as planned is no failure.

    Raises
    ------
    WorkError
        If it cannot be started or fails.
    """
    words = [str(word) for word in command]
    report, told = log.with_suffix(".usage.json"), log.with_suffix(".plan.json")
    report.unlink(missing_ok=True)
    told.write_text(json.dumps(vars(plan)), encoding="utf-8", newline="\n")
    try:
        output = call(
            [sys.executable, "-S", str(_MEASURED), str(report), str(told), *words], log, environment
        )
    except WorkError:
        output = ""
        if not report.is_file() or not json.loads(report.read_text(encoding="utf-8"))["killed"]:
            raise
    figures = json.loads(report.read_text(encoding="utf-8"))
    stages, killed = figures.pop("stages"), figures.pop("killed")
    return Watched(Usage(**figures), stages, killed), output


def call(command: Sequence[object], log: Path, environment: Mapping[str, str]) -> str:
    """Run a command as :func:`measure` does, unmeasured; return its standard output."""
    words = [str(word) for word in command]
    with open(log, "a", encoding="utf-8") as errors:
        done = subprocess.run(
            words, cwd=ROOT, env=dict(environment), stdout=subprocess.PIPE, stderr=errors, encoding="utf-8"
        )
    if done.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").rstrip("\n").split("\n")
        raise WorkError(
            f"{' '.join(words)}: exit status {done.returncode}: {lines[-1]}; the rest is in {log}"
        )
    return done.stdout
