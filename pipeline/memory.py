"""Giving memory back between stages, so that each starts from the same small base."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache
from typing import Any


def give_back(module: str) -> None:
    """Give back what a stage left: what it keeps for the next block, what is unreachable, what is free.

    Freed memory mostly stays with the process: the C library keeps what lies between blocks still in use, and
    would keep some hundred megabytes of one stage through all the others.

    Parameters
    ----------
    module : str
        The stage's own; whatever it caches (``lru_cache``) is forgotten.
    """
    for value in vars(sys.modules[module]).values():
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    """Return the C library's ``malloc_trim``, None where it has none (not glibc)."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
