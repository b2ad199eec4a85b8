"""Files that appear under their name only when they are whole, second names for files, faults in reading."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from align.core.errors import InputError


@contextmanager
def readable(path: Path, fault: str, remedy: str) -> Iterator[None]:
    """Tell whatever is wrong with a file that is read in one way, as an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{path}: missing; {remedy}") from None
    except OSError as error:
        raise InputError(f"{path}: {fault} ({error.strerror or error}); {remedy}") from None
    except (ValueError, OverflowError, EOFError) as error:
        raise InputError(f"{path}: {fault} ({error}); {remedy}") from None


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give another name to write a file under; it is flushed and renamed to ``path`` when it is whole.

    An earlier file of that name stays until then, and hands on its permissions. The other name is used by
    nobody else: on a cluster a worker that was given up may still write the same file.
    """
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        yield aside
        sync_file(aside)
        if path.exists():
            os.chmod(aside, path.stat().st_mode & 0o7777)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Flush a file to the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def link_or_copy(old: Path, new: Path) -> None:
    """Give a file a second name, or copy it where the file system has no hard links."""
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
