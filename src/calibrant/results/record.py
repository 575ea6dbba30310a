"""Records: frozen data with equality by content, read and written as JSON without pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from numbers import Real
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from calibrant._names import RECORDS
from calibrant.methods import import_plugins
from calibrant.problems import CalibrantError, InputError, MapError
from calibrant.results.constraints import Within
from calibrant.results.flat import flat
from calibrant.results.later import Later
from calibrant.results.reading import SCHEMA, check_depth, checked_schema
from calibrant.results.typed import typed_fields

NOT_FIELDS = ("schema", "summary", "input")
"""What a document says of itself; the rest are the fields of the record."""

MOST_INDENT = 100
"""Spaces per level of JSON, at most."""

_KINDS: dict[str, type[Record]] = {}
R = TypeVar("R", bound="type[Record]")


def kind(record: R) -> R:
    """Register a record class by its name, so that JSON can be read back."""
    _KINDS[record.__name__] = record
    return record


def record_class(name: str) -> type[Record] | None:
    """The record class of this name, or None; its module or plugin is imported."""
    if name not in _KINDS:
        import_module(f"calibrant.{RECORDS[name]}") if name in RECORDS else import_plugins()
    return _KINDS.get(name)


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """What every result can do: `to_data`, `to_json`, equality by content.

    Fields annotated as arrays, mappings and tuples are copied and made read-only.
    """

    numbers: ClassVar[Within | None] = None
    """what saved numbers must be unless their field says otherwise; None: measured ones may be infinite or NaN"""

    def __post_init__(self) -> None:
        for name, fixed in _fixing(type(self)):  # type: ignore[arg-type]
            value = self.__dict__[name]
            if value is not None and not isinstance(value, Later):
                object.__setattr__(self, name, fixed(value))

    def to_data(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists and dicts, with the record's kind."""
        return {"kind": type(self).__name__} | {f.name: plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_data` described.

        Parameters
        ----------
        data
            What `to_data` returned, or the same read from JSON.
        """
        check_depth(data)
        if not isinstance(data, Mapping):
            raise MapError(f"this is no saved {cls.__name__}: it is {data!r:.60}")
        found = revived({name: value for name, value in data.items() if name not in NOT_FIELDS})
        if not isinstance(found, cls):
            raise MapError(f"this is a saved {data.get('kind', 'object of no kind')}, not a {cls.__name__}")
        return found

    def figures(self) -> Mapping[str, Any]:
        """The numbers in it by name, and the records that hold more of them; those of an interval need no name."""
        named = {"" if f.name == "interval" else f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, Real | Record)}

    def as_row(self) -> dict[str, Any]:
        """Its texts and numbers, as a row of a table."""
        texts = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: text for name, text in texts.items() if isinstance(text, str)} | flat(self)

    def summary(self) -> dict[str, Any]:
        """What its JSON says before its fields; it is not read back."""
        return {}

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text with the schema's version; read it back with `from_json`.

        Parameters
        ----------
        indent
            Spaces per level; None for a single line.
        """
        return as_text(document(self), indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        """
        return cls.from_data(checked_schema(text))

    def __eq__(self, other: object) -> bool:
        return self.to_data() == other.to_data() if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return type(self).from_data, (self.to_data(),)  # copies and worker processes go through the JSON form


def as_text(data: dict[str, Any], indent: int | None) -> str:
    """Plain data as JSON text.

    Parameters
    ----------
    data
        What is written.
    indent
        Spaces per level; None for a single line.
    """
    if indent is not None and not (isinstance(indent, int | np.integer) and 0 <= indent <= MOST_INDENT):
        raise InputError("indent", f"must be None or a number from 0 to {MOST_INDENT}", f"it is {indent!r:.60}")
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)


def document(record: Record) -> dict[str, Any]:
    """A record as a JSON document: the schema's version, of an answer its summary, and its plain data.

    Parameters
    ----------
    record
        What is written.
    """
    return {"schema": SCHEMA} | summarized(record)


def summarized(record: Record) -> dict[str, Any]:
    """The plain data of a record with the summary first, if it is an answer.

    Parameters
    ----------
    record
        What is written.
    """
    summary = record.summary()
    return {"kind": type(record).__name__} | ({"summary": summary} if summary else {}) | record.to_data()


def _fixed_array(value: Any) -> Any:
    array = np.array(value)
    array.flags.writeable = False
    return array


def fixed_mapping(value: Any) -> Any:
    """A mapping that cannot be written to."""
    return MappingProxyType(dict(value))


FIXED: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "NDArray": _fixed_array,
        "Floats": _fixed_array,
        "Indices": _fixed_array,
        "Mapping": fixed_mapping,
        "tuple": tuple,
    }
)
"""How a field is made read-only, by how its annotation begins."""


@cache
def _fixing(record: type[Record]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((f.name, fixed) for f in fields(record) for start, fixed in FIXED.items() if _begins(f.type, start))


def _begins(annotation: Any, start: str) -> bool:
    return str(annotation).removeprefix("Annotated[").startswith(start)


PLAIN = frozenset((str, int, bool, NoneType))
"""Types that JSON can hold as they are."""


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Record):
        return value.to_data()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}  # JSON has no such numbers
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def settled(value: Any) -> Any:
    """revived(plain(value)), in one go where the value holds nothing but plain ones."""
    if type(value) in PLAIN or type(value) is float:
        return value
    if type(value) is dict and "kind" not in value and all(type(key) is str for key in value):
        return {key: settled(each) for key, each in value.items()}
    return tuple(map(settled, value)) if type(value) in (list, tuple) else revived(plain(value))


def revived(value: Any) -> Any:
    """The value that `plain` described; lists become tuples, records are checked."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, list | tuple):
        return tuple(revived(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    if "kind" not in value:
        return {k: revived(v) for k, v in value.items()}
    if value["kind"] == "float" and value.get("value") in ("inf", "-inf", "nan"):
        return float(value["value"])
    record = record_class(value["kind"]) if isinstance(value["kind"], str) else None
    if record is None:
        raise MapError(f"unknown kind of record: {value['kind']!r:.60}")
    try:
        return record(**checked(record, {k: v for k, v in value.items() if k != "kind"}))
    except MapError:
        raise
    except (CalibrantError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
        raise MapError(f"the saved {record.__name__} is incomplete or damaged: {error}") from error


def checked(record: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, each of its type and as its constraints say; refused where one is not.

    Parameters
    ----------
    record
        Class of the record; any class of annotated fields will do.
    given
        Plain data or values, by the name of the field.
    """
    return typed_fields(record, given, revived)
