"""Several answers beside each other, each in axes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibrant.inputs import check_count
from calibrant.options import checked
from calibrant.plot.axes import check_axes, new_axes, text_size, tone
from calibrant.problems import InputError, visible

PANEL = (2.6, 3.0)
"""Inches of one of several."""


@checked
def grid(results: Mapping[Any, Any], *, columns: int = 4, ax: Any = None, **options: Any) -> Any:
    """Answers of the same kind beside each other, such as one per class; returns an array of Axes.

    Parameters
    ----------
    results
        Answers by name, each with a picture of one pair of axes: estimates per class,
        diagnoses before and after a repair, maps.
    columns
        How many stand side by side.
    ax
        The Axes to draw on, one per answer; new ones if None.
    **options
        Options of the plot that draws such an answer.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> axes = cal.plot.grid({f"digit {k}": cal.ece(test, view=f"class {k}") for k in range(3)}, style="gaps")
    >>> [ax.get_title(loc="left").splitlines()[0] for ax in axes]
    ['digit 0', 'digit 1', 'digit 2']
    """
    check_count(columns, "columns")
    if not isinstance(results, Mapping) or not results:
        raise InputError("results", "must be a mapping of names to answers", "it is empty or none")
    for each in results.values():
        if not callable(getattr(each, "plot", None)):
            raise InputError("results", "must hold answers", f"there is a {type(each).__name__}", "Pass diagnoses")
    axes = new_axes(len(results), PANEL, columns) if ax is None else np.asarray(ax, dtype=object).ravel()
    if len(axes) != len(results):
        raise InputError("ax", f"must be {len(results)} Axes", f"there are {len(axes)}")
    for (name, each), one in zip(results.items(), axes, strict=True):
        drawn = each.plot(ax=check_axes(one), **options)
        title = "\n".join(filter(None, (visible(str(name)), drawn.get_title(loc="left"))))
        drawn.set_title(title, loc="left", fontsize=text_size(drawn), color=tone(drawn, inside=False), parse_math=False)
        if drawn.get_legend() is not None:
            drawn.get_legend().remove()
    return axes
