"""What a stage's runs leave beside its results: unfinished folders, and results that were replaced.

The folder of the corpus is locked by the run that calls these: nobody else is at work in it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

PARTIAL, REPLACED = ".partial", ".replaced"


def partial_of(folder: Path) -> Path:
    """Return where a result is made before it has its name."""
    return folder.with_name(folder.name + PARTIAL)


def tidy(folder: Path, *, resumable: bool, afresh: bool) -> None:
    """Remove what killed runs left beside a result that is to be made, but for what can be gone on with.

    Parameters
    ----------
    folder : Path
        The result.
    resumable : bool
        Whether its stage can go on with an unfinished folder.
    afresh : bool
        Whether this one is to begin anew all the same.
    """
    for left in folder.parent.glob(f"*{REPLACED}"):
        shutil.rmtree(left)
    for left in folder.parent.glob(f"*{PARTIAL}"):
        # Forced, it may be because what is there is damaged, or what it was made from has changed since.
        if not resumable or (left == partial_of(folder) and afresh):
            shutil.rmtree(left)


def drop_unfinished(folder: Path) -> int:
    """Remove the unfinished folders beside a result that is done; return how many bytes they had.

    They are of other options, or of the code of another version, which nobody can go on with.
    """
    size = 0
    for left in sorted(folder.parent.glob(f"*{PARTIAL}")):
        size += sum(path.stat().st_size for path in left.rglob("*") if path.is_file())
        shutil.rmtree(left, ignore_errors=True)
    return size


def publish(partial: Path, final: Path) -> None:
    """Rename the finished folder to its final name; an earlier result stands until then."""
    replaced = final.with_name(final.name + REPLACED)
    if final.exists():
        os.rename(final, replaced)
    os.rename(partial, final)
    shutil.rmtree(replaced, ignore_errors=True)
