"""Memory given back to the system, so that each stage starts from the same small base."""

from __future__ import annotations

import gc
import importlib
import sys

from align.core import heap

# What numpy, zipfile and codecs load the first time that they need it: loaded among the words of a corpus,
# these modules would keep 20 MB of freed memory with the process.
_LOADED_LATE = ("numpy.ma", "encodings.cp437", "encodings.utf_32_le")

# Blocks below the first, in bytes, come from the heap, and so much of it is kept when it is freed. What glibc
# settles on by itself gives arrays of a few megabytes back after each use: to get them again as zeros took a
# tenth of the stage align.
_LARGE, _KEPT = 32 << 20, 64 << 20


def prepare() -> None:
    """Settle where memory comes from, before there are threads and text.

    All threads share one heap, which keeps what is asked for again and again.
    """
    for name in _LOADED_LATE:
        importlib.import_module(name)
    heap.settle(large=_LARGE, kept=_KEPT)


def give_back() -> None:
    """Give back what a stage left: what stages cache, what is unreachable, what is free.

    The C library keeps what lies between blocks still in use, and would keep some hundred megabytes of one
    stage through all the others.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("pipeline.stages."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    heap.trim()
