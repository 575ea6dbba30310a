"""Plots of power, interval width, miss rates and bias."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice
from calibrant.options import checked
from calibrant.plot.axes import (
    axes_or_new,
    ideal,
    labelled,
    line_with_errors,
    rows_axis,
    rows_in_words,
    series,
    text_size,
    tone,
)
from calibrant.problems import InputError
from calibrant.results import number
from calibrant.simulate.bias import Bias
from calibrant.simulate.bias_grid import BiasGrid
from calibrant.simulate.power import Detection
from calibrant.verbs.planning.plan import Plan


@checked
def power_curve(result: Plan, *, ax: Any = None, label: str | None = None) -> Any:
    """Power or width over the rows, or power over the error. Returns the Axes.

    Parameters
    ----------
    result
        The result of `plan`.
    ax
        The Axes to draw on; new ones if None.
    label
        What to call the result in the legend.

    Examples
    --------
    >>> from calibrant.plot.power import power_curve
    >>> from calibrant.verbs.planning.plan import plan
    >>> ax = power_curve(plan(error=0.03, mean_variance=0.12, statistic="binned"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rows', 'power')
    """
    if not isinstance(result, Plan):
        raise InputError("result", "must be a Plan", f"it is a {type(result).__name__}", "Pass plan(…)")
    ax = axes_or_new(ax)
    x, y = result.axes
    (line,) = ax.plot(
        result.curve.x,
        result.curve.y,
        label=label or f"{result.title}, {'by formula' if result.by_formula else 'simulated'}",
        linewidth=1.6,
        **series(ax),
    )
    at = result.n if x == "rows" else result.detectable if result.error is None else result.error
    ax.plot([at], [result.reached], "o", color=line.get_color(), markersize=5)
    if result.power is not None:
        ax.axhline(result.power, **ideal(ax))
        ax.set_ylim(0, 1.02)
    if result.check is not None:
        where, style = (
            result.check.sizes if x == "rows" else [at],
            {"color": tone(ax, 0.8), "markersize": 4, "capsize": 2},
        )
        ax.errorbar(where, result.check.simulated, result.check.errors, fmt="s", label="checked", **style)
    if x == "rows":
        ax.set_xscale("log")
    place = "" if x == "rows" else f" at a {x} of {number(at, 3)}"
    return labelled(ax, x, y, f"{result.quantity} {number(result.reached, 3)}{place}, {rows_in_words(result.n)}")


@checked
def miss_rates(rows: Sequence[Detection], *, over: Literal["n", "true_error", "true_rms"] = "n", ax: Any = None) -> Any:
    """How often estimators miss a true error, with Monte-Carlo error bars. Returns the Axes.

    There is one line per estimator and per value of the other variable: per error if
    drawn over the rows, per size if over the error.

    Parameters
    ----------
    rows
        The result of `simulate.detection`.
    over
        The x axis: the number of rows, or the true error, as mean or RMS.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> from calibrant.plot.power import miss_rates
    >>> from calibrant.simulate import power_world
    >>> from calibrant.simulate.power import detection
    >>> rows = detection(["ece", "sweep"], power_world(0.1), [50, 200], n_data_sets=100)
    >>> len(miss_rates(rows).containers)
    2
    """
    check_choice("over", over, ("n", "true_error", "true_rms"))
    if not rows:
        raise InputError("rows", "must hold a Detection", "it is empty")
    ax = axes_or_new(ax)
    other = "true_rms" if over == "n" else "n"
    names, kinds = (sorted({getattr(row, part) for row in rows}) for part in ("estimator", other))
    for name, value in product(names, kinds):
        mine = [row for row in rows if row.estimator == name and getattr(row, other) == value]
        if mine:
            which = f", RMS {value:.3f}" if over == "n" else f", n = {value:,}"
            label = name + (which if len(kinds) > 1 else "")
            line_with_errors(ax, mine, over, "miss_rate", "miss_error", label)
    ax.set(ylim=(-0.02, 1.02))
    if over == "n":
        rows_axis(ax, [row.n for row in rows])
    about = f"{rows[0].n_data_sets:,} data sets each"
    x = {"n": "rows", "true_error": "true error", "true_rms": "true error, RMS"}[over]
    return labelled(ax, x, f"missed, with {rows[0].alpha:.0%} false alarms".replace("%", " %"), about)


@checked
def bias_grid(grid: BiasGrid, *, figure: Literal["bias", "sd", "variance"] = "bias", ax: Any = None) -> Any:
    """A heat map of bias or spread over sample sizes, numbers of bins and other estimators.

    Red is too high, blue too low; of a spread, dark is large.

    Parameters
    ----------
    grid
        The result of `simulate.bias_grid`.
    figure
        Which figure to draw: the bias, the standard deviation or the variance.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> from calibrant.simulate import bias_grid, power_world
    >>> import calibrant as cal
    >>> ax = cal.plot.bias_grid(bias_grid(power_world(0.05), [100, 1000], [5, 50], n_data_sets=20))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('bins', 'rows')
    """
    check_choice("figure", figure, ("bias", "sd", "variance"))
    ax, values = axes_or_new(ax), getattr(grid, figure)
    far = float(np.abs(values).max()) or 1.0
    colors = {"cmap": "RdBu_r", "vmin": -far} if figure == "bias" else {"cmap": "Greys", "vmin": 0.0}
    ax.imshow(values, vmax=far, aspect="auto", origin="lower", **colors)
    form = {"bias": "+.3f", "sd": ".3f", "variance": ".1e"}[figure]
    for (row, column), value in np.ndenumerate(values):
        color = "white" if abs(value) > 0.6 * far else "black"
        size = min(7.0, text_size(ax))
        ax.text(column, row, f"{value:{form}}", ha="center", va="center", fontsize=size, color=color)
    ax.set_xticks(range(len(grid.columns)), grid.columns)
    ax.set_yticks(range(len(grid.sizes)), [f"{n:,}" for n in grid.sizes])
    labelled(ax, "bins", "rows", f"{figure}, bins of equal {grid.rule}; true error {grid.truth:.3f}")
    ax.grid(visible=False)
    return ax


@checked
def bias_curves(
    rows: Sequence[Bias], *, figure: Literal["rmse", "bias", "mae", "coverage"] = "rmse", ax: Any = None
) -> Any:
    """RMSE, bias, mean distance or coverage over the sample size, per estimator.

    Parameters
    ----------
    rows
        The result of `simulate.bias`.
    figure
        Which figure to draw.
    ax
        The Axes to draw on; new ones if None.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.simulate import bias, power_world
    >>> rows = bias(["ece", "sweep"], power_world(0.05), [100, 400], n_data_sets=20)
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
    rows_axis(ax, [row.n for row in shown])
    ax.set(**({"yscale": "log"} if figure in ("rmse", "mae") else {}))
    ax.axhline({"bias": 0.0, "coverage": 0.95}.get(figure, np.nan), **ideal(ax))
    about = f"{shown[0].n_data_sets:,} data sets each, true error {number(shown[0].truth, 3)}"
    return labelled(ax, "rows", {"rmse": "RMSE", "mae": "mean |estimate − truth|"}.get(figure, figure), about)
