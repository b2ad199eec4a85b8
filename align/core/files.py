"""Files that have their name only when they are whole, copies and checksums of them, faults told by name."""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import shutil
import stat
import sys
import uuid
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from align.core.errors import InputError
from align.core.signals import removed_after

# Why a file cannot be written, where neither its content nor its name is at fault, and what to do.
WRITE_FAULTS = {
    errno.ENOSPC: ("the disk is full", "free space"),
    errno.EDQUOT: ("the quota on this disk is used up", "free space"),
    errno.EFBIG: ("the file may not become so large here", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the file system is read-only", "make it writable"),
    errno.EACCES: ("no permission there", "change the permissions"),
    errno.EPERM: ("no permission there", "change the permissions"),
}

# Names that Linux and macOS have for a descriptor of a process; links to them are followed before.
_DESCRIPTOR = re.compile(r"(/proc/\d+)/(?:task/\d+/)?fd/(\d+)|(/dev)/fd/(\d+)")

# Bytes read at a time.
_PIECE = 1 << 20

# What an output is called, after its name and a number of its own, until it is whole.
_UNFINISHED = ".unfinished"

# Held beside a folder that is written, until it is whole.
_FOLDER_LOCK = "unfinished.lock"

# Symbolic links one after the other, as many as Linux follows.
_MOST_LINKS = 40


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
def naming(path: str | Path) -> Iterator[None]:
    """Let errors of writing name the file: those of ``write`` do not."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


class _NamedFile(io.FileIO):
    """A file whose faults in writing name it."""

    def __init__(self, file: str | Path | int, mode: str, told: str) -> None:
        super().__init__(file, mode)
        self._told = told

    def write(self, data: Any) -> Any:
        with naming(self._told):
            return super().write(data)


def byte_file(path: str | Path | int, mode: str = "w", *, told: str | None = None) -> io.BufferedWriter:
    """Open a file to write bytes to, as ``open`` does, but for this: whatever fails names it.

    Parameters
    ----------
    path : str, Path or int
        The file, or a descriptor, which is closed in the end.
    mode : {"w", "a", "r+"}
        As for ``open``; all of them are binary.
    told : str, optional
        What faults call it; its path where not given.
    """
    return io.BufferedWriter(_NamedFile(path, mode, str(path) if told is None else told))


def text_file(
    path: str | Path | int, mode: str = "w", *, told: str | None = None, errors: str = "strict"
) -> io.TextIOWrapper:
    r"""Open a file to write text to, UTF-8 with plain line feeds; see :func:`byte_file`.

    ``errors`` is what becomes of the bytes of a path that are not UTF-8, as in :func:`open`; with
    ``backslashreplace`` they are escaped as JSON does it.
    """
    out = byte_file(path, mode, told=told)
    return io.TextIOWrapper(out, encoding="utf-8", errors=errors, newline="\n", line_buffering=out.isatty())


def open_in_place(path: str) -> int | None:
    """Open what is no regular file, or stands for a stream that is open already, to write to it in place.

    A pipe, a device, ``/dev/stdout``, ``/dev/fd/3``, ``/proc/self/fd/1`` and links to them: another file
    under their name would reach nobody, and the file that a stream leads to may hold text written before.

    Returns
    -------
    int or None
        A new descriptor; None for a regular file, or one that is not there yet.

    Raises
    ------
    InputError
        If it names a stream that is not open, or open for reading only.
    OSError
        If it cannot be opened to write, such as a folder.
    """
    place = Path(os.path.join(os.getcwd(), path))
    for _ in range(_MOST_LINKS):
        place = Path(os.path.realpath(place.parent), place.name)
        if found := _DESCRIPTOR.fullmatch(str(place)):
            process, number = found[1] or found[3], int(found[2] or found[4])
            if process in ("/dev", os.path.realpath("/proc/self")):
                return _another_of(number, path)
            # Of another process: its file is written on at its end, never cut.
            return os.open(place, os.O_WRONLY | os.O_APPEND)
        if not place.is_symlink():
            break
        place = place.parent / os.readlink(place)
    return os.open(place, os.O_WRONLY) if place.exists() and not place.is_file() else None


def _another_of(number: int, path: str) -> int:
    """Return another descriptor of a stream of this process, which shares its place in the file."""
    import fcntl

    try:
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise InputError(f"{path}: open for reading only; name another file for the output")
        return os.dup(number)
    except OSError:
        raise InputError(f"{path}: no such stream is open; name another file for the output") from None


@contextmanager
def new_file(path: Path, *, ending: str = "") -> Iterator[Path]:
    """Give another name to write a file under; it is flushed and renamed to ``path`` when it is whole.

    An earlier file of that name stays until then, and hands on its permissions. The other name, which has the
    given ending, is used by nobody else: on a cluster a worker that was given up may still write the same
    file.
    """
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}{ending}")
    try:
        with removed_after(aside):
            yield aside
            sync_file(aside)
            if path.exists():
                os.chmod(aside, path.stat().st_mode & 0o7777)
            os.replace(aside, path)
    except OSError as error:
        # Nobody knows the other name.
        if error.filename in (aside, str(aside)):
            error.filename = str(path)
        raise


@contextmanager
def new_output(path: Path) -> Iterator[Path]:
    """Give another name to write a file under, as :func:`new_file`; remove what killed processes left of it.

    Whoever writes holds a lock on the file, which ends with the process: what can be locked is nobody's.
    Where there are no locks (Windows, some network disks) nothing is removed.
    """
    with suppress(OSError):
        _remove_left(path)
    # Locked until it has its name: another process may look for what is left at any time.
    with ExitStack() as locked, new_file(path, ending=_UNFINISHED) as aside:
        if sys.platform != "win32":
            locked.callback(os.close, _held(aside))
        yield aside


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give another place to fill a folder at; it is flushed, and renamed to ``path`` when it is whole.

    What killed processes have left of it is removed before. A folder that is there already is to be empty,
    and is filled in place: it may be a disk of its own.
    """
    if path.is_dir():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(path.parent, f"{path.name}.")
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}{_UNFINISHED}")
    whole = aside / "whole"
    try:
        with removed_after(aside):
            whole.mkdir(parents=True)
            with held(aside / _FOLDER_LOCK):
                yield whole
                for file in sorted(each for each in whole.rglob("*") if each.is_file()):
                    sync_file(file)
                os.rename(whole, path)
    except OSError as error:
        # Nobody knows the other place.
        for other in (whole, aside):
            if error.filename is not None and Path(error.filename).is_relative_to(other):
                error.filename = str(path / Path(error.filename).relative_to(other))
        raise


