"""A property that is computed once an object, without the lock of ``functools.cached_property``.

That lock, of Python 3.11, is one for all objects of a class: threads that make the same property of
different objects would wait for each other. Here two threads that want one property of one object may both
compute it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """Turn a method into an attribute that is computed when it is first read."""

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[Value] | Value:
        if instance is None:
            return self
        # An attribute of the object itself goes before this one from now on.
        value = instance.__dict__[self._name] = self._function(instance)
        return value
