"""Logit axes that reach as far as the data: no value is moved into view, and what has no log-odds is said."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.plot.axes import note
from calibrant.types import Floats

LAST = 36.0
"""Log-odds of the last float64 before 1, about."""
MARGIN, LEAST_SPAN = 0.04, 2.0
"""Of the log-odds, left free at either end; and the shortest axis."""

FINE = (0.02, 0.05, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.95, 0.98)
"""Ticks between those of the decades, for short axes."""
FEW_TICKS, MANY_TICKS = 4, 9


def span_of(*columns: Floats) -> tuple[float, float]:
    """Log-odds from end to end of axes on which every point strictly between 0 and 1 has room; columns are its coordinates."""
    z = log_odds(np.stack(columns)[:, drawable(*columns)].ravel())
    low, high = (float(z.min()), float(z.max())) if len(z) else (0.0, 0.0)
    more = max(MARGIN * (high - low), (LEAST_SPAN - (high - low)) / 2)
    return low - more, min(high + more, LAST)


def widened(ax: Any, span: tuple[float, float]) -> tuple[float, float]:
    """Log-odds from end to end, with room for what the axes show already."""
    if ax.get_xscale() != "logit":
        return span
    shown = log_odds(np.array(ax.get_xlim(), dtype=np.float64))
    return min(span[0], float(shown[0])), max(span[1], float(shown[1]))


def draw_axes(ax: Any, span: tuple[float, float]) -> tuple[float, float]:
    """Square logit axes with ticks at powers of ten; returns their ends as probabilities."""
    span = widened(ax, span)
    low, high = sigmoid(np.array(span)).tolist()
    ax.set(xscale="logit", yscale="logit")
    ax.minorticks_off()
    ticks = ticks_of(low, high)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ticks, [tick_text(tick) for tick in ticks])
    ax.tick_params(axis="x", labelrotation=45 if len(ticks) > FEW_TICKS + 1 else 0)
    ax.set(xlim=(low, high), ylim=(low, high))
    return low, high


def ticks_of(low: float, high: float) -> list[float]:
    """½ and powers of ten from 0 and from 1 between the ends: every second or third of many, more between few."""
    powers = [10.0**-k for k in range(1, 301)]
    below, above = [p for p in powers if low <= p <= high], [1 - p for p in powers[:16] if low <= 1 - p <= high]
    step = max(1, -(-(len(below) + len(above)) // (MANY_TICKS - 1)))
    found = {*below[step - 1 :: step], *above[step - 1 :: step], *([0.5] if low <= 0.5 <= high else [])}
    if len(found) < FEW_TICKS:
        found |= {p for p in FINE if low <= p <= high}
    return sorted(found)


def tick_text(p: float) -> str:
    """0.001, 10⁻⁴, 0.999, 1−10⁻⁴."""
    power = round(float(np.log10(min(p, 1 - p))))
    if power > -4:
        return f"{p:g}"
    return f"$10^{{{power}}}$" if p < 0.5 else f"$1-10^{{{power}}}$"


def beyond(ends: Floats, limits: tuple[float, float]) -> Floats:
    """Ends of intervals and bands; those at 0 and 1, infinitely far away, leave the view."""
    out = sigmoid(log_odds(np.array(limits)) + np.array([-1.0, 1.0]))
    return np.where(np.isnan(ends), np.nan, np.clip(ends, float(out[0]), min(float(out[1]), float(np.nextafter(1, 0)))))


def drawable(*columns: Floats) -> Any:
    """Which rows have log-odds in every column."""
    return np.logical_and.reduce([(each > 0) & (each < 1) for each in columns])


def note_missing(ax: Any, shares: Floats, kept: Any) -> None:
    """A note above the axes: how many points, with what share of the rows, lie at 0 or 1 and have no log-odds."""
    if kept.all():
        return
    total = float(shares.sum())
    rows = f" with {shares[~kept].sum() / total:.1%} of the rows".replace("%", " %") if total > 0 else ""
    count = int((~kept).sum())
    line = f"{count} point{'s' * (count > 1)}{rows} at 0 or 1: not on this scale"
    note(ax, line)
