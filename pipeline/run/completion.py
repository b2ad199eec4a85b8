"""Print what makes a shell complete the commands and options of liaison, and names of files.

It is made once, by shtab (pip install "liaison-align[completion]"), so that no Python is started by a TAB.
"""

from __future__ import annotations

import argparse
from typing import Any

from align.cli.main import Program, parser_of
from align.core.errors import WorkError
from pipeline.run.liaison import OTHERS, PROGRAM

SHELLS = ("bash", "zsh", "tcsh")

EXAMPLES = (
    "completion bash > ~/.local/share/bash-completion/completions/liaison",
    "completion zsh > ~/.zfunc/_liaison",
)

# What the value of an option is told to be, where it is a path.
_FILES = frozenset(("FILE", "FILE.toml", "NAME", "FOLDER"))
_FOLDERS = frozenset(("DIR",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise WorkError("completion: the package shtab is missing; pip install shtab") from None
    program = Program(PROGRAM, OTHERS)
    parser = parser_of(program, {name: program.load(name) for name in program.commands()})
    _mark_paths(parser, shtab.FILE, shtab.DIRECTORY)
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _mark_paths(parser: argparse.ArgumentParser, files: Any, folders: Any) -> None:
    """Tell which options take paths, of all commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _mark_paths(each, files, folders)
        elif action.metavar in _FILES:
            action.complete = files  # type: ignore[attr-defined]
        elif action.metavar in _FOLDERS:
            action.complete = folders  # type: ignore[attr-defined]
