"""The options of public functions and recipes are what their annotations say: one check for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import wraps
from inspect import Parameter, isclass, signature
from itertools import takewhile
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from calibrant.problems import CalibrantError, InputError

F = TypeVar("F", bound=Callable[..., Any])

NUMBERS: dict[Any, tuple[Any, str]] = {
    int: (int | np.integer, "a whole number"),
    float: (int | float | np.integer | np.floating, "a number"),
}
BY_NAME: dict[str, Any] = {"view": str | int | tuple, "calibration": Any}
"""What options are, whatever their annotation."""


def checked(function: F) -> F:
    """A function that refuses options of another kind than it is annotated with; a class checks what it is made of.

    The function's own check speaks first, as it knows more, such as the range of a number;
    what has no check, or is not looked at, is refused by the annotation. Annotations that
    say nothing (`Any`, arrays, names for type checkers only) admit everything.
    """
    if isclass(function):
        if "__init__" in vars(function):
            function.__init__ = checked(function.__init__)  # type: ignore[method-assign]
        return function
    hints: dict[str, Any] = {}
    places = Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD
    names = tuple(name for name, each in signature(function).parameters.items() if each.kind in places)
    free: list[str] = []  # the first of them, which may be anything
    sure: dict[str, frozenset[Any]] = {}  # types of which every value will do, and texts

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not hints:
            hints.update(_hints(function))
            free.extend(takewhile(lambda name: hints.get(name, Any) is Any, names))
            sure.update((name, frozenset(_sure(hint))) for name, hint in hints.items())
        given = options if len(arguments) <= len(free) else dict(zip(names, arguments, strict=False)) | options
        for name, value in given.items():
            hint = hints.get(name, Any)
            if hint is Any or (kind := type(value)) in sure[name] or (kind is str and value in sure[name]):
                continue
            if fits(value, hint):
                continue
            wrong = InputError(name, f"must be {kind_of(hint)}", f"it is {value!r:.60}")
            if hint is bool:
                raise wrong
            try:
                function(*arguments, **options)
            except CalibrantError:
                raise
            except Exception as error:
                raise wrong from error
            raise wrong
        return function(*arguments, **options)

    return call  # type: ignore[return-value]


def _hints(function: Any) -> dict[str, Any]:
    """The type of each parameter; Any where it is known to type checkers only."""
    found = {"": Any}
    for name, parameter in signature(function).parameters.items():
        written = SimpleNamespace(__annotations__={name: parameter.annotation})
        try:
            hint = (
                Any if parameter.annotation is parameter.empty else get_type_hints(written, function.__globals__)[name]
            )
        except NameError:
            hint = Any
        found[name] = BY_NAME.get(name, hint)
    return found


def _sure(hint: Any) -> Iterator[Any]:
    """Types of which every value is of this type, and texts that are."""
    if get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _sure(each)
    elif get_origin(hint) is Literal:
        yield from (each for each in get_args(hint) if type(each) is str)
    elif hint in (str, tuple, bool, int, NoneType):
        yield hint


def fits(value: Any, hint: Any) -> bool:
    """Is a value of this type? True for types that are not understood."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(hint)) or (
            isinstance(value, np.generic) and fits(value.item(), hint)
        )
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint in NUMBERS:
        return isinstance(value, NUMBERS[hint][0]) and not isinstance(value, bool) and bool(value == value)  # noqa: PLR0124
    if origin is not None:
        return _has_origin(value, origin, get_args(hint))
    return hint is Any or not isclass(hint) or getattr(hint, "_is_protocol", False) or isinstance(value, hint)


def _has_origin(value: Any, origin: Any, of: tuple[Any, ...]) -> bool:
    """Is it a function, or can it be gone through, as a generic type wants it? Entries of lists and tuples are checked."""
    if origin is Callable:
        return callable(value) and not isclass(value)
    if origin in (tuple, Sequence):
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and _records(of)):
            hints = of if origin is tuple and of[-1] is not ... else of[:1] * len(value)
            return len(hints) == len(value) and all(map(fits, value, hints))
        return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set)
    return not (isclass(origin) and issubclass(origin, Iterable)) or isinstance(value, Iterable)


def _records(of: tuple[Any, ...]) -> bool:
    """Are the entries objects, of which an array would hold few, rather than numbers or words?"""
    return isclass(of[0]) and not issubclass(of[0], str | bool | int | float)


def kind_of(hint: Any) -> str:
    """A type in words."""
    return " or ".join(dict.fromkeys(_kinds(hint)))


def _kinds(hint: Any) -> Iterator[str]:
    if get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _kinds(each)
    elif get_origin(hint) is Literal:
        yield from map(repr, get_args(hint))
    else:
        own = {bool: "True or False", NoneType: "None", str: "a string"} | {
            key: text for key, (_, text) in NUMBERS.items()
        }
        yield own.get(hint) or f"a {getattr(get_origin(hint) or hint, '__name__', hint)}"
