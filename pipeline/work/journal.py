"""Files that grow together, and a journal of how far they are whole, so that a killed run can go on.

The files are only appended to. From time to time they are flushed to the disk, and then one line is added to
the journal: how long each file is, the checksum of what is in it, and where the work stands. A run that finds
a journal takes its last line, cuts the files to those lengths, and goes on from there. Whatever does not fit,
the journal or a file, makes it begin anew: what is in the files is read again and compared first.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from align.core.files import byte_file, checksum

NAME = "journal.txt"

# Seconds between two lines, at least: what a killed run loses, beside the work in flight.
EVERY = 0.1

# Seconds without a line for each second that the last one took, and at the most: a disk that is slow for a
# moment must not cost a killed run seconds of work.
REST = 20
LONGEST = 0.5


class Journal:
    """Files to append to, whole up to the last :meth:`commit`.

    Parameters
    ----------
    folder : Path
        Where the files are, or will be.
    names : sequence of str
        The files.
    work : str
        Says what the work is. What another work left is not gone on with.

    Attributes
    ----------
    state : dict or None
        What the last commit was given, JSON values; None: the work begins.
    damaged : bool
        Whether a run left something of this work that cannot be counted on, so that the work begins anew.
    """

    def __init__(self, folder: Path, names: Sequence[str], work: str) -> None:
        self._folder = folder
        self._path = folder / NAME
        head = _line({"work": work, "files": list(names)})
        lines = _read(self._path, head)
        last = lines[-1][1] if len(lines) > 1 else None
        goes_on = last is not None and _holds(folder, last)
        left = any(path.exists() and path.stat().st_size for path in map(folder.joinpath, names))
        self.damaged = not goes_on and (last is not None or (left and _is_damaged(self._path, head)))
        nothing = dict.fromkeys(names, 0)
        begin: dict[str, Any] = (
            last if last and goes_on else {"state": None, "sizes": nothing, "sums": {**nothing}}
        )
        self.state: dict[str, Any] | None = begin["state"]
        self._sizes, self._sums = begin["sizes"], begin["sums"]
        # The journal itself is never shorter than what it says of the files, whenever this is cut off.
        self._journal = _open(self._path, sum(len(text) for text, _ in lines) if goes_on else 0)
        self._files = {name: _open(folder / name, self._sizes[name]) for name in names}
        if not goes_on:
            self._journal.write(head)
        _flush(self._journal)
        self._next = time.monotonic() + EVERY

    def write(self, name: str, data: bytes) -> None:
        """Append to a file."""
        self._files[name].write(data)
        self._sums[name] = zlib.crc32(data, self._sums[name])
        self._sizes[name] += len(data)

    def keep(self, state: dict[str, Any]) -> None:
        """Commit, if the last commit was a while ago (:data:`EVERY`, :data:`REST`, :data:`LONGEST`)."""
        if time.monotonic() >= self._next:
            self.commit(state)

    def commit(self, state: dict[str, Any]) -> None:
        """Make sure that all written so far outlives the process and the machine's power."""
        begun = time.monotonic()
        for file in self._files.values():
            _flush(file)
        self._journal.write(_line({"sizes": self._sizes, "sums": self._sums, "state": state}))
        _flush(self._journal)
        ended = time.monotonic()
        self._next = ended + max(EVERY, min(LONGEST, REST * (ended - begun)))

    def remove(self) -> None:
        """Remove the journal: the work is done, and what it led to is whole."""
        self._path.unlink()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files; what was not committed is not counted on."""
        for file in (*self._files.values(), self._journal):
            try:
                file.close()
            except OSError:
                # A full disk: what was left in the buffer was no longer counted on.
                if error is None:
                    raise


def _line(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=True).encode("ascii")
    return b"%s\t%08x\n" % (text, zlib.crc32(text))


def _read(path: Path, head: bytes) -> list[tuple[bytes, dict[str, Any]]]:
    """Return the lines of a journal that begins with ``head``; none where it is damaged or not there.

    A last line that was being written when the power went is no damage.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError:
        return []
    found = []
    for line in lines:
        text, _, own_sum = line.partition(b"\t")
        if own_sum != b"%08x" % zlib.crc32(text):
            return []
        found.append((line + b"\n", json.loads(text)))
    return found if found and found[0][0] == head else []


def _is_damaged(path: Path, head: bytes) -> bool:
    """Tell whether a journal that cannot be read may have been of this work: it is not whole, or is of it."""
    try:
        found = path.read_bytes()
    except OSError:
        return False
    text, _, own_sum = found.partition(b"\n")[0].partition(b"\t")
    whole = own_sum == b"%08x" % zlib.crc32(text)
    return (not whole or found.startswith(head)) and found != head


def _holds(folder: Path, line: dict[str, Any]) -> bool:
    """Tell whether the files have what a line says."""
    sizes, sums = line["sizes"], line["sums"]
    try:
        return all(checksum(folder / name, sizes[name]) == sums[name] for name in sizes)
    except OSError:
        return False


def _open(path: Path, size: int) -> BinaryIO:
    """Open a file to append to after its first ``size`` bytes; what comes after them goes."""
    file = byte_file(path, "r+" if path.exists() else "w")
    file.truncate(size)
    file.seek(size)
    return file


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
