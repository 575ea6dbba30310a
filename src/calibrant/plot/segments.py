"""The forest plot of an audit: the gap of every segment with its interval, worst first."""

from __future__ import annotations

from typing import Any

from calibrant.inputs import check_count
from calibrant.options import checked
from calibrant.plot.axes import axes_or_new
from calibrant.plot.reliability import DOT, LEAST_AREA, POINT_AREA
from calibrant.problems import InputError
from calibrant.results import p_words
from calibrant.verbs.auditing.audited import Audit

COLORS = {
    "too high": "tab:red",
    "too low": "tab:blue",
    "wrong both ways": "tab:purple",
    "no error seen": "0.45",
    "too few rows": "0.75",
}
"""Of the verdicts: strong where an error was found, pale where none could be."""

MOST_AREA = 16
"""The largest point has at most this many times the usual area."""

INCHES = 0.27
"""Height of a line."""


@checked
def segments(audit: Audit, *, most: int = 20, ax: Any = None) -> Any:
    """One line per segment, worst first: its gap, the simultaneous interval, the verdict.

    Right of 0 the model predicts too high. The grey strip is the margin: errors within
    it do not matter. A point's area grows with the rows of its segment.

    Parameters
    ----------
    audit
        The result of `audit`.
    most
        How many segments to draw.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import numpy as np, calibrant as cal
    >>> from calibrant.plot.segments import segments
    >>> from calibrant.verbs.auditing.audit import audit
    >>> rng = np.random.default_rng(0)
    >>> p, team = rng.random(900), rng.choice(["a", "b", "c"], 900)
    >>> ax = segments(audit(cal.Predictions(rng.random(900) < p, p), groups=team))
    >>> ax.get_xlabel()
    'mean prediction − observed rate'
    """
    if not isinstance(audit, Audit):
        raise InputError("audit", "must be an Audit", f"it is a {type(audit).__name__}", "Pass audit(predictions, …)")
    shown = audit.segments[: check_count(most, "most")]
    ax = axes_or_new(ax, (9, 1.2 + INCHES * len(shown)))
    ax.axvspan(-audit.margin, audit.margin, color="0.94", linewidth=0, zorder=0)
    ax.axvline(0, color="0.55", linewidth=1, zorder=1)
    usual = sum(s.n for s in shown) / len(shown)
    for line, segment in enumerate(shown):
        color = COLORS[segment.verdict]
        area = POINT_AREA * min(segment.n / usual, MOST_AREA)
        ax.hlines(line, segment.interval.low, segment.interval.high, color=color, linewidth=1.6, zorder=2)
        ax.scatter([segment.gap], [line], s=max(area, LEAST_AREA), color=color, zorder=3, **DOT)
        words = f"{segment.verdict}, {p_words(segment.adjusted)}"
        ax.text(1.01, line, words, transform=ax.get_yaxis_transform(), va="center", fontsize="small", color=color)
    ax.set_yticks(range(len(shown)), [f"{s.name}  ({s.n:,})" for s in shown])
    ax.set(ylim=(len(shown) - 0.4, -0.6), xlabel="mean prediction − observed rate")
    ax.tick_params(axis="y", length=0)
    title = f"{len(audit.found):,} of {len(audit.segments):,} segments called wrong"
    title += f"; the {len(shown)} worst" if len(audit.segments) > len(shown) else ""
    ax.set_title(title, loc="left", fontsize="medium")
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax
