"""Draw how far estimators are off: over sizes and bins, and over sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.plot.axes import axes_or_new, labelled, line_with_errors
from calibrant.problems import InputError
from calibrant.simulate.bias import Bias, BiasGrid


def bias_grid(grid: BiasGrid, *, ax: Any = None) -> Any:
    """A heat map of the bias over sample sizes and numbers of bins; red is too high, blue too low.

    Parameters
    ----------
    grid
        The result of `simulate.bias_grid`.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> from calibrant.simulate import bias_grid, power_world
    >>> import calibrant as cal
    >>> ax = cal.plot.bias_grid(bias_grid(power_world(0.05), [100, 1000], [5, 50], replications=20))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('bins', 'rows')
    """
    ax = axes_or_new(ax)
    far = float(np.abs(grid.bias).max()) or 1.0
    ax.imshow(grid.bias, cmap="RdBu_r", vmin=-far, vmax=far, aspect="auto", origin="lower")
    for (row, column), value in np.ndenumerate(grid.bias):
        color = "white" if abs(value) > 0.6 * far else "black"
        ax.text(column, row, f"{value:+.3f}", ha="center", va="center", fontsize=7, color=color)
    ax.set_xticks(range(len(grid.n_bins)), [str(b) for b in grid.n_bins])
    ax.set_yticks(range(len(grid.sizes)), [f"{n:,}" for n in grid.sizes])
    ax.set_xlabel("bins")
    ax.set_ylabel("rows")
    ax.set_title(f"bias, bins of equal {grid.rule}; truth {grid.truth:.3f}", fontsize=9)
    return ax


def bias_curves(
    rows: Sequence[Bias], *, figure: Literal["rmse", "bias", "mae", "coverage"] = "rmse", ax: Any = None
) -> Any:
    """RMSE, bias, mean distance or coverage over the sample size, one line per estimator, with Monte-Carlo error bars.

    Parameters
    ----------
    rows
        The result of `simulate.biases`.
    figure
        Which figure to draw.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import bias, power_world
    >>> rows = bias(["ece", "sweep"], power_world(0.05), [100, 400], replications=20)
    >>> len(cal.plot.bias_curves(rows).lines) > 1
    True
    """
    check_choice("figure", figure, ("rmse", "bias", "mae", "coverage"))
    shown = [row for row in rows if getattr(row, figure) is not None]
    if not shown:
        raise InputError("rows", f"must hold a {figure}", "there is none to draw")
    ax = axes_or_new(ax)
    error = "mean_error" if figure == "bias" else f"{figure}_error"
    for name in dict.fromkeys(row.estimator for row in shown):
        line_with_errors(ax, [row for row in shown if row.estimator == name], "n", figure, error, name)
    ax.set_xscale("log")
    if figure in ("rmse", "mae"):
        ax.set_yscale("log")
    ax.axhline({"bias": 0.0, "coverage": 0.95}.get(figure, np.nan), color="grey", linewidth=0.8, linestyle="--")
    return labelled(ax, "rows", {"rmse": "RMSE", "mae": "mean |estimate − truth|"}.get(figure, figure), fontsize=7)
