"""The reliability diagram: predicted against observed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.infer import Band, band_of_bins
from calibrant.inputs import check_choice
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.options import checked
from calibrant.plot.axes import IDEAL, axes_or_new, check_color, labelled
from calibrant.plot.content import bar_heights, bins_of, curve_of, fitted_curve, has_bins, histogram_of
from calibrant.plot.logit_axes import beyond, draw_axes, drawable, note_missing, span_of
from calibrant.results import BinTable, Curve, Estimate
from calibrant.types import Floats
from calibrant.verbs.diagnose import Diagnosis

DIAGONAL = "calibrant-diagonal"
"""Marks the diagonal, so that overlaying a second result does not draw it again."""

STRIP_HEIGHT, STRIP_FLOOR = 0.13, -0.16
"""The histogram lies below 0 on the same axes: no second axes to lay out, and overlays share it."""

POINT_AREA, LEAST_AREA = 36.0, 8.0
"""Area in square points of a point that holds the average share of the rows, and of the smallest that can be seen."""

DOT = {"edgecolors": "white", "linewidths": 0.6}
"""A thin rim separates points that overlap."""


@checked
def reliability(
    result: Diagnosis | Estimate,
    *,
    style: Literal["auto", "points", "curve", "bars", "tilted"] = "auto",
    scale: Literal["probability", "logit"] = "probability",
    band: Band | Literal["confidence", "consistency", "simultaneous"] | None = "confidence",
    ax: Any = None,
    label: str | None = None,
    color: Any = None,
    histogram: bool = True,
) -> Any:
    """Do events happen as often as predicted? Draws the diagram and returns the Axes.

    Below the diagonal the model predicts too high. The strip along the bottom is the
    histogram of predictions, scaled to its highest bar. Call it twice on the same `ax`
    to overlay two results.

    Parameters
    ----------
    result
        A diagnosis, or an estimate with bins or a fitted curve.
    style
        `"points"`: one per bin, its mean prediction and observed frequency, with an
        interval if the result has one, and an area that grows with its share of the
        rows. `"curve"`: a fitted map, such as that of `fitted_error`, with its band if it
        has one. `"bars"`: a flat roof over each bin. `"tilted"`: a roof of slope one,
        which shows each prediction moved as binned ECE measures it: the gap between roof
        and diagonal is the error per bin. `"auto"` draws what the result holds.
    scale
        `"logit"` stretches both axes near 0 and 1 as far as the predictions and rates
        reach, and has no strip. Points at exactly 0 or 1 have no log-odds: a note says how
        many are left out, with what share of the rows.
    band
        `"confidence"` shows the result's own intervals, around its points.
        `"consistency"` is drawn around the diagonal: where a calibrated model's points
        would lie. `"simultaneous"` holds the complete true curve, if it rises. Both are
        made of the result's bins; a `Band` made of the rows, such as that of
        `simultaneous_band`, may be passed instead.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call the result in the legend; its name or title if None.
    color
        Of points, lines and bars.
    histogram
        Draw the strip.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> ax = cal.diagnose(test, name="digits").plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability', 'observed frequency')
    """
    check_choice("style", style, ("auto", "points", "curve", "bars", "tilted"))
    check_choice("scale", scale, ("probability", "logit"))
    if not isinstance(band, Band) and band is not None:
        check_choice("band", band, ("confidence", "consistency", "simultaneous"))
    fitted = fitted_curve(result)
    if fitted is None:
        bins_of(result)  # refuses what cannot be drawn before there are axes
    if style == "auto":
        style = "points" if fitted is None else "curve"
    strip = histogram and scale == "probability" and has_bins(result)
    check_color(color)
    shown = fitted if style == "curve" and fitted is not None else curve_of(result)
    ax = axes_or_new(ax)
    limits = draw_frame(ax, strip, None if scale == "probability" else span_of(shown.x, shown.y))
    name = label or (result.name if isinstance(result, Diagnosis) else result.title)
    if scale == "logit":
        shown = _on_logits(ax, shown, limits)
    if style == "points":
        used = _draw_points(ax, shown, name, color, intervals=band == "confidence")
    elif style == "curve":
        used = _draw_curve(ax, shown, name, color)
    else:
        used = _draw_roofs(ax, shown, bins_of(result), name, color, limits, slope=style == "tilted")
    if isinstance(band, Band) or band in ("consistency", "simultaneous"):
        _draw_band(ax, band if isinstance(band, Band) else band_of_bins(bins_of(result), band), used, limits)
    if strip:
        bins = histogram_of(result)
        _draw_strip(ax, bins.low, bins.high - bins.low, bar_heights(bins), used)
    elif histogram and fitted is not None and scale == "probability":
        shares, edges = np.histogram(fitted.x, np.linspace(0, 1, 31), weights=fitted.support)
        _draw_strip(ax, edges[:-1], np.diff(edges), shares / shares.max(), used)
    return labelled(ax, "predicted probability", "observed frequency", loc="upper left")


def draw_frame(ax: Any, histogram: bool, span: tuple[float, float] | None) -> tuple[float, float]:
    """Axes with their diagonal and ticks: the unit square with space for the histogram, or logits from end to end."""
    if span is not None:
        limits = draw_axes(ax, span)
    else:
        limits, ticks = (0.0, 1.0), np.linspace(0, 1, 6)
        floor = min(STRIP_FLOOR if histogram else -0.02, ax.get_ylim()[0])
        ax.set(xlim=(-0.02, 1.02), ylim=(floor, 1.02), xticks=ticks, yticks=ticks)
    known = next((line for line in ax.lines if line.get_gid() == DIAGONAL), None)
    if known is None:
        ax.plot(limits, limits, **IDEAL, gid=DIAGONAL)
    else:
        known.set_data(limits, limits)
    ax.set_aspect("equal")
    return limits


def _on_logits(ax: Any, curve: Curve, limits: tuple[float, float]) -> Curve:
    """The same with gaps where a point has no log-odds, which a note states; intervals may leave the view."""
    kept = drawable(curve.x, curve.y)
    note_missing(ax, curve.support, kept)
    x, y = (np.where(kept, each, np.nan) for each in (curve.x, curve.y))
    return replace(curve, x=x, y=y, low=beyond(curve.low, limits), high=beyond(curve.high, limits))


def _draw_band(ax: Any, band: Band, color: Any, limits: tuple[float, float]) -> None:
    """Around the diagonal in grey, around the curve in its colour."""
    curve, around = band.curve(), "0.5" if band.method == "consistency" else color
    ends = [beyond(each, limits) if limits != (0.0, 1.0) else each for each in (curve.x, curve.low, curve.high)]
    label = f"{band.method} band, {band.level:.0%}".replace("%", " %")
    ax.fill_between(*ends, color=around, alpha=0.18, linewidth=0, zorder=1, label=label)


def _draw_points(ax: Any, curve: Curve, label: str, color: Any, intervals: bool) -> Any:
    """Points, their line, intervals and the gap to the diagonal; returns the colour."""
    (line,) = ax.plot(curve.x, curve.y, color=color, linewidth=1.4, label=label, zorder=3)
    used = line.get_color()
    ax.fill_between(curve.x, curve.y, curve.x, color=used, alpha=0.14, linewidth=0, zorder=1)
    if intervals:
        ax.vlines(curve.x, curve.low, curve.high, color=used, alpha=0.5, linewidth=1.2, zorder=2)
    areas = np.maximum(POINT_AREA * curve.support * len(curve.support), LEAST_AREA)
    ax.scatter(curve.x, curve.y, s=areas, color=used, zorder=4, **DOT)
    return used


def _draw_curve(ax: Any, curve: Curve, label: str, color: Any) -> Any:
    """A line, and its band or the gap to the diagonal; returns the colour that was used."""
    (line,) = ax.plot(curve.x, curve.y, color=color, linewidth=1.6, label=label, zorder=3)
    used = line.get_color()
    banded = np.isfinite(curve.low).all()
    low, high, alpha = (curve.low, curve.high, 0.22) if banded else (curve.x, curve.y, 0.14)
    ax.fill_between(curve.x, low, high, color=used, alpha=alpha, linewidth=0, zorder=2)
    return used


def _draw_roofs(
    ax: Any, points: Curve, bins: BinTable, label: str, color: Any, limits: tuple[float, float], slope: bool
) -> Any:
    """A bar per bin, its roof flat or of slope one through (p̄, ȳ); returns the colour."""
    (marker,) = ax.plot(points.x, points.y, "o", color=color, markersize=4, label=label, zorder=4)
    used = marker.get_color()
    for low, high, p, y in zip(bins.low, bins.high, bins.mean_prob, bins.label_rate, strict=True):
        x = _between(low, high, limits)
        roof = y + slope * (x - p)
        roof = np.clip(roof, 0, 1) if limits == (0.0, 1.0) else beyond(roof, limits)
        ax.fill_between(x, roof, limits[0], color=used, alpha=0.16, linewidth=0, zorder=1)
        ax.fill_between(x, roof, x, color="tab:red", alpha=0.22, linewidth=0, zorder=2)
        ax.plot(x, roof, color=used, linewidth=1.6, zorder=3)
    return used


def _between(low: float, high: float, limits: tuple[float, float]) -> Floats:
    """Places along the part of a bin that the axes show, evenly spaced on them."""
    if limits == (0.0, 1.0):
        return np.linspace(low, high, 60)
    first, last = log_odds(np.clip([low, high], *limits)).tolist()
    return sigmoid(np.linspace(first, last, 60))


def _draw_strip(ax: Any, left: Any, widths: Any, heights: Any, color: Any) -> None:
    """The histogram of predictions below 0."""
    ax.set_ylim(STRIP_FLOOR, ax.get_ylim()[1])
    options = {"align": "edge", "color": color, "alpha": 0.35, "linewidth": 0}
    ax.bar(left, STRIP_HEIGHT * heights, widths, STRIP_FLOOR, **options)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=1)
