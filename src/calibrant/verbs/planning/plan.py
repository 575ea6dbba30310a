"""How many rows does it take?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_alpha, check_choice, check_count, check_positive, check_seed, check_statistic
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.progress import Progress, reported
from calibrant.results import Answer, Line, Table, kind, number
from calibrant.simulate.world import ScoreWorld
from calibrant.types import Seed
from calibrant.verbs.planning.check import PlanCheck, checked_plan, shown
from calibrant.verbs.planning.figures import (
    Figures,
    Goal,
    formula_test,
    formula_width,
    simulated_test,
    simulated_width,
)
from calibrant.verbs.planning.quantities import PlannedData, Quantity, planned_data, quantities, quantity_of

TEST = "is_calibrated"
"""The test that `diagnose` runs, and that is planned for unless another statistic is named."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Answer):
    """How many rows it takes, or what a given number of rows can show."""

    goal: str
    """what was asked for: an `error` to detect, a `width` to attain, or what `n` rows can do"""
    title: str
    n: int
    alpha: float
    """rate of false alarms of the test; an interval has confidence 1 − alpha"""
    power: float | None
    """wanted"""
    error: float | None
    """the true error that is assumed"""
    detectable: float | None
    """the smallest error detected with that power on `n` rows"""
    reached: float
    """the power at `error`, or the width, on `n` rows"""
    mean_variance: float
    """mean of p(1 − p)"""
    curve: Line
    """power over n or over the error, or width over n"""
    statistic: str = TEST
    """what will be computed: the test `is_calibrated`, or the quantity whose test or interval it is"""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Monte-Carlo standard errors of `n`, `detectable` and `reached`; empty where they come from a formula"""
    beside: Mapping[str, float] = field(default_factory=dict)
    """other answers, for comparison"""
    n_classes: int = 2
    """classes whose tests share the false alarms, as in `diagnose`; 2 for one event"""
    check: PlanCheck | None = None
    assumptions: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "How many rows does it take?"
    printed_tables: ClassVar[int | None] = 0

    @property
    def quantity(self) -> str:
        """`power` or `width`."""
        return "width" if self.power is None else "power"

    @property
    def by_formula(self) -> bool:
        """Does the answer come from a formula, not from a simulation?"""
        return not self.errors and self.statistic != TEST

    def _uncertain(self, name: str) -> str:
        """± the Monte-Carlo standard error of a figure, if it has one."""
        error = self.errors.get(name)
        if error is None:
            return ""
        return f" ± {max(error, 1):,.0f}" if name == "n" else f" ± {number(error)}"

    @property
    def axes(self) -> tuple[str, str]:
        """What the curve shows."""
        return "true error" if self.goal == "n" and self.power is not None else "rows", self.quantity

    def sentence(self) -> str:
        """The answer in words."""
        rows = f"{self.n:,}{self._uncertain('n')} rows"
        if self.power is None:
            assumed = f", if the true error is {number(self.error)}" if self.error is not None else ""
            interval = f"a {percent(1 - self.alpha)} interval of the {self.title}"
            return (
                f"{rows}: {interval} is {number(self.reached)} wide{'' if self.by_formula else ' on average'}{assumed}."
            )
        test = "" if self.by_formula else f" of `{TEST}`, the test that `diagnose` runs"
        if self.n_classes > 2:
            test = f" of the three tests that `diagnose` runs on {self.n_classes} classes"
        how = f"with power {percent(self.power)}, at {percent(self.alpha)} false alarms{test}"
        found = self.detectable if self.goal == "n" else self.error
        what = f"{'an' if self.title.startswith('RMS') else 'a'} {self.title} of {number(found)}"
        what += self._uncertain("detectable")
        if self.goal == "n" and math.isinf(found or 0.0):
            what = f"no {self.title}"
        text = f"{rows} detect {what} {how}."
        if self.goal == "n" and self.error is not None:
            power = shown("power", self.reached, self.errors.get("reached"))
            text += f" One of {number(self.error)} is detected with power {power}."
        return text

    def tables(self) -> tuple[Table, ...]:
        """The answer, and what a check found."""
        rows = {"rows": f"{self.n:,}{self._uncertain('n')}"}
        if self.power is None:
            rows["confidence"] = percent(1 - self.alpha)
        else:
            rows |= {"power wanted": percent(self.power), "false alarms": percent(self.alpha)}
            rows[f"smallest error detected with power {percent(self.power)}"] = number(self.detectable)
            rows[f"smallest error detected with power {percent(self.power)}"] += self._uncertain("detectable")
            rows["test"] = self.statistic
        if self.error is not None:
            rows["true error assumed"] = number(self.error)
        how = "by formula" if self.by_formula else "simulated"
        rows[f"{self.quantity} {how}"] = shown(self.quantity, self.reached, self.errors.get("reached"))
        if self.check is not None:
            rows[f"{self.quantity} checked"] = self.check.at(self.n)
            if self.check.rows is not None:
                rows["rows by the check"] = self.check.rows_text()
        rows |= {name: f"{v:,}" if isinstance(v, int) else number(v) for name, v in self.beside.items()}
        rows["mean of p(1 − p)"] = number(self.mean_variance)
        return (Table(f"Plan: {self.title}", ("quantity", "value"), tuple(rows.items())),)

    def _head(self) -> list[str]:
        if self.check is None:
            return [self.sentence()]
        more = "" if self.check.rows is None else f"; the goal takes {self.check.rows_text()} rows"
        return [self.sentence(), f"  checked: {self.quantity} {self.check.at(self.n)}{more}"]


@checked
def plan(
    error: float | None = None,
    *,
    width: float | None = None,
    n: int | None = None,
    statistic: str | None = None,
    norm: Literal[1, 2] = 2,
    power: float = 0.8,
    alpha: float = 0.05,
    predictions: Any = None,
    world: ScoreWorld | None = None,
    mean_variance: float | None = None,
    view: Any = "auto",
    check: bool = False,
    n_data_sets: int = 1000,
    seed: Seed = 0,
    progress: Progress = False,
    counts: Any = None,
    weights: Any = None,
) -> Plan:
    """How many rows does it take to detect an error, or to estimate it precisely?

    - `plan(error=0.03)`: rows with which `is_calibrated`, the test that `diagnose` runs,
      detects a true error of 0.03, with probability `power`. With `predictions` of several
      classes, the three tests that `diagnose` runs on them, and the error is that of the
      top class of over-confident predictions.
    - `plan(width=0.02)`: rows that make an interval that narrow; `error` is the true
      error assumed, 0 unless given.
    - `plan(n=1000)`: the smallest error that 1000 rows detect with that power, and the
      power at `error` if it is given.

    Parameters
    ----------
    error
        The true error to detect, or that is assumed.
    width
        Of the interval.
    n
        Number of rows, where they are given.
    statistic
        What will be computed. By default the test `"is_calibrated"`, or for a width the
        interval of the calibration error, `"binned"`; both are simulated. By formula:
        the test of the error over ⌈n^(1/3)⌉ bins of equal mass (`"binned"`: debiased RMS
        for `norm=2`, plain mean absolute for `norm=1`), and those of a gap of one sign,
        `"kuiper"` and `"mean_gap"`. For a width also `"kuiper"`, `"mean_gap"`, `"rate"`
        and proper scores: `"brier"`, `"log"`, ….
    norm
        2: `error` is the RMS error; 1: the mean absolute error. For `"is_calibrated"` and
        `"binned"`.
    power
        Probability with which the error is to be detected.
    alpha
        Rate of false alarms of the test. An interval has confidence 1 − alpha.
    predictions, world, mean_variance
        What the data will be like: rows like these, a `Predictions`, a state or a pair
        (labels, probs) (their labels matter for proper scores and rates only); a world of
        `calibrant.simulate` (whose own error is the one to detect if `error` is not
        given); or the mean of p(1 − p), then with Beta scores; for a rate it is
        rate·(1 − rate). Without any, 1/4: the most rows.
    view
        The yes/no question of `predictions` with several classes.
    check
        Also simulate the plan on other data sets: its power or width at the planned
        rows, and somewhat below and above.
    n_data_sets
        Number of data sets simulated at the size that is found. A fifth of them for a
        width, and for each size of a check, which calls `is_calibrated` or the interval on
        every one; all of them where a formula is checked.
    seed
        Seed of the simulation.
    progress
        True: a bar on the terminal; a function is called with the numbers of steps done and
        of all.
    counts
        How often each row of `predictions` occurred; by default once.
    weights
        How much each row of `predictions` matters, relative to the others; by default all
        the same.

    When to trust it: power depends on the shape of the errors, not on their size alone.
    Unless a world says otherwise, the true rate is p^d where p is predicted; waves and
    narrow errors of the same size take more rows. Formulas assume large bins; with few
    expected hits or misses per bin (confident models) they promise too much power, and
    warn of it.

    Examples
    --------
    >>> from calibrant.verbs.planning.plan import plan
    >>> found = plan(error=0.1, mean_variance=0.12, n_data_sets=40)
    >>> 50 < found.n < 300, found.errors["n"] < 50
    (True, True)
    >>> plan(error=0.03, mean_variance=0.12, statistic="binned").n
    3321
    """
    _check_goal(error, width, n)
    check_alpha(alpha)
    if not isinstance(power, float | np.floating) or not alpha < power < 1:
        raise InputError("power", "must lie between alpha and 1", f"it is {power!r}")
    check_choice("norm", norm, (1, 2))
    check_count(n_data_sets, "n_data_sets", 2)
    seed = check_seed(seed)
    data = planned_data(predictions, world, mean_variance, view, counts, weights)
    named = _statistic(statistic, width)
    tests, quantity = named == TEST, quantity_of("binned" if named == TEST else named, norm)
    with reported(progress, "plan") as report:
        goal = Goal(error, width, n, power, alpha, n_data_sets, seed, report)
        figures, data, assumed, cautions = _figures(quantity, goal, data, tests)
    whole = tests and data.classes is not None
    wanted = power if tests or (width is None and quantity.test_law is not None) else None
    found = Plan(
        goal="n" if n is not None else "width" if wanted is None else "error",
        title=f"{quantity.title}{' of the top class' * whole}",
        n=figures.n,
        alpha=alpha,
        power=wanted,
        error=figures.error,
        detectable=figures.detectable,
        reached=figures.reached,
        mean_variance=data.variance.mean(),
        curve=figures.curve,
        statistic=named,
        errors=figures.errors,
        beside=figures.beside,
        n_classes=data.classes.probs.shape[1] if whole and data.classes is not None else 2,
        assumptions=(*data.assumptions, *assumed, *figures.assumptions),
        cautions=(*data.cautions, *(() if whole else data.alone()), *cautions),
    )
    if not check:
        return found
    with reported(progress, "check") as report:
        goal = replace(goal, report=report)
        return replace(found, check=checked_plan(found, figures, quantity, data, goal))


def _statistic(statistic: str | None, width: float | None) -> str:
    """The name of what will be computed."""
    if width is None:
        return check_statistic(TEST if statistic is None else statistic, (TEST, *quantities()))
    if statistic == TEST:
        advice = "Leave it out for the interval of the calibration error"
        raise InputError("statistic", "must have an interval for a width", f"{TEST} is a test", advice)
    return check_statistic("binned" if statistic is None else statistic, tuple(quantities()))


def _figures(
    quantity: Quantity, goal: Goal, data: PlannedData, tests: bool
) -> tuple[Figures, PlannedData, tuple[str, ...], tuple[str, ...]]:
    """Figures by simulation or by formula, the data with a world to draw from, and what a formula assumes."""
    if tests:
        data = data.with_world()
        return simulated_test(quantity, goal, data), data, (), ()
    if goal.width is not None and quantity.norm is not None:
        data = data.with_world()
        return simulated_width(quantity, goal, data), data, (), ()
    if goal.width is None and quantity.test_law is not None:
        figures = formula_test(quantity, goal, data)
        return figures, data, *quantity.notes(figures.n, data.variance)
    if goal.width is None and goal.n is None:
        raise InputError("width", f"or n must be given for the {quantity.title}", "neither is")
    return formula_width(quantity, goal, data), data, (), ()


def _check_goal(error: Any, width: Any, n: Any) -> None:
    if error is not None and (isinstance(error, bool) or error != 0):
        check_positive("error", error)
        if error >= 1:
            raise InputError("error", "must be below 1", f"it is {error:g}")
    if width is not None:
        check_positive("width", width)
    if n is not None:
        check_count(n, "n", 2)
    if width is not None and n is not None:
        raise InputError("width", "and n cannot both be given", "each follows from the other")


def percent(value: float) -> str:
    """A share in percent, with no more digits than it has."""
    return f"{100 * value:.4g}%"
