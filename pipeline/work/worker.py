"""What a worker of a cluster does with an item: check its code, wait for files, return what cannot be done.

Apart from :mod:`pipeline.work.engine`, which sends the items, so that it can be read by itself.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from align.core.errors import WorkError
from pipeline.work.code_version import modules_of
from pipeline.work.publish import look_again

Item = TypeVar("Item")
Result = TypeVar("Result")

# Seconds that a worker of a cluster waits before it looks again for a file that is not there.
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Failed:
    """What a function raised in a worker, as a result: Dask would try an exception again, to no other end."""

    error: Exception


def run_checked(function: Callable[[Item], Result], code: str, item: Item) -> Result | Failed:
    """Run a function in a worker whose code is that of the run; an error of its own is returned."""
    try:
        module = function.__module__
        if code_of(module) != code:
            raise WorkError(
                f"{socket.gethostname()}: a worker of the Dask cluster has another version of {module}; "
                "install the same version of liaison on every worker, and restart them"
            )
        return _patiently(function, item)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        # Sent to another process it loses where it arose.
        error.add_note("".join(traceback.format_exception(error)))
        return Failed(error)


def _patiently(function: Callable[[Item], Result], item: Item) -> Result:
    """Run a function, again where a file is not there: on a network disk it may be seen a little later."""
    for seconds in (*_WAITS, None):
        try:
            return function(item)
        except Exception as error:
            missing = _missing(error)
            if seconds is None or missing is None:
                raise
        look_again(*missing.parents[:2])
        time.sleep(seconds)
    raise AssertionError


def _missing(error: BaseException | None) -> Path | None:
    """Return the file whose absence an error, or what led to it, tells of; None where it tells of none."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ESTALE) and error.filename:
            return Path(os.fsdecode(error.filename))
        error = error.__cause__ or error.__context__
    return None


@cache
def code_of(module: str) -> str:
    """Return a hash of a module and all of the project that it imports."""
    return hashlib.sha256(json.dumps(modules_of(module)).encode("ascii")).hexdigest()
