"""The house style: new axes, tones that fit the background, colours, notes, labels and legends.

Every setting is made on the axes themselves, so that matplotlib's own are left alone.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from calibrant.problems import InputError, MissingExtra, visible
from calibrant.results import Estimate, number
from calibrant.results.tables import row_count

DIAGRAM, WIDE = (4.8, 5.2), (5.2, 3.8)
"""Inches of a diagram on the unit square, and of other plots."""

COLORS = ("#0072b2", "#d55e00", "#00866b", "#a8548c", "#a87400")
"""Told apart by the colour-blind, and at least 3:1 against white and against black."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "os^Dv"
"""Of the first line on the axes, the second …: they tell lines apart where colours are lost."""

OVER, UNDER = COLORS[1], COLORS[0]
"""Predicted too high, and too low."""

HATCH = "////"
"""Of areas that show an error."""

SERIES = "calibrant-series"
"""Marks the line of a result."""

SMALL, USUAL, NARROW, ROOMY = 6.5, 9.0, 2.2, 4.0
"""Points of all text on axes of so many inches, and between."""

CHARACTER = 0.54
"""Mean width of a character, in points per point of its size."""

KEPT = re.compile(r" [=≤<±→] | (?=%)|(?<=MCB|DSC|UNC) ")
"""Spaces at which no line ends."""

DARK = 0.4
"""A background of less luminance takes light ink."""

MANY_TICKS = 5
"""More sizes than these are not all marked on an axis."""

_OFFSCREEN: ContextVar[float | None] = ContextVar("offscreen", default=None)


@contextmanager
def offscreen(width: float = math.inf) -> Iterator[None]:
    """New figures that pyplot does not know, so that no window and no notebook shows them by itself.

    Parameters
    ----------
    width
        Inches of each of the axes, at most.
    """
    token = _OFFSCREEN.set(width)
    try:
        yield
    finally:
        _OFFSCREEN.reset(token)


def new_axes(count: int, size: tuple[float, float], columns: int = 4) -> Any:
    """New axes in rows of so many columns, each of so many inches; axes of the grid beyond `count` are removed."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot", "plotting") from error
    columns, most = min(columns, count), _OFFSCREEN.get()
    rows = -(-count // columns)
    make: Any = plt.figure if most is None else Figure
    width = size[0] if most is None else min(size[0], most)
    height = size[1] * math.sqrt(width / size[0])  # narrow ones need space for notes that take more lines
    found = make(figsize=(columns * width, rows * height), layout="constrained")
    axes = found.subplots(rows, columns, squeeze=False).ravel()
    for left in axes[count:]:
        left.remove()
    return axes[:count]


def axes_or_new(ax: Any, size: tuple[float, float] = WIDE) -> Any:
    """The given axes, or new ones of so many inches."""
    return new_axes(1, size)[0] if ax is None else check_axes(ax)


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


def tone(ax: Any, strength: float = 1.0, inside: bool = True) -> tuple[float, float, float, float]:
    """Black on a light background, white on a dark one, as strong as asked for.

    Parameters
    ----------
    ax
        The axes.
    strength
        1 for text, little for a grid.
    inside
        Within the axes, or around them on the figure.
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    for shown in (ax, ax.figure) if inside else (ax.figure,):
        red, green, blue, opaque = to_rgba(shown.get_facecolor())
        if opaque > 0.5:
            light = float(0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK)
            return light, light, light, strength
    return (*to_rgba(rcParams["text.color"])[:3], strength)


def paper(ax: Any) -> Any:
    """The background of the axes: the rim of points that overlap; none where it is transparent."""
    face = ax.get_facecolor()
    return face if face[3] > 0 else "none"


def ideal(ax: Any) -> dict[str, Any]:
    """The line of a calibrated model, or of the limit that was asked for."""
    return {"color": tone(ax, 0.6), "linewidth": 1, "linestyle": (0, (4, 3)), "zorder": 1}


def series(ax: Any, color: Any = None) -> dict[str, Any]:
    """Colour, dashes and mark of the next line of a result on these axes."""
    place = sum(line.get_gid() == SERIES for line in ax.lines) % len(COLORS)
    return {"color": COLORS[place] if color is None else color, "linestyle": DASHES[place], "gid": SERIES}


def marker(ax: Any) -> str:
    """The mark of the points of the line that was drawn last."""
    return MARKERS[max(sum(line.get_gid() == SERIES for line in ax.lines) - 1, 0) % len(MARKERS)]


