"""Diagrams of a diagnosis as SVG, with colours from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from calibrant.kernels.logits import sigmoid
from calibrant.plot.content import bar_heights
from calibrant.plot.logit_axes import span_of
from calibrant.report.markup import tag, words
from calibrant.report.plane import POINT_RADIUS, TOP, TOUCH, UNIT, Plane, Range, picture, round_step, with_numbers
from calibrant.results import BinTable, Curve, number
from calibrant.types import Floats

HEIGHT = 516.0
LEFT, SIDE = 66.0, 366.0
SCALES = ("linear", "logit")
STRIP_GAP, STRIP = 10.0, 48.0

LOW_HEIGHT, FORECAST_LEFT, ACROSS, DOWN = 340.0, 68.0, 370.0, 256.0
"""Of the drawings of forecasts, which are lower."""

plane_of = partial(Plane, FORECAST_LEFT, TOP, ACROSS, DOWN)
"""The area of these drawings, from the ranges of its two axes."""

MARGIN = 1.08
"""How far their axes extend beyond what they show."""

NARROW = 1e-6
"""Values this close to each other still get an axis of some length."""


ODDS_END = 1e-6
"""Logit axes go no farther than this from 0 and 1."""

LARGEST = 8.0
"""Radius of the largest point."""

MANY_POINTS, HOVERED = 30, 25
"""A curve of more points is drawn as a line with a band, and shows the numbers of so many places."""

Views = Mapping[str, Mapping[str, Curve]]
"""Curves by what they are about and how they were made."""


def reliability_svg(
    views: Views, *, bins: BinTable | None, title: str, key: str, scales: Sequence[str] = SCALES
) -> str:
    """Predicted against observed, every curve on every scale, of which the first is shown; a script can switch.

    Parameters
    ----------
    views
        The curves, by question and by estimator.
    bins
        The bins of the histogram of predictions below; None: no histogram.
    title
        What the drawing is called.
    key
        Makes the ids of the drawing unique on the page.
    scales
        `linear` and `logit`, or one of them.
    """
    every = [curve for curves in views.values() for curve in curves.values()]
    planes = {scale: _square(scale, every) for scale in scales}
    strip = Plane(LEFT, TOP + SIDE + STRIP_GAP, SIDE, STRIP)
    drawn, first = [_halves(next(iter(planes.values())), key)], True
    for scale, plane in planes.items():
        counted = bins is not None and not plane.logit_x  # areas of bars are rows on the linear scale only
        axes = plane.axes("predicted probability", "observed frequency", floor=strip.bottom if counted else None)
        axes += plane.line(plane.x_range[0], plane.y_range[0], plane.x_range[1], plane.y_range[1], "ideal")
        axes += _bars(strip, bins) if counted and bins is not None else ""
        drawn.append(_variant(axes, not first, scale=scale))
        for question, curves in views.items():
            for made, curve in curves.items():
                drawn.append(
                    _variant(_drawn_curve(plane, curve, key), not first, scale=scale, question=question, made=made)
                )
                first = False
    height = HEIGHT if bins else HEIGHT - STRIP - STRIP_GAP
    return picture("".join(drawn), height, _description(every[0]), title=title, key=key)


def _variant(drawn: str, hidden: bool, **of: str) -> str:
    """A part of the drawing that is shown, or could be."""
    data = {f"data_{name}": text for name, text in of.items()}
    return tag("g", drawn, **data, **({"hidden": ""} if hidden else {}))


def _square(scale: str, curves: Sequence[Curve]) -> Plane:
    """The unit square, or as much of it as the curves need on a logit scale."""
    if scale == "linear":
        return Plane(LEFT, TOP, SIDE, SIDE)
    values = np.concatenate([part for each in curves for part in (each.x, each.y)])
    low, high = np.clip(sigmoid(np.array(span_of(values))), ODDS_END, 1 - ODDS_END).tolist()
    return Plane(LEFT, TOP, SIDE, SIDE, (low, high), (low, high), True, True)


def _drawn_curve(plane: Plane, curve: Curve, key: str) -> str:
    """A curve with its gap to the diagonal, and its points or its band."""
    drawn = ""
    for part in _inside(plane, curve):
        drawn += _gap_to_diagonal(plane, curve.x[part], curve.y[part], key) + plane.curve(curve.x[part], curve.y[part])
    if len(curve.x) <= MANY_POINTS:
        return drawn + "".join(_point(plane, curve, i, curve.x[i]) for i in range(len(curve.x)))
    band = f"{plane.points(curve.x, curve.low)} {plane.points(curve.x[::-1], curve.high[::-1])}"
    drawn = tag("polygon", points=band, class_="band ribbon") + drawn
    places = np.unique(np.linspace(0, len(curve.x) - 1, HOVERED).astype(int)).tolist()
    return drawn + "".join(_point(plane, curve, i, curve.x[i], bare=True) for i in places)


def rows_svg(curve: Curve, among: Sequence[Curve], *, title: str, key: str) -> str:
    """The same gaps with the same width per row: readable however crowded the predictions are.

    Parameters
    ----------
    curve
        Mean predictions and observed rates per bin.
    among
        The curves that it is drawn beside, whose axis it shares.
    title, key
        As in `reliability_svg`.
    """
    plane = Plane(LEFT, TOP, SIDE, SIDE + STRIP_GAP + STRIP, y_range=value_range(among))
    labels = {i / 4: f"{25 * i} %" for i in range(5)}
    ends = np.concatenate([[0.0], np.cumsum(curve.support)]) / curve.support.sum()
    drawn = [
        plane.axes("rows, from lowest to highest prediction", "probability", labels),
        *(_column(plane, curve, i, ends[i], ends[i + 1]) for i in range(len(curve.x))),
    ]
    return picture("".join(drawn), HEIGHT, _description(curve), title=title, key=key)


def value_range(curves: Sequence[Curve]) -> Range:
    """Round ends around all that the curves show, the same for all so that they compare.

    Parameters
    ----------
    curves
        The curves that are drawn beside each other.
    """
    values = np.concatenate([part for c in curves for part in (c.x, c.y, c.low, c.high)])
    values = values[np.isfinite(values)]
    low, high = max(0.0, float(values.min()) - NARROW), min(1.0, float(values.max()) + NARROW)
    for _ in range(2):  # rounding widens the span, which can ask for a larger step
        step = round_step(high - low)
        low, high = math.floor(low / step + TOUCH) * step, math.ceil(high / step - TOUCH) * step
    return max(0.0, low), min(1.0, high)


def _halves(plane: Plane, key: str) -> str:
    """Below and above the diagonal: what is predicted too high and too low."""
    (x, right), (y, top) = plane.x_range, plane.y_range
    corners = {"over": (right, y), "under": (x, top)}
    halves = {name: plane.points((x, a, right), (y, b, top)) for name, (a, b) in corners.items()}
    return "".join(tag("clipPath", tag("polygon", points=half), id=f"{key}-{name}") for name, half in halves.items())


def _inside(plane: Plane, curve: Curve) -> list[slice]:
    """The stretches to be connected: all, but on a logit scale not rates of exactly 0 or 1, which are infinitely far."""
    if not plane.logit_y:
        return [slice(None)]
    inside = (curve.y > plane.y_range[0]) & (curve.y < plane.y_range[1])
    ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    return [slice(a, b) for a, b in ends.reshape(-1, 2).tolist()]


def _gap_to_diagonal(plane: Plane, x: Floats, y: Floats, key: str) -> str:
    """The area between curve and diagonal, cut along the diagonal into too high and too low."""
    shape = f"{plane.points(x, y)} {plane.points(x[::-1], x[::-1])}"
    return "".join(
        tag("polygon", points=shape, class_=f"gap {name}", clip_path=f"url(#{key}-{name})")
        for name in ("over", "under")
    )


def _bars(strip: Plane, bins: BinTable) -> str:
    """The histogram of predictions, as high as the strip at its highest."""
    ends = zip(bins.low.tolist(), bins.high.tolist(), bar_heights(bins).tolist(), strict=True)
    bars = tag("g", "".join(strip.rect(low, 0, high, height) for low, high, height in ends), class_="bars")
    title = words("text", "rows", x=strip.left - 8, y=strip.bottom - 2, class_="tick end")
    return bars + title + strip.line(0, 0, 1, 0, "floor")


def _point(plane: Plane, curve: Curve, i: int, at: float, behind: str = "", bare: bool = False) -> str:
    """One bin: its interval, its point and, while the pointer is on it, its numbers; bare: of a place on a line."""
    low, high = float(curve.low[i]), float(curve.high[i])
    share = float(curve.support[i] / curve.support.sum())
    known = math.isfinite(low) and math.isfinite(high) and not bare
    interval = plane.line(at, low, at, high, "interval") if known else ""
    radius = min(max(POINT_RADIUS * math.sqrt(share * len(curve.x)), 1.2), LARGEST)
    dot = tag(
        "circle", cx=plane.x(at), cy=plane.y(curve.y[i]), r=6 if bare else radius, class_="touch" if bare else "dot"
    )
    ends = f" ({number(low)} – {number(high)})" if math.isfinite(low) else ""
    facts = f"predicted {number(curve.x[i])}, observed {number(curve.y[i])}{ends}"
    return with_numbers(behind + interval + dot, facts if bare else f"{facts}, {100 * share:.1f} % of rows")


def _column(plane: Plane, curve: Curve, i: int, start: float, end: float) -> str:
    """One bin as wide as its share of the rows, the gap between predicted and observed filled."""
    predicted, observed = float(curve.x[i]), float(curve.y[i])
    kind = "over" if predicted > observed else "under"
    drawn = plane.rect(start, plane.y_range[0], end, plane.y_range[1], class_="touch")
    drawn += plane.rect(start, min(predicted, observed), end, max(predicted, observed), class_=f"gap {kind}")
    drawn += plane.line(start, predicted, end, predicted, "predicted")
    return _point(plane, curve, i, (start + end) / 2, drawn)


def _description(curve: Curve) -> str:
    predicted, observed = (f"{number(part.min())} to {number(part.max())}" for part in (curve.x, curve.y))
    return f"{len(curve.x)} bins: mean predictions from {predicted}, observed frequencies from {observed}."


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
    drawn = [
        plane.axes("F(y): where in its forecast distribution the label lies", "rows, relative to a flat histogram")
    ]
    for x, y, share in zip(curve.x.tolist(), curve.y.tolist(), curve.support.tolist(), strict=True):
        kind = "over" if y > high else "under" if y < low else "even"
        bar = plane.rect(x - half, 0, x + half, y, class_=f"bar {kind}")
        bar += plane.rect(x - half, 0, x + half, top, class_="touch")
        drawn.append(with_numbers(bar, f"F(y) around {x:.3g}: {number(share)} of the rows"))
    drawn += [plane.rect(0, low, 1, high, class_="band"), plane.line(0, 1, 1, 1, "ideal")]
    outside = int(((curve.y > high) | (curve.y < low)).sum())
    description = f"{len(curve.x)} bars, {outside} of them outside the band."
    return picture("".join(drawn), LOW_HEIGHT, description, title=title, key=key)


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
    return picture("".join(drawn), LOW_HEIGHT, description, title=title, key=key)


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
    return picture("".join(drawn), LOW_HEIGHT, description, title=title, key=key)


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
    return picture("".join(drawn), LOW_HEIGHT, description, title=title, key=key)


def _line_with_points(plane: Plane, curve: Curve, x_name: str, y_name: str) -> list[str]:
    drawn, top = [plane.curve(curve.x, curve.y)], plane.y_range[1]
    for x, y, low, high in zip(*(each.tolist() for each in (curve.x, curve.y, curve.low, curve.high)), strict=True):
        point = plane.line(x, min(low, top), x, min(high, top), "interval") if math.isfinite(high) else ""
        point += tag("circle", cx=plane.x(x), cy=plane.y(y), r=POINT_RADIUS, class_="dot")
        facts = f"{x_name} {number(x)}, {y_name} {number(y)} ({number(low)} – {number(high)})"
        drawn.append(with_numbers(point, facts))
    return drawn
