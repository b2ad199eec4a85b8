"""Memory of a process that runs for long: what of the freed is kept, what the garbage collector looks at."""

from __future__ import annotations

import ctypes
import gc
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

# Parameters of glibc's mallopt (malloc.h).
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1

# Where Linux tells what files a process has mapped, and where.
_MAPS = Path("/proc/self/maps")


def settle(*, large: int, kept: int) -> None:
    """Have all threads share one heap, that keeps little; to be called before there are threads.

    The C library (glibc) gives each thread a heap of its own, which keeps up to 64 MB that no trimming
    reaches, and raises the size from which blocks are given back at once with each large block that is freed.
    Where the C library is another one nothing is done.

    Parameters
    ----------
    large : int
        Blocks of so many bytes and more do not come from the heap: they are given back when they are freed.
    kept : int
        So many free bytes at the end of the heap are kept.
    """
    function = _of_c_library("mallopt")
    if function is not None:
        for parameter, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, large), (_TRIM_THRESHOLD, kept)):
            function(parameter, value)


def trim() -> None:
    """Give back what is free, also between blocks in use."""
    function = _of_c_library("malloc_trim")
    if function is not None:
        function(0)


def give_code_back(library: str) -> None:
    """Give back the pages that were read of a library's code, where it has done its work.

    The system counts them to the process until it wants them for something else. They stay in its cache of
    files, from which they come again when the library is called.

    Parameters
    ----------
    library : str
        Part of the name of its file. Of other systems than Linux nothing is given back.
    """
    function = _of_c_library("madvise")
    if function is None or not hasattr(mmap, "MADV_DONTNEED") or not _MAPS.exists():
        return
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").split("\n"):
        addresses, _, rest = line.partition(" ")
        # Code alone: it is never written to. What is written to would be lost with its pages.
        if rest.startswith("r-x") and library in rest.rpartition("/")[2]:
            start, stop = (int(each, 16) for each in addresses.split("-"))
            function(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), mmap.MADV_DONTNEED)


@contextmanager
def left_alone() -> Iterator[None]:
    """Let Python's garbage collector leave alone whatever there is by now, until the end of the block.

    With a model and compiled code these are more than a hundred thousand objects, which stay. To look through
    them takes the time of some requests, in which no thread goes on.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@cache
def _of_c_library(name: str) -> Any:
    """Return a function of the C library, None where it has none (not glibc)."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return None
