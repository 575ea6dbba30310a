"""The reliability diagram: predicted against observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from calibrant.infer import Band, band_of_bins
from calibrant.inputs import check_choice
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.options import checked
from calibrant.plot.axes import (
    DIAGRAM,
    HATCH,
    OVER,
    UNDER,
    axes_or_new,
    check_color,
    ideal,
    labelled,
    marker,
    measured,
    paper,
    rows_in_words,
    series,
    tone,
)
from calibrant.plot.content import bar_heights, bins_of, curve_of, fitted_curve, has_bins, histogram_of, knots_of
from calibrant.plot.logit_axes import beyond, draw_axes, drawable, note_missing, span_of
from calibrant.problems import InputError
from calibrant.results import BinTable, Curve, Estimate, number
from calibrant.types import Floats
from calibrant.verbs.decompose import Decomposition
from calibrant.verbs.diagnose import Diagnosis

DIAGONAL, STRIP = "calibrant-diagonal", "calibrant-strip"
"""Mark the diagonal, so that overlaying a second result does not draw it again, and the histogram of predictions."""

STRIP_HEIGHT, STRIP_FLOOR = 0.13, -0.16
"""The histogram lies below 0 on the same axes: no second axes to lay out, and overlays share it."""

POINT_AREA, LEAST_AREA, MOST_AREA = 36.0, 8.0, 160.0
"""Area in square points of a point that holds the average share of the rows, of the smallest that can be seen, and of the
largest."""

STYLES = ("auto", "points", "curve", "bars", "gaps", "tilted")

MANY_KNOTS = 30
"""A map of more pieces than these is drawn without its knots."""


@checked
def reliability(
    result: Diagnosis | Estimate | Mapping[str, Any],
    *,
    style: Literal["auto", "points", "curve", "bars", "gaps", "tilted"] = "auto",
    scale: Literal["probability", "logit"] = "probability",
    band: Band | Literal["confidence", "consistency", "simultaneous"] | None = "confidence",
    ax: Any = None,
    label: str | None = None,
    color: Any = None,
    histogram: bool = True,
    decomposition: Decomposition | None = None,
) -> Any:
    """Do events happen as often as predicted? Draws the diagram and returns the Axes.

    Below the diagonal the model predicts too high. The strip along the bottom is the
    histogram of predictions, scaled to its highest bar. Several results, such as
    `{"before": …, "after": …}`, share one diagram; so do calls on the same `ax`.

    Parameters
    ----------
    result
        A diagnosis, or an estimate with bins or a fitted curve; or several by name.
    style
        `"points"`: one per bin, its mean prediction and observed frequency, with an
        interval if the result has one, and an area that grows with its share of the
        rows. `"curve"`: a fitted map, such as that of `fitted_error`, with its band and
        its knots if it has some; of `method="isotonic"` it is the CORP diagram. `"bars"`:
        a flat roof over each bin. `"gaps"`: bars as high as the observed frequency, and
        hatched the gap to the mean prediction. `"tilted"`: a roof of slope one, which
        shows each prediction moved as binned ECE measures it: the gap between roof and
        diagonal is the error per bin. `"auto"` draws what the result holds.
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
    decomposition
        The parts of the score from `decompose`, written above, as CORP diagrams have them.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> ax = cal.diagnose(test, name="digits").plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability', 'observed frequency')
    """
    check_choice("style", style, STYLES)
    check_choice("scale", scale, ("probability", "logit"))
    if not isinstance(band, Band) and band is not None:
        check_choice("band", band, ("confidence", "consistency", "simultaneous"))
    check_color(color)
    several: Mapping[Any, Any] = _several(result, label, color) if isinstance(result, Mapping) else {label: result}
    for each in several.values():
        if fitted_curve(each) is None:
            bins_of(each)  # refuses what cannot be drawn before there are axes
    ax = axes_or_new(ax, DIAGRAM)
    for name, each in several.items():
        shown = style if style != "auto" else "points" if fitted_curve(each) is None else "curve"
        _draw(ax, each, shown, scale == "logit", band, name, color, histogram)
    about = "\n".join(_about(each, name) for name, each in several.items())
    about += "" if decomposition is None else f"\n{_parts(decomposition)}"
    return labelled(ax, "predicted probability", "observed frequency", about, loc="upper left")


def _several(results: Mapping[str, Any], label: str | None, color: Any) -> Mapping[str, Any]:
    if label is not None or color is not None:
        raise InputError("label", "and color are those of a single result", advice="Give names by the mapping")
    if not results:
        raise InputError("result", "must hold a result", "it is empty")
    return {str(name): each for name, each in results.items()}


def _draw(
    ax: Any, result: Any, style: str, logit: bool, band: Any, label: str | None, color: Any, histogram: bool
) -> None:
    """One result: its points, curve or bars, its band and its strip."""
    fitted = fitted_curve(result)
    shown = fitted if style == "curve" and fitted is not None else curve_of(result)
    strip = histogram and not logit and (has_bins(result) or bool(fitted is not None and fitted.support.any()))
    limits = draw_frame(ax, strip, span_of(shown.x, shown.y) if logit else None)
    name = label or (result.name if isinstance(result, Diagnosis) else result.title)
    if logit:
        shown = _on_logits(ax, shown, limits)
    if style == "points":
        used = _draw_points(ax, shown, name, color, intervals=band == "confidence")
    elif style == "curve":
        used = _draw_curve(ax, shown, name, color, knots_of(result))
    else:
        used = _draw_roofs(ax, shown, bins_of(result), name, color, limits, style)
    if isinstance(band, Band) or band in ("consistency", "simultaneous"):
        _draw_band(ax, band if isinstance(band, Band) else band_of_bins(bins_of(result), band), used, limits)
    if strip and has_bins(result):
        bins = histogram_of(result)
        _draw_strip(ax, bins.low, bins.high, bar_heights(bins), used)
    elif strip and fitted is not None:
        shares, edges = np.histogram(fitted.x, np.linspace(0, 1, 31), weights=fitted.support)
        _draw_strip(ax, edges[:-1], edges[1:], shares / shares.max(), used)


def _about(result: Any, label: str | None) -> str:
    """What was measured, of a diagnosis the calibration error and its class, under the name that the legend has."""
    found, name = result, label
    if isinstance(result, Diagnosis):
        key = next((key for key in ("calibration_error", "ece") if key in result.results()), None)
        found = None if key is None else result[key]
        name = (label or result.name) + result.about
    text = rows_in_words(result.n) if found is None else measured(found)
    return text if name is None else f"{name}: {text}"


def _parts(found: Decomposition) -> str:
    parts = {"MCB": found.miscalibration, "DSC": found.discrimination, "UNC": found.uncertainty}
    score = f"{found.score.title} {number(found.score.value, 3)}"
    return f"{score}: " + ", ".join(f"{name} {number(value, 3)}" for name, value in parts.items())


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
        ax.plot(limits, limits, **ideal(ax), gid=DIAGONAL)
    else:
        known.set_data(limits, limits)
    ax.set_aspect("equal", anchor="W")  # so that notes have the space on the right, where there is some
    return limits


def _on_logits(ax: Any, curve: Curve, limits: tuple[float, float]) -> Curve:
    """The same with gaps where a point has no log-odds, which a note states; intervals may leave the view."""
    kept = drawable(curve.x, curve.y)
    note_missing(ax, curve.support, kept)
    x, y = (np.where(kept, each, np.nan) for each in (curve.x, curve.y))
    return replace(curve, x=x, y=y, low=beyond(curve.low, limits), high=beyond(curve.high, limits))


def _draw_band(ax: Any, band: Band, color: Any, limits: tuple[float, float]) -> None:
    """Around the diagonal in grey, around the curve in its colour."""
    curve, around = band.curve(), tone(ax, 1.0)[:3] if band.method == "consistency" else color
    ends = [beyond(each, limits) if limits != (0.0, 1.0) else each for each in (curve.x, curve.low, curve.high)]
    label = f"{band.method} band, {band.level:.0%}".replace("%", " %")
    ax.fill_between(*ends, color=around, alpha=0.18, linewidth=0, zorder=1, label=label)


def _draw_points(ax: Any, curve: Curve, label: str, color: Any, intervals: bool) -> Any:
    """Points, their line, intervals and the gap to the diagonal; returns the colour."""
    (line,) = ax.plot(curve.x, curve.y, linewidth=1.4, label=label, zorder=3, **series(ax, color))
    used, rim = line.get_color(), {"edgecolors": paper(ax), "linewidths": 0.6}
    ax.fill_between(curve.x, curve.y, curve.x, color=used, alpha=0.14, linewidth=0, zorder=1)
    if intervals:
        ax.vlines(curve.x, curve.low, curve.high, color=used, alpha=0.6, linewidth=1.2, zorder=2)
    areas = np.clip(POINT_AREA * curve.support * len(curve.support), LEAST_AREA, MOST_AREA)
    ax.scatter(curve.x, curve.y, s=areas, color=used, marker=marker(ax), zorder=4, **rim)
    return used


def _draw_curve(ax: Any, curve: Curve, label: str, color: Any, knots: Floats) -> Any:
    """A line with its knots, and its band or the gap to the diagonal; returns the colour that was used."""
    (line,) = ax.plot(curve.x, curve.y, linewidth=1.6, label=label, zorder=3, **series(ax, color))
    used = line.get_color()
    banded = np.isfinite(curve.low).all()
    low, high, alpha = (curve.low, curve.high, 0.22) if banded else (curve.x, curve.y, 0.14)
    ax.fill_between(curve.x, low, high, color=used, alpha=alpha, linewidth=0, zorder=2)
    inside = knots[(knots >= curve.x.min()) & (knots <= curve.x.max())]
    if 0 < len(inside) <= MANY_KNOTS:
        rim = {"edgecolors": used, "facecolors": paper(ax), "linewidths": 1.2}
        ax.scatter(inside, np.interp(inside, curve.x, curve.y), s=22, marker=marker(ax), zorder=4, label="knots", **rim)
    return used


def _draw_roofs(
    ax: Any, points: Curve, bins: BinTable, label: str, color: Any, limits: tuple[float, float], style: str
) -> Any:
    """A bar per bin, its roof flat or of slope one through (p̄, ȳ), and the gap in colour; returns the colour."""
    look = series(ax, color) | {"linestyle": "none"}
    (points_line,) = ax.plot(points.x, points.y, marker="o", markersize=4, label=label, zorder=4, **look)
    used = points_line.get_color()
    for low, high, p, y in zip(bins.low, bins.high, bins.mean_prob, bins.label_rate, strict=True):
        x = _between(low, high, limits)
        roof = y + (style == "tilted") * (x - p)
        roof, right = (
            np.clip(each, 0, 1) if limits == (0.0, 1.0) else beyond(each, limits)
            for each in (roof, np.full(len(x), p) if style == "gaps" else x)
        )
        wrong = {"edgecolor": OVER if p > y else UNDER, "hatch": HATCH, "zorder": 2, "linewidth": 0}
        ax.fill_between(x, roof, limits[0], color=used, alpha=0.22, linewidth=0, zorder=1)
        ax.fill_between(x, roof, right, facecolor="none", **wrong)
        ax.plot(x, roof, color=used, linewidth=1.6, zorder=3)
    return used


def _between(low: float, high: float, limits: tuple[float, float]) -> Floats:
    """Places along the part of a bin that the axes show, evenly spaced on them."""
    if limits == (0.0, 1.0):
        return np.linspace(low, high, 60)
    first, last = log_odds(np.clip([low, high], *limits)).tolist()
    return sigmoid(np.linspace(first, last, 60))


def _draw_strip(ax: Any, low: Any, high: Any, heights: Any, color: Any) -> None:
    """The histogram of predictions below 0: filled, and of further results as an outline."""
    ax.set_ylim(STRIP_FLOOR, ax.get_ylim()[1])
    first = not any(patch.get_gid() == STRIP for patch in ax.patches)
    filled = {"color": color, "alpha": 0.45, "linewidth": 0}
    look = filled if first else {"facecolor": "none", "edgecolor": color, "linewidth": 0.9}
    ax.bar(low, STRIP_HEIGHT * heights, high - low, STRIP_FLOOR, align="edge", gid=STRIP, **look)
    ax.axhline(0, color=tone(ax, 0.45), linewidth=0.8, zorder=1)
