"""Fields of results that are computed when they are first read, as few ask for them and they take long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Later:
    """What a field holds until it is first read: how to make its value."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class WhenRead:
    """A field that may hold `Later`; put in the place of the field's default once the class is made."""

    def __init__(self, name: str, default: Any, fixed: Callable[[Any], Any] = lambda value: value) -> None:
        self.name, self.default, self.fixed = name, default, fixed

    def __get__(self, record: Any, kind: Any = None) -> Any:
        if record is None:
            return self.default
        found = record.__dict__[self.name]
        if type(found) is Later:
            found = record.__dict__[self.name] = self.fixed(found.make())
        return found

    def __set__(self, record: Any, value: Any) -> None:
        record.__dict__[self.name] = value
