"""Estimates with their intervals, and results of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, TypeVar

from calibrant.results.answer import Answer
from calibrant.results.record import Record, kind, plain, revived
from calibrant.results.tables import ClassTable, Table, ends, number

N = TypeVar("N", bound="Estimate | TestResult")


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

    def in_words(self) -> str:
        """Level and ends, for a sentence."""
        return f"{self.level:.0%} interval {number(self.low)} to {number(self.high)}"

    def __repr__(self) -> str:
        return f"[{number(self.low)}, {number(self.high)}] at {self.level:.0%} ({self.method})"


@dataclass(frozen=True, eq=False, repr=False)
class _Measured(Answer):
    """What estimates and test results share: settings as plain data, printed in one line."""

    printed_tables: ClassVar[int | None] = 0
    _floats: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in self._floats:
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "settings", revived(plain(dict(self.settings))))  # type: ignore[attr-defined]
        super().__post_init__()


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(_Measured):
    """A number that knows where it comes from: arithmetic, `round`, `sum`, sorting and `format` work on its value.

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

    _floats: ClassVar[tuple[str, ...]] = ("value",)
    _shown: ClassVar[tuple[str, ...]] = ("view", "bins", "score")

    def __float__(self) -> float:
        return self.value

    def __round__(self, digits: int | None = None) -> float:
        return round(self.value, digits)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    @property
    def question(self) -> str:
        """What was estimated."""
        return f"How large is the {self.title}?"

    def sentence(self) -> str:
        """Title, value and details in a line."""
        return f"{self.title} {number(self.value)} ({self.details()})"

    def details(self) -> str:
        """Interval, noise floor and settings in a line."""
        words = [] if self.interval is None else [repr(self.interval)]
        words += [f"n = {self.n:,}", *(str(self.settings[key]) for key in self._shown if key in self.settings)]
        if self.noise_floor is not None:
            words.append(f"{number(self.noise_floor)} expected if calibrated")
        return "; ".join(words)

    def tables(self) -> tuple[Table, ...]:
        """The estimate per class, where there is one."""
        return tuple(part.table() for part in self.parts.values() if isinstance(part, ClassTable))


def _as_number(name: str) -> None:
    """Let an operator of `float` work on estimates: the result is a plain number, as it has no interval of its own."""

    def operate(self: Estimate, *others: Any) -> Any:
        return getattr(self.value, name)(*map(float, others))

    setattr(Estimate, name, operate)


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]:
    _as_number(f"__{_name}__")
    _as_number(f"__r{_name}__")
for _name in ["neg", "pos", "abs", "int", "trunc", "floor", "ceil", "lt", "le", "gt", "ge"]:
    _as_number(f"__{_name}__")
Real.register(Estimate)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TestResult(_Measured):
    """The result of a test: a statistic, and how often a calibrated model exceeds it."""

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
    _floats: ClassVar[tuple[str, ...]] = ("statistic", "p_value")
    question: ClassVar[str] = "Could a calibrated model have made these predictions?"

    def rejects(self, alpha: float = 0.05) -> bool:
        """Is calibration rejected?

        Parameters
        ----------
        alpha
            The allowed probability of a false alarm.
        """
        from calibrant.inputs import check_alpha  # the door stands above the results

        return self.p_value <= check_alpha(alpha)

    def sentence(self) -> str:
        """The answer in words."""
        chance = f"A calibrated model looks as bad with probability {number(self.p_value)}"
        return f"{chance}: {self.finding}." if self.finding else f"{chance}."

    def tables(self) -> tuple[Table, ...]:
        """All statistics, where there are several."""
        each = [part for part in self.parts.values() if isinstance(part, TestResult)]
        rows = [(t.title, t.statistic, t.p_value, t.parts.get("adjusted", t.p_value), t.finding) for t in (*each, self)]
        columns = ("statistic", "value", "p", "p, adjusted", "finding")
        return (Table(self.question, columns, tuple(rows), f"{self.null}."),)

    def details(self) -> str:
        """p-value, sample size and null in a line."""
        return f"p = {number(self.p_value)}; n = {self.n:,}; {self.null}"

    def _head(self) -> list[str]:
        first = f"{self.title} {number(self.statistic)} ({self.details()})"
        return [first, *([f"  {self.finding}"] if self.finding else [])]


def estimate_table(estimates: Iterable[Estimate]) -> Table:
    """One row per estimate: value, interval, what noise alone would show, and how it was measured.

    Parameters
    ----------
    estimates
        The estimates, in the order of the rows.
    """
    rows = []
    for e in estimates:
        floor = "" if e.noise_floor is None else number(e.noise_floor)
        how = ", ".join(str(e.settings[key]) for key in ("view", "bins") if key in e.settings)
        rows.append((e.title, e.value, ends(e.interval, ""), floor, how))
    return Table("Measured", ("quantity", "value", "95% interval", "if calibrated", "how"), tuple(rows))


def by_title(title: str, results: Iterable[N]) -> N:
    """The result with this title or name.

    Parameters
    ----------
    title
        The title it prints, or its name.
    results
        The results to choose from.
    """
    found = tuple(results)
    for each in found:
        if title in (each.title, each.name):
            return each
    raise KeyError(f"{title!r}; there are {', '.join(each.title for each in found)}")
