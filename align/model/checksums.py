"""Checksums of the files of a model: written beside them, compared when they are read.

``checksums.tsv`` has a line a file, ``CRC-32 TAB bytes TAB name``, and a last line for itself: the CRC-32
and the bytes of all lines before it. A folder without it was made by an earlier version, or changed by hand;
it is loaded all the same, with :attr:`align.model.weights.Weights.checked` false.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

from align.core.errors import InputError
from align.core.files import byte_file, checksum, readable

CHECKSUMS = "checksums.tsv"
REMEDY = "get the model again or train it anew"
UNCHECKED = f"no {CHECKSUMS} there: its files are taken as they are, and were not checked for damage"


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Write the checksums of files of a folder, given their paths in it with ``/``."""
    lines = "".join(f"{_sum_of(folder / name)}\t{name}\n" for name in names).encode()
    with byte_file(folder / CHECKSUMS) as out:
        out.write(lines + f"{_sum(zlib.crc32(lines), len(lines))}\t{CHECKSUMS}\n".encode("ascii"))


def check(folder: Path, names: Iterable[str]) -> bool:
    """Compare files of a folder with their checksums.

    Parameters
    ----------
    folder : Path
        Of a model, or of weights.
    names : iterable of str
        The files that are going to be read, as in :func:`write_checksums`.

    Returns
    -------
    bool
        False where the folder has no checksums.

    Raises
    ------
    InputError
        If a file is missing, has other bytes or no checksum; the message names it.
    """
    if not (folder / CHECKSUMS).exists():
        return False
    known = _read(folder / CHECKSUMS)
    for name in names:
        path = folder / name
        with readable(path, "cannot be read", REMEDY):
            found = _sum_of(path)
        if found != known.get(name):
            raise InputError(
                f"{path}: its bytes are not those that were written ({CHECKSUMS}); {REMEDY} (if you changed "
                f"it on purpose, remove {CHECKSUMS})"
            )
    return True


def same_files(one: Path, other: Path, *, but: Iterable[str]) -> bool:
    """Tell whether two folders have the same files by their checksums, but for those of some names."""
    if not all((folder / CHECKSUMS).exists() for folder in (one, other)):
        return False
    first, second = (_read(folder / CHECKSUMS) for folder in (one, other))
    return all(first.get(name) == second.get(name) for name in {*first, *second} - set(but))


def _read(path: Path) -> dict[str, str]:
    """Return the checksum and the size of each file, as text."""
    with readable(path, "cannot be read", REMEDY):
        *lines, own, end = path.read_bytes().split(b"\n") if path.stat().st_size else (b"", b"")
    whole = b"".join(line + b"\n" for line in lines)
    if end or own != f"{_sum(zlib.crc32(whole), len(whole))}\t{CHECKSUMS}".encode("ascii"):
        raise InputError(f"{path}: damaged; {REMEDY}")
    rows = (line.decode().rpartition("\t") for line in lines)
    return {name: found for found, _, name in rows}


def _sum_of(path: Path) -> str:
    return _sum(checksum(path) or 0, path.stat().st_size)


def _sum(found: int, size: int) -> str:
    return f"{found:08x}\t{size}"
