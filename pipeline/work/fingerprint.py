"""What a result is made from, as one fingerprint, and what differs where two fingerprints do.

fingerprint = hash(stage name, code version, its options, contents of the user's files, seed where it
counts, fingerprints of what it needs).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from align.core.errors import InputError, WorkError
from pipeline.work.publish import write_json


def fingerprint(ingredients: Mapping[str, Any]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the ingredients as canonical JSON."""
    text = json.dumps(ingredients, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say in words why a result made from ``old`` ingredients does not serve for ``new`` ones."""
    reasons = []
    for kind in ("options", "files", "needs", "code"):
        before, after = old.get(kind, {}), new.get(kind, {})
        changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
        if not changed:
            continue
        if kind == "options":
            reasons += [f"{key} was {before.get(key)!r}, is {after.get(key)!r}" for key in changed]
        elif kind == "needs":
            reasons.append(f"{', '.join(changed)} changed")
        else:
            shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            reasons.append(f"{'code' if kind == 'code' else 'contents'} changed: {shown}")
    if old.get("seed") != new.get("seed"):
        reasons.append(f"seed was {old.get('seed')}, is {new.get('seed')}")
    return "; ".join(reasons) or "made by another version"


class FileHashes:
    """SHA-256 of the user's files, remembered by size and time of change so that big ones are read once.

    Parameters
    ----------
    store : Path, optional
        A JSON file to remember them in; None remembers nothing beyond this process.
    """

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._known: dict[str, list[Any]] = {}
        if store is not None and store.is_file():
            try:
                known = json.loads(store.read_text(encoding="utf-8"))
            except ValueError:
                known = {}
            self._known = known if isinstance(known, dict) else {}

    def of(self, path: Path) -> str:
        """Return the hash of a file, or of all files of a folder with their names.

        Raises
        ------
        InputError
            If there is no such file or it cannot be read.
        WorkError
            If the hash cannot be remembered.
        """
        try:
            if path.is_dir():
                parts = [
                    f"{file.relative_to(path)} {self.of(file)}"
                    for file in sorted(path.rglob("*"))
                    if file.is_file()
                ]
                return hashlib.sha256("\n".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
            state = path.stat()
            stamp = [state.st_size, state.st_mtime_ns]
            known = self._known.get(str(path))
            if known is not None and known[:2] == stamp:
                return str(known[2])
            with open(path, "rb") as file:
                known = [*stamp, hashlib.file_digest(file, "sha256").hexdigest()]
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; mend the path in the configuration") from None
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); mend its rights or the path"
            ) from None
        self._known[str(path)] = known
        self._save()
        return str(known[2])

    def _save(self) -> None:
        if self._store is None:
            return
        folder = self._store.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_json(self._store, self._known)
        except OSError as error:
            raise WorkError(
                f"{folder}: the work folder cannot be written ({error.strerror}); free space, mend its "
                "rights, or give another --workdir"
            ) from None
