"""How many rows does it take?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.infer.squared import cube_root
from calibrant.inputs import check_choice, check_count, check_level, check_positive
from calibrant.methods import methods
from calibrant.problems import InputError
from calibrant.results import Line, Record, Table, kind, number
from calibrant.score.passes import score_moments
from calibrant.score.possible import mean_of_rows
from calibrant.score.score import check_score
from calibrant.simulate.world import ScoreWorld
from calibrant.verbs.planning.check import AROUND, PlanCheck, checked_power, checked_width, interval_estimate, shown
from calibrant.verbs.planning.data import Like, like_these
from calibrant.verbs.planning.sample_size import (
    AbsoluteLaw,
    ErrorWidth,
    GapLaw,
    KuiperLaw,
    MeanWidth,
    RangeWidth,
    RateWidth,
    SquaredLaw,
    SquaredWidth,
    TestLaw,
    Variance,
    WidthLaw,
)

TESTED = ("binned", "kuiper", "mean_gap")
ABSOLUTE = "mean absolute calibration error"
TITLES = {
    "binned": "RMS calibration error",
    "kuiper": "gap of one sign",
    "mean_gap": "mean gap",
    "rate": "observed rate",
}
POINTS = 41
"""Of a power curve."""

FEW_EVENTS = 5.0
"""Expected variance of the number of hits in a bin below which the χ² law is told to be rough."""

SMALLEST = 1e-9
"""An error below this is rounding."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Record):
    """How many rows it takes, or what so many rows can show."""

    goal: str
    """what was asked for: `error` to be found, `width` to be reached, or what `n` rows can do"""
    title: str
    n: int
    level: float
    """false alarms of the test; an interval has confidence 1 − level"""
    power: float | None
    """wanted"""
    error: float | None
    """the true error that is assumed"""
    detectable: float | None
    """the smallest error found with that power on `n` rows"""
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "beside", MappingProxyType(dict(self.beside)))

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
            return f"{self.n:,} rows: a {percent(1 - self.level)} interval of the {self.title} is {number(self.reached)} wide{assumed}."
        found = self.detectable if self.goal == "n" else self.error
        told = f"{self.n:,} rows find {_article(self.title)} of {number(found)} with power {percent(self.power)}, at {percent(self.level)} false alarms."
        if self.goal == "n" and math.isinf(found or 0.0):
            told = f"{self.n:,} rows find no {self.title} with power {percent(self.power)}, at {percent(self.level)} false alarms."
        if self.goal == "n" and self.error is not None:
            told += f" One of {number(self.error)} is found with power {self.reached:.1%}."
        return told

    def tables(self) -> tuple[Table, ...]:
        """What the terminal and the report show."""
        return (self.table(),)

    def table(self) -> Table:
        """The answer, by formula and simulated where it was checked."""
        rows: list[tuple[str, str]] = [("rows", f"{self.n:,}")]
        if self.power is not None:
            rows += [("power wanted", f"{percent(self.power)}"), ("false alarms", f"{percent(self.level)}")]
            rows.append((f"smallest error found with power {percent(self.power)}", number(self.detectable)))
        else:
            rows.append(("confidence", f"{percent(1 - self.level)}"))
        if self.error is not None:
            rows.append(("true error assumed", number(self.error)))
        rows.append((f"{self.quantity} by formula", shown(self.quantity, self.reached)))
        if self.check is not None:
            rows.append((f"{self.quantity} simulated", self.check.at(self.n)))
            if self.check.rows is not None:
                rows.append(("rows by the simulation", self.check.rows_text()))
        rows += [
            (name, f"{value:,}" if isinstance(value, int) else number(value)) for name, value in self.beside.items()
        ]
        rows.append(("mean of p(1 − p)", number(self.mean_variance)))
        return Table(f"Plan: {self.title}", ("quantity", "value"), tuple(rows))

    def __repr__(self) -> str:
        lines = [self.sentence()]
        if self.check is not None:
            more = "" if self.check.rows is None else f"; the goal takes {self.check.rows_text()} rows"
            lines.append(f"  simulated: {self.quantity} {self.check.at(self.n)}{more}")
        lines += [f"  assumes: {told}" for told in self.assumptions]
        return "\n".join([*lines, *(f"  caution: {c}" for c in self.cautions)])

    def _repr_html_(self) -> str:
        cautions = "".join(f"<br><small>⚠ {escape(c)}</small>" for c in self.cautions)
        return f"<p>{escape(self.sentence())}{cautions}</p>{self.table().to_html()}"


