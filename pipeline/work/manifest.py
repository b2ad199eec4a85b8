"""The manifest of a stage's result: what it was made from, how, and its files with their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from align.core.files import checksum
from pipeline.work.publish import GHOST, read_sealed, write_sealed

MANIFEST = "manifest.json"


def read(folder: Path) -> dict[str, Any] | None:
    """Return a folder's manifest, None where it has none that can be read, as it was written."""
    return read_sealed(folder / MANIFEST)


def write(folder: Path, values: Mapping[str, Any]) -> None:
    """Write a folder's manifest."""
    write_sealed(folder / MANIFEST, values)


def made_of(folders: Iterable[Path]) -> str:
    """Return a hash of the manifests of some folders, where they have one: they say when each was made."""
    paths = [folder / MANIFEST for folder in folders]
    whole = b"".join(path.read_bytes() for path in paths if path.exists())
    return hashlib.sha256(whole).hexdigest()[:16]


def described(folder: Path, *, threads: int = 1) -> dict[str, dict[str, Any]]:
    """Return bytes, CRC-32 and time of change of every file of a folder, at any depth, by its path in it."""
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and not path.name.startswith(GHOST)
    ]
    with ThreadPoolExecutor(threads) as pool:
        sums = list(pool.map(checksum, paths))
    found = {}
    for path, crc in zip(paths, sums, strict=True):
        state = path.stat()
        name = path.relative_to(folder).as_posix()
        found[name] = {"bytes": state.st_size, "crc32": crc, "modified": state.st_mtime_ns}
    return found


def contents(files: Mapping[str, Mapping[str, Any]], *, without: Iterable[str], elsewhere: Any) -> str:
    """Return a hash of what a result is, whenever and wherever it was made.

    Parameters
    ----------
    files : mapping
        Its files (:func:`described`).
    without : iterable of str
        Those that only tell how it was made: seconds, places.
    elsewhere : JSON value
        What stands for files of it that lie elsewhere.
    """
    left_out = frozenset(without)
    rows = [f"{name} {told['bytes']} {told['crc32']}" for name, told in files.items() if name not in left_out]
    return hashlib.sha256("\n".join([*sorted(rows), repr(elsewhere)]).encode()).hexdigest()[:16]


def damage(folder: Path, manifest: Mapping[str, Any], *, read: Iterable[str] = ()) -> str:
    """Say which file of a folder is not as its manifest says: missing, cut off, changed; empty if all are.

    A file is read only where its time of change is another, or its name is among those to ``read``: to read
    all that was ever made at every start would take minutes. What changes without leaving a trace is found
    when it is needed (:class:`Checked`).
    """
    small = frozenset(read)
    for name, told in manifest.get("files", {}).items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        state = path.stat()
        if state.st_size != told["bytes"]:
            return f"{name} has {state.st_size} bytes, not {told['bytes']}"
        if (state.st_mtime_ns != told["modified"] or name in small) and checksum(path) != told["crc32"]:
            return f"{name} has other bytes than were written"
    return ""


def outdated(manifest: Mapping[str, Any], needs: Mapping[str, Path]) -> str:
    """Say which of the results that one was made from has other contents now; empty if none has.

    One whose manifest is damaged has none that are known: that is told of itself.
    """
    before = manifest.get("made_from", {})
    changed = [name for name, now in made_from(needs).items() if now is not None and before.get(name) != now]
    return f"{', '.join(changed)} made again with other contents" if changed else ""


def made_from(needs: Mapping[str, Path]) -> dict[str, Any]:
    """Return the contents of results, by the names of their stages."""
    return {name: (read(folder) or {}).get("contents") for name, folder in needs.items()}


class Checked:
    """Compares files of results with their checksums, each once a run, when it is first going to be read."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, ...]] = set()

    def made(self, folder: Path) -> None:
        """Note that the files of a folder were made in this run."""
        for name in (read(folder) or {}).get("files", {}):
            self._seen.add(_state(folder / name))

    def check(self, stage: str, folder: Path, names: Iterable[str], *, threads: int = 1) -> None:
        """Compare files of a result with their checksums, but for those seen before and unchanged since.

        Raises
        ------
        InputError
            If one has other bytes; the message names it.
        """
        files = (read(folder) or {}).get("files", {})
        paths = {name: folder / name for name in names if _state(folder / name) not in self._seen}
        with ThreadPoolExecutor(threads) as pool:
            for (name, path), found in zip(paths.items(), pool.map(checksum, paths.values()), strict=True):
                if found != files[name]["crc32"] or path.stat().st_size != files[name]["bytes"]:
                    raise InputError(
                        f"{path}: its bytes are not those that were written; make it again (--stage {stage} "
                        "--force), then run the command again"
                    )
                self._seen.add(_state(path))


def _state(path: Path) -> tuple[int, ...]:
    """Return what is another once a file was written to or replaced."""
    state = path.stat()
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