def remove_unfinished(parent: Path, prefix: str) -> None:
    """Remove the folders of such names that :func:`new_folder` began and whose writers are gone."""
    remove_left(parent, prefix, lock=_FOLDER_LOCK)


def _remove_left(path: Path) -> None:
    """Remove the unfinished files beside an output whose writers are gone."""
    name = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{32}}{re.escape(_UNFINISHED)}")
    for left in [each for each in path.parent.iterdir() if name.fullmatch(each.name)]:
        with suppress(OSError), ExitStack() as opened:
            descriptor = os.open(left, os.O_RDWR)
            opened.callback(os.close, descriptor)
            if _lock(descriptor):
                left.unlink()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Make a file and lock it until the end of the block, or of the process: see :func:`remove_left`."""
    descriptor = _held(path) if sys.platform != "win32" else os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        yield
    finally:
        os.close(descriptor)


def remove_left(parent: Path, prefix: str, *, lock: str = "lock") -> None:
    """Remove the folders of one's own whose names begin so and whose lock nobody holds any more.

    What killed processes have left, that is; a folder without the file ``lock`` stays, and so does what is
    reached by a symbolic link. Where there are no locks nothing is removed.
    """
    if sys.platform == "win32":
        return
    for folder in parent.glob(f"{glob.escape(prefix)}*"):
        with suppress(OSError), ExitStack() as opened:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            descriptor = os.open(folder / lock, os.O_RDWR | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            if _lock(descriptor):
                shutil.rmtree(folder, ignore_errors=True)


def _held(path: Path) -> int:
    """Make a file and lock it until the descriptor, which is returned, is closed."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        _lock(descriptor, wait=True)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(descriptor)):
                return descriptor
        # Another process found it between making and locking, and removed it.
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file until its descriptor is closed; tell whether that could be done."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def sync_file(path: Path) -> None:
    """Flush a file to the disk."""
    with naming(path), open(path, "rb+") as file:
        os.fsync(file.fileno())


def copy_file(old: Path, new: Path) -> None:
    """Copy a file; the folder of the copy is made if missing.

    Never a second name for the same file (a hard link): who edits one of two folders must not change the
    other. Where the file system can share the blocks of copies (Btrfs, XFS), the copy takes no room.
    """
    new.parent.mkdir(parents=True, exist_ok=True)
    new.unlink(missing_ok=True)
    with open(old, "rb") as whole, byte_file(new) as copy:
        with naming(new), suppress(AttributeError):  # not on every system
            while _copied(whole.fileno(), copy.fileno()):
                pass
        # What was not copied so: on other systems all of it.
        whole.seek(copy.seek(0, os.SEEK_END))
        shutil.copyfileobj(whole, copy, _PIECE)


def _copied(old: int, new: int) -> int:
    """Let the system copy some bytes from one descriptor to another; 0 at the end, or where it cannot."""
    try:
        return os.copy_file_range(old, new, 1 << 30)
    except OSError as error:
        if error.errno in WRITE_FAULTS and error.errno != errno.EPERM:
            raise
        return 0


def checksum(path: Path, size: int | None = None) -> int | None:
    """Return the CRC-32 of a file, or of its first ``size`` bytes: None where it does not have so many.

    It finds every flipped byte, and takes a second for two gigabytes.
    """
    found, left = 0, path.stat().st_size if size is None else size
    with open(path, "rb") as file:
        while left and (piece := file.read(min(left, _PIECE))):
            found, left = zlib.crc32(piece, found), left - len(piece)
    return None if left else found
