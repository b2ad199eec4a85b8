"""Running the stages of one corpus: what is done is skipped, what is made is published whole."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any

from filelock import FileLock, Timeout

import align
from align.core.errors import LiaisonError, WorkError
from pipeline.config.configuration import Config
from pipeline.run.leftovers import PARTIAL, drop_unfinished, partial_of, publish, tidy
from pipeline.work import manifest as manifests
from pipeline.work.code_version import modules_of
from pipeline.work.engine import Engine
from pipeline.work.memory import give_back, load_early
from pipeline.work.progress import Reporter
from pipeline.work.publish import sync_tree
from pipeline.work.resources import Meter, show_bytes, show_size
from pipeline.work.stage import INCOMPLETE, Stage, StageContext

RECORDED_VERSIONS = ("numpy", "scipy", "numba", "pandas", "nltk", "pyarrow", "fasttext-community")


@dataclass(frozen=True)
class Settings:
    """What a whole run is told, beside its configurations.

    Attributes
    ----------
    workdir : Path
        The folder of all corpora.
    tmp_dir : Path or None
        Where temporary files go; None: the system's place.
    jobs, memory, seed : int
        As in :class:`~pipeline.work.stage.StageContext`.
    processes : int
        Worker processes that have room in `memory`, 1 to `jobs`.
    quiet : bool
        Only results, warnings and errors are said.
    """

    workdir: Path
    tmp_dir: Path | None
    jobs: int
    memory: int
    seed: int
    quiet: bool = False
    processes: int = 1


@dataclass(frozen=True)
class Step:
    """One stage of a plan.

    Attributes
    ----------
    stage : Stage
    folder : Path
        Where its result is or will be.
    ingredients : dict
        All that its fingerprint is made from.
    state : str
        ``done``, ``stale`` or ``missing``.
    reason : str
        Why.
    run : bool
        Whether this run makes it.
    forced : bool
        Whether it is made even where done; it then goes on with nothing.
    """

    stage: Stage
    folder: Path
    ingredients: dict[str, Any]
    state: str
    reason: str
    run: bool
    forced: bool = False


class Interrupted(KeyboardInterrupt):
    """The user stopped a run.

    Attributes
    ----------
    stage : str
        The stage that was at work.
    forced : bool
        Whether it, or one before it, had to be made again: with the same command all of that begins anew.
    left : bool
        Whether it or stages after it were to be made again though they had been done: without being told so,
        a run skips them.
    first : bool
        Whether no stage before it had to be made again.
    """

    def __init__(self, stage: str, *, forced: bool, left: bool, first: bool) -> None:
        super().__init__(stage)
        self.stage, self.forced, self.left, self.first = stage, forced, left, first


@dataclass
class Outcome:
    """How one corpus ended: seconds, the stages run and skipped, and the lines of results."""

    name: str
    seconds: float = 0.0
    ran: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


def closure(names: Sequence[str], stages: Mapping[str, Stage]) -> list[str]:
    """Return the named stages and all they need, in the pipeline's order."""
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting.extend(stages[name].needs)
    return [name for name in stages if name in wanted]


def plan(
    config: Config,
    names: Sequence[str],
    stages: Mapping[str, Stage],
    settings: Settings,
    *,
    forced: frozenset[str] = frozenset(),
    remember: bool = True,
) -> list[Step]:
    """Find out which stages are done, stale or missing.

    Parameters
    ----------
    config : Config
    names : sequence of str
        Stages in the pipeline's order, closed under what they need.
    stages : mapping of str to Stage
    settings : Settings
    forced : frozenset of str
        Stages to make again even where done.
    remember : bool
        Whether hashes of the user's files may be stored in the work folder (not in a dry run).

    Raises
    ------
    InputError
        If one of the user's own files is missing.
    """
    root = settings.workdir / config.name
    hashes = manifests.Hashes(root / "hashes.json" if remember else None)
    prints: dict[str, str] = {}
    steps = []
    for name in names:
        stage = stages[name]
        ingredients: dict[str, Any] = {
            "stage": name,
            "code": modules_of(stage.run.__module__),
            "options": {**{f"{name}.{k}": v for k, v in stage.options(config).items()}, **stage.used(config)},
            "files": {str(path): hashes.of(path) for path in stage.files(config)},
            "needs": {need: prints[need] for need in stage.needs},
        }
        if stage.seeded:
            ingredients["seed"] = settings.seed
        prints[name] = manifests.fingerprint(ingredients)
        folder = root / name / prints[name]
        state, reason = _state(folder, ingredients)
        own = name in forced
        if state == "done" and own:
            reason = "forced"
        steps.append(Step(stage, folder, ingredients, state, reason, state != "done" or own, own))
    return steps


def _state(folder: Path, ingredients: dict[str, Any]) -> tuple[str, str]:
    own = manifests.read(folder)
    if own is not None and (fault := manifests.damage(folder, own)):
        return "stale", f"damaged: {fault}"
    if own is not None:
        # --memory is no part of a fingerprint, and may have left something out
        less = own.get("notes", {}).get(INCOMPLETE)
        again = f"; made from {less}; --from {folder.parent.name} makes it and what follows anew"
        return "done", "options, inputs and code unchanged" + (again if less else "")
    previous = _last_made(folder.parent)
    if previous is not None:
        return "stale", manifests.difference(previous.get("ingredients", {}), ingredients)
    return "missing", "never made" + (" to the end" if partial_of(folder).exists() else "")


