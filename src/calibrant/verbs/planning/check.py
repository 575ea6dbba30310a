"""Does a plan hold what its formula says? The same on simulated data sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.bins import EqualMass
from calibrant.estimate.binned import binned_error
from calibrant.estimate.cumulative import ks_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.infer.error import calibration_error_interval
from calibrant.infer.running import cumulative_interval
from calibrant.infer.squared import cube_root, squared_error_interval
from calibrant.interval.proportion import wilson
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval, Record, Table, kind
from calibrant.score.score import check_score
from calibrant.simulate.measuring import measured
from calibrant.simulate.power import detection
from calibrant.simulate.recipes import named
from calibrant.simulate.world import World
from calibrant.verbs.planning.sample_size import NORMAL

Floats = NDArray[np.float64]

AROUND = 2**0.5
"""Sizes beside the planned one that are simulated too: so many times fewer and more rows."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Record):
    """Power or width at some sizes, by formula and simulated, side by side."""

    quantity: str
    world: str
    replications: int
    sizes: tuple[int, ...]
    formula: Floats
    simulated: Floats
    errors: Floats
    """Monte-Carlo standard errors"""
    rows: float | None = None
    """rows that reach the goal by the simulation, between the sizes or a little beyond"""
    rows_error: float | None = None

    def __post_init__(self) -> None:
        self._hold("formula", "simulated", "errors")

    def at(self, n: int) -> str:
        """The simulated figure at one of the sizes."""
        k = self.sizes.index(n)
        return shown(self.quantity, self.simulated[k], self.errors[k])

    def rows_text(self) -> str:
        """Rows that the simulation asks for."""
        return "–" if self.rows is None or self.rows_error is None else f"{self.rows:,.0f} ± {self.rows_error:,.0f}"

    def table(self) -> Table:
        """Formula and simulation, one row a size."""
        rows = tuple((f"{n:,}", shown(self.quantity, self.formula[k]), self.at(n)) for k, n in enumerate(self.sizes))
        note = f"{self.replications:,} data sets a size of {self.world}; ± is one Monte-Carlo standard error."
        return Table("The formula checked", ("n", f"{self.quantity} by formula", "simulated"), rows, note)

    def __repr__(self) -> str:
        return self.table().to_text()


def shown(quantity: str, value: float, error: float | None = None) -> str:
    """A power in percent, a width as it is."""
    form = "{:.1%}" if quantity == "power" else "{:.4f}"
    return form.format(value) if error is None else f"{form.format(value)} ± {form.format(error)}"


def checked_power(
    statistic: str,
    norm: int,
    world: World,
    sizes: tuple[int, ...],
    formula: Callable[[int], float],
    goal: float,
    level: float,
    replications: int,
    rng: int,
) -> PlanCheck:
    """Power on data of the world, with the threshold of its calibrated twin."""
    found = [detection([tested(statistic, norm, n)], world, n, level, replications, rng)[0] for n in sizes]
    simulated, errors = np.array([f.power for f in found]), np.array([f.miss_error for f in found])
    expected = np.array([formula(n) for n in sizes])
    rows = _crossing(sizes, *_probits(simulated, errors), NORMAL.inv_cdf(goal))
    return PlanCheck("power", world.describe(), replications, sizes, expected, simulated, errors, *rows)


def _probits(power: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Powers and their errors on the scale on which they are nearly straight in log n."""
    probits = np.array([NORMAL.inv_cdf(p) for p in np.clip(power, 1e-3, 1 - 1e-3)])
    return probits, errors / np.array([NORMAL.pdf(z) for z in probits])


def checked_width(
    interval: Callable[..., Estimate],
    world: World,
    sizes: tuple[int, ...],
    formula: Callable[[int], float],
    goal: float,
    replications: int,
    rng: int,
) -> PlanCheck:
    """Mean width of the intervals on data of the world."""
    found = [measured([named(interval)], world, n, replications, rng) for n in sizes]
    widths = [each.high[0] - each.low[0] for each in found]
    simulated = np.array([w.mean() for w in widths])
    errors = np.array([w.std(ddof=1) / math.sqrt(replications) for w in widths])
    expected = np.array([formula(n) for n in sizes])
    rows = _crossing(sizes, -np.log(simulated), errors / simulated, -math.log(goal))
    return PlanCheck("width", world.describe(), replications, sizes, expected, simulated, errors, *rows)


def _crossing(
    sizes: tuple[int, ...], heights: Floats, errors: Floats, goal: float
) -> tuple[float | None, float | None]:
    """Where a straight line through the heights over log n reaches the goal; None if it does not rise, or far outside."""
    if len(sizes) < 2:
        return None, None
    x = np.log(np.array(sizes, dtype=np.float64))
    slope, start = np.polyfit(x, heights, 1)
    if slope <= 0:
        return None, None
    at = (goal - start) / slope
    if not x[0] - (x[-1] - x[0]) <= at <= x[-1] + (x[-1] - x[0]):
        return None, None
    rows = math.exp(at)
    return rows, float(rows * np.sqrt((errors**2).mean() / len(sizes)) / slope)


def tested(statistic: str, norm: int, n: int) -> Any:
    """The estimator that is large when a test alarms."""
    if statistic == "kuiper":
        return partial(ks_error, statistic="range")
    if statistic == "mean_gap":
        return absolute_gap
    bins = EqualMass(cube_root(n))
    if norm == 1:
        return partial(binned_error, bins=bins)
    return partial(binned_error, bins=bins, norm=2, debiased=True, root=False, clip=False)


def absolute_gap(predictions: Predictions) -> float:
    """|mean prediction − rate|."""
    return abs(float(mean_gap(predictions)))


def _error_interval(predictions: Predictions, statistic: str, norm: int, level: float) -> Interval:
    if statistic == "kuiper":
        return cumulative_interval(predictions, statistic="range", level=level)
    if norm == 1:
        return calibration_error_interval(predictions, norm=1, level=level)
    return squared_error_interval(predictions, level=level)


def interval_estimate(predictions: Predictions, statistic: str, norm: int, level: float, whole: bool) -> Estimate:
    """An estimate with the interval that was planned."""
    if statistic in ("binned", "kuiper"):
        interval = _error_interval(predictions, statistic, norm, level)
        return Estimate("interval", interval.method, interval.low, predictions.n, interval)
    if statistic == "mean_gap":
        return mean_gap(predictions, level=level)
    if statistic == "rate":
        rate = predictions.labels.mean()
        low, high = wilson(np.array([rate]), np.array([float(predictions.n)]), level)
        interval = Interval(float(low[0]), float(high[0]), level, "Wilson")
        return Estimate("rate", "observed rate", rate, predictions.n, interval)
    found = check_score(statistic).score(predictions, level=level, view="canonical" if whole else "binary")
    if found.interval is None:
        raise InputError("statistic", "must be finite in the world", f"the {found.title} is not")
    return found
