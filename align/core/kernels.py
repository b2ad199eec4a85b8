"""The decorator of compiled kernels, and where their machine code is kept from one start to the next.

Numba keeps a kernel's machine code until the kernel's own file changes. A kernel that calls a kernel of
another file would then go on with the old code of that file. So the folder is named after the contents of
all files with kernels: a change in any of them starts a new one.

Numba numbers the files of a kernel's machine code, one for each kind of argument. Two processes that compile
one kernel for two kinds at once would take the same number, and what the index says is for one kind would be
the code for the other: run on arrays it was not made for. So each file gets a name that no other has.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, overload

import numba
import numpy as np
from numba.core import config as _numba_config
from numba.core import event as _numba_event

Function = TypeVar("Function", bound=Callable[..., Any])

# What a kernel takes where several arrays belong together: their order is told where they are made.
Arrays: TypeAlias = tuple[np.ndarray, ...]

# What whoever waits is told.
TOLD = "compiling for this machine, once for each version of liaison; this takes about half a minute"

_PACKAGE = Path(__file__).parent.parent
_PREFIX = "kernels-"

# The versions of numba whose private names the code below knows: those that pyproject.toml allows. With
# another one machine code is not kept, which is slow but right.
NUMBA_FROM, NUMBA_BELOW = (0, 60), (0, 69)

# In a place that several versions of liaison share, code that was not used for so long is removed.
_SECONDS_UNUSED = 90 * 24 * 3600

# What a file has in it that may become part of compiled code.
_SIGNS = (b"@kernel", b"import kernel", b"from numba")


def _load_without_scipy() -> None:
    """Load the part of numba that would load scipy.linalg only to see whether it can: 0.1 s of each start.

    Code that multiplies matrices still loads it, when it is compiled.
    """
    from numba.np import linalg

    if not hasattr(linalg, "ensure_blas"):  # a version of numba that asks elsewhere, or no more
        return
    asks, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = asks


_load_without_scipy()

# The attributes of this module are made at run time.
_config: Any = _numba_config
_njit: Any = numba.njit
_event: Any = _numba_event


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(*, error_model: str = "python") -> Callable[[Function], Function]: ...


def kernel(function: Any = None, *, error_model: str = "python") -> Any:
    """Compile a function of arrays and numbers; it releases the interpreter lock while it runs.

    Parameters
    ----------
    function : function
        The kernel.
    error_model : {"python", "numpy"}
        What a division by zero does: raise, or give inf or nan (faster).
    """
    if function is None:
        return partial(kernel, error_model=error_model)
    folder = _folder()
    # A wrapper for C takes a tenth of the time to compile, and no kernel is called from C.
    options = {"nogil": True, "error_model": error_model, "no_cfunc_wrapper": True}
    if folder is None:
        return _njit(**options)(function)
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        compiled = _njit(cache=True, **options)(function)
    finally:
        _config.CACHE_DIR = before
    files = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if files is not None:  # none where numba is told not to compile
        numbered = files._data_name
        files._data_name = lambda number: numbered(uuid.uuid4().int)
    return compiled


class _Listener(_event.Listener):
    """Counts the kernels that are compiled, those of this package alone.

    Meanwhile Python does not look for circles of objects: the compiler makes objects by the million, and to
    look for circles among them, time and again, takes a tenth of its time.
    """

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._count = tell, 0
        self._own = f"{__name__.partition('.')[0]}."
        self._depth, self._collects = 0, False  # a kernel's callees are compiled within it

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        if event.data["dispatcher"].py_func.__module__.startswith(self._own):
            self._count += 1
            self._tell(self._count)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


@contextmanager
def watching(tell: Callable[[int], None]) -> Iterator[None]:
    """Call ``tell`` before each kernel that this process compiles, with how many there are by then.

    Kernels whose machine code was kept are not compiled. The call is made in the thread that compiles.
    """
    with _event.install_listener("numba:compile", _Listener(tell)):
        yield


def are_kept() -> bool:
    """Tell whether there is a place where machine code is kept for the next start."""
    return _folder() is not None


def is_first_start() -> bool:
    """Tell whether machine code is kept, and none is there yet."""
    folder = _folder()
    return folder is not None and not any(folder.glob("*/*.nbi"))


@cache
def _folder() -> Path | None:
    """Return the folder of machine code, None where no place can be written."""
    if not NUMBA_FROM <= numba.version_info.short < NUMBA_BELOW:
        return None
    name = _PREFIX + _digest(_PACKAGE)
    for root in _roots():
        folder = root / name
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                _remove_others(root, name)
            else:
                _remove_damaged(folder)
                os.utime(folder)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def _roots() -> list[Path]:
    """Return the places to keep machine code in, the preferred one first."""
    if _config.CACHE_DIR:
        return [Path(_config.CACHE_DIR) / "liaison"]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [_PACKAGE / "__pycache__", Path(home) / "liaison"]


def _digest(package: Path) -> str:
    """Return a hash of all files with kernels: the code that any compiled function may contain."""
    found = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if any(sign in text for sign in _SIGNS):
            found.update(str(path.relative_to(package)).encode() + b"\0" + text)
    return found.hexdigest()[:16]


def _remove_damaged(folder: Path) -> None:
    """Remove machine code that a power cut left short or full of zeros: to load it would fail for ever.

    Numba's files are pickles, which begin and end with known bytes.
    """
    for path in folder.glob("*/*.nb[ci]"):
        with suppress(OSError), open(path, "rb") as file:  # another process may be at it, too
            first = file.read(1)
            file.seek(-1 if first else 0, os.SEEK_END)
            if first + file.read(1) != b"\x80.":
                path.unlink()


def _remove_others(root: Path, name: str) -> None:
    """Remove the machine code of earlier versions, which will not be used again.

    Beside the source there is one version at a time. Another place may be that of several, each of which
    still uses its own: there only what was not used for months goes.
    """
    own = root == _PACKAGE / "__pycache__"
    for other in root.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process may be removing it, too
            if other.name != name and (own or time.time() - other.stat().st_mtime > _SECONDS_UNUSED):
                shutil.rmtree(other, ignore_errors=True)
