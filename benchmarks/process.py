"""Running commands, and what they took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from align.errors import WorkError

ROOT = Path(__file__).resolve().parent.parent
_MEASURED = Path(__file__).resolve().with_name("measured.py")

# What numerical libraries read to know how many threads they may use.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Usage:
    """What one or several commands took, one after the other.

    Attributes
    ----------
    cpu_seconds : float
        User and system time of all their processes.
    seconds : float
        Wall time.
    peak_memory : int
        Bytes of the largest process.
    """

    cpu_seconds: float = 0.0
    seconds: float = 0.0
    peak_memory: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.cpu_seconds + other.cpu_seconds,
            self.seconds + other.seconds,
            max(self.peak_memory, other.peak_memory),
        )


def environment(*, threads: int, **settings: str) -> dict[str, str]:
    """Return the environment of a command whose libraries may use so many threads."""
    return {**os.environ, **dict.fromkeys(_THREADS, str(threads)), **settings}


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
    words = [str(word) for word in command]
    report = log.with_suffix(".usage.json")
    report.unlink(missing_ok=True)
    output = call([sys.executable, "-S", str(_MEASURED), str(report), *words], log, environment)
    return Usage(**json.loads(report.read_text(encoding="utf-8"))), output


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
