"""Forecasts of a real number as SVG, with the page's style sheet for colours and no script."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calibrant.report.markup import tag
from calibrant.report.plane import POINT_RADIUS, TOP, UNIT, Plane, Range, picture, with_numbers
from calibrant.results import Curve, number

HEIGHT = 340.0
LEFT, ACROSS, DOWN = 68.0, 370.0, 256.0
MARGIN = 1.08
"""How far axes extend beyond what they show."""


def plane_of(x_range: Range, y_range: Range) -> Plane:
    """The area of the drawing with these values at its edges."""
    return Plane(LEFT, TOP, ACROSS, DOWN, x_range, y_range)


def pit_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """The PIT histogram: bars above the band in one colour, below it in the other.

    Parameters
    ----------
    curve
        The histogram and its band.
    among
        The curves that it is drawn beside, whose axes it shares.
    title
        What the drawing is called.
    key
        Makes the ids of the drawing unique on the page.
    """
    top = MARGIN * max(float(max(each.y.max(), each.high.max())) for each in among)
    plane = plane_of(UNIT, (0.0, top))
    half, low, high = 0.47 / len(curve.x), float(curve.low[0]), float(curve.high[0])
    axes = plane.axes("F(y): where in its forecast distribution the label lies", "rows, relative to a flat histogram")
    drawn = [axes]
    for x, y, share in zip(curve.x.tolist(), curve.y.tolist(), curve.support.tolist(), strict=True):
        kind = "over" if y > high else "under" if y < low else "even"
        bar = plane.rect(x - half, 0, x + half, y, class_=f"bar {kind}")
        bar += plane.rect(x - half, 0, x + half, top, class_="touch")
        drawn.append(with_numbers(bar, f"F(y) around {x:.3g}: {number(share)} of the rows"))
    drawn += [plane.rect(0, low, 1, high, class_="band"), plane.line(0, 1, 1, 1, "ideal")]
    outside = int(((curve.y > high) | (curve.y < low)).sum())
    description = f"{len(curve.x)} bars, {outside} of them outside the band."
    return picture("".join(drawn), HEIGHT, description, title=title, key=key)


def coverage_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:  # noqa: ARG001
    """Share of labels below each quantile, over its level.

    Parameters
    ----------
    curve
        Levels and shares.
    among, title, key
        As in `pit_svg`.
    """
    plane = plane_of(UNIT, UNIT)
    drawn = [plane.axes("quantile level", "labels below"), plane.line(0, 0, 1, 1, "ideal")]
    drawn += _line_with_points(plane, curve, "level", "labels below")
    description = f"{len(curve.x)} levels; the table below has the numbers."
    return picture("".join(drawn), HEIGHT, description, title=title, key=key)


def spread_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """Predicted and observed size of the errors per bin.

    Parameters
    ----------
    curve
        Predicted standard deviations and root mean squared errors.
    among, title, key
        As in `pit_svg`.
    """
    right = MARGIN * max(float(each.x.max()) for each in among)
    errors, limits = (np.concatenate([getattr(each, name) for each in among]) for name in ("y", "high"))
    top = MARGIN * max(float(errors.max()), float(limits[np.isfinite(limits)].max(initial=0.0)))
    top = min(top, 3 * max(right, MARGIN * float(errors.max())))  # the interval of a tiny bin may be very long
    plane = plane_of((0.0, right), (0.0, top))
    end = min(right, top)
    drawn = [plane.axes("predicted standard deviation", "root mean squared error"), plane.line(0, 0, end, end, "ideal")]
    drawn += _line_with_points(plane, curve, "predicted", "error")
    description = f"{len(curve.x)} bins; the table below has the numbers."
    return picture("".join(drawn), HEIGHT, description, title=title, key=key)


def marginal_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """Mean forecast distribution minus that of the labels, with the band of a calibrated model.

    Parameters
    ----------
    curve
        The difference and its band.
    among, title, key
        As in `pit_svg`.
    """
    top = MARGIN * max(float(max(np.abs(each.y).max(), each.high.max())) for each in among)
    left, right = min(float(each.x.min()) for each in among), max(float(each.x.max()) for each in among)
    if left == right:
        left, right = left - 0.5, right + 0.5
    plane = plane_of((left, right), (-top, top))
    drawn = [
        plane.axes("x", "mean F(x) − share of labels ≤ x"),
        plane.rect(left, float(curve.low[0]), right, float(curve.high[0]), class_="band"),
        plane.line(left, 0, right, 0, "ideal"),
        plane.curve(curve.x, curve.y),
    ]
    description = f"The largest gap is {number(float(np.abs(curve.y).max()))}."
    return picture("".join(drawn), HEIGHT, description, title=title, key=key)


def _line_with_points(plane: Plane, curve: Curve, x_name: str, y_name: str) -> list[str]:
    drawn, top = [plane.curve(curve.x, curve.y)], plane.y_range[1]
    for x, y, low, high in zip(*(each.tolist() for each in (curve.x, curve.y, curve.low, curve.high)), strict=True):
        point = plane.line(x, min(low, top), x, min(high, top), "interval") if math.isfinite(high) else ""
        point += tag("circle", cx=plane.x(x), cy=plane.y(y), r=POINT_RADIUS, class_="dot")
        drawn.append(
            with_numbers(point, f"{x_name} {number(x)}, {y_name} {number(y)} ({number(low)} – {number(high)})")
        )
    return drawn
