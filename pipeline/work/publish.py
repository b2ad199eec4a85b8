"""Files and folders that appear whole or not at all, whenever the process or the machine stops."""

from __future__ import annotations

import json
import os
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from align.core.files import new_file, sync_file, text_file
from align.core.signals import removed_after

# How NFS names a file that was removed while it was open; it goes by itself.
GHOST = ".nfs"

# The key of a file's own checksum.
_SEAL = "crc32"


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which is renamed to ``folder`` when all is written.

    Where another process was faster, its result, the same, stays. Nothing is flushed to the disk: see
    :func:`pipeline.work.checkpoint.new_checkpoint`. The folder's own name has no point in it.
    """
    aside = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}")
    with removed_after(aside):
        aside.mkdir(parents=True)
        yield aside
        try:
            os.rename(aside, folder)
        except OSError:
            if not folder.exists():
                raise


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file, flushed to the disk; arrays and numbers of NumPy become lists and numbers."""
    text = json.dumps(values, indent=1, ensure_ascii=False, default=plain) + "\n"
    with new_file(path) as aside, text_file(aside, told=str(path), errors="backslashreplace") as out:
        out.write(text)


def write_sealed(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file that tells its own checksum; see :func:`read_sealed`."""
    write_json(path, {**values, _SEAL: _seal(values)})


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Return what :func:`write_sealed` wrote; None where it is not there, or not what was written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(found, dict) and found.pop(_SEAL, None) == _seal(found)
    except (OSError, ValueError, RecursionError):
        return None
    return found if whole else None


def _seal(values: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, default=plain).encode("ascii"))


def plain(value: Any) -> Any:
    """Return an array or a number of NumPy as JSON knows it; floats come back the same.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


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


def sync_tree(folder: Path) -> None:
    """Flush all files of a folder, at any depth, and their names to the disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
        elif path.is_file() and not path.name.startswith(GHOST):
            sync_file(path)
    sync_folder(folder)
