"""Pieces of work that outlive the run: whole on the disk before they have their name, checked when found.

A power cut takes what had not come to the disk: files are then short, empty or full of zeros, though the
names they were renamed to are there. A piece is therefore flushed before it gets its name, and has a *seal*
beside its files, their checksums. What does not fit its seal counts as not there.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pipeline.work.disk import look_again, sync_file, sync_folder, sync_tree, write_json

SEAL = "seal.json"

# Bytes read at a time.
_PIECE = 1 << 20


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    found = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            found = zlib.crc32(piece, found)
    return found


def checksums(folder: Path, pattern: str = "**/*") -> dict[str, int]:
    """Return the CRC-32 of the files of a folder whose names fit a pattern, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in sorted(folder.glob(pattern))
        if path.is_file()
    }


def fits(folder: Path, sums: Mapping[str, int]) -> bool:
    """Tell whether the files of a folder are there with the checksums that belong to their names."""
    try:
        return all(checksum(folder / name) == found for name, found in sums.items())
    except OSError:
        return False


def is_whole(folder: Path) -> bool:
    """Tell whether a piece that :func:`written_whole` made fits its seal."""
    try:
        sums = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(sums, dict) and bool(sums) and fits(folder, sums)


def drop_damaged(places: Iterable[Path]) -> int:
    """Remove what lies in some folders and is no whole piece; return how many pieces had a name already.

    What was being made when the run ended goes too: it has no name yet, and nobody will go on with it.
    """
    damaged = 0
    for place in places:
        for piece in sorted(place.iterdir()) if place.is_dir() else ():
            named = "." not in piece.name
            if not named or not is_whole(piece):
                damaged += named
                shutil.rmtree(piece, ignore_errors=True)
    return damaged


def wait_for(folders: Iterable[Path], *, seconds: float = 60.0) -> None:
    """Wait until folders that other machines made are seen here; what is not seen in time is left to fail."""
    end = time.monotonic() + seconds
    for folder in folders:
        while not folder.exists() and time.monotonic() < end:
            look_again(folder.parent.parent, folder.parent)
            if not folder.exists():
                time.sleep(0.2)


@contextmanager
def written_whole(folder: Path, *, kept: bool = True) -> Iterator[Path]:
    """Give a folder to fill, which is renamed to ``folder`` when all is written; nothing else is ever seen.

    Where another process was faster, its result, the same, stays. ``kept`` says that a later run may find the
    piece: it is flushed to the disk and sealed. The folder's own name has no point in it.
    """
    aside = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    aside.mkdir(parents=True)
    try:
        yield aside
        if kept:
            write_json(aside / SEAL, checksums(aside))
            sync_tree(aside)
        try:
            os.rename(aside, folder)
        except OSError:
            if not folder.exists():
                raise
        if kept:
            sync_folder(folder.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give another name to write a file under; it gets its own when it is whole and on the disk.

    On a cluster a worker that was given up may still be at the same work: what another one made of it is
    never seen half-written.
    """
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        yield aside
        sync_file(aside)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
