"""Room on the disk, and small files written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from align.core.errors import WorkError

# Left free on the disk beside what is written.
MARGIN = 64 << 20

# How NFS names a file that was removed while it was open; it goes by itself.
GHOST = ".nfs"


def check_space(folder: Path, size: int, what: str) -> None:
    """Refuse to write ``size`` bytes where the disk has no room for them.

    Raises
    ------
    WorkError
        If less is free.
    """
    free = shutil.disk_usage(folder).free
    if size + MARGIN > free:
        raise WorkError(
            f"{what}: needs {show_bytes(size)} but {folder} has {show_bytes(free)} free; free space, or give "
            "another --workdir"
        )


def show_bytes(size: int) -> str:
    """Return a size for people: ``512 bytes``, ``1.4 GB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file that is, whenever the process or the machine stops, the old one or the new one."""
    text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with open(aside, "w", encoding="utf-8", newline="\n") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(aside, path)


def look_again(*folders: Path) -> None:
    """Read folders, so that a network disk is asked what is in them.

    A machine may remember for half a minute that a file was not there, and not see that another one made it.
    """
    for folder in folders:
        with suppress(OSError):
            os.listdir(folder)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_file(path: Path) -> None:
    """Flush a file to the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def sync_tree(folder: Path) -> None:
    """Flush all files of a folder, at any depth, and their names to the disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
        elif path.is_file() and not path.name.startswith(GHOST):
            sync_file(path)
    sync_folder(folder)
