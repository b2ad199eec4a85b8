"""The manifest of a stage's result: what it was made from, how, and which files it has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.work.publish import GHOST

MANIFEST = "manifest.json"


def read(folder: Path) -> dict[str, Any] | None:
    """Return a folder's manifest, None where it has none that can be read."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def made_of(folders: Iterable[Path]) -> str:
    """Return a hash of the manifests of some folders, where they have one: they say when each was made."""
    paths = [folder / MANIFEST for folder in folders]
    whole = b"".join(path.read_bytes() for path in paths if path.exists())
    return hashlib.sha256(whole).hexdigest()[:16]


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of every file of a folder, at any depth, by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST and not path.name.startswith(GHOST)
    }


def damage(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Say which file of a folder is not as its manifest says: missing, or cut off; empty if all are.

    The sizes are compared, not the contents: a disk that was full, or a copy that was broken off, leaves a
    shorter file, and reading all that was ever made at every start would take minutes.
    """
    for name, size in manifest.get("files", {}).items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes, not {size}"
    return ""
