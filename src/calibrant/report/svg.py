"""Reliability diagrams as SVG, with the page's style sheet for colours and no script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.plot.content import bar_heights
from calibrant.report.markup import tag, words
from calibrant.results import BinTable, Curve, number

WIDTH, HEIGHT = 452.0, 516.0
LEFT, TOP, SIDE = 50.0, 28.0, 382.0
STRIP_GAP, STRIP = 10.0, 48.0
POINT_RADIUS = 3.6
"""Radius of a point that holds the average share of the rows; the area grows with the share."""

UNIT = (0.0, 1.0)

NARROW = 1e-6
"""Values this close to each other still get an axis of some length."""

TOUCH = 1e-3
"""A value this small part of a step beyond a tick does not earn another tick."""


@dataclass(frozen=True)
class Frame:
    """A rectangle of the drawing and the values at its edges."""

    left: float
    top: float
    width: float
    height: float
    y_range: tuple[float, float] = UNIT

    def x(self, value: float) -> float:
        return self.left + self.width * float(value)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.top + self.height * (high - float(value)) / (high - low)

    @property
    def bottom(self) -> float:
        return self.top + self.height


def reliability_svg(curve: Curve, bins: BinTable, *, title: str, key: str) -> str:
    """Predicted against observed on the unit square, with the histogram of predictions below; `key` makes ids unique."""
    square = Frame(LEFT, TOP, SIDE, SIDE)
    strip = Frame(LEFT, square.bottom + STRIP_GAP, SIDE, STRIP)
    ticks = [i / 5 for i in range(6)]
    drawn = [
        _axes(square, strip.bottom, ticks, [f"{t:g}" for t in ticks], "predicted probability", "observed frequency"),
        _gap_to_diagonal(square, curve, key),
        _line(square, 0, 0, 1, 1, "ideal"),
        _bars(strip, bins),
        tag("polyline", class_="curve", points=_points(square, curve.x, curve.y)),
        *(_point(square, curve, i, curve.x[i]) for i in range(len(curve.x))),
    ]
    return _picture("".join(drawn), title, _description(curve), key)


def rows_svg(curve: Curve, y_range: tuple[float, float], *, title: str, key: str) -> str:
    """The same gaps with every row given the same width: readable however crowded the predictions are."""
    frame = Frame(LEFT, TOP, SIDE, SIDE + STRIP_GAP + STRIP, y_range)
    ticks = [i / 4 for i in range(5)]
    labels = [f"{t:.0%}".replace("%", " %") for t in ticks]
    ends = np.concatenate([[0.0], np.cumsum(curve.support)]) / curve.support.sum()
    drawn = [
        _axes(frame, frame.bottom, ticks, labels, "rows, from lowest to highest prediction", "probability"),
        *(_column(frame, curve, i, ends[i], ends[i + 1]) for i in range(len(curve.x))),
    ]
    return _picture("".join(drawn), title, _description(curve), key)


def value_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """Round ends between which everything that the curves show lies, the same for all so that they compare."""
    values = np.concatenate([part for c in curves for part in (c.x, c.y, c.low, c.high)])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    low, high = max(0.0, low - NARROW), min(1.0, high + NARROW)
    for _ in range(2):  # rounding widens the span, which can ask for a larger step
        step = round_step(high - low)
        low, high = math.floor(low / step + TOUCH) * step, math.ceil(high / step - TOUCH) * step
    return max(0.0, low), min(1.0, high)


def round_step(span: float) -> float:
    """A round distance between ticks that leaves at most six of them."""
    power = 10.0 ** math.floor(math.log10(span / 5))
    return next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 5 + 1e-9)


def _ticks(low: float, high: float) -> list[float]:
    step = round_step(high - low)
    first = math.ceil(low / step - TOUCH)
    return [i * step for i in range(first, math.floor(high / step + TOUCH) + 1)]


def _axes(frame: Frame, floor: float, x_ticks: list[float], x_labels: list[str], x_title: str, y_title: str) -> str:
    """Grid, tick labels and axis titles; `floor` is where the labels of the x axis hang."""
    drawn = []
    for value in _ticks(*frame.y_range):
        drawn.append(_line(frame, 0, value, 1, value, "grid"))
        drawn.append(words("text", f"{value:.6g}", x=frame.left - 8, y=frame.y(value) + 4, class_="tick end"))
    for value, label in zip(x_ticks, x_labels, strict=True):
        drawn.append(tag("line", x1=frame.x(value), x2=frame.x(value), y1=frame.top, y2=floor, class_="grid"))
        drawn.append(words("text", label, x=frame.x(value), y=floor + 20, class_="tick middle"))
    drawn.append(words("text", x_title, x=frame.x(0.5), y=floor + 42, class_="axis middle"))
    middle = frame.top + frame.height / 2
    drawn.append(words("text", y_title, class_="axis middle", transform=f"translate(12 {middle:g}) rotate(-90)"))
    return "".join(drawn)


def _gap_to_diagonal(frame: Frame, curve: Curve, key: str) -> str:
    """The area between curve and diagonal, cut along the diagonal into too high and too low."""
    shape = f"{_points(frame, curve.x, curve.y)} {_points(frame, curve.x[::-1], curve.x[::-1])}"
    drawn = ""
    for name, corner in (("over", (1.0, 0.0)), ("under", (0.0, 1.0))):
        half = _points(frame, (0.0, corner[0], 1.0), (0.0, corner[1], 1.0))
        drawn += tag("clipPath", tag("polygon", points=half), id=f"{key}-{name}")
        drawn += tag("polygon", points=shape, class_=f"gap {name}", clip_path=f"url(#{key}-{name})")
    return drawn


def _bars(strip: Frame, bins: BinTable) -> str:
    """The histogram of predictions, as high as the strip at its highest."""
    bars = [
        tag("rect", x=strip.x(low), y=strip.y(height), width=strip.width * (high - low), height=strip.height * height)
        for low, high, height in zip(bins.low.tolist(), bins.high.tolist(), bar_heights(bins).tolist(), strict=True)
    ]
    title = words("text", "rows", x=strip.left - 8, y=strip.bottom - 2, class_="tick end")
    return tag("g", "".join(bars), class_="bars") + title + _line(strip, 0, 0, 1, 0, "floor")


def _point(frame: Frame, curve: Curve, i: int, at: float, extra: str = "") -> str:
    """One bin: its interval, its point and, while the pointer is on it, its numbers."""
    x, y = frame.x(at), frame.y(curve.y[i])
    low, high = float(curve.low[i]), float(curve.high[i])
    known = math.isfinite(low) and math.isfinite(high)
    radius = POINT_RADIUS * math.sqrt(float(curve.support[i] / curve.support.sum()) * len(curve.x))
    drawn = extra
    if known:
        drawn += tag("line", x1=x, x2=x, y1=frame.y(low), y2=frame.y(high), class_="interval")
    drawn += tag("circle", cx=x, cy=y, r=max(radius, 1.2), class_="dot")
    drawn += words("text", _numbers(curve, i), x=WIDTH / 2, y=TOP - 12, class_="numbers middle")
    return tag("g", drawn, class_="bin")


def _column(frame: Frame, curve: Curve, i: int, start: float, end: float) -> str:
    """One bin as wide as its share of the rows, the gap between predicted and observed filled."""
    said, happened = float(curve.x[i]), float(curve.y[i])
    left, width = frame.x(start), frame.width * (end - start)
    top, bottom = sorted((frame.y(said), frame.y(happened)))
    kind = "over" if said > happened else "under"
    drawn = tag("rect", x=left, y=frame.top, width=width, height=frame.height, class_="touch")
    drawn += tag("rect", x=left, y=top, width=width, height=bottom - top, class_=f"gap {kind}")
    drawn += _line(frame, start, said, end, said, "said")
    return _point(frame, curve, i, (start + end) / 2, drawn)


def _numbers(curve: Curve, i: int) -> str:
    interval = f" ({number(curve.low[i])} – {number(curve.high[i])})" if math.isfinite(float(curve.low[i])) else ""
    share = f"{float(curve.support[i] / curve.support.sum()):.1%}".replace("%", " %")
    return f"predicted {number(curve.x[i])}, observed {number(curve.y[i])}{interval}, {share} of rows"


def _description(curve: Curve) -> str:
    said = f"{number(curve.x.min())} to {number(curve.x.max())}"
    happened = f"{number(curve.y.min())} to {number(curve.y.max())}"
    return f"{len(curve.x)} bins: mean predictions from {said}, observed frequencies from {happened}. The tables below have the numbers."


def _picture(drawn: str, title: str, description: str, key: str) -> str:
    head = words("title", title, id=f"{key}-title") + words("desc", description, id=f"{key}-desc")
    box = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return tag("svg", head + drawn, viewBox=box, role="img", aria_labelledby=f"{key}-title {key}-desc")


def _line(frame: Frame, x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return tag("line", x1=frame.x(x1), y1=frame.y(y1), x2=frame.x(x2), y2=frame.y(y2), class_=kind)


def _points(frame: Frame, xs: Iterable[float], ys: Iterable[float]) -> str:
    return " ".join(f"{frame.x(x):.2f},{frame.y(y):.2f}" for x, y in zip(xs, ys, strict=True))
