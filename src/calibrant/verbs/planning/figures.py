"""The figures of a plan: rows, detectable errors, powers and widths, by formula or by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from calibrant.problems import InputError
from calibrant.progress import Report
from calibrant.results import Line, number
from calibrant.simulate.families import most_bent
from calibrant.simulate.world import ScoreWorld
from calibrant.types import Floats
from calibrant.verbs.planning.class_worlds import ClassWorld
from calibrant.verbs.planning.power_laws import NORMAL, SquaredLaw
from calibrant.verbs.planning.quantities import ROUNDING, PlannedData, Quantity
from calibrant.verbs.planning.simulation import (
    Round,
    attained,
    null_draws,
    probit_round,
    simulated_power,
    simulated_widths,
)

POINTS = 41
"""Of a power curve."""

MOST_SIMULATED = 200_000
"""Rows of a simulated data set: beyond, power is that of a larger error on fewer rows, with the same n·error²."""

MOST_OF_CLASSES = 10_000
"""The same for several classes, whose tests look at every class of every row."""

FEWER = 5
"""A width takes so many times fewer data sets, as widths vary little, and so does each size of a check."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is asked: an error to detect, a width to attain, or what `n` rows can do; and how it is simulated."""

    error: float | None
    width: float | None
    n: int | None
    power: float
    alpha: float
    n_data_sets: int
    seed: int
    report: Report

    def seed_of(self, k: int) -> int:
        """A seed for the k-th round, of eight."""
        return 8 * self.seed + k

    @property
    def probit(self) -> float:
        """The power wanted, on the probit scale."""
        return NORMAL.inv_cdf(self.power)

    @property
    def base(self) -> float:
        """The power without an error, on the probit scale."""
        return NORMAL.inv_cdf(self.alpha)


@dataclass(frozen=True, slots=True)
class Figures:
    """What `Plan` shows, and the planned power or width as a function of the rows, for a check."""

    n: int
    error: float | None
    detectable: float | None
    reached: float
    curve: Line
    planned: Callable[[int], float]
    beside: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()


def assumed_error(quantity: Quantity, goal: Goal, data: PlannedData) -> float | None:
    """The error to detect: as given, or that of the world given; checked."""
    error = goal.error
    if error is None and data.truth_given:
        error = quantity.true_error(data.known_world())
        error = error or None if goal.n is not None else error
    if goal.n is None and error is None:
        raise InputError("error", "must be given, or width, or n", "none of them is")
    if goal.n is None and error is not None and error < ROUNDING:
        raise InputError("error", "must be positive", "it is 0, which no test can detect")
    quantity.check_error(error, data)
    return error


def formula_test(quantity: Quantity, goal: Goal, data: PlannedData) -> Figures:
    """Rows or the detectable error, and the power, by the law of a test."""
    assert quantity.test_law is not None
    law, power, alpha, n = quantity.test_law(data.variance), goal.power, goal.alpha, goal.n
    error = assumed_error(quantity, goal, data)
    rows = law.needed(error or 0.0, power, alpha) if n is None else n
    most, smallest = quantity.largest_error(data), law.detectable(rows, power, alpha)
    smallest = smallest if smallest <= most else math.inf
    at = min(smallest, most) if error is None else error
    beside: dict[str, float] = {}
    if n is None:
        x = sizes_around(rows)
        y = [law.power(int(size), at, alpha) for size in x]
        if isinstance(law, SquaredLaw):
            beside["rows by normal approximation, too few"] = law.normal_needed(at, power, alpha)
    else:
        x = np.linspace(0.0, min(2 * max(smallest, at), most), POINTS)
        y = [law.power(rows, size, alpha) for size in x]
        if isinstance(law, SquaredLaw):
            beside["smallest error by normal approximation, too small"] = law.normal_detectable(rows, power, alpha)
    reached, curve = law.power(rows, at, alpha), Line(x, np.array(y))
    planned = lambda size: law.power(size, at, alpha)  # noqa: E731
    return Figures(rows, error, smallest, reached, curve, planned, beside, assumptions=quantity.assumption)


