"""Running the stages of one corpus: what is done is skipped, what is made is published whole."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any

import align
from align.core.errors import LiaisonError, WorkError, is_out_of_memory
from align.core.files import WRITE_FAULTS
from align.core.signals import removed_after, stopped_as
from pipeline.config.configuration import Config
from pipeline.run.plan import Settings, Step
from pipeline.run.results import (
    clear_leftovers,
    drop_unfinished,
    locked,
    new_scratch,
    partial_of,
    publish,
    update_latest,
)
from pipeline.work import manifest as manifests
from pipeline.work.engine import Engine
from pipeline.work.memory_release import give_back
from pipeline.work.progress import Reporter
from pipeline.work.publish import sync_tree
from pipeline.work.resources import Meter, Usage, show_bytes, show_size
from pipeline.work.stage import Stage, StageContext

RECORDED_VERSIONS = ("numpy", "scipy", "numba", "pandas", "nltk", "pyarrow", "fasttext-community")


class Interrupted(KeyboardInterrupt):
    """The user stopped a run while a stage was at work."""

    def __init__(self, stage: str, *, forced: bool, left: bool, first: bool) -> None:
        super().__init__(stage)
        self.stage = stage
        # Whether it, or one before it, had to be made again: with the same command all of that begins anew.
        self.forced = forced
        # Whether it or one after it was to be made again though done: without being told so, a run skips it.
        self.left = left
        # Whether no stage before it had to be made again.
        self.first = first


@dataclass
class Outcome:
    """How one corpus ended: seconds, the stages run and skipped, and the lines of results."""

    name: str
    seconds: float = 0.0
    ran: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


def run(
    steps: Sequence[Step],
    config: Config,
    settings: Settings,
    engine: Engine,
    *,
    on_made: Callable[[str], None] = lambda name: None,
) -> Outcome:
    """Run the steps of a plan that are to be run, one after the other, and point ``latest/`` at all.

    Parameters
    ----------
    steps : sequence of Step
    config : Config
    settings : Settings
    engine : Engine
        Where blocks of work run.
    on_made : function
        Called with the name of each stage that was run, when its result is published.

    Raises
    ------
    WorkError
        If another run holds this corpus's folder, the disk is full, or a stage fails.
    InputError
        If a stage refuses its input.
    Interrupted
        If the user stops it.
    """
    root = settings.workdir / config.name
    reporter = Reporter(config.name, quiet=settings.quiet, log=root / "log.txt")
    outcome = Outcome(config.name)
    begun = time.perf_counter()
    scratch = None
    if any(step.run for step in steps):
        scratch = (settings.tmp_dir or _usual_temporary()) / new_scratch()
    with locked(root, scratch), _end_in_log(reporter):
        folders: dict[str, Path] = {}
        checked = manifests.Checked()
        for place, planned in enumerate(steps):
            step = _as_it_is(planned, folders) if scratch is not None else planned
            name = step.stage.name
            if step.run and scratch is not None:
                reporter.say(f"{name}: running ({step.reason})")
                inputs = {need: folders[need] for need in step.stage.needs}
                with stopped_as(_interrupted(steps, place)), reporter.watching_kernels():
                    try:
                        results = _make(step, inputs, config, settings, engine, reporter, scratch, checked)
                    finally:
                        engine.release()
                        give_back()
                outcome.ran.append(name)
            else:
                reporter.say(f"{name}: skipped, done ({step.reason})")
                results = (manifests.read(step.folder) or {}).get("results", [])
                for line in results:
                    reporter.result(line)
                outcome.skipped.append(name)
            outcome.results += results
            folders[name] = step.folder
            update_latest(root / "latest", step.folder)
            if step.run:
                on_made(name)
        for what, path in _shown(steps, root / "latest").items():
            reporter.say(f"{what}: {path}")
    outcome.seconds = time.perf_counter() - begun
    return outcome


@contextmanager
def _end_in_log(reporter: Reporter) -> Iterator[None]:
    """Write why a run ended before its time to its log as well: the terminal may be closed by then."""
    try:
        yield
    except KeyboardInterrupt:
        reporter.keep("interrupted")
        raise
    except Exception as error:
        kind = "" if isinstance(error, LiaisonError) else f"{type(error).__name__}: "
        reporter.keep(f"error: {kind}{' '.join(str(error).split())}")
        raise


def _interrupted(steps: Sequence[Step], place: int) -> Interrupted:
    """Return what to tell of a stop while the step at a place is at work."""
    return Interrupted(
        steps[place].stage.name,
        forced=any(each.forced for each in steps[: place + 1]),
        left=any(each.forced and each.state == "done" for each in steps[place:]),
        first=not any(each.forced for each in steps[:place]),
    )


def _as_it_is(step: Step, folders: Mapping[str, Path]) -> Step:
    """Return a step as it turns out when those before it are done: they may have other contents by now."""
    needs = {need: folders[need] for need in step.stage.needs}
    fault = "" if step.run else manifests.outdated(manifests.read(step.folder) or {}, needs)
    return replace(step, state="stale", reason=fault, run=True) if fault else step


def _check_inputs(stage: Stage, inputs: Mapping[str, Path], checked: manifests.Checked, threads: int) -> None:
    """Compare what a stage is going to read with its checksums."""
    for need, folder in inputs.items():
        names = (manifests.read(folder) or {}).get("files", {})
        read = [name for name in names if not any(fnmatch(f"{need}/{name}", each) for each in stage.unread)]
        checked.check(need, folder, read, threads=threads)


def _shown(steps: Sequence[Step], latest: Path) -> dict[str, str]:
    """Return where that is which a user goes on with, by what it is."""
    found = {}
    for step in steps:
        if step.stage.shows is not None:
            what, file = step.stage.shows
            path = latest / step.stage.name / file
            found[what] = str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    return found


def _make(
    step: Step,
    inputs: Mapping[str, Path],
    config: Config,
    settings: Settings,
    engine: Engine,
    reporter: Reporter,
    scratch: Path,
    checked: manifests.Checked,
) -> list[str]:
    """Run one stage in a folder aside and publish it; return its lines of results."""
    partial = partial_of(step.folder)
    with (
        _plain_errors(step.stage.name, partial, scratch.parent),
        Meter() as meter,
        removed_after(scratch),
        # What nobody can go on with is not left.
        nullcontext() if step.stage.resumable else removed_after(partial),
    ):
        _check_inputs(step.stage, inputs, checked, settings.jobs)
        scratch.mkdir(mode=0o700)
        clear_leftovers(step.folder, resumable=step.stage.resumable, afresh=step.forced)
        partial.mkdir(parents=True, exist_ok=True)
        context = StageContext(
            folder=partial,
            inputs=inputs,
            seed=settings.seed,
            jobs=settings.jobs,
            memory=settings.memory,
            scratch=scratch,
            workdir=settings.workdir,
            engine=engine,
            reporter=reporter,
            stage=step.stage,
            config=config,
        )
        step.stage.run(context, **step.stage.options(config))
        used = meter.read()
        # The manifest says that all is there: it must not outlive a power cut that the rest does not.
        sync_tree(partial)
        manifests.write(partial, _manifest(step, context, used))
        publish(partial, step.folder)
        checked.made(step.folder)
    if unfinished := drop_unfinished(step.folder):
        reporter.say(
            f"{step.stage.name}: removed what unfinished runs with other options or another version had left "
            f"({show_bytes(unfinished)})"
        )
    reporter.say(
        f"{step.stage.name}: done in {used.seconds:.1f} s, peak memory {show_size(used.peak_memory)}"
    )
    return context.results


def _manifest(step: Step, context: StageContext, used: Usage) -> dict[str, Any]:
    """Return what there is to say of a result that lies in the context's folder."""
    files = manifests.described(context.folder, threads=context.jobs)
    return {
        "stage": step.stage.name,
        "fingerprint": step.folder.name,
        "seconds": round(used.seconds, 3),
        "cpu_seconds": round(used.cpu_seconds, 3),
        "peak_memory": used.peak_memory,
        "jobs": context.jobs,
        "seed": context.seed,
        "files": files,
        "contents": manifests.contents(files, without=step.stage.records, elsewhere=context.elsewhere),
        "made_from": manifests.made_from(context.inputs),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": _versions(),
        "results": context.results,
        "notes": context.notes,
        "ingredients": step.ingredients,
    }


