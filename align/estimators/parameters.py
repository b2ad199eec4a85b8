"""Parameters of an estimator: named by its ``__init__``, kept as they are given, checked by ``fit``."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from align.core.errors import InputError

Self = TypeVar("Self", bound="Parameters")


class Wanted(NamedTuple):
    """What fits a parameter, in words, and a test."""

    words: str
    fits: Callable[[Any], bool]


def number(words: str, fits: Callable[[float], bool]) -> Wanted:
    """Return a range of finite numbers; truth values are none."""
    return Wanted(words, lambda value: is_number(value) and math.isfinite(value) and fits(value))


def whole(words: str, least: int) -> Wanted:
    """Return the whole numbers from ``least`` on."""
    return Wanted(words, lambda value: is_number(value) and value == int(value) and value >= least)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number as people write them, or one of numpy's."""
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


class Parameters:
    """What estimators have in common: ``get_params``, ``set_params``, a representation that makes them again.

    The parameters are the arguments of ``__init__``, which does nothing but keep them.
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        known = inspect.signature(cls).parameters
        return {name: each.default for name, each in known.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Without effect: no parameter has parameters.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: Self, **parameters: Any) -> Self:
        """Change parameters, which count from the next ``fit`` on.

        Raises
        ------
        InputError
            If there is no such parameter; then none is changed.
        """
        known = self._defaults()
        for name in parameters:
            if name not in known:
                raise InputError(
                    f"{type(self).__name__}: no parameter {name!r}; there are {', '.join(known)}"
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the parameters that are not the default."""
        defaults = self._defaults()
        given = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, defaults[k])]
        return f"{type(self).__name__}({', '.join(given)})"

    def _checked(self, wanted: dict[str, Wanted]) -> dict[str, Any]:
        """Return the parameters, each of which fits."""
        values = self.get_params()
        for name, each in wanted.items():
            if not each.fits(values[name]):
                raise InputError(f"{type(self).__name__}: {name} is {values[name]!r:.80}; give {each.words}")
        return values


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
