"""The parser of all command lines, and types of arguments: wrong usage is told in one line."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from align.core.errors import InputError
from align.data.columns import Columns, check_columns, parse_columns

# What float() takes, with a minus: argparse itself takes -1e-3 for an option.
_NEGATIVE = re.compile(
    r"-(?:(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE | re.ASCII
)

# A language tag (BCP 47), without the rules for what stands at which place.
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*", re.ASCII)


class Parser(argparse.ArgumentParser):
    """Parses a command line as :class:`argparse.ArgumentParser` does, but for three things.

    A word that is a negative number in any notation (``-1``, ``-.5``, ``-1e-3``, ``-inf``) is a value, never
    an option: no option may look like one. And wrong usage is told in one line that names the option and says
    where help is; the exit status is 2. Words that are left over are told by the parser of the subcommand, to
    which they were given, with the options that a file may belong to. Parsers of subcommands are of the same
    class.
    """

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line."""
        told = " ".join(message.split()).removeprefix("argument ")
        self.exit(2, f"error: {told}; {self.prog} --help lists the options\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; nothing is left over, or it is an error here, not in the parser of all commands."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            free = [] if any(word.startswith("-") for word in left) else self._free(found)
            hint = f"; write the option before it, as {', '.join(free)}" if free else ""
            self.error(f"unrecognized arguments: {' '.join(left)}{hint}")
        return found, left

    def _free(self, found: argparse.Namespace) -> list[str]:
        """Return the first options that take a file to read and were not given."""
        files = [each for each in self._actions if str(each.metavar).startswith("FILE")]
        free = [each for each in files if getattr(found, each.dest) == each.default]
        return [each.option_strings[-1] for each in free if each.dest != "output"][:3]

    def _parse_optional(self, arg_string: str) -> Any:
        return None if _NEGATIVE.fullmatch(arg_string) else super()._parse_optional(arg_string)


def examples_text(program: str, examples: Sequence[str]) -> str:
    """Return what stands below the options of a command: lines that can be typed."""
    return "\n".join(["examples:", *(f"  {program} {example}".rstrip() for example in examples)])


def add_model(parser: argparse.ArgumentParser) -> None:
    """Declare the options that choose a model."""
    parser.add_argument(
        "-m", "--model", metavar="NAME", help="a model's folder, or a known model (that of --languages)"
    )
    parser.add_argument(
        "--languages",
        type=languages,
        metavar="SOURCE-TARGET",
        help="as en-fr; pt-BR,en where a code has a hyphen itself",
    )


def check_new_folder(folder: Path) -> None:
    """Raise an InputError where a folder that is to be written to holds something."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; give a new folder")


def natural(text: str) -> int:
    """Return a whole number >= 0."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number >= 0")
    return int(text)


def finite(text: str) -> float:
    """Return a finite number."""
    number = _float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no number; give for example 0.5 or -0.5")
    return number


def probability(text: str) -> float:
    """Return a number in [0, 1]."""
    number = _float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not in [0, 1]; give for example 0.1")
    return number


def languages(text: str) -> tuple[str, str]:
    """Return two language codes: ``en-fr``, or ``pt-BR,en`` where one has a hyphen itself."""
    codes = text.split("," if "," in text else "-")
    if len(codes) != 2 or not all(_LANGUAGE.fullmatch(code) for code in codes):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not two language codes; give for example en-fr, or pt-BR,en"
        )
    if codes[0].lower() == codes[1].lower():
        raise argparse.ArgumentTypeError(f"{text!r} names one language twice; give for example en-fr")
    return codes[0], codes[1]


def columns(text: str) -> Columns:
    """Return two columns by their numbers from 1, ``2,3``, or by their names, ``source,target``."""
    return _columns(text, (2,))


def add_link_columns(parser: argparse.ArgumentParser, name: str = "--columns", of: str = "a row") -> None:
    """Declare an option for the columns of a file of links."""
    parser.add_argument(
        name,
        type=lambda text: _columns(text, (1, 3)),
        metavar="L or S,T,L",
        help=f"which field of {of}, between TABs or |||, holds the links: its number from 1, or a name that "
        "the first row has; or three: source, target, links",
    )


def _columns(text: str, counts: tuple[int, ...]) -> Columns:
    found = parse_columns(text)
    try:
        check_columns(found, counts=counts)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None
    return found


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
