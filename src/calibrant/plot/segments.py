"""The forest plot of an audit: the gap of every segment with its interval, worst first."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_count
from calibrant.options import checked
from calibrant.plot.axes import COLORS, OVER, UNDER, rows_in_words, tone
from calibrant.plot.forest import Row, forest
from calibrant.plot.reliability import LEAST_AREA, MOST_AREA, POINT_AREA
from calibrant.problems import InputError
from calibrant.results import p_words
from calibrant.verbs.auditing.audited import Audit

LOOKS = {
    "too high": (OVER, ">"),
    "too low": (UNDER, "<"),
    "wrong both ways": (COLORS[3], "D"),
    "no error seen": (COLORS[2], "o"),
    "too few rows": (COLORS[4], "s"),
}
"""Colour and mark of the verdicts."""


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
    usual = sum(s.n for s in shown) / len(shown)
    rows = [
        Row(
            each.name,
            each.gap,
            each.interval.low,
            each.interval.high,
            f"{each.verdict}, {p_words(each.adjusted)}, {rows_in_words(each.n)}",
            LOOKS[each.verdict][0],
            float(np.clip(POINT_AREA * each.n / usual, 2 * LEAST_AREA, MOST_AREA)),
            LOOKS[each.verdict][1],
        )
        for each in shown
    ]
    title = f"{len(audit.found):,} of {len(audit.segments):,} segments called wrong"
    title += f"; the {len(shown)} worst" if len(audit.segments) > len(shown) else ""
    ax = forest(rows, ax, "mean prediction − observed rate", f"{title}, {rows_in_words(audit.n)}")
    ax.axvspan(-audit.margin, audit.margin, color=tone(ax)[:3], alpha=0.08, linewidth=0, zorder=0)
    return ax
