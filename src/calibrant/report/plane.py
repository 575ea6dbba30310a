"""A rectangle of a drawing with its axes, and the SVG element around it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from calibrant.plot.logit_axes import ticks_of
from calibrant.report.markup import tag, words

WIDTH, TOP = 452.0, 28.0
UNIT = (0.0, 1.0)

POINT_RADIUS = 3.6
"""Radius of a point that holds the average share of the rows; the area grows with the share."""

HALF_CHARACTER = 3.6
"""Half the width of a character of a tick, in pixels."""

TOUCH = 1e-3
"""A value beyond a tick by this small a part of a step does not earn another tick."""

Range = tuple[float, float]

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Plane:
    """A rectangle of the drawing, in pixels, and the values at its edges; values beyond them lie on the edge."""

    left: float
    top: float
    width: float
    height: float
    x_range: Range = UNIT
    y_range: Range = UNIT
    logit_x: bool = False
    logit_y: bool = False
    """are probabilities drawn by their log-odds?"""

    def x(self, value: float) -> float:
        """The pixel of a value on the x axis."""
        return self.left + self.width * _share(float(value), self.x_range, self.logit_x)

    def y(self, value: float) -> float:
        """The pixel of a value on the y axis."""
        return self.top + self.height * (1 - _share(float(value), self.y_range, self.logit_y))

    @property
    def bottom(self) -> float:
        """The pixel of the lower edge."""
        return self.top + self.height

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
        """A line between two points, of a class of the style sheet."""
        return tag("line", x1=self.x(x1), y1=self.y(y1), x2=self.x(x2), y2=self.y(y2), class_=kind)

    def rect(self, left: float, bottom: float, right: float, top: float, **attributes: str) -> str:
        """A rectangle between four values."""
        x, y = self.x(left), self.y(top)
        return tag("rect", x=x, y=y, width=self.x(right) - x, height=self.y(bottom) - y, **attributes)

    def points(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        """The points of a polygon or a polyline."""
        return " ".join(f"{self.x(x):.2f},{self.y(y):.2f}" for x, y in zip(xs, ys, strict=True))

    def curve(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        """A line through points."""
        return tag("polyline", class_="curve", points=self.points(xs, ys))

    def axes(
        self,
        x_title: str,
        y_title: str,
        x_ticks: Mapping[float, str] | None = None,
        y_ticks: Mapping[float, str] | None = None,
        floor: float | None = None,
    ) -> str:
        """Grid, tick labels and axis titles.

        Parameters
        ----------
        x_title, y_title
            Titles of the axes.
        x_ticks, y_ticks
            Labels of the axes by value; round values if None.
        floor
            The pixel below which the labels of the x axis hang; the lower edge if None.
        """
        end = self.bottom if floor is None else floor
        drawn = []
        for value, label in (marks(self.y_range, self.logit_y) if y_ticks is None else y_ticks).items():
            drawn.append(self.line(self.x_range[0], value, self.x_range[1], value, "grid"))
            drawn.append(words("text", label, x=self.left - 8, y=self.y(value) + 4, class_="tick end"))
        for value, label in (marks(self.x_range, self.logit_x) if x_ticks is None else x_ticks).items():
            at = self.x(value)
            drawn.append(tag("line", x1=at, x2=at, y1=self.top, y2=end, class_="grid"))
            inside = min(at, WIDTH - HALF_CHARACTER * len(label))  # whole labels also at the right edge
            drawn.append(words("text", label, x=inside, y=end + 20, class_="tick middle"))
        drawn.append(words("text", x_title, x=self.left + self.width / 2, y=end + 42, class_="axis middle"))
        turned = f"translate(6 {self.top + self.height / 2:g}) rotate(-90)"
        return "".join([*drawn, words("text", y_title, class_="axis middle", transform=turned)])


def _share(value: float, ends: Range, logit: bool) -> float:
    """How far along an axis a value lies, from 0 to 1 on a logit axis."""
    low, high = ends
    if not logit:
        return (value - low) / (high - low)
    inside = min(max(value, low), high)
    at, start, stop = (math.log(each / (1 - each)) for each in (inside, low, high))
    return (at - start) / (stop - start) if stop > start else 0.5  # all lies beyond the end of the axis


def marks(ends: Range, logit: bool = False) -> dict[float, str]:
    """The labels of an axis by value."""
    if not logit:
        return {value: f"{value:.6g}" for value in ticks(*ends)}
    return {value: _odds_text(value) for value in ticks_of(*ends)}


def _odds_text(p: float) -> str:
    """0.001, 10⁻⁴, 0.999, 1−10⁻⁴."""
    power = round(math.log10(min(p, 1 - p)))
    if power > -4:
        return f"{p:g}"
    return ("10" if p < 0.5 else "1−10") + str(power).translate(SUPERSCRIPT)


def round_step(span: float) -> float:
    """A round distance between ticks that leaves at most six of them."""
    power = 10.0 ** math.floor(math.log10(span / 5))
    return next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 5 + 1e-9)


def ticks(low: float, high: float) -> list[float]:
    """Round values within a range."""
    step = round_step(high - low)
    first, last = math.ceil(low / step - TOUCH), math.floor(high / step + TOUCH)
    return [i * step for i in range(first, last + 1)]


def with_numbers(drawn: str, text: str) -> str:
    """A part of a drawing that shows its numbers while the pointer is on it."""
    return tag("g", drawn + words("text", text, x=WIDTH / 2, y=TOP - 12, class_="numbers middle"), class_="bin")


def picture(drawn: str, height: float, description: str, *, title: str, key: str) -> str:
    """The drawing as an SVG element with a title and a description; `key` makes ids unique."""
    head = words("title", title, id=f"{key}-title") + words("desc", description, id=f"{key}-desc")
    box = f"0 0 {WIDTH:g} {height:g}"
    return tag("svg", head + drawn, viewBox=box, role="img", aria_labelledby=f"{key}-title {key}-desc")
