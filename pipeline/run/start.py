"""The first moment of a program: that the package ``align`` is Liaison's."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def start(module: str, *, by_command: bool = False) -> int:
    """Call ``main()`` of a module, as :func:`align.cli.starting.start` does, and return the exit status.

    Raises
    ------
    SystemExit
        With status 2 and one line, if ``align`` is not the package that came with this one: Python takes the
        first of that name, and a file ``align.py`` of the user's may come before.
    """
    ours = Path(__file__).resolve().parents[2] / "align" / "__init__.py"
    found = find_spec("align")
    place = None if found is None else found.origin
    if place is None or Path(place).resolve() != ours:
        sys.stderr.write(
            f"error: {place or 'no package align'}: is imported in place of {ours.parent}; rename it, or "
            "leave its folder out of PYTHONPATH, or use the command liaison\n"
        )
        sys.exit(2)
    from align.cli.starting import start as start_module

    return start_module(module, by_command=by_command)
