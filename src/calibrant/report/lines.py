"""Drawings of answers beside a diagnosis: running sums, power curves, values with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.plot.logit_axes import span_of
from calibrant.report.markup import tag, words
from calibrant.report.plane import WIDTH, Plane, Range, picture, with_numbers
from calibrant.report.svg import LOW_HEIGHT, MARGIN, ODDS_END, plane_of
from calibrant.results import Line, number

CROWDED, NEAR = 0.5, 0.05
"""Where this share of the points lies this close to 0 or 1, predictions are drawn by their log-odds."""

PLACES = 25
"""Places of a line that show their numbers, and rows of the table behind it."""

ROW, NAMES = 24.0, 20
"""Pixels of a row of intervals, and characters of the longest name beside it."""


def places(line: Line, most: int = PLACES) -> list[tuple[float, float]]:
    """Points of a line from end to end.

    Parameters
    ----------
    line
        The line.
    most
        How many.
    """
    kept = np.unique(np.linspace(0, len(line.x) - 1, most).astype(int))
    return list(zip(line.x[kept].tolist(), line.y[kept].tolist(), strict=True))


def cumulative_svg(line: Line, *, title: str, key: str, stretch: Range | None = None) -> str:
    """The running sum of errors along the sorted predictions.

    Parameters
    ----------
    line
        Predictions and the sum up to each.
    title, key
        As in `reliability_svg`.
    stretch
        Predictions between which errors add up most, to be shaded.
    """
    logit = float(np.mean((line.x < NEAR) | (line.x > 1 - NEAR))) > CROWDED
    top = max(MARGIN * float(line.y.max(initial=0.0)), 1e-9)
    bottom = min(MARGIN * float(line.y.min(initial=0.0)), -0.05 * top)
    top = max(top, -0.05 * bottom)
    ends = (0.0, 1.0)
    if logit:
        low, high = np.clip(sigmoid(np.array(span_of(line.x))), ODDS_END, 1 - ODDS_END).tolist()
        ends = (low, high)
    plane = plane_of(ends, (bottom, top), logit_x=logit)
    steps = _steps(line)
    drawn = plane.axes("prediction", "summed gap per row, up to here") + plane.line(ends[0], 0, ends[1], 0, "ideal")
    if stretch is not None:
        drawn += plane.rect(max(stretch[0], ends[0]), bottom, min(stretch[1], ends[1]), top, class_="band")
    drawn += tag("polyline", class_="curve strong", points=plane.points(*steps))
    drawn += _touched(plane, line, "up to prediction", "summed gap")
    largest = float(np.abs(line.y).max(initial=0.0))
    description = f"The running sum ends at {number(float(line.y[-1]))} and reaches {number(largest)} at most."
    return picture(drawn, LOW_HEIGHT, description, title=title, key=key)


def _steps(line: Line) -> tuple[list[float], list[float]]:
    """A start at 0, then the points."""
    return [0.0, *line.x.tolist()], [0.0, *line.y.tolist()]


def line_svg(line: Line, x_title: str, y_title: str, *, title: str, key: str) -> str:
    """A curve, such as power over the size of an error.

    Parameters
    ----------
    line
        The curve.
    x_title, y_title
        Of the axes.
    title, key
        As in `reliability_svg`.
    """
    top = 1.0 if y_title == "power" else MARGIN * float(line.y.max())
    low, high = float(line.x.min()), float(line.x.max())
    bottom = min(0.0, MARGIN * float(line.y.min()))
    plane = plane_of((low, high if high > low else low + 1), (bottom, top if top > bottom else bottom + 1))
    drawn = plane.axes(x_title, y_title) + tag("polyline", class_="curve strong", points=plane.points(line.x, line.y))
    drawn += _touched(plane, line, x_title, y_title)
    description = f"{y_title} from {number(float(line.y[0]))} to {number(float(line.y[-1]))}."
    return picture(drawn, LOW_HEIGHT, description, title=title, key=key)


def _touched(plane: Plane, line: Line, x_name: str, y_name: str) -> str:
    """Places that show their numbers while the pointer is on them."""
    drawn = ""
    for x, y in places(line):
        dot = tag("circle", cx=plane.x(x), cy=plane.y(y), r=6, class_="touch")
        drawn += with_numbers(dot, f"{x_name} {number(x)}, {y_name} {number(y)}")
    return drawn


def forest_svg(
    rows: Sequence[tuple[str, float, float | None, float | None]], x_title: str, *, title: str, key: str
) -> str:
    """Values with their intervals, one below the other, and 0 as a line.

    Parameters
    ----------
    rows
        Name, value and the ends of its interval.
    x_title
        What the values are.
    title, key
        As in `reliability_svg`.
    """
    height = ROW * len(rows)
    left = 20.0 + 7.2 * min(max(len(name) for name, *_ in rows), NAMES)
    plane = Plane(left, 34.0, WIDTH - left - 14, height, _ends(rows), (0.0, 1.0))
    drawn = plane.axes(x_title, "", y_ticks={}) + plane.line(0, 0, 0, 1, "ideal")
    for i, (name, value, low, high) in enumerate(rows):
        at = 1 - (i + 0.5) / len(rows)
        short = name if len(name) <= NAMES else f"{name[: NAMES - 1]}…"
        part = words("text", short, x=left - 10, y=plane.y(at) + 4, class_="tick end")
        part += plane.rect(
            plane.x_range[0], at - 0.5 / len(rows), plane.x_range[1], at + 0.5 / len(rows), class_="touch"
        )
        text = f"{name}: {number(value)}"
        if low is not None and high is not None:
            part += plane.line(max(low, plane.x_range[0]), at, min(high, plane.x_range[1]), at, "interval")
            text += f" ({number(low)} – {number(high)})"
        side = "over" if low is not None and low > 0 else "under" if high is not None and high < 0 else "even"
        part += tag("circle", cx=plane.x(value), cy=plane.y(at), r=4, class_=f"dot {side}")
        drawn += with_numbers(part, text)
    description = f"{len(rows)} values with their intervals; the table has the numbers."
    return picture(drawn, height + 84, description, title=title, key=key)


def _ends(rows: Sequence[tuple[str, float, float | None, float | None]]) -> Range:
    """Ends of the axis around all finite values and 0."""
    values = [each for _, *numbers in rows for each in numbers if each is not None and math.isfinite(each)]
    low, high = min([0.0, *values]), max([0.0, *values])
    more = 0.06 * (high - low) or 0.5
    return low - more, high + more
