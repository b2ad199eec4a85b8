"""Runs of the pipeline from nothing, in a folder and a process of their own, and what each stage took."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from align.core.errors import InputError, WorkError
from benchmarks.figures import read_lines
from benchmarks.hansards import merged
from benchmarks.process import Usage, Watched
from benchmarks.runs import TRIES, Pipeline, compiled
from benchmarks.texts import Settings
from pipeline.run.graph import STAGES

# Kernels are compiled before the clock runs, on so many pairs.
WARM_UP = 300


@dataclass(frozen=True)
class StageFigures:
    """What a stage took: wall and processor time by its manifest, and peaks of memory in bytes."""

    seconds: float
    cpu_seconds: float
    told: int  # by its manifest: the sum of the processes' own peaks
    rss: int  # as seen from outside (:class:`benchmarks.process.Usage`), and so pss
    pss: int


class Runs:
    """Makes pipelines of one text, and warms them up.

    Parameters
    ----------
    folder : Path
        For configurations, logs and work.
    settings : Settings
        Of the corpus; the name and number of pairs of a run are added.
    options : sequence of str
        ``section.key=value`` texts for every run.
    seed : int
    memory : str, optional
        The pipeline's --memory in measured runs.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        options: Sequence[str],
        seed: int,
        *,
        memory: str | None = None,
    ) -> None:
        self._folder, self._settings, self._seed = folder, settings, seed
        self.options = list(options)
        self._words = [] if memory is None else ["--memory", memory]
        # With gold text, how good the links are is measured too.
        self.last = "evaluate" if "gold" in settings else "align"

    def pipeline(self, name: str, pairs: int, jobs: int) -> tuple[Pipeline, Path]:
        """Return a pipeline without any results, and its work folder; ``pairs`` 0 are all."""
        work = self._folder / "work" / name
        shutil.rmtree(work, ignore_errors=True)
        limit = {"corpus": {"limit": pairs}} if pairs else {}
        pipeline = Pipeline(
            self._folder / "configs" / f"{name}.toml",
            merged(self._settings, limit),
            workdir=work,
            jobs=jobs,
            seed=self._seed,
        )
        return pipeline, work

    def warm_up(self, pairs: int, jobs: int) -> None:
        """Compile the kernels on a small part of the text."""
        pipeline, work = self.pipeline("warm-up", min(pairs, WARM_UP) if pairs else WARM_UP, jobs)
        pipeline.run(f"align,{self.last}", self.options)
        shutil.rmtree(work)

    def fresh(
        self, name: str, pairs: int, jobs: int, steps: Sequence[str], unmeasured: str = ""
    ) -> tuple[Pipeline, Path, list[Watched]]:
        """Run steps (comma lists of stages), each a process; again from nothing if a kernel was compiled.

        Parameters
        ----------
        name : str
            Of the folder.
        pairs, jobs : int
        steps : sequence of str
        unmeasured : str
            Stages that are run before them.

        Raises
        ------
        WorkError
            If a run fails, or kernels are compiled every time.
        """
        for _ in range(TRIES):
            pipeline, work = self.pipeline(name, pairs, jobs)
            if unmeasured:
                pipeline.run(unmeasured, self.options)
            before = compiled()
            watched = [pipeline.watched(stages, self.options, words=self._words) for stages in steps]
            if compiled() == before:
                return pipeline, work, watched
        raise WorkError(f"{name}: kernels are compiled in every run; is their folder writable?")


def figures_of(pipeline: Pipeline, watched: Sequence[Watched]) -> dict[str, StageFigures]:
    """Return the figures of each stage that the watched runs made, in the pipeline's order."""
    seen: dict[str, dict[str, int]] = {}
    for each in watched:
        for name, peak in each.stages.items():
            place = seen.setdefault(name, {})
            for kind, value in peak.items():
                place[kind] = max(place.get(kind, 0), value)
    found = {}
    for name in STAGES:
        manifest = pipeline.folder(name) / "manifest.json"
        if not manifest.is_file():
            continue
        told = json.loads(manifest.read_text(encoding="utf-8"))
        # A stage may be over between two looks.
        peak = seen.get(name, {})
        found[name] = StageFigures(
            told["seconds"], told["cpu_seconds"], told["peak_memory"], peak.get("rss", 0), peak.get("pss", 0)
        )
    return found


def pairs_of(pipeline: Pipeline, asked: int) -> int:
    """Return how many input lines there were.

    Raises
    ------
    InputError
        If they are fewer than were asked for.
    """
    there = len(read_lines(pipeline.folder("preprocess") / "source.txt"))
    if there < asked:
        raise InputError(f"{asked} pairs were asked for; the text has only {there}: give less")
    return there


def whole(watched: Sequence[Watched]) -> Usage:
    """Return what runs took, one after the other."""
    return sum((each.usage for each in watched), Usage())