def formula_width(quantity: Quantity, goal: Goal, data: PlannedData) -> Figures:
    """Rows and the width of the interval, by formula."""
    error = width_error(quantity, goal, data)
    law, level = quantity.width_law(quantity, data, error or 0.0), 1 - goal.alpha
    rows = law.needed(goal.width, level) if goal.width is not None else int(goal.n or 0)
    sizes = sizes_around(rows)
    curve = Line(sizes, np.array([law.width(int(size), level) for size in sizes]))
    return Figures(rows, error, None, law.width(rows, level), curve, lambda n: law.width(n, level))


def width_error(quantity: Quantity, goal: Goal, data: PlannedData) -> float | None:
    """The true error that the width depends on, if it does."""
    error = goal.error
    if not quantity.has_error:
        error = None
    elif error is None:
        error = quantity.true_error(data.known_world()) if data.truth_given else 0.0
    quantity.check_error(error, data)
    return error


def simulated_test(quantity: Quantity, goal: Goal, data: PlannedData) -> Figures:
    """Rows or the detectable error of `is_calibrated`, and its power, by simulation."""
    error = assumed_error(quantity, goal, data)
    return _rows_needed(quantity, goal, data, error or 0.0) if goal.n is None else _shown_by_rows(quantity, goal, data)


def _rows_needed(quantity: Quantity, goal: Goal, data: PlannedData, error: float) -> Figures:
    """Rows that detect the error. Power on the probit scale is nearly linear in √n."""
    assert quantity.test_law is not None
    guess = quantity.test_law(data.variance).needed(error, goal.power, goal.alpha)
    own = data.truth_given and math.isclose(error, quantity.true_error(data.known_world()), rel_tol=1e-9)
    larger = 1.0 if own else math.sqrt(max(1.0, guess / _most_rows(data)))
    world = quantity.tested_world(data, larger * error)

    def measure(x: float, count: int, k: int, report: Report) -> Round:
        n = max(2, round(x * x))
        found = simulated_power(world, n, goal.alpha, count, goal.seed_of(k), report)
        return probit_round(math.sqrt(n), *found, count)

    most = math.sqrt(_most_rows(data)) * (FARTHEST_OWN if own else math.inf)
    rise, count = attained(
        measure, math.sqrt(guess) / larger, goal.base, goal.probit, goal.n_data_sets, goal.report, most
    )
    x = rise.place(goal.probit)
    rows = max(2, math.ceil((larger * x) ** 2))

    def power(n: float) -> float:
        return NORMAL.cdf(rise.height(math.sqrt(n) / larger))

    sizes = sizes_around(rows)
    curve = Line(sizes, np.array([power(size) for size in sizes]))
    errors = {"n": 2 * x * rise.place_error(goal.probit) * larger**2} | _power_error(rise.height_error(x), goal.probit)
    beside = {f"rows for the {quantity.title} over bins alone, by formula": guess}
    assumed = _simulated_how(world, count, goal, error, larger)
    return Figures(rows, error, error, power(rows), curve, power, beside, errors, assumed)


FARTHEST_OWN = 3.0
"""Root of how many more rows may be simulated for a world that is given, whose error cannot be scaled."""


def _shown_by_rows(quantity: Quantity, goal: Goal, data: PlannedData) -> Figures:
    """The smallest error that the rows detect. Power on the probit scale is nearly linear in the error."""
    assert goal.n is not None
    assert quantity.test_law is not None
    n, error = min(goal.n, _most_rows(data)), assumed_error(quantity, goal, data)
    smaller = math.sqrt(goal.n / n)
    norm = quantity.norm_of_world
    most = most_bent(data.known_world(), norm=norm) if data.classes is None else data.classes.largest_error(norm)
    most *= 1 - 1e-6
    guess = quantity.test_law(data.variance).detectable(n, goal.power, goal.alpha)

    def measure(x: float, count: int, k: int, report: Report) -> Round:
        world = quantity.tested_world(data, x)
        return probit_round(x, *simulated_power(world, n, goal.alpha, count, goal.seed_of(k), report), count)

    rise, count = attained(measure, min(guess, most / 2), goal.base, goal.probit, goal.n_data_sets, goal.report, most)
    x = rise.place(goal.probit)
    detectable, errors = x / smaller, {"detectable": rise.place_error(goal.probit) / smaller}
    if x > most:
        detectable, errors = math.inf, {}

    def power(e: float) -> float:
        return NORMAL.cdf(rise.height(smaller * e))

    at = min(detectable, most / smaller) if error is None else error
    reached = power(at)
    world = quantity.tested_world(data, min(smaller * at, most))
    if error is not None:
        reached, errors["reached"] = simulated_power(
            world, n, goal.alpha, goal.n_data_sets, goal.seed_of(PLACES - 2), goal.report
        )
    else:
        errors |= _power_error(rise.height_error(min(x, most)), NORMAL.inv_cdf(min(max(reached, 1e-9), 1 - 1e-9)))
    x_axis = np.linspace(0.0, min(2 * max(min(detectable, most / smaller), at), most / smaller), POINTS)
    curve = Line(x_axis, np.array([power(size) for size in x_axis]))
    assumed = _simulated_how(world, count, goal, at, smaller)
    return Figures(goal.n, error, detectable, reached, curve, lambda _: reached, {}, errors, assumed)


