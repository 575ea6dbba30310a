"""How many rows does it take?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_alpha, check_choice, check_count, check_positive, check_seed
from calibrant.options import checked
from calibrant.problems import InputError
from calibrant.results import Answer, Line, Table, kind, number
from calibrant.simulate.world import ScoreWorld
from calibrant.types import Seed
from calibrant.verbs.planning.check import PlanCheck, shown, simulated
from calibrant.verbs.planning.power_laws import SquaredLaw, TestLaw
from calibrant.verbs.planning.quantities import ROUNDING, PlannedData, Quantity, planned_data, quantity_of

POINTS = 41
"""Of a power curve."""


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
    """the power at `error`, or the width, on `n` rows by formula"""
    mean_variance: float
    """mean of p(1 − p)"""
    curve: Line
    """power over n or over the error, or width over n"""
    beside: Mapping[str, float] = field(default_factory=dict)
    """other answers, for comparison"""
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
    def axes(self) -> tuple[str, str]:
        """What the curve shows."""
        return "true error" if self.goal == "n" and self.power is not None else "rows", self.quantity

    def sentence(self) -> str:
        """The answer in words."""
        if self.power is None:
            assumed = f", if the true error is {number(self.error)}" if self.error is not None else ""
            return f"{self.n:,} rows: a {percent(1 - self.alpha)} interval of the {self.title} is {number(self.reached)} wide{assumed}."
        how = f"with power {percent(self.power)}, at {percent(self.alpha)} false alarms"
        found = self.detectable if self.goal == "n" else self.error
        what = f"{'an' if self.title.startswith('RMS') else 'a'} {self.title} of {number(found)}"
        if self.goal == "n" and math.isinf(found or 0.0):
            what = f"no {self.title}"
        text = f"{self.n:,} rows detect {what} {how}."
        if self.goal == "n" and self.error is not None:
            text += f" One of {number(self.error)} is detected with power {self.reached:.1%}."
        return text

    def tables(self) -> tuple[Table, ...]:
        """The answer, by formula and simulated where it was checked."""
        rows = {"rows": f"{self.n:,}"}
        if self.power is None:
            rows["confidence"] = percent(1 - self.alpha)
        else:
            rows |= {"power wanted": percent(self.power), "false alarms": percent(self.alpha)}
            rows[f"smallest error detected with power {percent(self.power)}"] = number(self.detectable)
        if self.error is not None:
            rows["true error assumed"] = number(self.error)
        rows[f"{self.quantity} by formula"] = shown(self.quantity, self.reached)
        if self.check is not None:
            rows[f"{self.quantity} simulated"] = self.check.at(self.n)
            if self.check.rows is not None:
                rows["rows by the simulation"] = self.check.rows_text()
        rows |= {name: f"{v:,}" if isinstance(v, int) else number(v) for name, v in self.beside.items()}
        rows["mean of p(1 − p)"] = number(self.mean_variance)
        return (Table(f"Plan: {self.title}", ("quantity", "value"), tuple(rows.items())),)

    def _head(self) -> list[str]:
        if self.check is None:
            return [self.sentence()]
        more = "" if self.check.rows is None else f"; the goal takes {self.check.rows_text()} rows"
        return [self.sentence(), f"  simulated: {self.quantity} {self.check.at(self.n)}{more}"]


@checked
def plan(
    error: float | None = None,
    *,
    width: float | None = None,
    n: int | None = None,
    statistic: str = "binned",
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
) -> Plan:
    """How many rows does it take to detect an error, or to estimate it precisely?

    - `plan(error=0.03)`: rows with which a test detects a true error of 0.03, with
      probability `power`.
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
        What will be computed. `"binned"`: the calibration error over ⌈n^(1/3)⌉ bins of
        equal mass, debiased RMS for `norm=2`, plain mean absolute for `norm=1`.
        `"kuiper"`, `"mean_gap"`: `error` is then a gap of one sign. For a width also
        `"rate"` and proper scores: `"brier"`, `"log"`, ….
    norm
        2: RMS error; 1: mean absolute error. For `"binned"` only.
    power
        Probability with which the error is to be detected.
    alpha
        Rate of false alarms of the test. An interval has confidence 1 − alpha.
    predictions, world, mean_variance
        What the data will be like: rows like these (their labels matter for proper
        scores and rates only), a world of `calibrant.simulate` (whose own error is the
        one to detect if `error` is not given), or the mean of p(1 − p), then with Beta
        scores; for a rate it is rate·(1 − rate). Without any, 1/4: the most rows.
    view
        The yes/no question of `predictions` with several classes.
    check
        Also simulate data sets of a world with this error (true rate p^d where p is
        predicted) and of its calibrated twin.
    n_data_sets
        Number of data sets of each.
    seed
        Seed of the simulation.

    When to trust it: the formulas assume large bins; with few expected hits or misses
    per bin (confident models) they promise too much, and warn of it. `check=True` does
    not depend on them.

    Examples
    --------
    >>> from calibrant.verbs.planning.plan import plan
    >>> plan(error=0.03, mean_variance=0.12).n
    3321
    >>> plan(n=1000, mean_variance=0.12)
    1,000 rows detect an RMS calibration error of 0.0510 with power 80%, at 5% false alarms.
      assumes: independent rows with Beta(0.4615, 0.4615) scores, for which p(1 − p) is 0.1200 on average
      assumes: 10 bins of equal mass; errors of opposite sign within a bin cancel
      assumes: errors are larger where p(1 − p) is larger
    """
    _check_goal(error, width, n)
    check_alpha(alpha)
    if not isinstance(power, float | np.floating) or not alpha < power < 1:
        raise InputError("power", "must lie between alpha and 1", f"it is {power!r}")
    check_choice("norm", norm, (1, 2))
    check_count(n_data_sets, "n_data_sets", 2)
    seed = check_seed(seed)
    data = planned_data(predictions, world, mean_variance, view)
    quantity = quantity_of(statistic, norm)
    law = None if width is not None or quantity.test_law is None else quantity.test_law(data.variance)
    if law is not None:
        figures = _test_figures(quantity, law, error, n, power, alpha, data)
    elif width is None and n is None:
        raise InputError("width", f"or n must be given for {statistic!r}", "neither is")
    else:
        figures = _width_figures(quantity, error, width, n, alpha, data)
    assumptions, cautions = quantity.notes(figures["n"], data.variance)
    assumed = (*data.assumptions, *assumptions, *(quantity.assumption if law else ()))
    figures |= {"mean_variance": data.variance.mean(), "assumptions": assumed, "cautions": (*data.cautions, *cautions)}
    goal = "n" if n is not None else "error" if law else "width"
    found = Plan(goal=goal, title=quantity.title, alpha=alpha, power=power if law else None, **figures)
    return replace(found, check=simulated(found, quantity, data, n_data_sets, seed)) if check else found


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


def _test_figures(
    quantity: Quantity, law: TestLaw, error: float | None, n: int | None, power: float, alpha: float, data: PlannedData
) -> dict[str, Any]:
    """Rows or the detectable error, and the power, by the law of a test."""
    if error is None and data.truth_given:
        error = quantity.true_error(data.known_world())
        error = error or None if n is not None else error
    if n is None and error is None:
        raise InputError("error", "must be given, or width, or n", "none of them is")
    if n is None and error is not None and error < ROUNDING:
        raise InputError("error", "must be positive", "it is 0, which no test can detect")
    quantity.check_error(error, data)
    rows = law.needed(error or 0.0, power, alpha) if n is None else n
    most, smallest = quantity.largest_error(data), law.detectable(rows, power, alpha)
    smallest = smallest if smallest <= most else math.inf
    at = min(smallest, most) if error is None else error
    beside: dict[str, float] = {}
    if n is None:
        x = _sizes_around(rows)
        y = [law.power(int(size), at, alpha) for size in x]
        if isinstance(law, SquaredLaw):
            beside["rows by the normal law, too few"] = law.normal_needed(at, power, alpha)
    else:
        x = np.linspace(0.0, min(2 * max(smallest, at), most), POINTS)
        y = [law.power(rows, size, alpha) for size in x]
        if isinstance(law, SquaredLaw):
            beside["smallest error by the normal law, too small"] = law.normal_detectable(rows, power, alpha)
    figures = {"n": rows, "error": error, "detectable": smallest, "reached": law.power(rows, at, alpha)}
    return figures | {"curve": Line(x, np.array(y)), "beside": beside}


def _width_figures(
    quantity: Quantity, error: float | None, width: float | None, n: int | None, alpha: float, data: PlannedData
) -> dict[str, Any]:
    """Rows and the width of the interval."""
    if not quantity.has_error:
        error = None
    elif error is None:
        error = quantity.true_error(data.known_world()) if data.truth_given else 0.0
    quantity.check_error(error, data)
    law = quantity.width_law(quantity, data, error or 0.0)
    rows = law.needed(width, 1 - alpha) if width is not None else int(n or 0)
    sizes = _sizes_around(rows)
    curve = Line(sizes, np.array([law.width(int(size), 1 - alpha) for size in sizes]))
    return {"n": rows, "error": error, "detectable": None, "reached": law.width(rows, 1 - alpha), "curve": curve}


def _sizes_around(n: int) -> Any:
    """From a quarter to four times as many."""
    return np.unique(np.round(np.geomspace(max(n / 4, 2), 4 * n, POINTS)))


def percent(value: float) -> str:
    """A share in percent, with no more digits than it has."""
    return f"{100 * value:.4g}%"
