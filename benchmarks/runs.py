"""The pipeline run stage by stage, each stage measured, from configurations that are written here."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from align.core.errors import WorkError
from benchmarks.process import ROOT, Plan, Usage, Watched, environment, measure, watch
from pipeline.run.graph import STAGES

# Stages are timed once their kernels are compiled; a stage that still compiled some is run again, at most
# so many times.
TRIES = 3

# Seconds between two looks at the memory of a watched run.
POLL = 0.05

Settings = Mapping[str, Mapping[str, Any]]


def toml(settings: Settings) -> str:
    """Return settings by section and key as TOML; values are texts, numbers, truth values or lists of them.

    A value of this kind is written in TOML as in JSON.
    """
    lines = []
    for section, entries in settings.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def kernels() -> Path:
    """Return the folder of compiled kernels: that of the checkout, if NUMBA_CACHE_DIR does not name one."""
    return Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / "align" / "__pycache__").absolute()


def compiled() -> set[tuple[str, int]]:
    """Return the compiled kernels there are: another set after a run means that it compiled some."""
    return {(str(path), path.stat().st_mtime_ns) for path in kernels().rglob("*.nb[ci]")}


class Pipeline:
    """Runs stages of one corpus as a user does, by ``run_pipeline.py``.

    Parameters
    ----------
    config : Path
        Where its configuration is written.
    settings : mapping
        The configuration.
    workdir : Path
        The work folder; runs of the same ``corpus.name`` share what they have in common.
    jobs, seed : int
        As the pipeline's.
    """

    def __init__(self, config: Path, settings: Settings, *, workdir: Path, jobs: int, seed: int) -> None:
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(toml(settings), encoding="utf-8", newline="\n")
        self._log = config.with_suffix(".log")
        self._root = workdir.absolute() / settings["corpus"]["name"]
        self._latest = workdir / settings["corpus"]["name"] / "latest"
        self._environment = environment(threads=jobs)
        self._command = [
            *(sys.executable, ROOT / "run_pipeline.py", "--quiet", "--config", config.absolute()),
            *("--workdir", workdir.absolute(), "--jobs", str(jobs), "--seed", str(seed)),
        ]

    def folder(self, stage: str) -> Path:
        """Return the folder of what a stage left in the last run."""
        return (self._latest / stage).resolve()

    def unfinished(self, stage: str) -> Path:
        """Return the folder that a killed run of a stage left.

        Raises
        ------
        WorkError
            If there is none, or more than one.
        """
        found = list((self._root / stage).glob("*.partial"))
        if len(found) != 1:
            raise WorkError(f"{self._root / stage}: {len(found)} folders of a killed run, not one")
        return found[0]

    def timed(self, stages: str, options: Sequence[str] = ()) -> Usage:
        """Run stages, a comma list, whether done or not; return what they took without any compiling.

        Raises
        ------
        WorkError
            If the run fails, or kernels are compiled every time.
        """
        for _ in range(TRIES):
            before = compiled()
            usage = self.run(stages, options, again=True)
            if compiled() == before:
                return usage
        raise WorkError(f"{kernels()}: kernels are compiled in every run; is the folder writable?")

    def run(self, stages: str, options: Sequence[str] = (), *, again: bool = False) -> Usage:
        """Run stages, done ones only ``again``; ``options`` are ``section.key=value`` texts."""
        words = [word for option in options for word in ("--set", option)]
        forced = ["--force"] if again else []
        return measure([*self._command, "--stage", stages, *forced, *words], self._log, self._environment)[0]

    def watched(
        self,
        stages: str,
        options: Sequence[str] = (),
        *,
        words: Sequence[str] = (),
        kill: tuple[str, float] | None = None,
    ) -> Watched:
        """Run stages that are not done, looking at the memory of all processes every 50 ms.

        Parameters
        ----------
        stages : str
            A comma list.
        options : sequence of str
            ``section.key=value`` texts.
        words : sequence of str
            More of the command line, such as ``--memory 1G``.
        kill : (str, float), optional
            A stage and seconds: SIGKILL so long after the stage began.
        """
        plan = Plan(POLL, {name: str(self._root / name) for name in STAGES}, kill)
        settings = [word for option in options for word in ("--set", option)]
        command = [*self._command, "--stage", stages, *settings, *words]
        return watch(command, self._log, self._environment, plan)[0]


def pipeline_of(args: argparse.Namespace, name: str, settings: Settings) -> Pipeline:
    """Return the pipeline of a command, as its options say; the configuration has that name."""
    config = args.out / "configs" / f"{name}.toml"
    return Pipeline(config, settings, workdir=args.workdir, jobs=args.jobs, seed=args.seed)