def plan(
    error: float | None = None,
    *,
    width: float | None = None,
    n: int | None = None,
    statistic: str = "binned",
    norm: Literal[1, 2] = 2,
    power: float = 0.8,
    level: float = 0.05,
    predictions: Any = None,
    world: ScoreWorld | None = None,
    mean_variance: float | None = None,
    view: Any = "auto",
    check: bool = False,
    replications: int = 1000,
    rng: int = 0,
) -> Plan:
    """How many rows does it take to find an error, or to measure it closely? What can so many rows show?

    - `plan(error=0.03)`: rows with which a test finds a true error of 0.03, with probability `power`.
    - `plan(width=0.02)`: rows that make an interval so narrow; `error` is the true error assumed, 0 unless given.
    - `plan(n=1000)`: the smallest error that 1000 rows find with that power, and the power at `error` if it is given.

    Parameters
    ----------
    statistic
        What will be computed. `"binned"`: the calibration error over ⌈n^(1/3)⌉ bins of equal mass, debiased RMS for `norm=2`, plain mean
        absolute for `norm=1`. `"kuiper"`, `"mean_gap"`: `error` is then a gap of one sign. For a width also `"rate"` and proper scores:
        `"brier"`, `"log"`, ….
    level
        False alarms of the test, one in twenty. An interval has confidence 1 − level.
    predictions, world, mean_variance
        What the data will be like: rows like these (their labels matter for proper scores and rates only), a world of `calibrant.simulate`
        (which is itself the thing to find if `error` is not given), or the mean of p(1 − p), then of Beta scores; for a rate it is
        rate·(1 − rate). Without any, 1/4: the most rows.
    check
        Also simulate: `replications` data sets each of a world with this error (p^d happens where p is said) and of its calibrated twin.

    When to trust it: the formulas take bins as large; with few expected hits or misses a bin (confident models) they promise too
    much, and say so. `check=True` does not depend on them.

    Examples
    --------
    >>> from calibrant.verbs.planning.plan import plan
    >>> plan(error=0.03, mean_variance=0.12).n
    3321
    >>> plan(n=1000, mean_variance=0.12)
    1,000 rows find an RMS calibration error of 0.0510 with power 80%, at 5% false alarms.
      assumes: independent rows with Beta(0.4615, 0.4615) scores, for which p(1 − p) is 0.1200 on average
      assumes: 10 bins of equal mass; errors of opposite sign within a bin are not seen
      assumes: errors are larger where p(1 − p) is larger
    """
    _check_goal(error, width, n)
    check_level(level)
    if not isinstance(power, float | np.floating) or not level < power < 1:
        raise InputError("power", "must lie between level and 1", f"it is {power!r}")
    check_choice("norm", norm, (1, 2))
    like = like_these(predictions, world, mean_variance, view)
    if width is None and statistic in TESTED:
        found = _test_plan(error, n, statistic, norm, power, level, like)
    else:
        check_choice("statistic", statistic, (*TESTED, "rate", *methods("score")))
        found = _width_plan(error, width, n, statistic, norm, level, like)
    return _checked(found, statistic, norm, like, replications, rng) if check else found


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
        raise InputError("width", "and n cannot both be given", "the one follows from the other")


