"""The parser of all command lines: negative numbers are values, and wrong usage is one line."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

# What float() takes, with a minus: argparse itself takes -1e-3 for an option.
_NEGATIVE = re.compile(
    r"-(?:(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[-+]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE | re.ASCII
)


class Parser(argparse.ArgumentParser):
    """Parses a command line as :class:`argparse.ArgumentParser` does, but for two things.

    A word that is a negative number in any notation (``-1``, ``-.5``, ``-1e-3``, ``-inf``) is a value, never
    an option: no option may look like one. And wrong usage is told in one line that names the option and says
    where help is; the exit status is 2. Parsers of subcommands are of the same class.
    """

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line."""
        told = " ".join(message.split()).removeprefix("argument ")
        self.exit(2, f"error: {told}; {self.prog} --help lists the options\n")

    def _parse_optional(self, arg_string: str) -> Any:
        return None if _NEGATIVE.fullmatch(arg_string) else super()._parse_optional(arg_string)
