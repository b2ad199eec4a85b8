"""Array files (``.npy``): written so that a full disk is an error, read so that no file can do harm.

NumPy's own functions leave two gaps. A file that is mapped for writing takes its place on the disk only as
it is filled, and where the disk is full by then the process is killed by a signal (SIGBUS); and its pages
stay in memory: :func:`create_array` reserves the place first, :func:`write_rows` fills it without mapping.
And a header is believed: a file that is cut off, or claims to be larger than memory, fails in many ways,
which :func:`load_array` tells in one.

References
----------
.. [1] NumPy developers, "The npy format", NumPy Enhancement Proposal 1,
   https://numpy.org/neps/nep-0001-npy-format.html.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from align.core.files import naming, readable

REMEDY = "make it again (what a stage left: with --force)"

# A file of fewer bytes is read; a larger one can be mapped.
MAPPED_FROM = 4096

# Bytes written at a time.
_PIECE = 1 << 24

# Rows that are read rather than passed over, and the most that are read at once to take some of them.
_GAP, _SPAN = 1024, 8192


def save_array(path: Path, values: np.ndarray) -> None:
    """Write an array to a file.

    Parameters
    ----------
    path : Path
        The file; its folder is there.
    values : ndarray
        Of numbers, truth values or text, of any shape.

    Raises
    ------
    OSError
        If it cannot be written (a full disk: ``ENOSPC``); it names the file.
    """
    values = np.ascontiguousarray(values) if values.ndim else np.asarray(values)
    with naming(path), open(path, "wb") as out:
        _write_header(out, values.dtype, values.shape)
        if values.size:
            flat = values.reshape(-1).view(np.uint8).data
            for start in range(0, len(flat), _PIECE):
                out.write(flat[start : start + _PIECE])


class ArrayAppender:
    """Writes an array of one dimension piece by piece, its length told at the end; a context manager.

    Parameters
    ----------
    path : Path
        The file, the same as :func:`save_array` makes of all pieces; its folder is there.
    dtype : dtype_like
        Of numbers or truth values.
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self._path, self._dtype, self.length = path, np.dtype(dtype), 0
        with naming(path):
            self._out = open(path, "wb")  # noqa: SIM115 (closed by __exit__)
            # NumPy pads headers so that a length fits in whose digits are not yet known
            _write_header(self._out, self._dtype, (0,))
            self._start = self._out.tell()

    def append(self, values: np.ndarray) -> None:
        """Write the next piece, of the appender's type."""
        with naming(self._path):
            if len(values):
                self._out.write(np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8).data)
            self.length += len(values)

    def __enter__(self) -> ArrayAppender:
        return self

    def __exit__(self, *_: object) -> None:
        with naming(self._path), self._out:
            self._out.seek(0)
            _write_header(self._out, self._dtype, (self.length,))
            assert self._out.tell() == self._start


def create_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> None:
    """Make a file of zeros, its place on the disk reserved, to be filled by :func:`write_rows`.

    Parameters
    ----------
    path : Path
        The file; its folder is there.
    dtype : dtype_like
        Of numbers or truth values.
    shape : tuple of int
        Each >= 0.

    Raises
    ------
    OSError
        If the disk has no room for it (``ENOSPC``); it names the file.
    """
    kind = np.dtype(dtype)
    with naming(path), open(path, "wb") as out:
        _write_header(out, kind, shape)
        out.flush()
        size = math.prod(shape) * kind.itemsize
        if size:
            _reserve(out, size)


def write_rows(path: Path, start: int, values: np.ndarray) -> None:
    """Write rows into a file of :func:`create_array`, from row ``start`` on, and no other byte of it.

    Several processes may do so at the same time, on several machines too: of a mapped file whole pages
    would be written, with what another machine wrote beside these rows.

    Parameters
    ----------
    path : Path
        The file.
    start : int
        The first row, >= 0.
    values : ndarray
        Rows of the file's type and shape, not beyond its end.

    Raises
    ------
    InputError
        As for :func:`load_array`, and if the rows do not fit.
    OSError
        If they cannot be written.
    """
    with readable(path, "no array can be read", REMEDY), open(path, "rb") as file:
        dtype, shape, order = _header(file)
        begin, row = file.tell(), dtype.itemsize * math.prod(shape[1:])
        if (dtype, shape[1:], order) != (values.dtype, values.shape[1:], "C") or not (
            0 <= start <= start + len(values) <= shape[0]
        ):
            raise ValueError(f"rows {start} to {start + len(values)} do not fit {dtype} {shape}")
    with naming(path), open(path, "r+b") as out:
        out.seek(begin + start * row)
        out.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def load_array(path: Path, *, mapped: bool = False, remedy: str = REMEDY) -> np.ndarray:
    """Return the array of a file.

    Parameters
    ----------
    path : Path
        What :func:`save_array` or ``numpy.save`` wrote.
    mapped : bool
        Leave the values of a large file on the disk (memory-mapped, read-only).
    remedy : str
        What to do about a bad file, the end of the message.

    Raises
    ------
    InputError
        If there is no such file, it holds Python objects or no array, or its size is not what it says.
    """
    with readable(path, "no array can be read", remedy), open(path, "rb") as file:
        dtype, shape, order = _header(file)
        start, size = file.tell(), dtype.itemsize * math.prod(shape)
        if mapped and size and start + size > MAPPED_FROM:
            # Without the class: slices of a memmap cost ten times as much.
            return np.asarray(np.memmap(path, dtype, "r", start, shape, order))  # type: ignore[call-overload]
        return _read(file, np.empty(shape, dtype, order))  # type: ignore[call-overload]


