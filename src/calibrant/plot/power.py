"""Draw what rows can show: power and width over their number, and how often estimators miss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

from calibrant.inputs import check_choice
from calibrant.plot.axes import fresh_axes
from calibrant.problems import InputError
from calibrant.simulate.power import Detection
from calibrant.verbs.planning.plan import Plan

DASHED = (0, (4, 3))


def power_curve(result: Plan, *, ax: Any = None, label: str | None = None) -> Any:
    """Power or width over the rows, or power over the error, with what was simulated as points. Returns the Axes.

    Examples
    --------
    >>> from calibrant.plot.power import power_curve
    >>> from calibrant.verbs.planning.plan import plan
    >>> ax = power_curve(plan(error=0.03, mean_variance=0.12))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rows', 'power')
    """
    if not isinstance(result, Plan):
        raise InputError("result", "must be a Plan", f"it is a {type(result).__name__}", "Pass plan(…)")
    ax = fresh_axes() if ax is None else ax
    x, y = result.axes
    (line,) = ax.plot(result.curve.x, result.curve.y, label=label or f"{result.title}, by formula")
    at = result.n if x == "rows" else result.detectable if result.error is None else result.error
    ax.plot([at], [result.reached], "o", color=line.get_color(), markersize=5)
    if result.power is not None:
        ax.axhline(result.power, color="0.55", linewidth=1, linestyle=DASHED)
        ax.set_ylim(0, 1.02)
    if result.check is not None:
        where = result.check.sizes if x == "rows" else [at]
        ax.errorbar(
            where,
            result.check.simulated,
            result.check.errors,
            fmt="s",
            color="0.3",
            markersize=4,
            capsize=2,
            label="simulated",
        )
    if x == "rows":
        ax.set_xscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(frameon=False)
    return ax


def miss_rates(rows: Sequence[Detection], *, over: Literal["n", "true_error", "true_rms"] = "n", ax: Any = None) -> Any:
    """How often estimators miss, over the rows or over the true error, with Monte-Carlo error bars. Returns the Axes.

    One line for each estimator and each of the other: errors if over the rows, sizes if over the error.

    Examples
    --------
    >>> from calibrant.plot.power import miss_rates
    >>> from calibrant.simulate import power_world
    >>> from calibrant.simulate.power import detection
    >>> rows = detection(["ece", "sweep"], power_world(0.1), [50, 200], replications=100)
    >>> len(miss_rates(rows).containers)
    2
    """
    check_choice("over", over, ("n", "true_error", "true_rms"))
    if not rows:
        raise InputError("rows", "must hold a Detection", "it is empty")
    ax = fresh_axes() if ax is None else ax
    other = "true_rms" if over == "n" else "n"
    names, kinds = (sorted({getattr(row, part) for row in rows}) for part in ("estimator", other))
    for name, value in product(names, kinds):
        mine = sorted(
            (row for row in rows if row.estimator == name and getattr(row, other) == value),
            key=lambda row: getattr(row, over),
        )
        if mine:
            told = f", RMS {value:.3f}" if over == "n" else f", n = {value:,}"
            ax.errorbar(
                [getattr(row, over) for row in mine],
                [row.miss_rate for row in mine],
                [row.miss_error for row in mine],
                label=name + (told if len(kinds) > 1 else ""),
                marker="o",
                markersize=3,
                capsize=2,
                linewidth=1,
            )
    if over == "n":
        ax.set_xscale("log")
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel({"n": "rows", "true_error": "true error", "true_rms": "true error, RMS"}[over])
    ax.set_ylabel(f"missed, with {rows[0].alarms:.0%} false alarms")
    ax.legend(frameon=False, fontsize=7)
    return ax
