"""The limits of this process's memory: of addresses and data (``ulimit -v``, ``-d``), of its control group.

Nothing of other packages is imported: a program asks before it loads what takes memory.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from align.core.errors import WorkError

# Addresses that libraries take without ever using the memory behind them, in a process that has loaded all of
# them: a limit of addresses (ulimit -v) leaves so much less.
UNUSED_ADDRESSES = 480 << 20

# With less than this beside them libraries and compiled code cannot be loaded to the end, and some of them
# hang when they try.
_LEAST = 400 << 20

# Where Linux shows control groups, by which containers and batch systems limit a process.
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def address_limit() -> int | None:
    """Return the bytes of addresses or data that this process may have, None where there is no limit."""
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # no Unix
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def group_memory() -> int | None:
    """Return the bytes of memory that the control groups allow, None where they do not limit it."""
    # Above memory.high a group is slowed down until it is below again.
    names = "memory.max", "memory.high", "memory.limit_in_bytes"
    # ``max`` is no limit, and version 1 has a number that no machine reaches.
    given = [int(text) for text in group_limits("memory", *names) if text.isdigit() and int(text) < 1 << 60]
    return min(given, default=None)


def group_limits(controller: str, *names: str) -> Iterator[str]:
    """Yield what files of these names say in this process's control group and in those around it.

    Version 2 has one tree of groups, version 1 one for each controller.
    """
    try:
        lines = OWN_GROUPS.read_text(encoding="utf-8").split("\n")
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        root = CONTROL_GROUPS / controller if controllers else CONTROL_GROUPS
        group = root / path.strip("/")
        # in a container the path may be that of the machine outside: what is not there is left out
        for folder in [group, *group.parents][: len(group.parts) - len(root.parts) + 1]:
            for name in names:
                with suppress(OSError):
                    yield (folder / name).read_text(encoding="ascii").strip()


def described() -> str:
    """Return the limit that holds, as a clause; empty where there is none."""
    addresses, group = address_limit(), group_memory()
    if addresses is not None and (group is None or addresses - UNUSED_ADDRESSES < group):
        return f"{addresses >> 20} MB of addresses are the limit of this process; raise it (ulimit -v, -d)"
    return "" if group is None else f"{group >> 20} MB are the limit of its control group; raise it"


def check_room() -> None:
    """Refuse to begin where a limit of addresses leaves no room for libraries and compiled code.

    Raises
    ------
    WorkError
        If it is too low.
    """
    limit, least = address_limit(), UNUSED_ADDRESSES + _LEAST
    if limit is not None and limit < least:
        raise WorkError(f"memory: libraries and compiled code take {least >> 20} MB; {described()}")


def take_less_addresses() -> None:
    """Have libraries use one thread each, where addresses are limited: each thread takes some for itself."""
    if address_limit() is not None:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[name] = "1"
