"""Does a plan hold what it promises? Power and width on simulated data sets that took no part in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calibrant.detect.omnibus import is_calibrated
from calibrant.predictions import Predictions
from calibrant.progress import Report, offset
from calibrant.results import Record, Table, kind
from calibrant.simulate.measuring import Named, measured
from calibrant.simulate.power import detection
from calibrant.types import Floats
from calibrant.verbs.all_classes import three_tests
from calibrant.verbs.planning.class_worlds import ClassWorld
from calibrant.verbs.planning.figures import FEWER, Figures, Goal, width_round
from calibrant.verbs.planning.power_laws import NORMAL
from calibrant.verbs.planning.quantities import ROUNDING, PlannedData, Quantity
from calibrant.verbs.planning.simulation import Rise, Round, represented, simulated_widths

if TYPE_CHECKING:
    from calibrant.simulate.world import ScoreWorld
    from calibrant.verbs.planning.plan import Plan


AROUND = 2**0.5
"""Factor between the planned size and those above and below it that are simulated too."""

NEAR = 2.0
"""Factor in √n, below the smallest size and above the largest, within which rows are read off a line."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Record):
    """Power or width at some sizes, as planned and simulated, side by side."""

    quantity: str
    world: str
    n_data_sets: int
    sizes: tuple[int, ...]
    planned: Floats
    simulated: Floats
    errors: Floats
    """Monte-Carlo standard errors"""
    rows: float | None = None
    """rows that attain the goal by the simulation, between the sizes or a little beyond"""
    rows_error: float | None = None

    question: ClassVar[str] = "Does the plan hold?"

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
        """Plan and simulation, one row per size."""
        rows = tuple((f"{n:,}", shown(self.quantity, self.planned[k]), self.at(n)) for k, n in enumerate(self.sizes))
        note = f"{self.n_data_sets:,} data sets per size of {self.world}; ± is one Monte-Carlo standard error."
        return (Table("The plan checked", ("n", f"{self.quantity} planned", "simulated"), rows, note),)

    def __repr__(self) -> str:
        return self.tables()[0].to_text()


def shown(quantity: str, value: float, error: float | None = None) -> str:
    """A power in percent, a width as a number."""
    form = "{:.1%}" if quantity == "power" else "{:.4f}"
    return form.format(value) if error is None else f"{form.format(value)} ± {form.format(error)}"


def checked_plan(plan: Plan, figures: Figures, quantity: Quantity, data: PlannedData, goal: Goal) -> PlanCheck:
    """A plan on other data sets: power of its test, or mean width of its intervals."""
    error = plan.detectable if plan.error is None else plan.error
    erring = error is not None and math.isfinite(error) and (plan.power is not None or quantity.has_error)
    world: ScoreWorld | ClassWorld = (
        quantity.world_with_error(data, error or 0.0) if erring else quantity.world_like(data)
    )
    if plan.power is not None and not plan.by_formula and data.classes is not None and erring:
        world = quantity.tested_world(data, error or 0.0)
    factors = (1,) if plan.goal == "n" else (1 / AROUND, 1, AROUND)
    sizes = tuple(max(2, round(plan.n * factor)) for factor in factors)
    count = goal.n_data_sets if plan.by_formula else max(2, goal.n_data_sets // FEWER)
    reports = [partial(offset, goal.report, k * count, count, len(sizes) * count) for k in range(len(sizes))]
    if plan.power is not None:
        found = [
            _power(plan, quantity, world, n, count, goal, report) for n, report in zip(sizes, reports, strict=True)
        ]
        values, errors = np.array(found).T
        probits = [NORMAL.inv_cdf(p) for p in np.clip(values, 1e-3, 1 - 1e-3)]
        rounds = [Round(math.sqrt(n), z, e / NORMAL.pdf(z)) for n, z, e in zip(sizes, probits, errors, strict=True)]
        rows = _rows(rounds, goal.base, goal.probit)
    else:
        assert not isinstance(world, ClassWorld)
        view, level = "canonical" if data.canonical else "binary", 1 - plan.alpha
        widths = [
            simulated_widths(quantity, world, n, level, view, count, goal.seed_of(CHECK), report)
            for n, report in zip(sizes, reports, strict=True)
        ]
        values = np.array([each.mean() for each in widths])
        errors = np.array([each.std(ddof=1) / math.sqrt(count) for each in widths])
        rounds = [width_round(math.sqrt(n), each) for n, each in zip(sizes, widths, strict=True)]
        rows = _rows(rounds, 0.0, 1 / plan.reached)
    planned = np.array([figures.planned(n) for n in sizes])
    return PlanCheck(plan.quantity, world.describe(), count, sizes, planned, values, errors, *rows)


CHECK = 7
"""Place of the seed of a check among those of a plan."""


def _power(
    plan: Plan, quantity: Quantity, world: ScoreWorld | ClassWorld, n: int, count: int, goal: Goal, report: Report
) -> tuple[float, float]:
    """The simulated power of the plan's test, and its Monte-Carlo standard error."""
    if plan.by_formula:
        assert quantity.statistic is not None
        assert not isinstance(world, ClassWorld)
        found = detection(quantity.statistic(n), world, n, plan.alpha, count, goal.seed)
        report(1, 1)
        return found.power, found.miss_error
    draws = math.ceil(FEW_DRAWS / plan.alpha) - 1
    if isinstance(world, ClassWorld):
        rng = np.random.default_rng((goal.seed_of(CHECK), n))
        p_values = np.array([p_value_of_all(world.sample(n, rng), 5 * draws) for _ in range(count)])
        report(1, 1)
    else:
        test = Named("is_calibrated", p_value_of, {"n_draws": draws})
        p_values = measured([test], represented(world, n), n, count, goal.seed_of(CHECK), progress=report).values[0]
    power = float((p_values <= plan.alpha + ROUNDING).mean())
    return power, math.sqrt(max(power * (1 - power), 0.25 / count) / count)


FEW_DRAWS = 10
"""Null draws of each simulated test that are above its threshold if the model is calibrated."""


def p_value_of(predictions: Predictions, n_draws: int) -> float:
    """The p-value of the test that `diagnose` runs."""
    return is_calibrated(predictions, n_draws=n_draws).p_value


def p_value_of_all(predictions: Predictions, n_draws: int) -> float:
    """The p-value of the three tests that `diagnose` runs on several classes."""
    top = is_calibrated(predictions, view="top", n_draws=n_draws, ties="count")
    return three_tests(predictions, top, n_draws)[0].p_value


def _rows(rounds: list[Round], base: float, goal: float) -> tuple[float | None, float | None]:
    """Rows that attain the goal, with their error; None if one size was simulated, or they are far from all."""
    if len(rounds) < 2:
        return None, None
    rise = Rise.of(rounds, base, goal)
    x = rise.place(goal)
    if not rounds[0].x / NEAR <= x <= rounds[-1].x * NEAR:
        return None, None
    return x * x, 2 * x * rise.place_error(goal)