def _test_plan(
    error: float | None, n: int | None, statistic: str, norm: int, power: float, level: float, like: Like
) -> Plan:
    law, title = _test_law(statistic, norm, like.variance)
    if n is None:
        error = _to_find(error, statistic, norm, like)
        _check_possible(error, statistic, norm, like)
        rows = law.needed(error, power, level)
    else:
        rows = n
        if error is None and like.own:
            error = like.own_error(statistic, norm) or None
        _check_possible(error, statistic, norm, like)
    most, smallest = like.largest_error(statistic, norm), law.detectable(rows, power, level)
    smallest = smallest if smallest <= most else math.inf
    at = min(smallest, most) if error is None else error
    if n is None:
        x = _sizes_around(rows)
        y = [law.power(int(size), at, level) for size in x]
    else:
        x = np.linspace(0.0, min(2 * max(smallest, at), most), POINTS)
        y = [law.power(rows, size, level) for size in x]
    assumptions, cautions = _bins_told(statistic, rows, like)
    return Plan(
        "error" if n is None else "n",
        title,
        rows,
        level,
        power,
        error,
        smallest,
        law.power(rows, at, level),
        like.variance.mean(),
        Line(x, np.array(y)),
        _by_normal_law(law, n, rows, at, power, level),
        None,
        (*like.assumptions, *assumptions, *_alternative(statistic, norm)),
        (*like.cautions, *cautions),
    )


def _test_law(statistic: str, norm: int, variance: Variance) -> tuple[TestLaw, str]:
    if statistic == "kuiper":
        return KuiperLaw(variance.mean()), TITLES["kuiper"]
    if statistic == "mean_gap":
        return GapLaw(variance.mean()), TITLES["mean_gap"]
    if norm == 1:
        return AbsoluteLaw(variance), ABSOLUTE
    return SquaredLaw.of(variance), TITLES["binned"]


def _to_find(error: float | None, statistic: str, norm: int, like: Like) -> float:
    """The error that a test has to find."""
    if error is None and like.own:
        error = like.own_error(statistic, norm)
    if error is None:
        raise InputError("error", "must be given, or width, or n", "none of them is")
    if error < SMALLEST:
        raise InputError("error", "must be positive", "it is 0, which no test can find")
    return error


def _check_possible(error: float | None, statistic: str, norm: int, like: Like) -> None:
    """No error is larger than what it would be if all that is said never happened, or always did."""
    most = like.largest_error(statistic, norm)
    if error is not None and error > most + SMALLEST:
        raise InputError("error", f"must be at most {most:.4g}, all that is possible here", f"it is {error:.4g}")


def _by_normal_law(
    law: TestLaw, n: int | None, rows: int, error: float, power: float, level: float
) -> dict[str, float]:
    if not isinstance(law, SquaredLaw):
        return {}
    if n is None:
        return {"rows by the normal law, too few": law.normal_needed(error, power, level)}
    return {"smallest error by the normal law, too small": law.normal_detectable(rows, power, level)}


def _alternative(statistic: str, norm: int) -> tuple[str, ...]:
    """What a law takes the error to look like."""
    if statistic == "kuiper":
        return ("the gap has one sign and the same size everywhere",)
    if statistic == "binned" and norm == 1:
        return ("the error has the same size everywhere; one that varies is found more easily",)
    return ("errors are larger where p(1 − p) is larger",) if statistic == "binned" else ()


def _sizes_around(n: int) -> Any:
    """From a quarter to four times as many."""
    return np.unique(np.round(np.geomspace(max(n / 4, 2), 4 * n, POINTS)))


def _bins_told(statistic: str, n: int, like: Like) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if statistic != "binned":
        return (), ()
    bins = cube_root(n)
    told = (f"{bins} bins of equal mass; errors of opposite sign within a bin are not seen",)
    events = n / bins * like.variance.mean()
    if events >= FEW_EVENTS:
        return told, ()
    return told, (
        f"bins of {n / bins:,.0f} rows hold {events:.2g} expected hits or misses: the formula promises too much (see check=True)",
    )


