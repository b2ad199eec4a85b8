"""Finished pieces of work that outlive the run: flushed before they have their name, checked when found.

A power cut takes what had not come to the disk: files are then short, empty or full of zeros, though their
names are there. So a piece has a *record*: a file written last, with the checksums (CRC-32) of the piece's
files, of its own text, and the fingerprint of what the piece was made from. A piece that does not fit its
record counts as not there.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from align.core.files import checksum, new_file, sync_file, text_file
from pipeline.work.publish import look_again, new_folder, plain, sync_folder

# The record of a folder that is a piece.
RECORD = "checkpoint.json"


def save(path: Path, values: Mapping[str, Any], files: Iterable[Path], *, made_from: str = "") -> None:
    """Flush files to the disk, then write their record.

    Parameters
    ----------
    path : Path
        The record.
    values : mapping
        JSON values to be found again; arrays become lists.
    files : iterable of Path
        What the record is of; they may move together with it.
    made_from : str
        The fingerprint of the data and options.
    """
    files = list(files)
    for file in files:
        sync_file(file)
    for folder in sorted({file.parent for file in files}):
        sync_folder(folder)
    sums = {Path(os.path.relpath(file, path.parent)).as_posix(): checksum(file) for file in files}
    text = json.dumps({"made_from": made_from, "sums": sums, "values": values}, default=plain)
    with new_file(path) as aside, text_file(aside, told=str(path)) as out:
        out.write(f"{text}\t{zlib.crc32(text.encode()):08x}\n")
    sync_folder(path.parent)


def load(path: Path, *, made_from: str = "") -> dict[str, Any] | None:
    """Return the values of a record; None where it, or a file of it, is not whole or is of other data."""
    try:
        text, _, own_sum = path.read_text(encoding="utf-8").partition("\t")
        if own_sum != f"{zlib.crc32(text.encode()):08x}\n":
            return None
        record = json.loads(text)
        if record["made_from"] != made_from:
            return None
        whole = all(checksum(path.parent / name) == found for name, found in record["sums"].items())
    except (OSError, UnicodeDecodeError):
        return None
    return dict(record["values"]) if whole else None


@contextmanager
def new_checkpoint(folder: Path, *, made_from: str = "") -> Iterator[Path]:
    """Give a folder to fill, which gets its record and its name when all is written.

    Where another process was faster, its result, the same, stays. The folder's own name has no point in it.
    """
    with new_folder(folder) as aside:
        yield aside
        save(aside / RECORD, {}, [file for file in sorted(aside.rglob("*")) if file.is_file()],
             made_from=made_from)  # fmt: skip
    sync_folder(folder.parent)


def is_whole(folder: Path, *, made_from: str = "") -> bool:
    """Tell whether a folder fits the record that :func:`new_checkpoint` gave it."""
    return load(folder / RECORD, made_from=made_from) is not None


def drop_damaged(places: Iterable[Path], *, made_from: str = "") -> int:
    """Remove what lies in some folders and is no whole piece; return how many pieces had a name already.

    What was being made when the run ended goes too: it has no name yet, and nobody will go on with it.
    """
    damaged = 0
    for place in places:
        for piece in sorted(place.iterdir()) if place.is_dir() else ():
            named = "." not in piece.name
            if not named or not is_whole(piece, made_from=made_from):
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
