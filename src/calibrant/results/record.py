"""Records: frozen data with equality by content, read and written as JSON without pickle."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import import_module
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from calibrant._names import RECORDS
from calibrant.methods import import_plugins
from calibrant.problems import MapError
from calibrant.results.flat import flat

SCHEMA = 1
"""Version of the JSON form; raised when an old reader could misread a new file."""

NOT_FIELDS = ("schema", "summary", "input")
"""What a document says of itself; the rest are the fields of the record."""

_KINDS: dict[str, type[Record]] = {}
R = TypeVar("R", bound="type[Record]")


def kind(record: R) -> R:
    """Register a record class by its name, so that JSON can be read back."""
    _KINDS[record.__name__] = record
    return record


def record_class(name: str) -> type[Record] | None:
    """The record class of this name, or None; its module or plugin is imported."""
    if name in RECORDS:
        import_module(f"calibrant.{RECORDS[name]}")
    elif name not in _KINDS:
        import_plugins()
    return _KINDS.get(name)


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """What every result can do: `to_data`, `to_json`, equality by content.

    Fields annotated as arrays, mappings and tuples are copied and made read-only.
    """

    every_field_needed: ClassVar[bool] = False
    """must saved data hold every field? A map that lacks one would be another map"""

    def __post_init__(self) -> None:
        for name, fixed in _fixing(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is not None:
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
        return json.dumps(document(self), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record that `to_json` wrote.

        Parameters
        ----------
        text
            The JSON text.
        """
        return cls.from_data(checked_schema(text))

    def _hold(self, *names: str) -> None:
        """Keep fields as read-only arrays."""
        for name in names:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _fixed_array(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        return self.to_data() == other.to_data() if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return type(self).from_data, (self.to_data(),)  # copies and worker processes go through the JSON form


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


def checked_schema(text: str) -> dict[str, Any]:
    """The content of calibrant's JSON, refused if it comes from a later schema.

    Parameters
    ----------
    text
        The JSON text.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise MapError(f"this is not JSON: {error}") from error
    if not isinstance(data, dict) or isinstance(data.get("schema"), bool) or not isinstance(data.get("schema"), int):
        raise MapError("this JSON was not written by calibrant: it has no schema version")
    if data["schema"] != SCHEMA:
        written = f"this was written with schema {data['schema']}"
        raise MapError(f"{written}; this calibrant reads {SCHEMA}. Upgrade calibrant")
    return data


def _fixed_array(value: Any) -> Any:
    array = np.array(value)
    array.flags.writeable = False
    return array


def _fixed_mapping(value: Any) -> Any:
    return MappingProxyType(dict(value))


FIXED: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "NDArray": _fixed_array,
        "Floats": _fixed_array,
        "Indices": _fixed_array,
        "Mapping": _fixed_mapping,
        "tuple": tuple,
    }
)
"""How a field is made read-only, by how its annotation begins."""


@cache
def _fixing(record: type[Record]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple(
        (f.name, fixed) for f in fields(record) for start, fixed in FIXED.items() if str(f.type).startswith(start)
    )


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
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


def revived(value: Any) -> Any:
    """The value that `plain` described; lists become tuples."""
    if isinstance(value, list):
        return tuple(revived(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    if "kind" not in value:
        return {k: revived(v) for k, v in value.items()}
    if value["kind"] == "float" and value.get("value") in ("inf", "-inf", "nan"):
        return float(value["value"])
    record = record_class(value["kind"]) if isinstance(value["kind"], str) else None
    if record is None:
        raise MapError(f"unknown kind of record: {value['kind']!r}")
    names = {f.name for f in fields(record)}
    needed = {f.name for f in fields(record) if f.default_factory is MISSING} if record.every_field_needed else set()
    missing = needed - value.keys()
    if missing:
        raise MapError(f"the saved {value['kind']} is incomplete: {', '.join(sorted(missing))} is missing")
    try:
        return record(**{k: revived(v) for k, v in value.items() if k in names})
    except (TypeError, ValueError, AttributeError) as error:
        raise MapError(f"the saved {value['kind']} is incomplete or damaged: {error}") from error
