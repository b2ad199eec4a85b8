"""The frame of the command line: finding the command, exit status, one-line errors."""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

from align.cli.arguments import Parser, examples_text
from align.cli.terminal import give_up_stdout, say, use_utf8
from align.core.errors import InputError, LiaisonError, WorkError, is_out_of_memory
from align.core.files import WRITE_FAULTS
from align.core.signals import stoppable
from align.core.version import __version__

COMMANDS = {
    "links": "align sentence pairs with a model",
    "score": "compare links with gold links: AER, precision, recall, F1",
    "explain": "say why a model links what it links in one pair",
    "convert": "turn links from one format into another",
    "combine": "put links of both directions together",
    "lexicon": "write word pairs with counts and probabilities",
    "learn": "learn a model's weights further from pairs linked by hand",
    "models": "list models, or tell about one",
    "serve": "open the desk in a browser: look, correct, learn, compare",
}


class Program(NamedTuple):
    """How the command line is called, and what it can do beside :data:`COMMANDS`.

    Attributes
    ----------
    name : str
        As users write it.
    others : mapping
        Of a command its summary and its module, which has ``add_arguments`` and ``run``; one of a name that
        is in :data:`COMMANDS` takes its place.
    """

    name: str = "python -m align"
    others: Mapping[str, tuple[str, str]] = {}

    def commands(self) -> dict[str, str]:
        """Return all commands with their summaries."""
        return COMMANDS | {name: summary for name, (summary, _) in self.others.items()}

    def load(self, name: str) -> ModuleType:
        """Import the module of a command.

        Raises
        ------
        WorkError
            If it is not there, or a package that it needs.
        """
        module = self.others[name][1] if name in self.others else f"align.cli.{name}"
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name == module:
                raise WorkError(
                    f"{name}: this installation does not have the command; install it again"
                ) from error
            raise WorkError(
                f"{name}: the package {error.name} is missing; pip install {error.name}"
            ) from error


def main(arguments: Sequence[str] | None = None, *, program: Program | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 the work failed, 2 wrong usage or input.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of this process where None.
    program : Program, optional
        What is called; ``python -m align`` where None.
    """
    use_utf8()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    with stoppable() as stopping:
        try:
            try:
                return _run(arguments, program or Program())
            finally:
                # Here, not at exit, where a failure could no longer be told.
                if sys.stdout is not None:
                    sys.stdout.flush()
        except KeyboardInterrupt:
            return stopping.exit_status
        except Exception as error:
            # What breaks because of a stop is not told as a failure.
            return stopping.exit_status if stopping.number else _tell(error, arguments)


def _tell(error: Exception, arguments: Sequence[str]) -> int:
    """Print a failure as one line and return the exit status it stands for."""
    if isinstance(error, OSError) and error.filename is None:
        give_up_stdout()
    if isinstance(error, BrokenPipeError):
        # Whoever read the output has gone, as `head` does: nothing to tell.
        return 1
    if "--debug" in arguments:
        traceback.print_exc()
    failure = _as_liaison_error(error)
    say(f"error: {failure}")
    return failure.exit_status


def _run(arguments: list[str], program: Program) -> int:
    """Parse the words and run their command."""
    name = next((word for word in arguments if not word.startswith("-")), "")
    # Only the command that is asked for is imported: the others would bring numba, pandas and nltk.
    modules = {name: program.load(name)} if name in program.commands() else {}
    args = parser_of(program, modules).parse_args(arguments)
    status = modules[name].run(args)
    return int(status)


def parser_of(program: Program, modules: Mapping[str, ModuleType]) -> argparse.ArgumentParser:
    """Return the parser of a program; only the commands of ``modules`` have their options."""
    debug = Parser(add_help=False)
    debug.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show where in the code an error arose",
    )
    parser = Parser(
        prog=program.name,
        description="Word alignment for bilingual text.",
        epilog=f"{program.name} COMMAND --help tells the options of a command, with examples.",
        parents=[debug],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"liaison {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command, summary in program.commands().items():
        module = modules.get(command)
        one = commands.add_parser(
            command,
            help=summary,
            description=module.__doc__ if module else summary,
            epilog=examples_text(program.name, module.EXAMPLES) if module else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[debug],
            allow_abbrev=False,
        )
        if module:
            module.add_arguments(one)
    return parser


def _as_liaison_error(error: Exception) -> LiaisonError:
    """Return the error a user is told of for any exception."""
    if isinstance(error, LiaisonError):
        return error
    if is_out_of_memory(error):
        return WorkError("out of memory; give it less at once, or a machine with more")
    if isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        return InputError(f"{error.filename or 'file'}: {error.strerror}; check the path")
    if isinstance(error, OSError):
        name = error.filename or "<stdout>"
        if error.errno == errno.EROFS:
            return InputError(f"{name}: {error.strerror}; name a place that can be written to")
        if error.errno == errno.EFBIG:
            return WorkError(f"{name}: {error.strerror}; {WRITE_FAULTS[errno.EFBIG][1]} or check the disk")
        return WorkError(f"{name}: {error.strerror or error}; free space or check the disk")
    if isinstance(error, UnicodeEncodeError):
        odd = ascii(error.object[error.start : error.end])
        return InputError(f"{odd} in a name or a text is no character; give UTF-8")
    return WorkError(f"internal fault: {type(error).__name__}: {error}; run with --debug and report it")
