"""What calibrant hands back: frozen records that print well, travel as JSON and never change type with an option."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from html import escape
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._names import RECORDS
from calibrant.methods import import_plugins
from calibrant.problems import MapError

SCHEMA = 1
"""Version of the JSON form; raised when an old reader could misread a new file."""

_KINDS: dict[str, type[Record]] = {}
_RECORDS = {name: home for home, names in RECORDS.items() for name in names.split()}
R = TypeVar("R", bound="type[Record]")


def kind(record: R) -> R:
    """Make a record known by its name, so that JSON can be read back."""
    _KINDS[record.__name__] = record
    return record


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """Common ways of every result: `to_dict`, `to_json`, equality by content."""

    whole: ClassVar[bool] = False
    """must a saved one hold every field? A map that lacks one would be another map"""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers, strings, lists and dicts, with the record's kind."""
        return {"kind": type(self).__name__} | {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_dict` described."""
        found = _revived(data)
        if not isinstance(found, cls):
            raise MapError(f"this is a saved {data.get('kind', 'object of no kind')}, not a {cls.__name__}")
        return found

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text with the schema's version; read it back with `from_json`."""
        return json.dumps({"schema": SCHEMA} | self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record that `to_json` wrote."""
        return cls.from_dict(checked_schema(text))

    def _hold(self, *names: str) -> None:
        """Keep fields as arrays that cannot be written to."""
        for name in names:
            if getattr(self, name) is not None:
                array = np.array(getattr(self, name))
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return type(self).from_dict, (self.to_dict(),)  # copies and worker processes take the road of JSON


def checked_schema(text: str) -> dict[str, Any]:
    """The content of our JSON, refused if it comes from a later schema."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise MapError(f"this is not JSON: {error}") from error
    if not isinstance(data, dict) or isinstance(data.get("schema"), bool) or not isinstance(data.get("schema"), int):
        raise MapError("this JSON was not written by calibrant: it has no schema version")
    if data["schema"] != SCHEMA:
        raise MapError(
            f"this was written with schema {data['schema']}; this calibrant reads {SCHEMA}. Upgrade calibrant"
        )
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"kind": "float", "value": str(value)}  # JSON has no word for it
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _known_kind(name: Any) -> type[Record]:
    """The record of this name; its module, or the plugins, are imported if need be."""
    if isinstance(name, str) and name not in _KINDS:
        if name in _RECORDS:
            import_module(f"calibrant.{_RECORDS[name]}")
        else:
            import_plugins()
    if not isinstance(name, str) or name not in _KINDS:
        raise MapError(f"unknown kind of record: {name!r}")
    return _KINDS[name]


def __getattr__(name: str) -> Any:
    """Load a record that is defined beside the function that makes it."""
    if name not in _RECORDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"calibrant.{_RECORDS[name]}"), name)


def _revived(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_revived(v) for v in value)
    if not isinstance(value, Mapping):
        return value
    if "kind" not in value:
        return {k: _revived(v) for k, v in value.items()}
    if value["kind"] == "float" and value.get("value") in ("inf", "-inf", "nan"):
        return float(value["value"])
    record = _known_kind(value["kind"])
    names = {f.name for f in fields(record)}
    needed = {f.name for f in fields(record) if f.default_factory is MISSING} if record.whole else set()
    missing = needed - value.keys()
    if missing:
        raise MapError(f"the saved {value['kind']} is incomplete: {', '.join(sorted(missing))} is missing")
    try:
        return record(**{k: _revived(v) for k, v in value.items() if k in names})
    except (TypeError, ValueError, AttributeError) as error:
        raise MapError(f"the saved {value['kind']} is incomplete or damaged: {error}") from error


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Interval(Record):
    """Where the truth lies, with the given confidence."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __repr__(self) -> str:
        return f"[{number(self.low)}, {number(self.high)}] at {self.level:.0%} ({self.method})"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BinTable(Record):
    """The bins behind an estimate: ends, weight, mean prediction and rate of the event in each; empty bins left out."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    weight: NDArray[np.float64]
    mean_prob: NDArray[np.float64]
    label_rate: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._hold(*(f.name for f in fields(self)))

    @property
    def gap(self) -> NDArray[np.float64]:
        """Mean prediction minus rate: positive where the model is over-confident."""
        return self.mean_prob - self.label_rate

    def __len__(self) -> int:
        return len(self.weight)

    def __repr__(self) -> str:
        return f"BinTable({len(self)} bins)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Curve(Record):
    """A reliability curve: what was said (x), what happened (y) with its interval, and the share of the data there."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    support: NDArray[np.float64]
    level: float = 0.95

    def __post_init__(self) -> None:
        self._hold("x", "y", "low", "high", "support")

    def __repr__(self) -> str:
        return f"Curve({len(self.x)} points)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Line(Record):
    """Points of a function, for drawing; long ones are thinned out."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._hold(*(f.name for f in fields(self)))

    @classmethod
    def thinned(cls, x: NDArray[np.float64], y: NDArray[np.float64], most: int = 1000) -> Line:
        """At most about `most` points, the largest and the smallest y among them."""
        if len(x) <= most:
            return cls(x, y)
        kept = np.unique(np.append(np.linspace(0, len(x) - 1, most).astype(np.intp), [np.argmax(y), np.argmin(y)]))
        return cls(x[kept], y[kept])

    def __repr__(self) -> str:
        return f"Line({len(self.x)} points)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(Record):
    """An estimate class by class."""

    classes: tuple[Any, ...]
    values: NDArray[np.float64]
    n: NDArray[np.float64]
    """weight of the rows whose label is this class"""
    low: NDArray[np.float64] | None = None
    """ends of each value's interval, where the method has one"""
    high: NDArray[np.float64] | None = None

    _most: ClassVar[int] = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(_plain(list(self.classes))))
        self._hold("values", "n", "low", "high")

    def worst(self, most: int = 10) -> tuple[tuple[Any, float], ...]:
        """The classes with the largest values, largest first."""
        order = np.argsort(-self.values, kind="stable")[:most]
        return tuple((self.classes[k], float(self.values[k])) for k in order)

    def table(self) -> Table:
        """Class, value, interval and rows; of many classes the first ones."""
        shown = range(min(len(self.classes), self._most))
        columns: tuple[str, ...] = ("class", "value", "rows")
        rows: list[tuple[Any, ...]] = [(self.classes[k], float(self.values[k]), f"{self.n[k]:,.6g}") for k in shown]
        if self.low is not None and self.high is not None:
            columns = ("class", "value", "interval", "rows")
            ends = [f"{number(float(self.low[k]))} … {number(float(self.high[k]))}" for k in shown]
            rows = [(name, value, end, n) for (name, value, n), end in zip(rows, ends, strict=True)]
        left = len(self.classes) - len(shown)
        return Table("Class by class", columns, tuple(rows), f"{left:,} more classes" if left else "")

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table().to_html()


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Table(Record):
    """Rows to show: the terminal, the notebook and the report draw the same one."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""

    def texts(self) -> list[list[str]]:
        """Every cell as text."""
        return [[number(cell) if isinstance(cell, float) else str(cell) for cell in row] for row in self.rows]

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        body = [list(self.columns), *self.texts()]
        widths = [max(len(row[i]) for row in body) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in body]
        lines.insert(1, "  ".join("─" * width for width in widths))
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])

    def to_html(self) -> str:
        """A plain HTML table, everything escaped."""
        head = "".join(f"<th>{escape(c)}</th>" for c in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in self.texts())
        note = f"<p class='note'>{escape(self.note)}</p>" if self.note else ""
        return f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Record):
    """A number that knows where it comes from: `float(estimate)` is the value.

    `noise_floor` is what the method would show on average, at this sample size, if the model were perfectly calibrated.
    """

    name: str
    title: str
    value: float
    n: int
    interval: Interval | None = None
    noise_floor: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ("view", "bins", "score")

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "settings", MappingProxyType(_revived(_plain(dict(self.settings)))))
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        object.__setattr__(self, "cautions", tuple(self.cautions))

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def details(self) -> str:
        """Interval, noise floor and settings in a line."""
        words = [] if self.interval is None else [repr(self.interval)]
        words += [f"n = {self.n:,}", *(str(self.settings[key]) for key in self._shown if key in self.settings)]
        if self.noise_floor is not None:
            words.append(f"{number(self.noise_floor)} expected if calibrated")
        return "; ".join(words)

    def __repr__(self) -> str:
        return "\n".join(
            [f"{self.title} {number(self.value)} ({self.details()})", *(f"  caution: {c}" for c in self.cautions)]
        )

    def _repr_html_(self) -> str:
        cautions = "".join(f"<br><small>⚠ {escape(c)}</small>" for c in self.cautions)
        return (
            f"<p><b>{escape(self.title)}</b> {number(self.value)} <small>{escape(self.details())}</small>{cautions}</p>"
        )


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TestResult(Record):
    """The answer of a test: how far the statistic is from what a calibrated model shows, and how often chance goes that far."""

    name: str
    title: str
    statistic: float
    p_value: float
    n: int
    null: str
    """what is assumed under calibration, and how its distribution was found"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    finding: str = ""
    """what the errors look like, in words, where the p-value is small"""

    __test__: ClassVar[bool] = False  # not a test case, whatever its name says
    question: ClassVar[str] = "Could a calibrated model have made these predictions?"

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistic", float(self.statistic))
        object.__setattr__(self, "p_value", float(self.p_value))
        object.__setattr__(self, "settings", MappingProxyType(_revived(_plain(dict(self.settings)))))
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))
        object.__setattr__(self, "cautions", tuple(self.cautions))

    def rejects(self, level: float = 0.05) -> bool:
        """Is calibration refused when false alarms are allowed with probability `level`?"""
        return self.p_value <= level

    def sentence(self) -> str:
        """The answer in words."""
        chance = f"A calibrated model looks as bad with probability {number(self.p_value)}"
        return f"{chance}: {self.finding}." if self.finding else f"{chance}."

    def tables(self) -> tuple[Table, ...]:
        """What each statistic says, where there are several."""
        each = [part for part in self.parts.values() if isinstance(part, TestResult)]
        rows = [(t.title, t.statistic, t.p_value, t.parts.get("adjusted", t.p_value), t.finding) for t in each]
        rows.append((self.title, self.statistic, self.p_value, self.p_value, self.finding))
        columns = ("statistic", "value", "p", "p, adjusted", "what it says")
        return (Table(self.question, columns, tuple(rows), f"{self.null}."),)

    def details(self) -> str:
        """p-value, sample size and null in a line."""
        return f"p = {number(self.p_value)}; n = {self.n:,}; {self.null}"

    def __repr__(self) -> str:
        below = [f"  {self.finding}"] if self.finding else []
        below += [f"  caution: {c}" for c in self.cautions]
        return "\n".join([f"{self.title} {number(self.statistic)} ({self.details()})", *below])

    def _repr_html_(self) -> str:
        below = f"<br>{escape(self.finding)}" if self.finding else ""
        below += "".join(f"<br><small>⚠ {escape(c)}</small>" for c in self.cautions)
        return f"<p><b>{escape(self.title)}</b> {number(self.statistic)} <small>{escape(self.details())}</small>{below}</p>"


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: four significant digits below one, no exponent where none is needed."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value and abs(value) < 1e-4:
        return f"{value:.{digits - 1}g}"
    return f"{value:.{digits}f}" if abs(value) < 10 else f"{value:,.{2 if abs(value) < 1e4 else 0}f}"
