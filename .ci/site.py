"""What the site needs beside mkdocs.yml: the pages that stand outside docs/, and links that lead to them.

In the repository a page is linked by where it lies, as ``../CONTRIBUTING.md``, so that the link works on a
code host; the site has all pages below one folder.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# Where the site has these is where the repository has them.
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "data/sample/README.md",
    "models/README.md",
    "models/en-fr/MODEL.md",
)

# What the site leaves to its first page.
FIRST = "README.md"

LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that stand outside the folder."""
    from mkdocs.structure.files import File

    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between places of the repository into links between places of the site."""
    name = page.file.src_uri
    place = name if name in OUTSIDE else f"docs/{name}"
    return LINK.sub(lambda link: _turned(link, place, name), markdown)


def _turned(link: re.Match[str], place: str, name: str) -> str:
    """Return a link of a page as the site has it."""
    aim = posixpath.normpath(posixpath.join(posixpath.dirname(place), link[1]))
    aim = "index.md" if aim == FIRST else aim.removeprefix("docs/")
    return f"]({posixpath.relpath(aim, posixpath.dirname(name) or '.')}{link[2] or ''})"
