"""Fields of results that are computed when they are first read, as few ask for them and they take long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

NONE: Mapping[str, Any] = MappingProxyType({})
"""A field without entries."""


class Later:
    """What a field holds until it is first read: how to make its value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def of(self, field: str) -> Any:  # noqa: ARG002
        """The value of the field, whose name only those need that make several."""
        return self.make()


class LaterFields(Later):
    """What several fields hold until they are first read: each is made by the method of its name."""

    def of(self, field: str) -> Any:
        """The value of the field."""
        return getattr(self, field)()


class _Once:
    """Two values that are made together, when one of them is first asked for."""

    __slots__ = ("found", "make")

    def __init__(self, make: Callable[[], tuple[Any, Any]]) -> None:
        self.make = make
        self.found: tuple[Any, Any] | None = None

    def both(self) -> tuple[Any, Any]:
        self.found = self.found or self.make()
        return self.found

    def first(self) -> Any:
        return self.both()[0]

    def second(self) -> Any:
        return self.both()[1]


def both_later(make: Callable[[], tuple[Any, Any]]) -> tuple[Later, Later]:
    """Two fields that are computed together."""
    once = _Once(make)
    return Later(once.first), Later(once.second)


class WhenRead:
    """A field that may hold `Later`; put in the place of the field's default once the class is made."""

    def __init__(self, name: str, default: Any, fixed: Callable[[Any], Any] = lambda value: value) -> None:
        self.name, self.default, self.fixed = name, default, fixed

    def __get__(self, record: Any, kind: Any = None) -> Any:
        if record is None:
            return self.default
        found = record.__dict__[self.name]
        if isinstance(found, Later):
            found = record.__dict__[self.name] = self.fixed(found.of(self.name))
        return found

    def __set__(self, record: Any, value: Any) -> None:
        record.__dict__[self.name] = value
