"""The reliability diagram: what was predicted against what happened."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.plot.content import bar_heights, curve_of, histogram_of
from calibrant.problems import MissingExtra
from calibrant.results import BinTable, Curve, Estimate
from calibrant.verbs.diagnose import Diagnosis

DIAGONAL = "calibrant-diagonal"
"""Marks the diagonal, so that overlaying a second result does not draw it again."""

STRIP_HEIGHT, STRIP_FLOOR = 0.13, -0.16
"""The histogram lies below 0 on the same axes: no second axes to lay out, and overlays share it."""

POINT_AREA, LEAST_AREA = 36.0, 8.0
"""Area in square points of a point that holds the average share of the rows, and of the smallest that can be seen."""


def reliability(
    result: Diagnosis | Estimate,
    *,
    ax: Any = None,
    label: str | None = None,
    color: Any = None,
    histogram: bool = True,
) -> Any:
    """Does what was predicted happen as often as predicted? Draws it and returns the Axes.

    Each point is a bin: its mean prediction, how often the event happened, with an interval if the result knows one, and an
    area that grows with its share of the rows. Below the diagonal the model predicts too high. The strip along the bottom is
    the histogram of predictions, whose highest bar fills it. Call it twice on the same `ax` to overlay two results.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> ax = cal.diagnose(test, name="digits").plot()
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability', 'observed frequency')
    """
    curve, bins = curve_of(result), histogram_of(result)
    ax = _fresh_axes() if ax is None else ax
    _draw_frame(ax, histogram)
    name = label or (result.name if isinstance(result, Diagnosis) else result.title)
    used = _draw_curve(ax, curve, name, color)
    if histogram:
        _draw_histogram(ax, bins, used)
    ax.legend(loc="upper left", frameon=False)
    return ax


def _fresh_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "plotting") from error
    return plt.subplots(figsize=(5.2, 5.8), layout="constrained")[1]


def _draw_frame(ax: Any, histogram: bool) -> None:
    """The unit square with its diagonal, room for the histogram, and words on the axes."""
    if not any(line.get_gid() == DIAGONAL for line in ax.lines):
        ax.plot([0, 1], [0, 1], color="0.55", linewidth=1, linestyle=(0, (4, 3)), gid=DIAGONAL, zorder=1)
        ax.grid(color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
    floor = STRIP_FLOOR if histogram else -0.02
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(min(floor, ax.get_ylim()[0]), 1.02)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_aspect("equal")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed frequency")


def _draw_curve(ax: Any, curve: Curve, label: str, color: Any) -> Any:
    """Points, their line, intervals and the gap to the diagonal; returns the colour that was used."""
    (line,) = ax.plot(curve.x, curve.y, color=color, linewidth=1.4, label=label, zorder=3)
    used = line.get_color()
    ax.fill_between(curve.x, curve.y, curve.x, color=used, alpha=0.14, linewidth=0, zorder=1)
    ax.vlines(curve.x, curve.low, curve.high, color=used, alpha=0.5, linewidth=1.2, zorder=2)
    areas = np.maximum(POINT_AREA * curve.support * len(curve.support), LEAST_AREA)
    ax.scatter(curve.x, curve.y, s=areas, color=used, edgecolors="white", linewidths=0.6, zorder=4)
    return used


def _draw_histogram(ax: Any, bins: BinTable, color: Any) -> None:
    heights = STRIP_HEIGHT * bar_heights(bins)
    ax.bar(bins.low, heights, bins.high - bins.low, STRIP_FLOOR, align="edge", color=color, alpha=0.35, linewidth=0)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=1)
