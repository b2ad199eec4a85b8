"""The code version of a stage: a hash of the modules it runs, found by following their imports.

Comments, docstrings and layout do not count: the syntax tree is hashed, not the text.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.work.publish import write_json

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("align", "pipeline")
PAGE_PARTS = (".html", ".css", ".js")

# These move, name and start stages but do not touch what a stage computes.
INFRASTRUCTURE = frozenset(
    f"pipeline.{name}"
    for name in (
        "config.configuration",
        "config.options",
        "work.code_version",
        "work.engine",
        "work.fingerprint",
        "work.manifest",
        "work.progress",
        "work.stage",
        "work.worker",
    )
) | {"align.core.errors"}


def modules_of(module: str, *, root: Path = ROOT) -> dict[str, str]:
    """Return the hash of every module a stage runs.

    Parameters
    ----------
    module : str
        The stage's own module, for example ``"pipeline.stages.lexicon.stage"``.
    root : Path
        The folder that holds the packages.

    Returns
    -------
    dict of str to str
        Dotted module name to the first 16 hexadecimal digits of the SHA-256 of its syntax tree, in
        alphabetical order; the module itself and all that it imports of this project, at any depth.
    """
    found: dict[str, str] = {}
    before = len(_remembered())
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or name in INFRASTRUCTURE:
            continue
        path = _path(name, root)
        if path is None:
            continue
        found[name], imported = _read(path, name)
        waiting.extend(imported)
    _remember(before)
    return dict(sorted(found.items()))


def _path(name: str, root: Path) -> Path | None:
    # Asked thousands of times at every start: without an object for each name that is none.
    base = os.path.join(root, *name.split("."))
    for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return Path(candidate)
    return None


def _read(path: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """Hash one module and list what it imports; remembered by its contents from one start to the next.

    A package counts with the page parts (styles, scripts, templates) that lie beside its ``__init__.py``.
    """
    text = path.read_bytes()
    parts = b""
    if path.name == "__init__.py":
        for part in sorted(path.parent.iterdir()):
            if part.suffix in PAGE_PARTS:
                parts += part.name.encode() + b"\0" + part.read_bytes()
    key = hashlib.sha256(b"\0".join([name.encode(), path.name.encode(), text, parts])).hexdigest()
    known = _remembered()
    if key not in known:
        digest, imported = _parsed(text, name if path.name == "__init__.py" else name.rpartition(".")[0])
        found = hashlib.sha256(parts + digest.encode()).hexdigest()[:16]
        known[key] = [found, imported]
    return known[key][0], tuple(known[key][1])


def _parsed(text: bytes, package: str) -> tuple[str, list[str]]:
    """Return a module's code without comments, docstrings and layout, and what it imports."""
    tree = ast.parse(text)
    imported = sorted(_imports(tree, package))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[0] = ast.Expr(ast.Constant(""))
    # unparsed rather than dumped: the text of a tree is the same from one Python version to the next
    return ast.unparse(tree), imported


def _store() -> Path:
    """Return the file that remembers: another for every version of this module and of Python."""
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    return (
        Path(__file__).parent / "__pycache__" / f"code-{own}-{sys.version_info[0]}{sys.version_info[1]}.json"
    )


@cache
def _remembered() -> dict[str, list[Any]]:
    try:
        known = json.loads(_store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _remember(before: int) -> None:
    """Store what was parsed anew; where that cannot be, the next start parses again."""
    known, store = _remembered(), _store()
    if len(known) == before:
        return
    with contextlib.suppress(OSError):
        store.parent.mkdir(exist_ok=True)
        write_json(store, known)


def _that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree without those of its lazy and its type checker's imports."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting.extend(node.orelse)
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _imports(tree: ast.AST, package: str) -> set[str]:
    """Name every module the tree imports, and every name that might be one.

    What stands in a module's ``__getattr__`` is imported for those who ask for a name, and what stands under
    ``if TYPE_CHECKING`` never: neither counts for all who import the module. A stage must therefore import a
    lazy name from the module that has it.
    """
    names: set[str] = set()
    for node in _that_run(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return {name for name in names if name.split(".")[0] in PACKAGES}
