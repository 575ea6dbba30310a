"""Tables and curves: what the terminal, the notebook, the report and the plots draw."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.problems import visible
from calibrant.results.constraints import BIG, Holds, Probability, Shape, Within
from calibrant.results.frames import Framed
from calibrant.results.record import Record, kind, plain
from calibrant.types import Floats


def row_count(n: float) -> str:
    """A number of rows for people; weights may make it no whole number.

    Parameters
    ----------
    n
        The number.
    """
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


LARGE = 1e12
"""A number of this size is written with an exponent."""

NEAREST = 1e-9
"""A number nearer to one is written as one."""


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: four significant digits below one, no exponent where none is needed.

    Parameters
    ----------
    value
        The number; None is written as a dash.
    digits
        Digits behind the point, for numbers below ten.
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if value and not 1e-4 <= abs(value) < LARGE:
        return f"{value:.{digits - 1}g}"
    if NEAREST < 1 - abs(value) < 0.5 * 10**-digits:  # a probability of 0.99998 is not 1
        return f"{value:.{math.ceil(-math.log10(1 - abs(value)))}f}"
    return f"{value:.{digits}f}" if abs(value) < 10 else f"{value:,.{2 if abs(value) < 1e4 else 0}f}"


def gap_cell(gap: float) -> str:
    """A difference in a column of four decimals: `-0.0123`, `0.0000`.

    Parameters
    ----------
    gap
        The difference.
    """
    return f"{round(gap, 4) + 0.0:.4f}"


SMALL_P = 0.001
"""A smaller p-value is written as smaller than this."""


def p_cell(p: float | None, least: float = 0.0) -> str:
    """A p-value for people: `0.0430`, `< 0.001`, or `≤ 0.01` where no smaller one was possible.

    Parameters
    ----------
    p
        The p-value; None is written as a dash.
    least
        The smallest p-value that the method can give, such as 1/(draws + 1).
    """
    if p is None or not max(p, least) < SMALL_P:
        return number(p) if p is None or p > least else f"≤ {least:.2g}"
    return f"< {SMALL_P:g}"


def p_words(p: float, least: float = 0.0) -> str:
    """The same for a sentence: `p = 0.0430`, `p < 0.001`.

    Parameters
    ----------
    p, least
        As in `p_cell`.
    """
    cell = p_cell(p, least)
    return f"p {cell}" if cell[0] in "<≤" else f"p = {cell}"


def ends(interval: Any, none: str = "–", digits: int = 4) -> str:
    """The two ends of an interval as a table shows them, or `none` where there is no interval."""
    return none if interval is None else f"{number(interval.low, digits)} … {number(interval.high, digits)}"


NUMERIC = re.compile(r"(?=.*\d|[–-]?$)[<≤\d\s.,+\-−–…%e]*|-?inf|nan")
"""Numbers, intervals and percentages, dashes and nothing: a column of these is aligned right."""

AS_LONG = "must be as long as there are columns"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Table(Framed, Record):
    """Rows to show: the terminal, the notebook and the report draw the same table."""

    title: str
    columns: tuple[str, ...]
    rows: Annotated[
        tuple[tuple[Any, ...], ...], Holds(AS_LONG, lambda columns, rows, **_: {*map(len, rows)} <= {len(columns)})
    ]
    note: str = ""

    def columns_of_rows(self) -> dict[str, Any]:
        """The cells, column by column."""
        return {name: [row[k] for row in self.rows] for k, name in enumerate(self.columns)}

    def texts(self) -> list[list[str]]:
        """Every cell as text."""
        return [[number(cell) if isinstance(cell, float) else visible(str(cell)) for cell in row] for row in self.rows]

    def numeric(self) -> list[bool]:
        """Which columns hold numbers, intervals and percentages only, and are aligned right."""
        texts = self.texts()
        columns = zip(*texts, strict=True) if texts else [()] * len(self.columns)
        return [bool(texts) and all(map(NUMERIC.fullmatch, column)) for column in columns]

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        body = [list(self.columns), *self.texts()]
        widths = [max(len(row[i]) for row in body) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in body]
        lines.insert(1, "  ".join("─" * width for width in widths))
        return visible("\n".join([self.title, *lines, *([self.note] if self.note else [])]))

    def to_html(self) -> str:
        """A plain HTML table, everything escaped; cells of columns of numbers have the class `number`."""
        texts, marks = self.texts(), [" class='number'" * right for right in self.numeric()]

        def row(kind: str, cells: Sequence[str]) -> str:
            drawn = (f"<{kind}{mark}>{escape(cell)}</{kind}>" for cell, mark in zip(cells, marks, strict=True))
            return f"<tr>{''.join(drawn)}</tr>"

        note = f"<p class='note'>{escape(self.note)}</p>" if self.note else ""
        head, body = row("th", self.columns), "".join(row("td", each) for each in texts)
        caption = f"<caption>{escape(self.title)}</caption>"
        return visible(f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>{note}")

    __repr__, _repr_html_ = to_text, to_html


@kind
@dataclass(frozen=True, eq=False, repr=False)
class BinTable(Framed, Record):
    """Limits, weight, mean prediction and event rate per bin; empty bins are left out."""

    low: Annotated[Floats, Shape()]
    high: Annotated[Floats, Shape("low")]
    weight: Annotated[Floats, Shape("low"), Within(0)]
    mean_prob: Annotated[Floats, Shape("low"), Within(-BIG, BIG)]
    label_rate: Annotated[Floats, Shape("low"), Within(-BIG, BIG)]
    effective: Annotated[Floats | None, Shape("low"), Within(0)] = None
    """rows of equal weight that would tell as much, where rows have weights; else None, and the weight counts them"""

    @property
    def rows(self) -> Floats:
        """Rows of each bin, as its rate's uncertainty sees them."""
        return self.weight if self.effective is None else self.effective

    @property
    def gap(self) -> Floats:
        """Mean prediction minus rate: positive where the model is over-confident."""
        return self.mean_prob - self.label_rate

    def columns_of_rows(self) -> dict[str, Any]:
        """The fields and the gap."""
        return super().columns_of_rows() | {"gap": self.gap}

    def __len__(self) -> int:
        return len(self.weight)

    def __repr__(self) -> str:
        return f"BinTable({len(self)} bins)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Curve(Framed, Record):
    """A reliability curve: prediction, observed rate with its interval, share of the rows."""

    x: Annotated[Floats, Shape()]
    y: Annotated[Floats, Shape("x")]
    low: Annotated[Floats, Shape("x")]
    high: Annotated[Floats, Shape("x")]
    support: Annotated[Floats, Shape("x"), Within(0)]
    level: Probability = 0.95

    def __repr__(self) -> str:
        return f"Curve({len(self.x)} points)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Line(Framed, Record):
    """Points of a function, for drawing; long ones are thinned out."""

    x: Annotated[Floats, Shape(), Within(-BIG, BIG)]
    y: Annotated[Floats, Shape("x"), Within(-BIG, BIG)]

    @classmethod
    def thinned(cls, x: Floats, y: Floats, most: int = 1000) -> Line:
        """About `most` of the points, the largest and the smallest y among them.

        Parameters
        ----------
        x, y
            All points.
        most
            How many to keep.
        """
        if len(x) <= most:
            return cls(x, y)
        kept = np.unique(np.append(np.linspace(0, len(x) - 1, most).astype(np.intp), [np.argmax(y), np.argmin(y)]))
        return cls(x[kept], y[kept])

    def __repr__(self) -> str:
        return f"Line({len(self.x)} points)"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(Framed, Record):
    """An estimate per class."""

    classes: tuple[Any, ...]
    values: Annotated[Floats, Shape("classes")]
    n: Annotated[Floats, Shape("classes")]
    """weight of the rows whose label is this class"""
    low: Annotated[Floats, Shape("classes")] | None = None
    """ends of each value's interval, where the method has one"""
    high: Annotated[Floats, Shape("classes")] | None = None

    _most: ClassVar[int] = 50

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", plain(list(self.classes)))
        super().__post_init__()

    def columns_of_rows(self) -> dict[str, Any]:
        """Class, value, rows and, where there are intervals, their ends."""
        return {"class": list(self.classes), **super().columns_of_rows()}

    def worst(self, most: int = 10) -> tuple[tuple[Any, float], ...]:
        """The classes with the largest values, largest first.

        Parameters
        ----------
        most
            How many classes.
        """
        order = np.argsort(-self.values, kind="stable")[:most]
        return tuple((self.classes[k], float(self.values[k])) for k in order)

    def table(self) -> Table:
        """Class, value, interval and rows; of many classes the first ones."""
        columns: dict[str, list[Any]] = {"class": list(self.classes), "value": self.values.tolist()}
        if self.low is not None and self.high is not None:
            columns["interval"] = [f"{number(a)} … {number(b)}" for a, b in zip(self.low, self.high, strict=True)]
        columns["rows"] = [row_count(n) for n in self.n]
        left = max(len(self.classes) - self._most, 0)
        rows = tuple(zip(*columns.values(), strict=True))[: self._most]
        return Table("Class by class", tuple(columns), rows, f"{left:,} more classes" if left else "")

    def __repr__(self) -> str:
        return self.table().to_text()

    def _repr_html_(self) -> str:
        return self.table().to_html()


