"""The code version of a stage: a hash of the modules it runs, found by following their imports.

Comments, docstrings and layout do not count: the syntax tree is hashed, not the text.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("align", "pipeline")
PAGE_PARTS = (".html", ".css", ".js")

# These move, name and start stages but do not touch what a stage computes.
INFRASTRUCTURE = frozenset(
    f"pipeline.{name}"
    for name in ("code", "config", "engine", "graph", "manifest", "options", "progress", "runner", "stage")
) | {"align.errors"}


def modules_of(module: str, *, root: Path = ROOT) -> dict[str, str]:
    """Return the hash of every module a stage runs.

    Parameters
    ----------
    module : str
        The stage's own module, for example ``"pipeline.lexicon"``.
    root : Path
        The folder that holds the packages.

    Returns
    -------
    dict of str to str
        Dotted module name to the first 16 hexadecimal digits of the SHA-256 of its syntax tree, in
        alphabetical order; the module itself and all that it imports of this project, at any depth.
    """
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or name in INFRASTRUCTURE:
            continue
        path = _path(name, root)
        if path is None:
            continue
        found[name], imported = _read(path, name, _changed(path))
        waiting.extend(imported)
    return dict(sorted(found.items()))


def _path(name: str, root: Path) -> Path | None:
    base = root.joinpath(*name.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _changed(path: Path) -> int:
    """Return when a module, or any file beside a package's ``__init__.py``, was last changed."""
    beside = path.parent.iterdir() if path.name == "__init__.py" else [path]
    return max(each.stat().st_mtime_ns for each in beside if each.is_file())


@lru_cache(maxsize=1024)
def _read(path: Path, name: str, _stamp: int) -> tuple[str, tuple[str, ...]]:
    """Hash one module and list what it imports; cached until the file changes.

    A package counts with the page parts (styles, scripts, templates) that lie beside its ``__init__.py``.
    """
    tree = ast.parse(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imported = tuple(sorted(_imports(tree, package)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            body[0] = ast.Expr(ast.Constant(""))
    found = hashlib.sha256()
    if path.name == "__init__.py":
        for part in sorted(path.parent.iterdir()):
            if part.suffix in PAGE_PARTS:
                found.update(part.name.encode() + b"\0" + part.read_bytes())
    # unparsed rather than dumped: the text of a tree is the same from one Python version to the next
    found.update(ast.unparse(tree).encode())
    return found.hexdigest()[:16], imported


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
