"""The command ``liaison``: the commands of ``python -m align``, the pipeline as ``run``, and more.

As an installed program it does not look for modules in the current folder, as ``python -m`` does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.run.start import start

PROGRAM = "liaison"

# Of each its summary and its module.
OTHERS = {
    "run": (
        "align a whole corpus, from raw text to links (the embedded sample, or --config)",
        "pipeline.run.command",
    ),
    "models": ("list models, tell about one, or fetch one by name", "pipeline.run.models"),
    "completion": ("print what makes a shell complete commands and options", "pipeline.run.completion"),
}


def begin() -> int:
    """Run the command of this process."""
    return start(__name__, by_command=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status, as :func:`align.cli.main.main` does.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of this process where None.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    place = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if place is not None and words[place] == "run":
        from pipeline.run.command import main as run

        return run(words[:place] + words[place + 1 :], program=f"{PROGRAM} run")
    from align.cli.main import Program
    from align.cli.main import main as run_command

    return run_command(words, program=Program(PROGRAM, OTHERS))
