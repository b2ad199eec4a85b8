"""Options as the keyword-only arguments of functions: name, type, default and meaning exist once.

A section of the configuration (``[train]``) belongs to one function; its keyword-only arguments are the
section's keys, their annotations the types, their docstring (numpydoc ``Parameters``) the meaning. What
values fit stands in the annotation too (``Annotated[int, at_least(1)]``): such options are checked when the
configuration is read, before any stage is run.
"""

from __future__ import annotations

import inspect
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from align.core.errors import InputError

REQUIRED = inspect.Parameter.empty

# The types of options, with their names and an example.
KINDS: dict[type, tuple[str, str]] = {
    bool: ("true or false", "true or false"),
    int: ("whole number", "for example 100"),
    float: ("number", "for example 0.01"),
    str: ("text", 'for example "fr"'),
    list: ("list of texts", 'for example ["a", "b"]'),
}

# The same of lists whose pieces are not texts alone.
LISTS: dict[tuple[type, ...], tuple[str, str]] = {
    (int,): ("list of whole numbers", "for example [2, 3]"),
    (int, str): ("list of whole numbers or texts", 'for example [2, 3] or ["a", "b"]'),
}

# Where :func:`takes_also` keeps them.
_FURTHER = "further_options"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """What values of an option may be: in words, and a test."""

    wanted: str
    fits: Callable[[Any], bool]


FINITE = Range("a finite number", math.isfinite)


def at_least(least: float) -> Range:
    """Return the range of finite numbers from ``least`` on."""
    return Range(f"{least} or more", lambda value: least <= value < math.inf)


def above(least: float) -> Range:
    """Return the range of finite numbers above ``least``."""
    return Range(f"more than {least}", lambda value: least < value < math.inf)


def between(least: float, most: float) -> Range:
    """Return the range of numbers from ``least`` to ``most``."""
    return Range(f"{least} to {most}", lambda value: least <= value <= most)


def one_of(*words: str) -> Range:
    """Return a choice of words."""
    return Range(f"one of {', '.join(words)}", lambda value: value in words)


@dataclass(frozen=True)
class Option:
    """One key of a section."""

    name: str
    kind: type  # one of KINDS
    optional: bool  # whether it may be absent with no value at all (None)
    default: Any  # REQUIRED where there is none
    meaning: str  # one paragraph from the docstring
    range: Range | None = None  # what values fit, besides None where that is the default; None: all do
    pieces: tuple[type, ...] = (str,)  # of a list: the types of its pieces, numbers first

    @property
    def described(self) -> tuple[str, str]:
        """The name of its type, and an example."""
        return LISTS.get(self.pieces, KINDS[list]) if self.kind is list else KINDS[self.kind]

    def check(self, value: Any, where: str) -> None:
        """Check that a value fits.

        Raises
        ------
        InputError
            If it does not.
        """
        absent = value is None and self.optional
        if self.range is not None and not absent and not self.range.fits(value):
            raise InputError(f"{where}: {value!r} is out of range; give {self.range.wanted}")


def takes_also(options: Mapping[str, Option]) -> Callable[[Function], Function]:
    """Let a function that takes ``**options`` have options that are declared elsewhere, after its own."""

    def mark(function: Function) -> Function:
        setattr(function, _FURTHER, options)
        return function

    return mark


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the options of a function: its keyword-only arguments, in order, and those it takes also.

    Of a class they are the arguments of its instances; their meanings may stand with those it inherits from.

    Raises
    ------
    TypeError
        If an annotation is none of the supported types (a fault of the program, not of the user).
    """
    hints = typing.get_type_hints(function, include_extras=True)
    documented = reversed(function.__mro__) if isinstance(function, type) else (function,)
    meanings: dict[str, str] = {}
    for each in documented:
        meanings |= _meanings(inspect.cleandoc(each.__doc__ or ""))
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        annotation, ranges = hints[name], [None]
        if typing.get_origin(annotation) is typing.Annotated:
            annotation, *ranges = typing.get_args(annotation)
        kind, optional, pieces = _kind(annotation)
        found[name] = Option(
            name, kind, optional, parameter.default, meanings.get(name, ""), ranges[0], pieces
        )
    return found | getattr(function, _FURTHER, {})


def from_text(option: Option, text: str, where: str) -> Any:
    """Turn the text of ``--set key=value`` into the option's type.

    Raises
    ------
    InputError
        If the text is no value of that type.
    """
    if option.kind is str:
        return text
    if option.kind is list:
        if text.startswith("["):
            return from_toml(option, _toml_value(text, where), where)
        return [_piece(option, piece.strip(), text, where) for piece in text.split(",")]
    if option.kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
    else:
        with suppress(ValueError):
            value = option.kind(text)
            if _is_bounded(value):
                return value
    raise _wrong(option, text, where)


def from_toml(option: Option, value: Any, where: str) -> Any:
    """Check a value read from TOML against the option's type; an integer serves as a float.

    Raises
    ------
    InputError
        If the type does not fit.
    """
    if option.kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    fits = isinstance(value, option.kind) and (option.kind is bool or not isinstance(value, bool))
    if fits and option.kind is list:
        fits = all(isinstance(piece, option.pieces) and not isinstance(piece, bool) for piece in value)
        fits = fits and all(map(_is_bounded, value))
    if fits and _is_bounded(value):
        return value
    raise _wrong(option, value, where)


def _piece(option: Option, piece: str, text: str, where: str) -> Any:
    """Return a piece of the text of a list as its first type that it fits."""
    for kind in option.pieces:
        with suppress(ValueError):
            value = kind(piece)
            if _is_bounded(value):
                return value
    raise _wrong(option, text, where)


def _is_bounded(value: Any) -> bool:
    """Tell whether a value is no whole number of more than 64 bits, which no array or counter can hold."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _kind(annotation: Any) -> tuple[type, bool, tuple[type, ...]]:
    """Return the type of an option, whether it may be None, and the types of the pieces of a list."""
    optional = False
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        arguments = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        optional = len(arguments) < len(typing.get_args(annotation))
        if len(arguments) != 1:
            raise TypeError(f"an option cannot be {annotation}")
        annotation = arguments[0]
    kind = typing.get_origin(annotation) or annotation
    if kind not in KINDS:
        raise TypeError(f"an option cannot be {annotation}")
    pieces = typing.get_args(annotation) or (str,)
    if isinstance(pieces[0], types.UnionType):
        pieces = typing.get_args(pieces[0])
    if kind is list and pieces != (str,) and pieces not in LISTS:
        raise TypeError(f"an option cannot be {annotation}")
    return kind, optional, pieces


def _meanings(docstring: str) -> dict[str, str]:
    """Read the ``Parameters`` section of a numpydoc docstring."""
    section = re.search(r"^(?:Other )?Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.S | re.M)
    if section is None:
        return {}
    meanings: dict[str, str] = {}
    entry = re.compile(r"^(\w+(?:, \w+)*) ?:[^\n]*\n((?:[ \t]+[^\n]*\n?|\n)*)", re.M)
    for names, body in entry.findall(section.group(1) + "\n"):
        for name in names.split(", "):
            meanings[name] = " ".join(body.split())
    return meanings


def _wrong(option: Option, value: Any, where: str) -> InputError:
    name, example = option.described
    return InputError(f"{where}: {value!r} is no {name}; give {example}")


def _toml_value(text: str, where: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        raise InputError(f'{where}: {text!r} is no list; give for example ["a", "b"]') from None