def _usual_temporary() -> Path:
    """Return the system's folder for temporary files."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise WorkError(f"{error.strerror}; free space in one of them, or give a --tmp-dir") from None


@contextmanager
def _plain_errors(name: str, folder: Path, temporary: Path) -> Iterator[None]:
    """Turn what a system can refuse into one clear line: the file, the cause, the option to give."""
    try:
        yield
    except LiaisonError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise WorkError(f"{name}: out of memory; give a smaller --memory, or fewer --jobs") from None
        if not isinstance(error, OSError) or error.errno not in WRITE_FAULTS:
            raise
        cause, remedy = WRITE_FAULTS[error.errno]
        # Of two files the second is the one that is made.
        file = error.filename2 or error.filename or _fuller(folder, temporary)
        place = Path(os.fsdecode(file))
        options = [
            option
            for option, where in (("--workdir", folder.parents[2]), ("--tmp-dir", temporary))
            if place.is_relative_to(where)
        ]
        if error.errno in (errno.EACCES, errno.EPERM) and not options:
            # One of the user's own files, which was to be read.
            raise
        named = " and ".join(options or ("--workdir", "--tmp-dir"))
        raise WorkError(f"{name}: {cause} at {place}; {remedy}, or give another {named}") from error


def _fuller(folder: Path, temporary: Path) -> Path:
    """Return the folder on the disk with less room: that of an error that names no file, most likely."""
    rooms = {}
    for each in (folder, temporary):
        with suppress(OSError):
            rooms[each] = shutil.disk_usage(each).free
    return min(rooms, key=lambda each: rooms[each], default=folder)


def _versions() -> dict[str, str]:
    found = {"python": python_version(), "liaison": align.__version__}
    for package in RECORDED_VERSIONS:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
