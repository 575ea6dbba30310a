"""The running sum of errors along the sorted predictions: where errors of one sign add up."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.options import checked
from calibrant.plot.axes import axes_or_new, check_color, ideal, labelled, measured, rows_in_words, series, tone
from calibrant.plot.content import part
from calibrant.problems import InputError
from calibrant.results import Estimate, Line, number, p_words
from calibrant.verbs.where import Where


@checked
def cumulative(result: Where | Estimate, *, ax: Any = None, label: str | None = None, color: Any = None) -> Any:
    """Where do errors add up? The running mean of prediction − outcome. Returns the Axes.

    It rises where the model predicts too high and falls where it predicts too low. The
    shaded stretch is that of the largest sum, and its darker part is most clearly wrong.

    Parameters
    ----------
    result
        The result of `where`, or of `ks_error`.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call the result in the legend.
    color
        Of the line.

    Examples
    --------
    >>> import calibrant as cal
    >>> cal.where([0, 1, 1, 0, 1], [0.1, 0.7, 0.6, 0.4, 0.9], n_draws=19).plot().get_ylabel()
    'running sum of errors, per row'
    """
    check_color(color)
    curve = result.curve if isinstance(result, Where) else part(result, "curve", Line)
    stretch = (result.low, result.high) if isinstance(result, Where) else result.parts.get("where")
    if curve is None or stretch is None:
        what = result.title if isinstance(result, Estimate) else f"a {type(result).__name__}"
        raise InputError("result", "must hold a running sum of errors", f"it is {what}", "Pass where(…) or ks_error(…)")
    ax = axes_or_new(ax)
    ax.axhline(0, **ideal(ax))
    name = label or ("errors added up" if isinstance(result, Where) else result.title)
    look = series(ax, color)
    x, y = np.append(curve.x[:1], curve.x), np.append(0.0, curve.y)
    ax.plot(x, y, drawstyle="steps-post", linewidth=1.6, label=name, zorder=3, **look)
    ax.axvspan(*stretch, color=look["color"], alpha=0.14, linewidth=0, zorder=0)
    if not isinstance(result, Where):
        return labelled(ax, "predicted probability", "running sum of errors, per row", measured(result))
    ax.axvspan(*result.core, color=look["color"], alpha=0.2, linewidth=0, zorder=0)
    for end in stretch:
        ax.axvline(end, color=tone(ax, 0.35), linewidth=0.8, zorder=1)
    test = "" if result.test is None else f", {p_words(result.test.p_value, result.test.least_p)}"
    place = f"{result.direction} from {number(result.low, 3)} to {number(result.high, 3)}{test}"
    about = f"Δ {number(result.value, 3)} ({number(result.noise_floor, 3)} if calibrated), {rows_in_words(result.n)}"
    return labelled(ax, "predicted probability", "running sum of errors, per row", f"{place}\n{about}")