def text_size(ax: Any) -> float:
    """Points of the text on these axes, by their width."""
    share = (inches(ax)[0] - NARROW) / (ROOMY - NARROW)
    return SMALL + (USUAL - SMALL) * min(max(share, 0.0), 1.0)


def inches(ax: Any) -> tuple[float, float]:
    """Width and height of the axes."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def shortened(text: Any, width: float) -> None:
    """Cut a text that is drawn already to so many pixels."""
    words = text.get_text()
    while (found := text.get_window_extent().width) > width and len(words) > 1:
        words = words[: min(len(words) - 1, int(len(words) * width / found))].rstrip()
        text.set_text(f"{words}…")


def measured(found: Estimate) -> str:
    """The value of an estimate with its interval, or with what a calibrated model would show, and its rows."""
    text = f"{found.title.split(', ')[0]} {number(found.value, 3)}"
    if found.interval is not None:
        text += f" ({number(found.interval.low, 3)} to {number(found.interval.high, 3)} at {found.interval.level:.0%})"
    elif found.noise_floor is not None:
        text += f" ({number(found.noise_floor, 3)} if calibrated)"
    return f"{text}, {rows_in_words(found.n)}".replace("%", " %")


def rows_in_words(n: float) -> str:
    """Rows, for a note."""
    return f"n = {row_count(n)}"


def note(ax: Any, text: str) -> None:
    """A note above the axes, below those that are there already, in lines that fit."""
    most = int(inches(ax)[0] * 72 / (CHARACTER * text_size(ax)))
    kept = KEPT.sub(lambda found: found[0].replace(" ", "\u00a0"), visible(text))
    lines = [line for part in kept.splitlines() for line in textwrap.wrap(part, max(most, 20))]
    known = ax.get_title(loc="left").splitlines()
    if "\n".join(lines) not in "\n".join(known):
        known += lines
    ax.set_title("\n".join(known), loc="left", fontsize=text_size(ax), color=tone(ax, inside=False), parse_math=False)


def labelled(ax: Any, x: str, y: str, about: str = "", **legend: Any) -> Any:
    """The axes with their labels, a note, a light grid, and a legend without frame where something has a name."""
    size, outside = text_size(ax), tone(ax, inside=False)
    ax.set(axisbelow=True)
    ax.set_xlabel(x, fontsize=size, color=outside)
    ax.set_ylabel(y, fontsize=size, color=outside)
    ax.tick_params(which="both", labelsize=size, colors=outside)
    for spine in ax.spines.values():
        spine.set_edgecolor(tone(ax, 0.5, inside=False))
    ax.grid(visible=True, color=tone(ax, 0.1), linewidth=0.8)
    if ax.get_legend_handles_labels()[0]:
        look = {"loc": "best", "frameon": False, "fontsize": size, "labelcolor": tone(ax)}
        shown = ax.legend(**look | legend)
        for text in shown.get_texts():
            text.set_parse_math(False)  # names are names, also those with a $
    if about:
        note(ax, about)
    if ax.get_aspect() != "auto":
        laid_out(ax)  # square axes take several rounds until all that is around them has space
    return ax


def laid_out(ax: Any) -> None:
    """Let the figure's layout, if it has one, find the place of the axes."""
    engine = ax.figure.get_layout_engine() if hasattr(ax.figure, "get_layout_engine") else None
    if engine is not None:
        engine.execute(ax.figure)


def line_with_errors(ax: Any, rows: Iterable[Any], x: str, y: str, error: str, label: str) -> None:
    """A line with Monte-Carlo error bars; `x`, `y` and `error` are attributes of the rows."""
    points = sorted((getattr(row, x), getattr(row, y), getattr(row, error)) for row in rows)
    look = series(ax)
    gid = look.pop("gid")
    line = ax.errorbar(*zip(*points, strict=True), label=label, markersize=4, capsize=2, linewidth=1.2, **look)[0]
    line.set_gid(gid)
    line.set_marker(marker(ax))


def rows_axis(ax: Any, sizes: Iterable[float]) -> None:
    """A logarithmic x axis of numbers of rows, with ticks at these sizes unless they are many."""
    ax.set_xscale("log")
    ticks = sorted(set(sizes))
    if len(ticks) <= MANY_TICKS:
        ax.set_xticks(ticks, [f"{n:,.0f}" for n in ticks], minor=False)
        ax.minorticks_off()
