"""Values of the types that annotations of fields name, checked: what saved data and records of maps are read with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from calibrant.problems import MapError
from calibrant.results.constraints import Constraint, Within
from calibrant.types import Indices


def typed_fields(record: type[Any], given: Mapping[str, Any], revived: Callable[[Any], Any]) -> dict[str, Any]:
    """The fields of a record, checked; `revived` makes records of plain data.

    Parameters
    ----------
    record
        Class of the record.
    given
        Plain data or values, by the name of the field.
    revived
        The value that plain data describe.
    """
    kind, names = record.__name__, field_names(record)  # type: ignore[arg-type]
    missing, unknown = [n for n in names if n not in given], [n for n in given if n not in names]
    if missing or unknown:
        found = f"{', '.join(missing)} is missing" if missing else f"it has no field {unknown[0]!r:.60}"
        raise MapError(f"the saved {kind} is incomplete or damaged: {found}")
    reader = _Reader(kind, record.numbers, revived)
    values = {name: read(reader, given[name], name) for name, read in _readings(record).items()}  # type: ignore[arg-type]
    for name, value, constraint in sorted(reader.constraints, key=_turn):
        if flaw := constraint.flaw(name, value, values):
            raise MapError(f"{kind}: {name} {flaw}")
    return values


def _turn(found: tuple[str, Any, Constraint]) -> int:
    return found[2].turn


@cache
def field_names(record: Any) -> tuple[str, ...]:
    """The names of the fields of a record's class.

    Parameters
    ----------
    record
        The class.
    """
    return tuple(each.name for each in fields(record))


@cache
def _hints(record: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(record, include_extras=True)
    except NameError:  # types that are known to type checkers only, or inside a function
        return {}


LONGEST = 1 << 63
"""Whole numbers are smaller than this."""

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


class _Reader:
    """Values of the types that annotations name; the constraints met on the way are kept for when all values are known."""

    def __init__(self, kind: str, numbers: Within | None, revived: Callable[[Any], Any]) -> None:
        self.kind, self.numbers, self.revived = kind, numbers, revived
        self.constraints: list[tuple[str, Any, Constraint]] = []

    def _refused(self, name: str, wanted: str, value: Any) -> MapError:
        return MapError(f"{self.kind}: {name} must be {wanted}; it is {value!r:.60}")

    def _choice(self, choices: tuple[Any, ...], value: Any, name: str) -> Any:
        if not isinstance(value, str | int) or value not in choices:
            raise self._refused(name, f"one of {', '.join(map(repr, choices))}", value)
        return value

    def _mapping(self, read: Reading, value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self._refused(name, "a mapping", value)
        return {key: read(self, each, f"{name}[{key!r}]") for key, each in value.items()}

    def _other(self, hint: Any, value: Any, name: str) -> Any:
        found = self.revived(value)
        if hint is not Any and isinstance(hint, type) and not isinstance(found, hint):
            raise self._refused(name, f"a {hint.__name__}", value)
        return found

    def _annotated(self, read: Reading, said: list[Constraint], ranged: bool, value: Any, name: str) -> Any:
        usual = self.numbers
        if ranged:
            self.numbers = None
        found, self.numbers = read(self, value, name), usual
        if found is not None:
            self.constraints += [(name, found, each) for each in said]
        return found

    def _union(self, kinds: list[Reading], optional: bool, value: Any, name: str) -> Any:
        if value is None and optional:
            return None
        for read in kinds[:-1]:
            try:
                return read(self, value, name)
            except MapError:
                continue
        return kinds[-1](self, value, name)

    def _plain(self, hint: Any, value: Any, name: str) -> Any:
        if hint is float and isinstance(value, Mapping):
            value = self.revived(value)
        kinds = {int: (int, np.integer), float: (float, int, np.floating, np.integer)}.get(hint, (hint,))
        if not isinstance(value, kinds) or (hint is not bool and isinstance(value, bool)):
            raise self._refused(name, WORDS[hint], value)
        if isinstance(value, int) and abs(value) >= LONGEST:
            raise self._refused(name, "less than 2⁶³", value)
        if hint is float and self.numbers is not None:
            self.constraints.append((name, value, self.numbers))
        return value

    def _array(self, value: Any, name: str, dtype: Any) -> Any:
        if not isinstance(value, list | tuple | np.ndarray):
            raise self._refused(name, "a list of numbers", value)
        try:
            array = np.array(value if isinstance(value, np.ndarray) else self._numbers(value, name))
        except MapError:
            raise
        except ValueError as error:  # rows of different lengths
            raise self._refused(name, "rows of numbers, equally long", value) from error
        if array.size and (array.dtype.kind not in "fiu" or (array.dtype.kind == "f" and dtype is np.int64)):
            raise self._refused(name, "numbers" if dtype is np.float64 else "whole numbers", value)
        array = array.astype(dtype, copy=False)
        array.flags.writeable = False
        if self.numbers is not None:
            self.constraints.append((name, array, self.numbers))
        return array

    def _tuple(self, kinds: list[Reading], alike: bool, value: Any, name: str) -> Any:
        if not isinstance(value, list | tuple):
            raise self._refused(name, "a list", value)
        each = kinds * len(value) if alike else kinds
        if len(each) != len(value):
            raise self._refused(name, f"a list of {len(each)}", value)
        return tuple([read(self, v, f"{name}[{i}]") for i, (read, v) in enumerate(zip(each, value, strict=True))])

    def _numbers(self, value: Any, name: str) -> Any:
        """Nested lists of numbers, those that JSON has not among them; anything else is refused."""
        if not isinstance(value, list | tuple):
            value = self.revived(value) if isinstance(value, Mapping) else value
            huge = isinstance(value, int) and abs(value) >= LONGEST
            if huge or isinstance(value, bool) or not isinstance(value, float | int | np.number):
                raise self._refused(name, "a number", value)
            return value
        if set(map(type, value)) <= {float}:
            return value
        return [self._numbers(each, f"{name}[{i}]") for i, each in enumerate(value)]


Reading = Callable[[_Reader, Any, str], Any]
"""How a value of some type is read, with its name."""


@cache
def _readings(record: type[Any]) -> dict[str, Reading]:
    """How each field of a record is read: its annotations are looked at once."""
    hints = _hints(record)  # type: ignore[arg-type]
    return {name: _reading(hints.get(name, Any)) for name in field_names(record)}  # type: ignore[arg-type]


def _reading(hint: Any) -> Reading:
    origin, of = get_origin(hint), get_args(hint)
    if origin is Annotated:
        said, read = hint.__metadata__, _reading(hint.__origin__)
        found, ranged = (
            [each for each in said if isinstance(each, Constraint)],
            any(isinstance(each, Within) for each in said),
        )
        return lambda reader, value, name: reader._annotated(read, found, ranged, value, name)
    if origin in (Union, UnionType):
        kinds, optional = [_reading(each) for each in of if each is not NoneType], NoneType in of
        return lambda reader, value, name: reader._union(kinds, optional, value, name)
    if origin is Literal:
        return lambda reader, value, name: reader._choice(of, value, name)
    if hint in WORDS:
        return lambda reader, value, name: reader._plain(hint, value, name)
    if origin in (np.ndarray, NDArray):  # NumPy's alias is a type of its own from 2.5 on
        dtype = np.int64 if hint == Indices else np.float64
        return lambda reader, value, name: reader._array(value, name, dtype)
    if origin is tuple:
        kinds, alike = [_reading(each) for each in of if each is not ...], of[1:] == (...,)
        return lambda reader, value, name: reader._tuple(kinds, alike, value, name)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        read = _reading(of[1])
        return lambda reader, value, name: reader._mapping(read, value, name)
    return lambda reader, value, name: reader._other(hint, value, name)