PLACES = 8
"""Seeds of a plan: six pilots, the round that decides, and the last for a check."""


def _power_error(probit_error: float, probit: float) -> dict[str, float]:
    """The Monte-Carlo standard error of the power reached."""
    return {"reached": probit_error * NORMAL.pdf(probit)}


def _most_rows(data: PlannedData) -> int:
    """Rows that a simulated data set may have."""
    return MOST_SIMULATED if data.classes is None else MOST_OF_CLASSES


def _simulated_how(
    world: ScoreWorld | ClassWorld, count: int, goal: Goal, error: float, factor: float
) -> tuple[str, ...]:
    """What was simulated, in words."""
    what = f"power simulated on {count:,} data sets, with {null_draws(goal.alpha):,} null draws of the labels"
    shape = (
        f"the true rate is {world.calibration.describe()} where p is predicted; other shapes take other numbers of rows"
    )
    if factor == 1:
        return what, shape
    scaled = f"an error of {number(factor * error)} on fewer rows was simulated: power depends on n·error²"
    return what, shape, scaled


def simulated_width(quantity: Quantity, goal: Goal, data: PlannedData) -> Figures:
    """Rows of an interval of this width, by simulation. 1 / width is nearly linear in √n."""
    assert goal.width is not None
    error, level = width_error(quantity, goal, data) or 0.0, 1 - goal.alpha
    guess = quantity.width_law(quantity, data, error).needed(goal.width, level)
    world = quantity.world_with_error(data, error)
    count = max(2, goal.n_data_sets // FEWER)

    def measure(x: float, count: int, k: int, report: Report) -> Round:
        n = max(2, round(x * x))
        widths = simulated_widths(quantity, world, n, level, "binary", count, goal.seed_of(k), report)
        return width_round(math.sqrt(n), widths)

    most = math.sqrt(MOST_SIMULATED)
    rise, total = attained(measure, math.sqrt(guess), 0.0, 1 / goal.width, count, goal.report, most, 2)
    x = rise.place(1 / goal.width)
    rows = max(2, math.ceil(x * x))

    def width(n: float) -> float:
        return 1 / max(rise.height(math.sqrt(n)), 1.0)

    sizes, reached = sizes_around(rows), width(rows)
    curve = Line(sizes, np.array([width(size) for size in sizes]))
    errors = {"n": 2 * x * rise.place_error(1 / goal.width), "reached": rise.height_error(x) * reached**2}
    assumed: tuple[str, ...] = (f"width simulated on {total:,} data sets of {world.describe()}",)
    if rows > MOST_SIMULATED:
        assumed += (f"extrapolated from {MOST_SIMULATED:,} rows",)
    return Figures(rows, error, None, reached, curve, width, {}, errors, assumed)


def width_round(x: float, widths: Floats) -> Round:
    """1 / mean width, with its Monte-Carlo standard error."""
    mean = float(widths.mean())
    error = float(widths.std(ddof=1)) / math.sqrt(len(widths))
    return Round(x, 1 / mean, max(error, 1e-6 * mean) / mean**2)


def sizes_around(n: int) -> Floats:
    """From a quarter to four times as many."""
    return np.unique(np.round(np.geomspace(max(n / 4, 2), 4 * n, POINTS)))
