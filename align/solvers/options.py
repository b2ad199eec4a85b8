"""Options of a solver: each declared once, as a field of its dataclass.

The field's annotation and default are the option's, its range is told here, its meaning stands in the
docstring of the class (numpydoc ``Parameters``). Whoever lists, sets, checks or records options asks the
class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import Field, field
from typing import Any


class OptionError(ValueError):
    """A value is out of its option's range.

    Attributes
    ----------
    option : str
        The option.
    value : Any
        The value.
    wanted : str
        What fits.
    """

    def __init__(self, owner: str, option: str, value: Any, wanted: str) -> None:
        super().__init__(f"{owner}: {option} is {value!r}; give {wanted}")
        self.option, self.value, self.wanted = option, value, wanted


def option(default: Any, wanted: str, fits: Callable[[Any], bool]) -> Any:
    """Declare an option: its default, in words what fits, and a test; a default None fits, too."""
    if default is None:
        wanted = f"{wanted}, or None"
    return field(default=default, metadata={"wanted": wanted, "fits": fits})


def positive(default: float | None, what: str = "a number") -> Any:
    """Declare a finite number above 0."""
    return option(default, f"{what} above 0", lambda value: 0 < value < math.inf)


def at_least(least: int, default: int) -> Any:
    """Declare a whole number."""
    return option(default, f"at least {least}", lambda value: value >= least)


def flag(default: bool) -> Any:
    """Declare a choice of true or false."""
    return option(default, "true or false", lambda value: isinstance(value, bool))


def one_of(default: str, *others: str) -> Any:
    """Declare a choice among words."""
    words = (default, *others)
    return option(default, f"one of {', '.join(words)}", lambda value: value in words)


def check(owner: str, declared: Field[Any], value: Any) -> None:
    """Refuse a value that is out of the range of a field; one declared without a range has none."""
    fits = declared.metadata.get("fits")
    if fits is not None and not (value is None and declared.default is None) and not fits(value):
        raise OptionError(owner, declared.name, value, declared.metadata["wanted"])
