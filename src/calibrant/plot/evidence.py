"""Draw a monitor: how evidence against calibration grew, and since when."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_alpha
from calibrant.monitor.monitor import Monitor
from calibrant.monitor.watched import Watched
from calibrant.options import checked
from calibrant.plot.axes import axes_or_new, ideal, labelled, rows_in_words, series
from calibrant.problems import InputError

LEAST, MOST = 1e-3, 1e12
"""Where drawn evidence is cut off: less is no evidence, and more would not be stronger in practice."""


@checked
def evidence(monitor: Monitor | Watched, *, ax: Any = None, alpha: float = 0.05, label: str | None = None) -> Any:
    """The e-value over the rows, the alarm line and the time of the change. Returns the Axes.

    Parameters
    ----------
    monitor
        A monitor that has seen rows, or its answer, whose own `alpha` is drawn.
    ax
        The Axes to draw on; new ones if None.
    alpha
        Probability of a false alarm.
    label
        What to call the monitor in the legend.

    Examples
    --------
    >>> from calibrant.monitor import Monitor
    >>> from calibrant.plot.evidence import evidence
    >>> evidence(Monitor().update([0, 1, 0], [0.2, 0.7, 0.4])).get_ylabel()
    'e-value'
    """
    if not isinstance(monitor, Monitor | Watched):
        raise InputError("monitor", "must be a Monitor", f"it is a {type(monitor).__name__}")
    if isinstance(monitor, Watched):
        alpha, since, rows = monitor.alpha, monitor.change, monitor.course.x
        values = 10.0 ** np.minimum(monitor.course.y, np.log10(MOST))
    else:
        course, since = monitor.course(), monitor.since(alpha)
        rows, values = course.x, course.y
    limit = min(1 / check_alpha(alpha), MOST)
    ax = axes_or_new(ax)
    name = label or "evidence against calibration"
    (line,) = ax.plot(rows, np.clip(values, LEAST, MOST), label=name, **series(ax))
    ax.axhline(limit, **ideal(ax), label=f"alarm: wrong in {alpha:.2g} of streams")
    if since is not None:
        ax.axvspan(since.earliest, since.latest, color=line.get_color(), alpha=0.15, linewidth=0)
        mark = "" if since.mark is None else f" ({since.mark})"
        ax.axvline(since.row, color=line.get_color(), linewidth=1, label=f"since about row {since.row:,}{mark}")
    ax.set(yscale="log", ylim=(min(0.5, LEAST * 10, float(line.get_ydata().min())), None))
    ax.set_ylim(top=max(ax.get_ylim()[1], 2 * limit))
    about = (
        f"{'no alarm' if since is None else since.direction}: e-value {monitor.e_value:.3g}, {rows_in_words(monitor.n)}"
    )
    ax.locator_params(axis="x", nbins=5)
    return labelled(ax, "rows", "e-value", about, loc="upper left")
