"""What a result is made from, as one fingerprint, and what differs where two fingerprints do.

fingerprint = hash(stage name, code version, its options, contents of the user's files, seed where it
counts, fingerprints of what it needs). Where the user's files lie does not count. What was made again under
the same fingerprint, from less memory or from a web page that has changed, is told by its contents
(:func:`pipeline.work.manifest.contents`).
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from align.core.errors import InputError, WorkError
from pipeline.config.places import local_path
from pipeline.work.publish import read_sealed, write_sealed

# Seconds that a file must have been unchanged before its hash is remembered: within the grain of a file
# system's clock it could change again and show the same time.
_SETTLED = 2.0


def fingerprint(ingredients: Mapping[str, Any]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the ingredients as canonical JSON."""
    text = json.dumps(ingredients, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def by_contents(ingredients: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return ingredients in which a file of the user is its hash, wherever it lies and whatever it is called.

    Parameters
    ----------
    ingredients : mapping
        With places in ``options`` and hashes by path in ``files``.
    hashes : mapping of str to str
        Of the files that options may name, by path.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        path = local_path(value) if isinstance(value, str) else None
        return value if path is None else hashes.get(str(path), value)

    options = {key: plain(value) for key, value in ingredients.get("options", {}).items()}
    return {**ingredients, "options": options, "files": list(ingredients.get("files", {}).values())}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say in words why a result made from ``old`` ingredients does not serve for ``new`` ones."""
    reasons = []
    plain = [by_contents(each, each.get("files", {}))["options"] for each in (old, new)]
    for kind in ("options", "files", "needs", "code"):
        before, after = old.get(kind, {}), new.get(kind, {})
        changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
        if kind == "options":
            moved = {key for key in changed if plain[0].get(key) == plain[1].get(key)}
            changed = [key for key in changed if key not in moved]
        elif kind == "files":
            others = {*before.values()} ^ {*after.values()}
            changed = [key for key in changed if others & {before.get(key), after.get(key)}]
        if not changed:
            continue
        if kind == "options":
            reasons += [change(key, before.get(key), after.get(key)) for key in changed]
        elif kind == "needs":
            reasons.append(f"{', '.join(changed)} changed")
        else:
            shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            reasons.append(f"{'code' if kind == 'code' else 'contents'} changed: {shown}")
    if old.get("seed") != new.get("seed"):
        reasons.append(f"seed was {old.get('seed')}, is {new.get('seed')}")
    return "; ".join(reasons) or "made by another version"


class FileHashes:
    """SHA-256 of the user's files, remembered so that big ones are read once.

    A hash is taken for good as long as the file has the same size, inode and times. The time of the inode's
    last change nobody can set: text of the same size and date shows in it.

    Parameters
    ----------
    store : Path, optional
        A JSON file to remember them in; None remembers nothing beyond this process.
    write : bool
        Whether to remember more than is there.
    """

    def __init__(self, store: Path | None, *, write: bool = True) -> None:
        self._store = store if write else None
        self._known: dict[str, list[Any]] = {} if store is None else read_sealed(store) or {}

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
            stamp = [state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns]
            known = self._known.get(str(path))
            if known is not None and known[:-1] == stamp:
                return str(known[-1])
            settled = time.time() - max(state.st_mtime, state.st_ctime) > _SETTLED
            with open(path, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; mend the path in the configuration") from None
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); mend its rights or the path"
            ) from None
        if settled:
            self._known[str(path)] = [*stamp, found]
        self._save()
        return found

    def _save(self) -> None:
        if self._store is None:
            return
        folder = self._store.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_sealed(self._store, self._known)
        except OSError as error:
            raise WorkError(
                f"{folder}: the work folder cannot be written ({error.strerror}); free space, mend its "
                "rights, or give another --workdir"
            ) from None


def change(option: str, before: Any, after: Any) -> str:
    """Say in words how the value of an option has changed; None is none that was set."""
    was, now = ("not set" if value is None else repr(value) for value in (before, after))
    return f"{option} was {was}, is {now}"
