"""What all plots share: new axes, the line of a calibrated model, labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calibrant.problems import InputError, MissingExtra

DIAGRAM = (5.2, 5.8)
"""Inches of a reliability diagram, and of the plots beside it."""

IDEAL: dict[str, Any] = {"color": "0.55", "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}
"""The line of a calibrated model, or of the limit that was asked for."""


def axes_or_new(ax: Any, size: tuple[float, float] = DIAGRAM) -> Any:
    """The given axes, or new ones of so many inches."""
    return new_row(1, size)[0] if ax is None else check_axes(ax)


def check_axes(ax: Any) -> Any:
    """Axes to draw on, refused if they are none."""
    if not callable(getattr(ax, "set_xlabel", None)):
        raise InputError(
            "ax", "must be Axes of matplotlib", f"it is a {type(ax).__name__}", "Leave it out for new ones"
        )
    return ax


def check_color(color: Any) -> Any:
    """A color that matplotlib knows, or None."""
    from matplotlib.colors import is_color_like

    if color is not None and not is_color_like(color):
        raise InputError("color", "must be a color of matplotlib", f"it is {color!r:.60}", "Pass 'C1' or '#336699'")
    return color


def new_row(count: int, size: tuple[float, float]) -> Any:
    """Several new axes side by side."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "plotting") from error
    return plt.subplots(1, count, figsize=(count * size[0], size[1]), layout="constrained", squeeze=False)[1].ravel()


def labelled(ax: Any, x: str, y: str, **legend: Any) -> Any:
    """The axes with their labels, a light grid and a legend without frame."""
    ax.set(xlabel=x, ylabel=y, axisbelow=True)
    ax.grid(color="0.92", linewidth=0.8)
    ax.legend(frameon=False, **legend)
    return ax


def line_with_errors(ax: Any, rows: Iterable[Any], x: str, y: str, error: str, label: str) -> None:
    """A line with Monte-Carlo error bars; `x`, `y` and `error` are attributes of the rows."""
    points = sorted((getattr(row, x), getattr(row, y), getattr(row, error)) for row in rows)
    ax.errorbar(*zip(*points, strict=True), label=label, marker="o", markersize=3, capsize=2, linewidth=1)
