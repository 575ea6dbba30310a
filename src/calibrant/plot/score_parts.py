"""Where a score comes from, and what a repair changed of it."""

from __future__ import annotations

from typing import Any

from calibrant.options import checked
from calibrant.plot.axes import (
    COLORS,
    HATCH,
    OVER,
    UNDER,
    axes_or_new,
    labelled,
    measured,
    rows_in_words,
    text_size,
    tone,
)
from calibrant.plot.forest import Row, forest, in_words
from calibrant.results import number
from calibrant.verbs.comparison import Comparison
from calibrant.verbs.decompose import Decomposition

ABOVE = 0.03
"""Space between a bar and its number, as a share of the highest bar."""


@checked
def score_parts(result: Decomposition, *, ax: Any = None) -> Any:
    """Uncertainty − discrimination + miscalibration = score, as steps. Returns the Axes.

    Parameters
    ----------
    result
        The result of `decompose`.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.decompose([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], view="binary").plot().get_ylabel()
    'Brier score'
    """
    ax, left, interval = axes_or_new(ax), result.refinement, result.score.interval
    steps = (
        ("uncertainty", 0.0, result.uncertainty, COLORS[4], ""),
        ("− discrimination", left, result.uncertainty, UNDER, "\\\\\\\\"),
        ("+ miscalibration", left, result.score.value, OVER, HATCH),
        ("= score", 0.0, result.score.value, COLORS[3], ""),
    )
    values = (result.uncertainty, -result.discrimination, result.miscalibration, result.score.value)
    top = max(0.0 if interval is None else interval.high, *(max(low, high) for _, low, high, *_ in steps))
    for place, ((_, low, high, color, hatch), value) in enumerate(zip(steps, values, strict=True)):
        look = {"edgecolor": color, "facecolor": (color, 0.45), "hatch": hatch, "linewidth": 1, "zorder": 2}
        ax.bar([place], [high - low], 0.62, low, **look)
        size = {"ha": "center", "va": "bottom", "fontsize": text_size(ax), "color": tone(ax)}
        end = interval.high if place == 3 and interval is not None else max(low, high)
        ax.text(place, end + ABOVE * top, number(value, 3), **size)
    for place, height in enumerate((result.uncertainty, left, result.score.value)):
        ax.plot([place + 0.31, place + 0.69], [height, height], color=tone(ax, 0.5), linewidth=0.8)
    if interval is not None:
        ax.vlines(3, interval.low, interval.high, color=tone(ax), linewidth=1.4, zorder=3)
    ax.set_xticks(range(4), ["uncertainty", "discrimi-\nnation", "miscali-\nbration", "score"])
    ax.set_ylim(min(0.0, *(min(low, high) for _, low, high, *_ in steps)) * 1.1, top * 1.18)
    return labelled(ax, "", result.score.title, f"{measured(result.score)}\n{result.settings['how']}")


@checked
def score_change(result: Comparison, *, ax: Any = None) -> Any:
    """What did the repair change? The score before and after, and the difference. Returns the Axes.

    Parameters
    ----------
    result
        The result of `compare` with one candidate.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.compare(test, cal.recalibrate(valid, "temperature")).plot().get_xlabel()
    'change in Brier score (negative is better)'
    """
    found, before, after = result.difference, result.before, result.after
    rows = [Row("after − before", *_ends(found), in_words(found.value, found.interval))]
    if result.split is not None:
        parts = {"calibration": result.split.calibration, "refinement": result.split.refinement}
        rows += [
            Row(f"of it {name}", value, words=number(value, 3), color=COLORS[3], marker="D")
            for name, value in parts.items()
        ]
    scores = f"{before.title} {number(before.value, 3)} → {number(after.value, 3)}, {rows_in_words(before.n)}"
    if result.margin is not None:
        scores += f"; margin {number(result.margin, 3)}"
    ax = forest(rows, ax, f"change in {before.title} (negative is better)", f"{result.verdict}\n{scores}")
    if result.margin is not None:
        ax.axvspan(-result.margin, result.margin, color=tone(ax)[:3], alpha=0.08, linewidth=0, zorder=0)
    return ax


def _ends(found: Any) -> tuple[float, float | None, float | None]:
    interval = found.interval
    return found.value, *((None, None) if interval is None else (interval.low, interval.high))
