"""Forecasts of a real number as SVG, with the page's style sheet for colours and no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.report.markup import tag, words
from calibrant.report.svg import POINT_RADIUS, round_step
from calibrant.results import Curve, number

WIDTH, HEIGHT = 452.0, 340.0
LEFT, TOP, ACROSS, DOWN = 68.0, 28.0, 370.0, 256.0
ROOM = 1.08
"""How far axes reach beyond what they show."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Plane:
    """A rectangle of the drawing and the values at its edges."""

    x_range: Range
    y_range: Range

    def x(self, value: float) -> float:
        low, high = self.x_range
        return LEFT + ACROSS * (float(value) - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return TOP + DOWN * (high - float(value)) / (high - low)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
        return tag("line", x1=self.x(x1), y1=self.y(y1), x2=self.x(x2), y2=self.y(y2), class_=kind)

    def rect(self, left: float, bottom: float, right: float, top: float, kind: str) -> str:
        x, y = self.x(left), self.y(top)
        return tag("rect", x=x, y=y, width=self.x(right) - x, height=self.y(bottom) - y, class_=kind)

    def points(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{self.x(x):.2f},{self.y(y):.2f}" for x, y in zip(xs, ys, strict=True))

    def axes(self, x_title: str, y_title: str) -> str:
        """Grid, tick labels and axis titles."""
        (left, right), (low, high) = self.x_range, self.y_range
        floor, drawn = TOP + DOWN, []
        for value in ticks(low, high):
            drawn.append(self.line(left, value, right, value, "grid"))
            drawn.append(words("text", f"{value:.6g}", x=LEFT - 8, y=self.y(value) + 4, class_="tick end"))
        for value in ticks(left, right):
            drawn.append(self.line(value, low, value, high, "grid"))
            drawn.append(words("text", f"{value:.6g}", x=self.x(value), y=floor + 20, class_="tick middle"))
        drawn.append(words("text", x_title, x=LEFT + ACROSS / 2, y=floor + 44, class_="axis middle"))
        turned = f"translate(12 {TOP + DOWN / 2:g}) rotate(-90)"
        return "".join([*drawn, words("text", y_title, class_="axis middle", transform=turned)])


def ticks(low: float, high: float) -> list[float]:
    """Round values within the ends."""
    step = round_step(high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def pit_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """The histogram of F(y): bars above the band in one colour, below it in the other; axes that suit all `among` it."""
    top = ROOM * max(float(max(each.y.max(), each.high.max())) for each in among)
    plane = Plane((0.0, 1.0), (0.0, top))
    half, low, high = 0.47 / len(curve.x), float(curve.low[0]), float(curve.high[0])
    drawn = [
        plane.axes("F(y): where in its forecast distribution the label lies", "rows, relative to a flat histogram")
    ]
    for i, (x, y) in enumerate(zip(curve.x.tolist(), curve.y.tolist(), strict=True)):
        kind = "over" if y > high else "under" if y < low else "even"
        bar = plane.rect(x - half, 0, x + half, y, f"bar {kind}")
        bar += plane.rect(x - half, 0, x + half, top, "touch")
        drawn.append(_told(bar, f"F(y) around {x:.3g}: {number(float(curve.support[i]))} of the rows"))
    drawn += [plane.rect(0, low, 1, high, "band"), plane.line(0, 1, 1, 1, "ideal")]
    outside = int(((curve.y > high) | (curve.y < low)).sum())
    return _picture("".join(drawn), title, f"{len(curve.x)} bars, {outside} of them outside the band.", key)


def coverage_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:  # noqa: ARG001
    """Share of labels below each quantile, beside its level."""
    plane = Plane((0.0, 1.0), (0.0, 1.0))
    drawn = [plane.axes("quantile level", "labels below"), plane.line(0, 0, 1, 1, "ideal")]
    drawn += _line_with_points(plane, curve, "level", "labels below")
    return _picture("".join(drawn), title, f"{len(curve.x)} levels; the table below has the numbers.", key)


def spread_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """Predicted and observed size of the errors, bin by bin."""
    right = ROOM * max(float(each.x.max()) for each in among)
    seen, reach = (np.concatenate([getattr(each, name) for each in among]) for name in ("y", "high"))
    top = ROOM * max(float(seen.max()), float(reach[np.isfinite(reach)].max(initial=0.0)))
    top = min(top, 3 * max(right, ROOM * float(seen.max())))  # the interval of a tiny bin may reach far
    plane = Plane((0.0, right), (0.0, top))
    end = min(right, top)
    drawn = [plane.axes("predicted standard deviation", "root mean squared error"), plane.line(0, 0, end, end, "ideal")]
    drawn += _line_with_points(plane, curve, "predicted", "error")
    return _picture("".join(drawn), title, f"{len(curve.x)} bins; the table below has the numbers.", key)


def marginal_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """Mean forecast distribution less that of the labels, with the band of a calibrated model."""
    reach = ROOM * max(float(max(np.abs(each.y).max(), each.high.max())) for each in among)
    left, right = min(float(each.x.min()) for each in among), max(float(each.x.max()) for each in among)
    if left == right:
        left, right = left - 0.5, right + 0.5
    plane = Plane((left, right), (-reach, reach))
    low, high = float(curve.low[0]), float(curve.high[0])
    drawn = [
        plane.axes("x", "mean F(x) − share of labels ≤ x"),
        plane.rect(left, low, right, high, "band"),
        plane.line(left, 0, right, 0, "ideal"),
        tag("polyline", class_="curve", points=plane.points(curve.x.tolist(), curve.y.tolist())),
    ]
    return _picture("".join(drawn), title, f"The largest gap is {number(float(np.abs(curve.y).max()))}.", key)


def _line_with_points(plane: Plane, curve: Curve, said: str, came: str) -> list[str]:
    drawn = [tag("polyline", class_="curve", points=plane.points(curve.x.tolist(), curve.y.tolist()))]
    top = plane.y_range[1]
    for x, y, low, high in zip(*(each.tolist() for each in (curve.x, curve.y, curve.low, curve.high)), strict=True):
        point = plane.line(x, min(low, top), x, min(high, top), "interval") if math.isfinite(high) else ""
        point += tag("circle", cx=plane.x(x), cy=plane.y(y), r=POINT_RADIUS, class_="dot")
        drawn.append(_told(point, f"{said} {number(x)}, {came} {number(y)} ({number(low)} – {number(high)})"))
    return drawn


def _told(drawn: str, text: str) -> str:
    """A part that shows its numbers while the pointer is on it."""
    return tag("g", drawn + words("text", text, x=WIDTH / 2, y=TOP - 12, class_="numbers middle"), class_="bin")


def _picture(drawn: str, title: str, description: str, key: str) -> str:
    head = words("title", title, id=f"{key}-title") + words("desc", description, id=f"{key}-desc")
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return tag("svg", head + drawn, viewBox=box, role="img", aria_labelledby=f"{key}-title {key}-desc")
