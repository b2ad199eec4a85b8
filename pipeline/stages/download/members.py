"""The members of tar and zip archives, packed or not, read as untrusted input.

An archive is refused whole if any member has an absolute path or one that leads outside, is a link, a device
or anything but a plain file or folder, or if it exceeds the limits below.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from align.core.errors import InputError
from align.data.streams import TAR_MARK, TAR_PLACE, ZIP_MARK, open_unpacked
from pipeline.stages.download.http_request import BLOCK

# Limits: members of an archive, bytes of one member, bytes of all, and how many times as large as the archive
# they may be. Text packs to a tenth, seldom to less than a fiftieth; bombs start at a thousandth.
MEMBERS = 10_000
MEMBER_SIZE = 1 << 38
TOTAL_SIZE = 1 << 40
RATIO = 200
RATIO_FREE = 64 << 20

# Bytes of the headers of one tar member, and of the directory of a zip.
HEADER_SIZE = 1 << 20
DIRECTORY_SIZE = 16 << 20

Entry = tuple[str, int, Iterator[bytes]]


def archive_kind(path: Path) -> str | None:
    """Return ``tar`` or ``zip``, None for a file that is no archive.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    with open_unpacked(path) as stream:
        start = stream.peek(512)
    if start[:4] == ZIP_MARK:
        return "zip"
    return "tar" if start[TAR_PLACE] == TAR_MARK else None


def entries(path: Path) -> Iterator[Entry]:
    """Yield name, size and content of each plain file of an archive; read each content before the next.

    Raises
    ------
    InputError
        If the file is no archive, or an unsafe one or one beyond the limits.
    """
    kind = archive_kind(path)
    if kind is None:
        raise InputError(f"{path}: neither a tar nor a zip archive; check the address or the path")
    yield from _tar_entries(path) if kind == "tar" else _zip_entries(path)


@contextlib.contextmanager
def plain_damage(path: Path) -> Iterator[None]:
    """Turn what a damaged archive raises while it is read into one line."""
    try:
        yield
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
        *(EOFError, ValueError, NotImplementedError, OSError),
    ) as error:
        # A place before the file's beginning is the archive's fault, and so is what bz2 says, without a
        # number; any other error of the system is not.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: the archive is cut or damaged ({reason}); get it again") from None