ONE_SHAPE = "must have the shape of low"


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ClassRanges(Framed, Record):
    """The ranges that a method chose for each class, a row per class; one without rows has weight 0."""

    classes: tuple[Any, ...]
    low: Annotated[Floats, Shape("classes", None)]
    """the smallest probability of each range"""
    high: Annotated[Floats, Shape("classes", None), Holds(ONE_SHAPE, lambda low, high, **_: low.shape == high.shape)]
    """the largest"""
    weight: Annotated[
        Floats, Shape("classes", None), Holds(ONE_SHAPE, lambda low, weight, **_: low.shape == weight.shape)
    ]

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", plain(list(self.classes)))
        super().__post_init__()

    def columns_of_rows(self) -> dict[str, Any]:
        """A row per class and range."""
        k, r = self.low.shape
        found: dict[str, Any] = {"class": [name for name in self.classes for _ in range(r)], "range": [*range(r)] * k}
        return found | {name: getattr(self, name).ravel() for name in ("low", "high", "weight")}

    def __repr__(self) -> str:
        return f"ClassRanges({self.low.shape[1]} ranges of {len(self.classes)} classes)"


def _limit(value: float) -> str:
    """A limit of a bin with three digits, or with more where they are all 0 or 9."""
    text = f"{value:.3f}"
    return number(value) if text in ("0.000", "1.000") and value not in (0.0, 1.0) else text


def bin_rows(bins: BinTable, curve: Curve, about: str = "") -> Table:
    """The bins behind the reliability diagram, and what they are about."""
    columns = (bins.low, bins.high, bins.weight, bins.mean_prob, bins.label_rate, curve.low, curve.high, bins.gap)
    rows = tuple(
        (
            f"{_limit(low)} – {_limit(high)}",
            row_count(weight),
            mean,
            rate,
            f"{least:.3f} … {most:.3f}",
            gap_cell(gap),
        )
        for low, high, weight, mean, rate, least, most, gap in zip(*(each.tolist() for each in columns), strict=True)
    )
    return Table(f"Bin by bin{about}", ("predictions", "rows", "mean", "observed", "95% interval", "gap"), rows)
