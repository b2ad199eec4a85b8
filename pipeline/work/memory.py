"""Giving memory back between stages, so that each starts from the same small base, and at the end."""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import sys
from functools import cache
from typing import Any

# What numpy, zipfile and codecs load in the middle of their work, the first time that they need it.
_LOADED_LATE = ("numpy.ma", "encodings.cp437", "encodings.utf_32_le")

# The parameter of glibc's mallopt (malloc.h).
_ARENA_MAX = -8


def give_back(module: str) -> None:
    """Give back what a stage left: what it keeps for the next block, what is unreachable, what is free.

    Freed memory mostly stays with the process: the C library keeps what lies between blocks still in use, and
    would keep some hundred megabytes of one stage through all the others.

    Parameters
    ----------
    module : str
        The stage's own; whatever it, or a module that is named after it, caches (``lru_cache``) is forgotten.
    """
    own = [found for name, found in sys.modules.items() if name == module or name.startswith(f"{module}_")]
    for value in [value for found in own for value in vars(found).values()]:
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim()


def trim() -> None:
    """Give back what is free."""
    function = _of_c_library("malloc_trim")
    if function is not None:
        function(0)


def load_early() -> None:
    """Load modules that would be loaded while memory is full.

    Python gives a megabyte back only when nothing in it is in use. A module that is loaded among millions of
    words is in use for ever, and with it twenty such pieces that are otherwise free.
    """
    for name in _LOADED_LATE:
        importlib.import_module(name)


def end_at_once() -> None:
    """Let the process end without collecting what the system takes back with it: a fifth of a second."""
    atexit.register(gc.freeze)


def share_heap() -> None:
    """Let all threads take memory from one heap; to be called before there are any.

    The C library gives each thread a heap of its own, which keeps up to 64 MB that no trimming reaches.
    """
    function = _of_c_library("mallopt")
    if function is not None:
        function(_ARENA_MAX, 1)


@cache
def _of_c_library(name: str) -> Any:
    """Return a function of the C library, None where it has none (not glibc)."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return None
