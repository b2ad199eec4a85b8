"""The folders of results of one corpus: locked, cleared of what killed runs left, published, linked to.

A result is made in ``STAGE/FINGERPRINT.partial`` and renamed to ``STAGE/FINGERPRINT`` when it is whole.
``latest/STAGE`` is a link to the result that the last run used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from align.core.errors import WorkError
from align.core.files import WRITE_FAULTS
from pipeline.work.manifest import outdated, read
from pipeline.work.publish import sync_folder, write_json

PARTIAL, REPLACED = ".partial", ".replaced"

# Which run holds the lock. Not in the lock itself, which is emptied by whoever tries to take it.
HOLDER = "lock.json"

# How the name ends under which a file or folder is written until it is whole.
_ASIDE = re.compile(r"\.[0-9a-f]{32}$")

# The folder that a run has for temporary files.
_SCRATCH = re.compile(r"liaison-[0-9a-f]{32}")


def new_scratch() -> str:
    """Return a name for a folder of temporary files that no other has."""
    return f"liaison-{uuid.uuid4().hex}"


@contextmanager
def locked(root: Path, scratch: Path | None = None) -> Iterator[None]:
    """Hold the folder of a corpus, made if missing; refuse where another run does.

    Parameters
    ----------
    root : Path
        The folder.
    scratch : Path, optional
        The run's folder for temporary files. That of a run that was killed here is removed.

    Raises
    ------
    WorkError
        If another run is at work there (it says which), nothing can be written there, or the disk has no
        locks.
    """
    lock = FileLock(root / "lock")
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise WorkError(
            f"{root}: another run is at work there{_told_holder(root)}; wait for it to end, or give another "
            "--workdir"
        ) from None
    except OSError as error:
        if error.errno in WRITE_FAULTS:
            cause, remedy = WRITE_FAULTS[error.errno]
            raise WorkError(
                f"{error.filename or root}: cannot be made: {cause}; {remedy}, or give another --workdir"
            ) from None
        raise WorkError(
            f"{root}: cannot be locked ({error.strerror or error}); give a --workdir on a disk with locks (a "
            "network disk: mounted with its lock service)"
        ) from None
    try:
        # Only what another run is told: no reason to stop this one.
        with suppress(OSError):
            _remove_scratch(root)
            write_json(root / HOLDER, _own_process() | {"scratch": scratch and str(scratch)})
        yield
    finally:
        with suppress(OSError):
            (root / HOLDER).unlink(missing_ok=True)
        lock.release()


def _own_process() -> dict[str, Any]:
    """Return what tells this run from others."""
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since}


def _remove_scratch(root: Path) -> None:
    """Remove the temporary files of a run that was killed: it still stands as the holder."""
    holder = _holder(root)
    place = Path(str(holder.get("scratch")))
    if holder.get("host") == socket.gethostname() and _SCRATCH.fullmatch(place.name) and place.is_absolute():
        shutil.rmtree(place, ignore_errors=True)


def _holder(root: Path) -> dict[str, Any]:
    """Return what the last run to hold the folder has said of itself, if it is there to be read."""
    try:
        holder = json.loads((root / HOLDER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _told_holder(root: Path) -> str:
    """Return which run holds the folder, in brackets; nothing where that is not known."""
    holder = _holder(root)
    try:
        pid, host, since = int(holder["pid"]), str(holder["host"]), str(holder["since"])
    except (ValueError, KeyError, TypeError):
        return ""
    if host == socket.gethostname() and not psutil.pid_exists(pid):
        # A run that was killed left it, and the one that has the lock now has not written its own yet.
        return ""
    return f" (process {pid} on {host}, since {since})"


def partial_of(folder: Path) -> Path:
    """Return where a result is made before it has its name."""
    return folder.with_name(folder.name + PARTIAL)


def clear_leftovers(folder: Path, *, resumable: bool, afresh: bool) -> None:
    """Remove what killed runs left beside a result that is to be made, but for what can be gone on with.

    Parameters
    ----------
    folder : Path
        The result.
    resumable : bool
        Whether its stage can go on with an unfinished folder.
    afresh : bool
        Whether this one is to begin anew all the same.
    """
    for left in folder.parent.glob(f"*{REPLACED}"):
        shutil.rmtree(left)
    for left in folder.parent.glob(f"*{PARTIAL}"):
        # Forced, it may be because what is there is damaged, or what it was made from has changed since.
        if not resumable or (left == partial_of(folder) and afresh):
            shutil.rmtree(left)
    for aside in [path for path in partial_of(folder).rglob("*") if _ASIDE.search(path.name)]:
        if aside.is_dir():
            shutil.rmtree(aside)
        else:
            aside.unlink(missing_ok=True)  # it may have gone with its folder


def drop_unfinished(folder: Path) -> int:
    """Remove the unfinished folders beside a result that is done; return how many bytes they had.

    They are of other options, or of the code of another version, which nobody can go on with.
    """
    size = 0
    for left in sorted(folder.parent.glob(f"*{PARTIAL}")):
        size += sum(path.stat().st_size for path in left.rglob("*") if path.is_file())
        shutil.rmtree(left, ignore_errors=True)
    return size


def publish(partial: Path, final: Path) -> None:
    """Rename the finished folder to its final name; an earlier result stands until then."""
    replaced = final.with_name(final.name + REPLACED)
    if final.exists():
        os.rename(final, replaced)
    os.rename(partial, final)
    sync_folder(final.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def update_latest(latest: Path, folder: Path) -> None:
    """Point ``latest/STAGE`` at a result, and remove links to results that were made from others than now."""
    latest.mkdir(exist_ok=True)
    link, target = latest / folder.parent.name, os.path.relpath(folder, latest)
    if not (link.is_symlink() and os.readlink(link) == target):
        aside = link.with_name(f".{link.name}.{os.getpid()}")
        aside.unlink(missing_ok=True)
        aside.symlink_to(target, target_is_directory=True)
        os.replace(aside, link)
    links = {path.name: path for path in latest.iterdir() if path.is_symlink()}
    while outdated := [name for name in links if _is_outdated(name, links)]:
        for name in outdated:
            links.pop(name).unlink()


def _is_outdated(name: str, links: Mapping[str, Path]) -> bool:
    """Tell whether a result was made from others than those that ``latest/`` points at."""
    manifest = read(links[name]) or {}
    needs = manifest.get("ingredients", {}).get("needs", {})
    current = {need: os.path.basename(os.readlink(links[need])) for need in needs if need in links}
    return bool(needs != current or outdated(manifest, {need: links[need] for need in needs}))
