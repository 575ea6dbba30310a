"""Does a plan hold what its formula promises? Power and width on simulated data sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calibrant.inputs import check_count, check_seed
from calibrant.predictions import Predictions
from calibrant.results import Estimate, Record, Table, kind
from calibrant.simulate.measuring import Named, measured
from calibrant.simulate.power import detection
from calibrant.types import Floats, Seed
from calibrant.verbs.planning.power_laws import NORMAL
from calibrant.verbs.planning.quantities import PlannedData, Quantity

if TYPE_CHECKING:
    from calibrant.verbs.planning.plan import Plan


AROUND = 2**0.5
"""Factor between the planned size and those above and below it that are simulated too."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Record):
    """Power or width at some sizes, by formula and simulated, side by side."""

    quantity: str
    world: str
    n_data_sets: int
    sizes: tuple[int, ...]
    formula: Floats
    simulated: Floats
    errors: Floats
    """Monte-Carlo standard errors"""
    rows: float | None = None
    """rows that attain the goal by the simulation, between the sizes or a little beyond"""
    rows_error: float | None = None

    question: ClassVar[str] = "Does the formula hold?"

    def at(self, n: int) -> str:
        """The simulated figure at one of the sizes.

        Parameters
        ----------
        n
            One of `sizes`.
        """
        k = self.sizes.index(n)
        return shown(self.quantity, self.simulated[k], self.errors[k])

    def rows_text(self) -> str:
        """Rows that the simulation asks for."""
        return "–" if self.rows is None or self.rows_error is None else f"{self.rows:,.0f} ± {self.rows_error:,.0f}"

    def tables(self) -> tuple[Table, ...]:
        """Formula and simulation, one row per size."""
        rows = tuple((f"{n:,}", shown(self.quantity, self.formula[k]), self.at(n)) for k, n in enumerate(self.sizes))
        note = f"{self.n_data_sets:,} data sets per size of {self.world}; ± is one Monte-Carlo standard error."
        return (Table("The formula checked", ("n", f"{self.quantity} by formula", "simulated"), rows, note),)

    def __repr__(self) -> str:
        return self.tables()[0].to_text()


def shown(quantity: str, value: float, error: float | None = None) -> str:
    """A power in percent, a width as a number."""
    form = "{:.1%}" if quantity == "power" else "{:.4f}"
    return form.format(value) if error is None else f"{form.format(value)} ± {form.format(error)}"


def simulated(plan: Plan, quantity: Quantity, data: PlannedData, n_data_sets: int, seed: Seed) -> PlanCheck:
    """A plan on simulated data sets: power against the calibrated twin, or mean width of intervals."""
    check_count(n_data_sets, "n_data_sets", 2)
    seed = check_seed(seed)
    error = plan.detectable if plan.error is None else plan.error
    erring = error is not None and (plan.power is not None or quantity.has_error)
    world = quantity.world_with_error(data, error or 0.0) if erring else quantity.world_like(data)
    factors = (1,) if plan.goal == "n" else (1 / AROUND, 1, AROUND)
    sizes = tuple(max(2, round(plan.n * factor)) for factor in factors)
    if plan.power is not None and quantity.test_law is not None and quantity.statistic is not None:
        law = quantity.test_law(data.variance)
        formula = [law.power(n, error or 0.0, plan.alpha) for n in sizes]
        found = [detection(quantity.statistic(n), world, n, plan.alpha, n_data_sets, seed) for n in sizes]
        values, errors = np.array([(each.power, each.miss_error) for each in found]).T
        # Powers are nearly linear in log n on the probit scale.
        probits = np.array([NORMAL.inv_cdf(p) for p in np.clip(values, 1e-3, 1 - 1e-3)])
        scaled = errors / np.array([NORMAL.pdf(z) for z in probits])
        rows = crossing(sizes, probits, scaled, NORMAL.inv_cdf(plan.power))
    else:
        bounds, level = quantity.width_law(quantity, data, plan.error or 0.0), 1 - plan.alpha
        formula = [bounds.width(n, level) for n in sizes]
        view = "canonical" if data.canonical else "binary"
        interval = Named("interval", partial(interval_estimate, quantity=quantity, level=level, view=view))
        runs = [measured([interval], world, n, n_data_sets, seed) for n in sizes]
        widths = np.array([run.high[0] - run.low[0] for run in runs])
        values, errors = widths.mean(axis=1), widths.std(axis=1, ddof=1) / math.sqrt(n_data_sets)
        rows = crossing(sizes, -np.log(values), errors / values, -math.log(plan.reached))
    return PlanCheck(plan.quantity, world.describe(), n_data_sets, sizes, np.array(formula), values, errors, *rows)


def interval_estimate(predictions: Predictions, quantity: Quantity, level: float, view: str) -> Estimate:
    """An estimate with the interval that was planned."""
    interval = quantity.interval(predictions, level, view)
    return Estimate("interval", interval.method, interval.low, predictions.n, interval)


def crossing(sizes: tuple[int, ...], heights: Floats, errors: Floats, goal: float) -> tuple[float | None, float | None]:
    """Where a line through the heights over log n crosses the goal, with its error.

    None if the line does not rise, or crosses the goal far outside the sizes.
    """
    if len(sizes) < 2:
        return None, None
    x = np.log(np.array(sizes, dtype=np.float64))
    slope, start = np.polyfit(x, heights, 1)
    at, span = (goal - start) / slope if slope > 0 else math.inf, x[-1] - x[0]
    if not x[0] - span <= at <= x[-1] + span:
        return None, None
    rows = math.exp(at)
    return rows, float(rows * np.sqrt((errors**2).mean() / len(sizes)) / slope)