def _last_made(stage_folder: Path) -> dict[str, Any] | None:
    """Return the manifest of the result that ``latest/`` points at, else of the one made last."""
    latest = manifests.read(stage_folder.parent / "latest" / stage_folder.name)
    if latest is not None:
        return latest
    found = [path for path in stage_folder.glob(f"*/{manifests.MANIFEST}") if PARTIAL not in path.parent.name]
    newest = max(found, key=lambda path: (path.stat().st_mtime_ns, path.parent.name), default=None)
    return None if newest is None else manifests.read(newest.parent)


def run(steps: Sequence[Step], config: Config, settings: Settings, engine: Engine) -> Outcome:
    """Run the steps of a plan that are to be run, one after the other, and point ``latest/`` at all.

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
    root.mkdir(parents=True, exist_ok=True)
    reporter = Reporter(config.name, quiet=settings.quiet, log=root / "log.txt")
    outcome = Outcome(config.name)
    begun = time.perf_counter()
    if any(step.run for step in steps):
        load_early()
    with _locked(root):
        folders: dict[str, Path] = {}
        for step in steps:
            name = step.stage.name
            if step.run:
                reporter.say(f"{name}: running ({step.reason})")
                try:
                    results = _make(step, folders, config, settings, engine, reporter)
                except KeyboardInterrupt:
                    raise _interrupted(steps, step) from None
                finally:
                    engine.release()
                    give_back(step.stage.run.__module__)
                outcome.ran.append(name)
            else:
                reporter.say(f"{name}: skipped, done ({step.reason})")
                results = (manifests.read(step.folder) or {}).get("results", [])
                for line in results:
                    reporter.result(line)
                outcome.skipped.append(name)
            outcome.results += results
            folders[name] = step.folder
            _point(root / "latest" / name, step.folder)
            _drop_outdated(root / "latest")
    outcome.seconds = time.perf_counter() - begun
    return outcome


def _interrupted(steps: Sequence[Step], step: Step) -> Interrupted:
    place = [each.stage.name for each in steps].index(step.stage.name)
    return Interrupted(
        step.stage.name,
        forced=any(each.forced for each in steps[: place + 1]),
        left=any(each.forced and each.state == "done" for each in steps[place:]),
        first=not any(each.forced for each in steps[:place]),
    )


def _make(
    step: Step,
    folders: Mapping[str, Path],
    config: Config,
    settings: Settings,
    engine: Engine,
    reporter: Reporter,
) -> list[str]:
    """Run one stage in a folder aside and publish it; return its lines of results."""
    partial = partial_of(step.folder)
    tidy(step.folder, resumable=step.stage.resumable, afresh=step.forced)
    partial.mkdir(parents=True, exist_ok=True)
    inputs = {need: folders[need] for need in step.stage.needs}
    with (
        Meter() as meter,
        _scratch(settings.tmp_dir) as scratch,
        _plain_errors(step.stage.name, partial),
    ):
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
        manifests.write(
            partial,
            {
                "stage": step.stage.name,
                "fingerprint": step.folder.name,
                "seconds": round(used.seconds, 3),
                "cpu_seconds": round(used.cpu_seconds, 3),
                "peak_memory": used.peak_memory,
                "jobs": settings.jobs,
                "seed": settings.seed,
                "files": manifests.sizes(partial),
                "finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                "versions": _versions(),
                "results": context.results,
                "notes": context.notes,
                "ingredients": step.ingredients,
            },
        )
        publish(partial, step.folder)
    if unfinished := drop_unfinished(step.folder):
        reporter.say(
            f"{step.stage.name}: removed what unfinished runs with other options or another version had left "
            f"({show_bytes(unfinished)})"
        )
    reporter.say(
        f"{step.stage.name}: done in {used.seconds:.1f} s, peak memory {show_size(used.peak_memory)}"
    )
    return context.results


def _point(link: Path, folder: Path) -> None:
    """Make ``link`` a relative symbolic link to ``folder``, atomically."""
    link.parent.mkdir(exist_ok=True)
    target = os.path.relpath(folder, link.parent)
    if link.is_symlink() and os.readlink(link) == target:
        return
    aside = link.with_name(f".{link.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    aside.symlink_to(target, target_is_directory=True)
    os.replace(aside, link)


def _drop_outdated(latest: Path) -> None:
    """Remove links to results that were made from others than those ``latest/`` points at now."""
    links = {link.name: link for link in latest.iterdir() if link.is_symlink()}
    while True:
        current = {name: os.path.basename(os.readlink(link)) for name, link in links.items()}
        outdated = [
            name
            for name, link in links.items()
            if any(
                current.get(need) != made_from
                for need, made_from in (manifests.read(link) or {})
                .get("ingredients", {})
                .get("needs", {})
                .items()
            )
        ]
        if not outdated:
            return
        for name in outdated:
            links.pop(name).unlink()


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    lock = FileLock(root / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise WorkError(
            f"{root}: another run is at work there; wait for it to end, or give another --workdir"
        ) from None
    except OSError as error:
        raise WorkError(
            f"{root}: cannot be locked ({error.strerror or error}); give a --workdir on a disk with locks (a "
            "network disk: mounted with its lock service)"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _scratch(tmp_dir: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="liaison-", dir=tmp_dir) as name:
        yield Path(name)


@contextmanager
def _plain_errors(name: str, folder: Path) -> Iterator[None]:
    """Turn what a system can refuse into one clear line."""
    try:
        yield
    except LiaisonError:
        raise
    except MemoryError:
        raise WorkError(f"{name}: out of memory; give a smaller --memory, or fewer --jobs") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            place = error.filename or folder
            raise WorkError(
                f"{name}: the disk is full at {place}; free space, or give another --workdir and --tmp-dir"
            ) from error
        raise


def _versions() -> dict[str, str]:
    found = {"python": python_version(), "liaison": align.__version__}
    for package in RECORDED_VERSIONS:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