class ArrayMapper:
    """Maps array files into memory, each of them many times: what its header says is kept."""

    def __init__(self) -> None:
        self._headers: dict[Path, tuple[np.dtype[Any], tuple[int, ...], str, int]] = {}

    def load(self, path: Path, *, remedy: str = REMEDY) -> np.ndarray:
        """Return the array of a file, its values left on the disk; to be read only.

        Parameters
        ----------
        path : Path
            As for :func:`load_array`; it is not changed as long as this object is used.
        remedy : str
            As for :func:`load_array`.

        Raises
        ------
        InputError
            As for :func:`load_array`.
        """
        with readable(path, "no array can be read", remedy), open(path, "rb") as file:
            if path not in self._headers:
                self._headers[path] = (*_header(file), file.tell())
            dtype, shape, order, start = self._headers[path]
            if not math.prod(shape):
                return np.empty(shape, dtype)
            # numpy.memmap does the same, and takes three times as long
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if len(memory) != start + math.prod(shape) * dtype.itemsize:
                raise ValueError(f"{len(memory)} bytes, where it had others before")
            return np.ndarray(shape, dtype, memory, start, order="F" if order == "F" else "C")


def load_rows(path: Path, start: int, stop: int, *, remedy: str = REMEDY) -> np.ndarray:
    """Return rows ``start`` to ``stop`` (exclusive) of the array of a file, and read no others.

    Nothing of the file stays in the process's memory, as pages of a mapped file would.

    Parameters
    ----------
    path : Path
        As for :func:`load_array`; of one dimension or more.
    start, stop : int
        With 0 <= start <= stop <= rows.
    remedy : str
        As for :func:`load_array`.

    Raises
    ------
    InputError
        As for :func:`load_array`, and if there are not so many rows.
    """
    with readable(path, "no array can be read", remedy), open(path, "rb") as file:
        dtype, shape, order = _header(file)
        if not shape or order != "C" or not 0 <= start <= stop <= shape[0]:
            raise ValueError(f"no rows {start} to {stop} in the shape {shape}")
        file.seek(start * dtype.itemsize * math.prod(shape[1:]), os.SEEK_CUR)
        return _read(file, np.empty((stop - start, *shape[1:]), dtype))


def near_rows(chosen: np.ndarray) -> list[np.ndarray]:
    """Part rows that are wanted, int (n,), into runs that are read at once, with what lies between them.

    As a rule ascending; a step back begins a new run. To pass over less than a gap costs more than to read
    it, and a run spans no more than some pieces of a file.
    """
    if not len(chosen):
        return []
    steps = np.diff(chosen)
    ends = (steps < 0) | (steps > _GAP) | (np.diff(chosen // _SPAN) != 0)
    return np.split(chosen, np.flatnonzero(ends) + 1)


def _read(file: BufferedReader, values: np.ndarray) -> np.ndarray:
    """Fill an array with what comes next in a file."""
    if values.size and file.readinto(values.reshape(-1, order="A").view(np.uint8).data) != values.nbytes:
        raise ValueError("cut off while it was read")
    return values


def _header(file: BinaryIO) -> tuple[np.dtype[Any], tuple[int, ...], str]:
    """Read what stands before the values: their type, shape and order.

    Raises
    ------
    ValueError
        If it is no header of plain values, or not of those that follow. What NumPy says of it is left out:
        it advises to trust the file.
    """
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(file)](file)
    except Exception:  # the tokenizer and the parser behind it fail in ways of their own
        raise ValueError("cut off or no array file") from None
    if dtype.hasobject:
        raise ValueError("holds Python objects, which are never loaded")
    if any(isinstance(size, bool) or size < 0 for size in shape):
        raise ValueError(f"the shape {shape} is none")
    found, expected = os.fstat(file.fileno()).st_size - file.tell(), math.prod(shape) * dtype.itemsize
    if found != expected:
        fault = "cut off" if found < expected else "too long"
        raise ValueError(f"{fault}: {found} bytes of values, not the {expected} of {shape}")
    return dtype, shape, "F" if fortran else "C"


def _write_header(out: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, described)


def _reserve(out: BinaryIO, size: int) -> None:
    """Add ``size`` zero bytes that have their place on the disk."""
    start = out.tell()
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(out.fileno(), start, size)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
    # Not every system and disk can reserve: there the zeros are written.
    for done in range(0, size, _PIECE):
        out.write(bytes(min(_PIECE, size - done)))
