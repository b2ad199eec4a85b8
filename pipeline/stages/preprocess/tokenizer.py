"""The code behind a tokenizer's name: a user's own may change between two runs, its name does not."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from align.text.segmenters import SEGMENTERS

# Sentences are split by it, whatever the tokenizer is.
_SPLITTER = "nltk"


def own_files(name: str) -> list[Path]:
    """Return the Python files of a tokenizer of the user's own, in alphabetical order.

    Parameters
    ----------
    name : str
        As of the option; of all but ``module:function`` there are none.

    Returns
    -------
    list of Path
        Those of the module, or of its whole package, and of the modules beside it that it imports; none where
        it cannot be found (which the stage tells when it asks for the tokenizer).
    """
    module, _, function = name.partition(":")
    if not function or module == "nltk":
        return []
    found: dict[str, list[Path]] = {}
    waiting, folder = [module.partition(".")[0]], None
    while waiting:
        top = waiting.pop()
        if top in found:
            continue
        place = _place(top)
        if place is None or (folder is not None and place.parent != folder):
            continue
        folder = place.parent
        found[top] = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        # What lies beside an installed module is no part of it.
        if not {"site-packages", "dist-packages"}.intersection(folder.parts):
            waiting += [each for path in found[top] for each in _imported(path)]
    return sorted(path for paths in found.values() for path in paths)


def code_of(tokenizers: Iterable[str]) -> str:
    """Return a hash of the code that some tokenizers run, and of the versions of packages they use."""
    found = blake2b(digest_size=16)
    for name in tokenizers:
        found.update(f"{name}\n".encode())
        for path in own_files(name):
            text = path.read_bytes()
            found.update(f"{path.parent.name}/{path.name} {len(text)}\n".encode() + text)
        for package in (name, _SPLITTER) if name in SEGMENTERS else (_SPLITTER,):
            found.update(f"{package} {_version(package)}\n".encode())
    return found.hexdigest()


def _place(top: str) -> Path | None:
    """Return the file of a module or the folder of a package, None where it has no files."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        place = Path(next(iter(spec.submodule_search_locations)))
    else:
        place = Path(spec.origin or "")
    return place if place.is_dir() or place.suffix == ".py" else None


def _imported(path: Path) -> Iterator[str]:
    """Yield the first part of the names of the modules that a file imports."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
