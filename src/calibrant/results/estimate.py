"""Estimates with their intervals, and results of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.results.answer import Answer
from calibrant.results.arithmetic import Number
from calibrant.results.constraints import AtMost, Probability, Within
from calibrant.results.flat import flat, in_view, slug
from calibrant.results.later import NONE, Later, WhenRead
from calibrant.results.record import Record, fixed_mapping, kind, settled
from calibrant.results.tables import ClassTable, Table, ends, number, p_cell, p_words


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Interval(Record):
    """Where the truth lies, with the given confidence."""

    low: Annotated[float, Within(-np.inf, np.inf), AtMost("high")]
    high: Annotated[float, Within(-np.inf, np.inf)]
    level: Probability
    method: str

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def figures(self) -> dict[str, float]:
        """Its ends."""
        return {"low": self.low, "high": self.high}

    def in_words(self) -> str:
        """Level and ends, for a sentence."""
        return f"{self.level:.0%} interval {number(self.low)} to {number(self.high)}"

    def __repr__(self) -> str:
        return f"[{number(self.low)}, {number(self.high)}] at {self.level:.0%} ({self.method})"


def _settled(settings: Any) -> Mapping[str, Any]:
    """Settings as plain data that cannot be written to."""
    found: Mapping[str, Any] = fixed_mapping(settled(dict(settings)))
    return found


@dataclass(frozen=True, eq=False, repr=False)
class _Measured(Answer):
    """What estimates and test results share: settings as plain data, printed in one line."""

    printed_tables: ClassVar[int | None] = 0
    _floats: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in self._floats:
            object.__setattr__(self, name, float(getattr(self, name)))
        if not isinstance(given := self.__dict__["settings"], Later):
            self.__dict__["settings"] = _settled(given)
        super().__post_init__()

    def named_figures(self) -> dict[str, Any]:
        """Its numbers under its key, and the number of rows."""
        return {self.key: self, "n": self.n}  # type: ignore[attr-defined]


@kind
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Estimate(Number, _Measured):
    """A number that knows where it comes from: arithmetic, `round`, `sum`, sorting and `format` work on its value.

    `noise_floor` is what the method would show on average, at this sample size, if the model were perfectly calibrated.
    """

    name: str
    title: str
    value: float
    n: Annotated[int, Within(0)]
    interval: Interval | None = None
    noise_floor: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()

    _shown: ClassVar[tuple[str, ...]] = ("view", "bins", "score")

    def __init__(
        self,
        name: str,
        title: str,
        value: float,
        n: int,
        interval: Interval | Later | None = None,
        noise_floor: float | Later | None = None,
        settings: Mapping[str, Any] | Later = NONE,
        parts: Mapping[str, Any] | Later = NONE,
        cautions: Iterable[str] | Later = (),
    ) -> None:
        fields = self.__dict__  # short calls make many: the way around a frozen record takes a fifth of the time
        fields["name"], fields["title"], fields["value"], fields["n"] = name, title, float(value), n
        fields["interval"], fields["noise_floor"] = interval, noise_floor
        fields["settings"] = settings if isinstance(settings, Later) else _settled(settings)
        fields["parts"] = parts if isinstance(parts, Later) or parts is NONE else fixed_mapping(parts)
        fields["cautions"] = cautions if isinstance(cautions, Later) else tuple(cautions)

    @property
    def key(self) -> str:
        """Its title up to a comma or bracket, in lower case, with `_` between words: so `to_dict` and frames call it."""
        return slug(self.title.split(",")[0].split(" (")[0])

    @property
    def also_called(self) -> tuple[str, ...]:
        """Its key with the view before it, its title and its name."""
        return in_view(self), self.title, self.name

    def figures(self) -> dict[str, Any]:
        """The value, the ends of its interval and the noise floor."""
        return {"": self.value, **flat(self.interval), "noise_floor": self.noise_floor}

    def as_row(self) -> dict[str, Any]:
        """Key, title, value, interval, noise floor, rows and how it was measured."""
        interval = dict.fromkeys(("low", "high", "level")) if self.interval is None else vars(self.interval)
        ends = {name: interval[name] for name in ("low", "high", "level")}
        how = {name: str(self.settings[name]) if name in self.settings else None for name in ("view", "bins")}
        first = {"key": self.key, "title": self.title, "value": self.value}
        return {**first, **ends, "noise_floor": self.noise_floor, "n": self.n, **how}

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


for _field in (
    WhenRead("interval", None),
    WhenRead("noise_floor", None),
    WhenRead("settings", {}, _settled),
    WhenRead("parts", {}, fixed_mapping),
    WhenRead("cautions", (), tuple),
):
    setattr(Estimate, _field.name, _field)


@kind
@dataclass(frozen=True, eq=False, repr=False)
class TestResult(_Measured):
    """The result of a test: a statistic, and how often a calibrated model exceeds it."""

    name: str
    title: str
    statistic: float
    p_value: Probability
    n: Annotated[int, Within(0)]
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

    @property
    def key(self) -> str:
        """Its name with `_test` behind it: so `to_dict`, frames and a diagnosis call it."""
        return f"{self.name.removesuffix('_test')}_test"

    @property
    def also_called(self) -> tuple[str, ...]:
        """Its title."""
        return (self.title,)

    def figures(self) -> dict[str, Any]:
        """The statistic and its p-value."""
        return {"": self.statistic, "p_value": self.p_value}

    def as_row(self) -> dict[str, Any]:
        """Key, title, statistic, p-value, rows and null."""
        names = ("key", "title", "statistic", "p_value", "n", "finding", "null")
        return {name: getattr(self, name) for name in names}

    def rejects(self, alpha: float = 0.05) -> bool:
        """Is calibration rejected?

        Parameters
        ----------
        alpha
            The allowed probability of a false alarm.
        """
        from calibrant.inputs import check_alpha  # the door stands above the results

        return self.p_value <= check_alpha(alpha)

    @property
    def least_p(self) -> float:
        """The smallest p-value that so many draws can give; 0 for a formula."""
        draws = self.settings.get("n_draws")
        if not isinstance(draws, int) or draws <= 0:  # settings are free: a file may say anything
            return 0.0
        return 1 / (draws + 1)

    def sentence(self) -> str:
        """The answer in words."""
        chance = f"A calibrated model looks as bad with probability {p_cell(self.p_value, self.least_p)}"
        return f"{chance}: {self.finding}." if self.finding else f"{chance}."

    def tables(self) -> tuple[Table, ...]:
        """All statistics, where there are several."""
        each = [part for part in self.parts.values() if isinstance(part, TestResult)]
        rows = []
        for t in (*each, self):
            own, adjusted = p_cell(t.p_value, t.least_p or self.least_p), t.parts.get("adjusted")
            adjusted = adjusted if isinstance(adjusted, float) else t.p_value
            rows.append((t.title, t.statistic, own, p_cell(adjusted, self.least_p), t.finding))
        columns = ("statistic", "value", "p", "p, adjusted", "finding")
        return (Table(self.question, columns, tuple(rows), f"{self.null}."),)

    def details(self) -> str:
        """p-value, sample size and null in a line."""
        return f"{p_words(self.p_value, self.least_p)}; n = {self.n:,}; {self.null}"

    def _head(self) -> list[str]:
        first = f"{self.title} {number(self.statistic)} ({self.details()})"
        return [first, *([f"  {self.finding}"] if self.finding else [])]


def rows_by_key(estimates: Mapping[str, Estimate]) -> list[dict[str, Any]]:
    """A row of a frame per estimate, with its key among the others.

    Parameters
    ----------
    estimates
        The estimates by key, in the order of the rows.
    """
    return [{**each.as_row(), "key": key} for key, each in estimates.items()]


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
