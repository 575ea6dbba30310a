"""A line per candidate, segment, class or estimator: its value, its interval, and both in words above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.plot.axes import (
    COLORS,
    axes_or_new,
    ideal,
    inches,
    labelled,
    laid_out,
    paper,
    shortened,
    text_size,
    tone,
)
from calibrant.problems import visible
from calibrant.results import Interval, number

LINE = 0.36
"""Inches of a line and the words above it."""

AROUND = 1.2
"""Inches above and below all lines: notes, ticks and the label of the axis."""

MARGIN = 0.06
"""Of the range of the values, left free at either end."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a forest plot."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    words: str = ""
    color: str = COLORS[0]
    area: float = 30.0
    marker: str = "o"
    inner: tuple[float, float] | None = None
    """ends of a second, thicker interval"""


def in_words(value: float, interval: Interval | None) -> str:
    """A value with its interval, for the words above a line."""
    ends = "" if interval is None else f" ({number(interval.low, 3)} to {number(interval.high, 3)})"
    return f"{number(value, 3)}{ends}"


def forest(
    rows: Sequence[Row], ax: Any, x: str, about: str, *, zero: float | None = 0.0, bars: bool = False, y: str = ""
) -> Any:
    """Draw the lines from top to bottom, as many as there is space for, and return the Axes.

    Parameters
    ----------
    rows
        What is drawn, in this order.
    ax
        The Axes to draw on; new ones if None.
    x, y
        What the axes mean.
    about
        The note above.
    zero
        Where a vertical line stands; None for none.
    bars
        Draw bars from 0 to the values.
    """
    ax = axes_or_new(ax, (5.2, AROUND + LINE * len(rows)))
    height = inches(ax)[1] + 0.3  # the axes grow where there is little around them
    shown = rows[: max(int(height / (2.4 * text_size(ax) / 72)), 1)]
    if zero is not None:  # beside the lines, not through the words
        places, look = range(len(shown)), ideal(ax) | {"linestyle": "-"}
        ax.vlines([zero] * len(shown), [p - 0.2 for p in places], [p + 0.3 for p in places], **look)
    for place, row in enumerate(shown):
        if bars:
            ax.barh([place], [row.value], 0.3, color=row.color, alpha=0.6, zorder=1)
        if row.low is not None and row.high is not None:
            ax.hlines(place, row.low, row.high, color=row.color, linewidth=1.6, zorder=2)
        if row.inner is not None:
            ax.hlines(place, *row.inner, color=row.color, alpha=0.4, linewidth=5, zorder=1)
        look = {"marker": row.marker, "edgecolors": paper(ax), "linewidths": 0.6, "zorder": 3}
        ax.scatter([row.value], [place], s=row.area, color=row.color, **look)
    ax.set(ylim=(len(shown) - 0.5, -0.85), yticks=[])
    _spread(ax, shown, zero, bars)
    left = len(rows) - len(shown)
    labelled(ax, x, y, about + (f"; the first {len(shown)} of {len(rows)}" if left else ""))
    ax.spines[["top", "right", "left"]].set_visible(False)
    laid_out(ax)  # which decides how wide they are
    for place, row in enumerate(shown):
        text = visible(f"{row.name}  {row.words}").replace("\n", " ")
        look = {"va": "bottom", "fontsize": text_size(ax), "color": tone(ax), "parse_math": False, "in_layout": False}
        shortened(ax.text(0.0, place - 0.22, text, transform=ax.get_yaxis_transform(), **look), 0.98 * ax.bbox.width)
    return ax


def _spread(ax: Any, rows: Sequence[Row], zero: float | None, bars: bool) -> None:
    """The range of the axis: all that is drawn, whose intervals may be infinite."""
    from math import isfinite

    found = [*(row.value for row in rows), *(end for row in rows for end in (row.low, row.high) if end is not None)]
    found += [end for row in rows for end in row.inner or ()] + ([] if zero is None else [zero]) + [0.0] * bars
    finite = [each for each in found if isfinite(each)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    more = MARGIN * (high - low) or MARGIN * (abs(high) or 1.0)
    ax.set_xlim(low - more, high + more)