def _width_plan(
    error: float | None, width: float | None, n: int | None, statistic: str, norm: int, level: float, like: Like
) -> Plan:
    if width is None and n is None:
        raise InputError("width", f"or n must be given for {statistic!r}", "neither is")
    measured = statistic in ("binned", "kuiper")
    if measured and error is None:
        error = like.own_error(statistic, norm) if like.own else 0.0
    if measured:
        _check_possible(error, statistic, norm, like)
    law, title = _width_law(statistic, error, norm, like)
    rows = law.needed(width, 1 - level) if width is not None else int(n or 0)
    sizes = _sizes_around(rows)
    assumptions, cautions = _bins_told(statistic, rows, like)
    return Plan(
        "width" if n is None else "n",
        title,
        rows,
        level,
        None,
        error if measured else None,
        None,
        law.width(rows, 1 - level),
        like.variance.mean(),
        Line(sizes, np.array([law.width(int(size), 1 - level) for size in sizes])),
        {},
        None,
        (*like.assumptions, *assumptions),
        (*like.cautions, *cautions),
    )


def _width_law(statistic: str, error: float | None, norm: int, like: Like) -> tuple[WidthLaw, str]:
    if statistic == "kuiper":
        return RangeWidth(like.variance.mean(), error or 0.0), TITLES["kuiper"]
    if statistic == "binned" and norm == 1:
        world = like.world if like.world is None or not error else like.erring(error, "binned", 1)
        return ErrorWidth.of(world, error or 0.0, 1), ABSOLUTE
    if statistic == "binned":
        if like.world is None or not error:
            return SquaredWidth.even(like.variance, error or 0.0), TITLES["binned"]
        return SquaredWidth.within(like.erring(error, "binned", 2), error), TITLES["binned"]
    if statistic == "mean_gap":
        return MeanWidth.even(math.sqrt(like.variance.mean())), TITLES["mean_gap"]
    if statistic == "rate":
        return RateWidth(like.rate), TITLES["rate"]
    rule, rows = check_score(statistic), like.rows()
    view = "canonical" if like.whole else like.view
    seen = score_moments(rule, rows, view)
    if seen.error is None:
        raise InputError("statistic", "must be finite on these data", f"the {rule.title} is {seen.mean}")
    return MeanWidth(mean_of_rows(rule, rows, view, seen)), rule.title


def _checked(found: Plan, statistic: str, norm: int, like: Like, replications: int, rng: int) -> Plan:
    """The plan beside its simulation."""
    check_count(replications, "replications", 2)
    error = found.detectable if found.error is None else found.error
    matters = found.power is not None or statistic in ("binned", "kuiper")
    world = like.simulated(error if matters else None, statistic, norm)
    around = found.goal != "n"
    sizes = tuple(max(2, round(found.n * f)) for f in ((1 / AROUND, 1, AROUND) if around else (1,)))
    options = (replications, rng)
    if found.power is not None:
        law, _ = _test_law(statistic, norm, like.variance)
        formula = partial(law.power, error=error or 0.0, level=found.level)
        check = checked_power(statistic, norm, world, sizes, formula, found.power, found.level, *options)
    else:
        bounds, _ = _width_law(statistic, found.error, norm, like)
        level = 1 - found.level
        interval = partial(interval_estimate, statistic=statistic, norm=norm, level=level, whole=like.whole)
        formula = partial(bounds.width, level=level)
        check = checked_width(interval, world, sizes, formula, found.reached, *options)
    return replace(found, check=check)


def percent(value: float) -> str:
    """A share for people, with no more digits than it has."""
    return f"{100 * value:.4g}%"


def _article(title: str) -> str:
    return f"{'an' if title.startswith('RMS') else 'a'} {title}"