class Meter:
    """Counts what an archive unpacks to, and stops it at the limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = min(TOTAL_SIZE, max(RATIO_FREE, RATIO * path.stat().st_size))
        self._members = 0
        self.total = 0

    def member(self, name: str, size: int) -> None:
        """Take note of the next member before it is read."""
        self._members += 1
        if self._members > MEMBERS:
            raise InputError(f"{self._path}: more than {MEMBERS} members in it; unpack it yourself")
        if size > min(MEMBER_SIZE, self._most):
            raise InputError(
                f"{self._path}: {name!r} unpacks to {size} bytes, too many; is this the right file?"
            )

    def add(self, size: int) -> None:
        """Take note of unpacked bytes."""
        self.total += size
        if self.total > self._most:
            raise InputError(
                f"{self._path}: unpacks to over {self._most} bytes, too many; is this the right file?"
            )


def _tar_entries(path: Path) -> Iterator[Entry]:
    meter = Meter(path)
    with open_unpacked(path) as stream:
        tape = _Tape(stream, path)
        with tarfile.open(fileobj=cast(Any, tape), mode="r|") as archive:
            while True:
                tape.allowance = HEADER_SIZE
                member = archive.next()
                tape.allowance = None
                if member is None:
                    break
                _check_member(path, member.name, _tar_type(member))
                meter.member(member.name, member.size)
                if member.isreg():
                    yield member.name, member.size, _blocks(archive.extractfile(member), member.size, meter)
            tape.check_end(archive.offset)


def _zip_entries(path: Path) -> Iterator[Entry]:
    _check_directory(path)
    meter = Meter(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            for name in (member.filename, member.orig_filename):
                _check_member(path, name, _zip_type(member))
            meter.member(member.filename, member.file_size)
            if not member.is_dir():
                with archive.open(member) as data:
                    yield member.filename, member.file_size, _blocks(data, member.file_size, meter)


def _blocks(data: IO[bytes] | None, size: int, meter: Meter) -> Iterator[bytes]:
    """Yield the content of a member; it must have the announced size."""
    got = 0
    while data is not None and (block := data.read(BLOCK)):
        meter.add(len(block))
        got += len(block)
        yield block
    if got != size:
        raise EOFError(f"a member has {got} bytes instead of {size}")


def _tar_type(member: tarfile.TarInfo) -> str | None:
    """Return what a tar member is that it must not be, None for plain files and folders."""
    if member.isdir() or (member.isreg() and not member.issparse()):
        return None
    if member.issym() or member.islnk():
        return "a link"
    return "a sparse file" if member.issparse() else "a device or pipe"


def _zip_type(member: zipfile.ZipInfo) -> str | None:
    """Return what a zip member is that it must not be, None for plain files and folders."""
    if member.flag_bits & 0x1:
        return "encrypted"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind in (0, stat.S_IFREG, stat.S_IFDIR):
        return None
    return "a link" if kind == stat.S_IFLNK else "a device or pipe"


def _check_member(path: Path, name: str, kind: str | None) -> None:
    """Refuse a member that is no plain file or folder inside the archive."""
    parts = re.split(r"[/\\]", name)
    if not name or parts[0] == "" or re.match(r"[A-Za-z]:", name) or ".." in parts or "\0" in name:
        raise InputError(f"{path}: unsafe: its member {name!r} leads outside; do not use this archive")
    if kind is not None:
        raise InputError(f"{path}: unsafe: its member {name!r} is {kind}; unpack it yourself if you trust it")


def _check_directory(path: Path) -> None:
    """Refuse a zip without a directory (cut off), or with one too large to be read into memory."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        file.seek(max(0, size - (1 << 16) - 22))
        tail = file.read()
        end = tail.rfind(b"PK\x05\x06")
        if end < 0:
            raise EOFError("its end is missing")
        if tail[end + 22 + int.from_bytes(tail[end + 20 : end + 22], "little") :].strip(b"\0"):
            raise EOFError("other data follow its end")
        length = int.from_bytes(tail[end + 12 : end + 16], "little")
        if length == 0xFFFFFFFF and end >= 20:
            # Zip64: the record before says where the large directory's own record is.
            file.seek(int.from_bytes(tail[end - 12 : end - 4], "little"))
            length = int.from_bytes(file.read(56)[40:48], "little")
    if length > DIRECTORY_SIZE:
        raise InputError(f"{path}: more than {MEMBERS} members in it; unpack it yourself")


class _Tape:
    """A tar stream that hands the tar reader only so much for headers, and remembers its last bytes."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._recent: list[bytes] = []
        self._position = 0
        self.allowance: int | None = HEADER_SIZE

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._position += len(data)
        self._recent = [*self._recent[-2:], data]
        if self.allowance is not None:
            self.allowance -= len(data)
            if self.allowance < 0:
                raise InputError(f"{self._path}: unsafe: a header of over {HEADER_SIZE} bytes; do not use it")
        return data

    def check_end(self, offset: int) -> None:
        """Check that from ``offset`` on there are zero blocks, at least one, and nothing else."""
        recent = b"".join(self._recent)
        rest = recent[max(0, len(recent) - (self._position - offset)) :] if self._position > offset else b""
        if len(rest) < tarfile.BLOCKSIZE:
            raise EOFError("its end is missing")
        for piece in itertools.chain([rest], iter(lambda: self._stream.read(BLOCK), b"")):
            if piece.strip(b"\0"):
                raise EOFError("other data follow its last member")
