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
from dataclasses import dataclass
from typing import Any, TypeVar

from align.core.errors import InputError

REQUIRED = inspect.Parameter.empty

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
    """One key of a section.

    Attributes
    ----------
    name : str
        The key.
    kind : type
        ``bool``, ``int``, ``float``, ``str`` or ``list`` (of strings).
    optional : bool
        Whether the key may be absent with no value at all (``None``).
    default : Any
        The default, :data:`REQUIRED` where there is none.
    meaning : str
        One paragraph from the docstring.
    range : Range or None
        What values fit, besides None where that is the default; None: all do.
    """

    name: str
    kind: type
    optional: bool
    default: Any
    meaning: str
    range: Range | None = None

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
        kind, optional = _kind(annotation)
        found[name] = Option(name, kind, optional, parameter.default, meanings.get(name, ""), ranges[0])
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
        return [piece.strip() for piece in text.split(",")]
    if option.kind is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
    else:
        try:
            return _bounded(option.kind(text))
        except ValueError:
            pass
    raise InputError(f"{where}: {text!r} is no {_name(option)}; give {_example(option)}")


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
        fits = all(isinstance(piece, str) for piece in value)
    try:
        if fits:
            return _bounded(value)
    except ValueError:
        pass
    raise InputError(f"{where}: {value!r} is no {_name(option)}; give {_example(option)}")


def _bounded(value: Any) -> Any:
    """Return a value, but no whole number that an array or a counter cannot hold.

    Raises
    ------
    ValueError
        If it has more than 64 bits.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError
    return value


def _kind(annotation: Any) -> tuple[type, bool]:
    optional = False
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        arguments = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        optional = len(arguments) < len(typing.get_args(annotation))
        if len(arguments) != 1:
            raise TypeError(f"an option cannot be {annotation}")
        annotation = arguments[0]
    kind = typing.get_origin(annotation) or annotation
    if kind not in (bool, int, float, str, list):
        raise TypeError(f"an option cannot be {annotation}")
    return kind, optional


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


def _name(option: Option) -> str:
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", list: "list of texts"}
    return names[option.kind]


def _example(option: Option) -> str:
    examples = {bool: "true or false", int: "for example 100", float: "for example 0.01"}
    return examples.get(option.kind, 'for example "fr"' if option.kind is str else 'for example ["a", "b"]')


def _toml_value(text: str, where: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raise InputError(f'{where}: {text!r} is no list; give for example ["a", "b"]') from None
