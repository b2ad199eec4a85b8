"""Which stages of a run are done, stale or missing, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.configuration import Config
from pipeline.run.results import PARTIAL, partial_of
from pipeline.work import manifest as manifests
from pipeline.work.code_version import modules_of
from pipeline.work.fingerprint import FileHashes, by_contents, change, difference, fingerprint
from pipeline.work.stage import INCOMPLETE, Stage


@dataclass(frozen=True)
class Settings:
    """What a whole run is told, beside its configurations; see also the context of a stage."""

    workdir: Path
    tmp_dir: Path | None  # where temporary files go; None: the system's place
    jobs: int
    memory: int
    seed: int
    quiet: bool = False  # only results, warnings and errors are said
    processes: int = 1  # worker processes that have room in the memory, 1 to jobs


@dataclass(frozen=True)
class Step:
    """One stage of a plan."""

    stage: Stage
    folder: Path  # where its result is or will be
    ingredients: dict[str, Any]  # all that its fingerprint is made from
    state: str  # "done", "stale" or "missing"
    reason: str  # why it is in that state
    run: bool  # whether this run makes it
    forced: bool = False  # whether it is made even where done; it then goes on with nothing
    unless: tuple[str, ...] = ()  # stages that may make it stale, if they come out with other contents


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
    names : sequence of str
        Stages in the pipeline's order, closed under what they need.
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
    hashes = FileHashes(root / "hashes.json", write=remember)
    prints: dict[str, str] = {}
    known: dict[str, str] = {}
    steps: dict[str, Step] = {}
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
        known |= ingredients["files"]
        prints[name] = fingerprint(by_contents(ingredients, known))
        folder = root / name / prints[name]
        needs = [steps[need] for need in stage.needs]
        there = {need.stage.name: need.folder for need in needs if not need.run}
        state, reason = _state(stage, folder, ingredients, there)
        own = name in forced
        if state == "done" and own:
            reason = "forced"
        run = state != "done" or own
        unless = () if run else tuple(need.stage.name for need in needs if need.run or need.unless)
        steps[name] = Step(stage, folder, ingredients, state, reason, run, own, unless)
    return list(steps.values())


def _state(
    stage: Stage, folder: Path, ingredients: dict[str, Any], needs: Mapping[str, Path]
) -> tuple[str, str]:
    """Return the state of a result, given the folders of those it was made from that stay as they are."""
    own = manifests.read(folder)
    if own is None and folder.exists():
        return "stale", f"damaged: {manifests.MANIFEST} is not as it was written"
    if own is not None and (fault := manifests.damage(folder, own, read=stage.records)):
        return "stale", f"damaged: {fault}"
    if own is not None and (fault := manifests.outdated(own, needs)):
        return "stale", fault
    if own is not None and stage.placed and (moved := _moved(own["ingredients"], ingredients)):
        return "stale", moved
    if own is not None:
        # --memory is no part of a fingerprint, and may have left something out
        less = own.get("notes", {}).get(INCOMPLETE)
        again = f"; made from {less}; --from {folder.parent.name} makes it and what follows anew"
        return "done", "options, inputs and code unchanged" + (again if less else "")
    previous = _last_made(folder.parent)
    if previous is not None:
        return "stale", difference(previous.get("ingredients", {}), ingredients)
    return "missing", "never made" + (" to the end" if partial_of(folder).exists() else "")


def _moved(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say which of the user's files lie elsewhere than they did, with the same contents."""
    before, after = old["options"], new["options"]
    changed = [key for key in after if before.get(key) != after[key]]
    return "; ".join(f"{change(key, before.get(key), after[key])}, with the same contents" for key in changed)


def _last_made(stage_folder: Path) -> dict[str, Any] | None:
    """Return the manifest of the result that ``latest/`` points at, else of the one made last."""
    latest = manifests.read(stage_folder.parent / "latest" / stage_folder.name)
    if latest is not None:
        return latest
    found = [path for path in stage_folder.glob(f"*/{manifests.MANIFEST}") if PARTIAL not in path.parent.name]
    newest = max(found, key=lambda path: (path.stat().st_mtime_ns, path.parent.name), default=None)
    return None if newest is None else manifests.read(newest.parent)
