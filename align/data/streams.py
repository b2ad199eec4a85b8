"""Byte streams of text files: plain, or packed with gzip, xz or zstd, told by their first bytes.

A name says nothing here: ``corpus.gz`` may be plain and ``corpus.txt`` packed. Packed data are unpacked
as they are read, a small piece at a time, so that a file that unpacks to terabytes costs no memory. Data
that are cut off, damaged, or followed by something else are an error, never a silently shorter text.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from align.core.errors import InputError

# Packed bytes handed to a decoder at once: at most MOST, and LEAST again where they unpack to more than
# RATIO times as much. The densest packing (zstd, runs of one byte) makes 128 KiB of 4 bytes, so that one
# step yields at most 32 MiB.
LEAST, MOST, RATIO = 64, 1024, 64

# A decoder may ask for this much memory (a window of xz or zstd), no more.
WINDOW = 1 << 28

# How archives begin: zip, and tar in the middle of its first block.
ZIP_MARK = b"PK\x03\x04"
TAR_MARK, TAR_PLACE = b"ustar", slice(257, 262)

# Packings that are not read here.
FOREIGN = (("bzip2", re.compile(rb"BZh[1-9]1AY&SY")), ("7z", re.compile(rb"7z\xbc\xaf\x27\x1c")))


# Name, first bytes, and a new decoder, with what decompressors have in common: ``decompress``, ``eof`` and
# ``unused_data``. A zstd file may start with a skippable frame (pzstd writes one).
PACKINGS: tuple[tuple[str, re.Pattern[bytes], Callable[[], Any]], ...] = (
    ("gzip", re.compile(rb"\x1f\x8b"), lambda: zlib.decompressobj(31)),
    ("xz", re.compile(rb"\xfd7zXZ\x00"), lambda: lzma.LZMADecompressor(memlimit=WINDOW)),
    (
        "zstd",
        re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        lambda: zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj(),
    ),
)


@contextlib.contextmanager
def open_text(path: str | Path | BinaryIO) -> Iterator[io.BufferedReader[Any]]:
    r"""Open a text file, packed or not, as a stream of its unpacked bytes.

    Parameters
    ----------
    path : str or Path or binary stream
        The file; ``-`` is the standard input; a stream is used as it is and left open.

    Yields
    ------
    io.BufferedReader
        Binary; ``readline`` cuts at ``\\n`` only.

    Raises
    ------
    InputError
        If there is no such file, it is a folder or a zip or tar archive, or, while it is read, if its
        packed data are cut off, damaged or followed by other data.
    """
    with open_unpacked(path) as stream:
        start = stream.peek(512)
        for kind, found in (("zip", start[:4] == ZIP_MARK), ("tar", start[TAR_PLACE] == TAR_MARK)):
            if found:
                raise InputError(
                    f"{name_of(path)}: a {kind} archive, not a text; unpack it (a configuration takes it as "
                    "corpus.url)"
                )
        for kind, mark in FOREIGN:
            if mark.match(start):
                raise InputError(
                    f"{name_of(path)}: packed with {kind}, which is not read here; unpack it, or pack it "
                    "with gzip, xz or zstd"
                )
        yield stream


@contextlib.contextmanager
def open_unpacked(path: str | Path | BinaryIO) -> Iterator[io.BufferedReader[Any]]:
    """Open any file as :func:`open_text` does, an archive too.

    Raises
    ------
    InputError
        As for :func:`open_text`.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(path, (str, Path)) and str(path) != "-":
            file = stack.enter_context(open_file(path))
        else:
            file = _standard_input() if isinstance(path, (str, Path)) else path
        head, pending = _head(file)
        # Closing the stream must not close a file that is not ours: ``_Unpacked`` leaves it open.
        stream = io.BufferedReader(_Unpacked(file, name_of(path), packing_of(head), pending), 1 << 16)
        yield stack.enter_context(stream)


def name_of(path: str | Path | BinaryIO) -> str:
    """Return what to call a file, the standard input or a stream in a message."""
    if not isinstance(path, (str, Path)):
        return str(getattr(path, "name", "<stream>"))
    return "<stdin>" if str(path) == "-" else str(path)


def open_file(path: str | Path) -> BinaryIO:
    """Open ``path`` for reading bytes; what the system refuses becomes an InputError naming the path."""
    try:
        return cast(BinaryIO, open(path, "rb"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a folder, not a file; name a file in it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError("<stdin>: closed; name a file, or feed the text in")
    return sys.stdin.buffer


def packing_of(head: bytes) -> str | None:
    """Return the name of the packing that ``head``, the first bytes of a file, announces, or None."""
    return next((name for name, magic, _ in PACKINGS if magic.match(head)), None)


def _head(file: BinaryIO) -> tuple[bytes, bytes]:
    """Return the first bytes of a stream, and those of them that reading on will not give again."""
    if isinstance(file, io.BufferedReader):
        return file.peek(8)[:8], b""
    head = file.read(8)
    return head, head


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of ``file`` (as they are where ``packing`` is None); never closes it."""

    def __init__(self, file: BinaryIO, where: str, packing: str | None, pending: bytes) -> None:
        super().__init__()
        self._file, self._where, self._packing = file, where, packing
        self._pending = pending  # packed bytes read but not yet decoded
        self._ready = memoryview(b"")  # unpacked bytes not yet handed out
        self._decoder = self._new_decoder() if packing else None
        self._step = LEAST
        if packing:
            self._ready = memoryview(self._beginning(512))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready:
            piece = self._next_piece()
            if piece is None:
                return 0
            self._ready = memoryview(piece)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _beginning(self, size: int) -> bytes:
        """Return at least ``size`` unpacked bytes, fewer only where there are no more."""
        start = b""
        while len(start) < size and (piece := self._next_piece()) is not None:
            start += piece
        return start

    def _new_decoder(self) -> Any:
        return next(make for name, _, make in PACKINGS if name == self._packing)()

    def _packed(self, size: int) -> bytes:
        """Return up to ``size`` more bytes of the file, what was left over first."""
        if not self._pending:
            # ``read1`` hands over what a pipe has; ``read`` would wait for the full size.
            read = getattr(self._file, "read1", self._file.read)
            self._pending = read(1 << 16)
        piece, self._pending = self._pending[:size], self._pending[size:]
        return piece

    def _next_piece(self) -> bytes | None:
        """Return the next unpacked bytes (possibly none yet), or None at the end of the file."""
        if self._packing is None:
            return self._packed(1 << 16) or None
        if self._decoder is None:
            return None
        if self._decoder.eof:
            self._pending = self._decoder.unused_data + self._pending
            self._decoder = self._follower()
            return b""
        piece = self._packed(self._step)
        if not piece:
            raise InputError(f"{self._where}: the {self._packing} data are cut off; get the file again")
        try:
            unpacked: bytes = self._decoder.decompress(piece)
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError) as error:
            raise InputError(
                f"{self._where}: the {self._packing} data cannot be unpacked ({error}); get the file again"
            ) from None
        self._step = min(MOST, 2 * self._step) if len(unpacked) < RATIO * len(piece) else LEAST
        return unpacked

    def _follower(self) -> Any:
        """Return the decoder of the next stream in the file, None where only zero padding is left."""
        while True:
            rest = self._pending.lstrip(b"\0")
            more = self._file.read(1 << 16) if len(rest) < 8 else b""
            self._pending = rest + more
            if not self._pending:
                return None
            if more:
                continue
            if packing_of(rest) == self._packing:
                return self._new_decoder()
            raise InputError(
                f"{self._where}: other data follow the end of the {self._packing} data; get the file again"
            )
