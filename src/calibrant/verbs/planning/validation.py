"""How many patients does it take to validate a clinical prediction model? (Riley et al. 2021, 2024.)"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from calibrant.estimate.clinical.concordance import concordance, newcombe
from calibrant.inputs import check_alpha, check_choice, check_column, check_positive
from calibrant.kernels.logits import sigmoid
from calibrant.options import checked
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.results import Answer, Record, Table, by_slug, kind, number
from calibrant.simulate.families import calibrated_world
from calibrant.simulate.quadrature import integral, normal_density
from calibrant.simulate.scores import EmpiricalScores, Scores
from calibrant.types import Floats
from calibrant.verbs.planning.power_laws import MOST_ROWS, NORMAL, smallest
from calibrant.verbs.planning.quantities import check_view_used, planned_rows, unequal_weights

OfRisk = Callable[[Floats, Floats, Floats], Floats]
"""A function of p, q = 1 − p and ln(p/q)."""
Risks = Callable[[OfRisk], float]
"""A distribution of predicted risks, as the expectation of a function of the risk."""

FAR_APART = 0.1
"""Relative distance between the given prevalence and the mean predicted risk that deserves a warning."""

STEP = 1e-4
"""Of the grid on which pmvalsampsize searches the standard error of ln(O/E), stopping at the first that is too wide."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class Criterion(Record):
    """One figure that is to be estimated precisely, and the rows that takes."""

    name: str
    n: int
    value: float
    """expected"""
    width: float
    """wanted width of its interval"""
    error: float
    """standard error that gives this width, of ln(O/E) for O/E"""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ValidationPlan(Answer):
    """Rows and events that every criterion of an external validation requires; the largest decides."""

    prevalence: float
    c_statistic: float
    alpha: float
    criteria: tuple[Criterion, ...]
    described: str
    """the distribution of the predicted risks"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "How many rows does an external validation take?"

    @property
    def n(self) -> int:
        """Rows for all criteria."""
        return max(each.n for each in self.criteria)

    @property
    def events(self) -> int:
        """Events to expect among them."""
        return math.ceil(self.n * self.prevalence)

    def figures(self) -> dict[str, Any]:
        """Rows and events in all, and what each criterion requires."""
        each = by_slug({criterion.name: criterion for criterion in self.criteria})
        return {"n": self.n, "events": self.events, "prevalence": self.prevalence, **each}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per criterion."""
        return [criterion.as_row() for criterion in self.criteria]

    def sentence(self) -> str:
        """The answer in words."""
        decides = max(self.criteria, key=lambda each: each.n)
        return f"{self.n:,} rows with about {self.events:,} events: the {decides.name} requires the most."

    def tables(self) -> tuple[Table, ...]:
        """Criteria side by side."""
        rows = tuple(
            (each.name, f"{each.n:,}", f"{math.ceil(each.n * self.prevalence):,}", each.value, each.width, each.error)
            for each in self.criteria
        )
        columns = ("criterion", "rows", "events", "expected", "interval width", "standard error")
        note = f"Prevalence {number(self.prevalence)}; {self.described}; {1 - self.alpha:.0%} intervals."
        return (Table("Rows for an external validation", columns, rows, note),)


def normal_odds(mean: float, sd: float, function: OfRisk) -> float:
    """The expectation over normal log-odds of the predicted risk."""

    def integrand(t: Floats) -> Floats:
        odds = mean + sd * t
        return function(sigmoid(odds), sigmoid(-odds), odds) * normal_density(t)

    return integral(integrand, np.linspace(-12.0, 12.0, 49))


def over_scores(scores: Scores, function: OfRisk) -> float:
    """The expectation over a distribution of predicted risks; those of 0 and 1 carry no information."""

    def of(p: Floats, q: Floats) -> Floats:
        inside = (p > 0) & (q > 0)
        return function(p, q, np.log(np.where(inside, p, 0.5)) - np.log(np.where(inside, q, 0.5)))

    return scores.mean(of)


@checked
def plan_validation(
    prevalence: float | None = None,
    c_statistic: float | None = None,
    *,
    log_odds: tuple[float, float] | None = None,
    scores: Any = None,
    predictions: Any = None,
    view: Any = "auto",
    oe_width: float = 0.2,
    slope_width: float = 0.2,
    c_width: float = 0.1,
    threshold: float | None = None,
    benefit_width: float = 0.2,
    alpha: float = 0.05,
    compat: Literal["pmvalsampsize"] | None = None,
    counts: Any = None,
    weights: Any = None,
) -> ValidationPlan:
    """How many rows does an external validation need to be precise?

    Each criterion is the width of an interval for a model that is calibrated:

    - O/E, observed over expected events: n = (1 − φ)/(φ·SE²), with SE of ln(O/E) such
      that the interval has width `oe_width`;
    - calibration slope: the Fisher information of intercept and slope in a logistic
      regression on the log-odds;
    - c-statistic (AUC): Newcombe's standard error;
    - standardised net benefit at a `threshold`, if there is one, by the delta method.

    Parameters
    ----------
    prevalence, c_statistic
        Expected in the validation data. With `predictions` they are those observed,
        unless given.
    log_odds, scores, predictions
        The predicted risks: mean and standard deviation of normal log-odds; a pair (α,
        β) of a Beta distribution, risks, or a world; or data like those to come, a
        `Predictions`, a state or a pair (labels, probs).
        Without any, log-odds are normal among events and among non-events, with one
        variance, as prevalence and c-statistic imply.
    view
        The yes/no question of `predictions` with several classes.
    oe_width, slope_width, c_width
        Widths of the intervals of O/E, calibration slope and c-statistic.
    threshold
        Risk from which on one would act; None leaves the net benefit out.
    benefit_width
        Width of the interval of the standardised net benefit.
    alpha
        The intervals have confidence 1 − alpha.
    compat
        `"pmvalsampsize"`: z = 1.96, and the SE of ln(O/E) rounded up to 0.0001, as in
        that package; slightly fewer rows. The package draws the log-odds at random,
        here their distribution is integrated: pass its draws as `scores` for the same
        slope.
    counts
        How often each row of `predictions` occurred; by default once.
    weights
        How much each row of `predictions` matters, relative to the others; by default all
        the same.

    When to trust it: large samples and a calibrated model are assumed. A rule of 100
    events is not enough in general.

    Examples
    --------
    >>> from calibrant.verbs.planning.validation import plan_validation
    >>> found = plan_validation(0.018, 0.8, log_odds=(-5, 2.5), oe_width=1)
    >>> [(each.name, each.n) for each in found.criteria]
    [('O/E', 906), ('calibration slope', 4554), ('c-statistic', 4252)]
    """
    if compat is not None:
        check_choice("compat", compat, ("pmvalsampsize",))
    check_view_used(predictions, view)
    rows_like = planned_rows(predictions, counts, weights)
    risks, described, observed = _risks(log_odds, scores, rows_like, view)
    prevalence = _checked("prevalence", 0, observed[0] if prevalence is None else prevalence)
    c = _checked("c_statistic", 0.5, observed[1] if c_statistic is None else c_statistic)
    if risks is None:
        risks = _from_c(prevalence, c)
        described = "normal log-odds among events and non-events that give the c-statistic"
    z = 1.96 if compat else -NORMAL.inv_cdf(check_alpha(alpha) / 2)
    oe = _oe(prevalence, check_positive("oe_width", oe_width), z, STEP if compat else 0.0)
    slope = _slope(risks, check_positive("slope_width", slope_width), z)
    error = check_positive("c_width", c_width) / (2 * z)
    rows = smallest(lambda n: newcombe(c, prevalence, n) <= error, "c_width")
    found = [oe, slope, Criterion("c-statistic", rows, c, c_width, error)]
    check_positive("benefit_width", benefit_width)
    if threshold is not None:
        found.append(_benefit(risks, prevalence, threshold, benefit_width, z))
    mean = risks(lambda p, *_: p)
    apart = f"the mean predicted risk is {number(mean)}, the prevalence is {number(prevalence)}: they disagree"
    cautions: tuple[str, ...] = (apart,) if abs(mean - prevalence) > FAR_APART * prevalence else ()
    cautions += () if rows_like is None else unequal_weights(rows_like.event(view))
    return ValidationPlan(prevalence, c, alpha, tuple(found), described, cautions)


def _risks(
    log_odds: Any, scores: Any, predictions: Predictions | None, view: Any
) -> tuple[Risks | None, str, tuple[float | None, float | None]]:
    """The distribution of the risks, its description, and the prevalence and c-statistic observed."""
    if sum(x is not None for x in (log_odds, scores, predictions)) > 1:
        raise InputError("log_odds", "or scores or predictions: only one can be given", "there are several")
    if log_odds is not None:
        mean, sd = check_column(log_odds, "log_odds", 2).tolist()
        check_positive("log_odds[1]", sd)
        return partial(normal_odds, mean, sd), f"log-odds normal({mean:g}, {sd:g})", (None, None)
    if scores is not None:
        of = calibrated_world(scores).scores
        return partial(over_scores, of), of.describe(), (None, None)
    if predictions is not None:
        pooled = predictions.event(view).pooled
        rate, of = float(pooled.hits.sum()) / pooled.total, EmpiricalScores(pooled.values, pooled.weight)
        observed = rate, concordance(pooled) if 0 < rate < 1 else None
        return partial(over_scores, of), "risks of the predictions given", observed
    return None, "", (None, None)


def _checked(argument: str, low: float, value: Any, advice: str = "Or pass predictions=") -> float:
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating) or not low < value < 1:
        raise InputError(argument, f"must lie between {low} and 1", f"it is {value!r}", advice)
    return float(value)


def _from_c(prevalence: float, c: float) -> Risks:
    """Two normal distributions whose log density ratio is the log-odds: means differ by the variance, c = Φ(sd/√2)."""
    sd = math.sqrt(2) * NORMAL.inv_cdf(c)
    centre = math.log(prevalence) - math.log1p(-prevalence)
    parts = ((prevalence, centre + sd**2 / 2), (1 - prevalence, centre - sd**2 / 2))
    return lambda function: sum(share * normal_odds(mean, sd, function) for share, mean in parts)


def _oe(prevalence: float, width: float, z: float, step: float) -> Criterion:
    """exp(z·SE) − exp(−z·SE) = width."""
    error = math.asinh(width / 2) / z
    if step:
        error = math.ceil(error / step - 1e-9) * step
    return Criterion("O/E", _rows((1 - prevalence, prevalence), error, "oe_width"), 1.0, width, error)


def _slope(risks: Risks, width: float, z: float) -> Criterion:
    """Variance of the slope: from the inverse of the information [a b; b c] with weights p(1 − p)."""
    error = width / (2 * z)
    a, b, c = (risks(lambda p, q, odds, k=k: p * q * odds**k) for k in range(3))  # type: ignore[misc]
    determinant = a * c - b * b
    if not determinant > 1e-12 * a * c:
        raise InputError("scores", "must vary", "equal risks have no slope")
    return Criterion("calibration slope", _rows((a, determinant), error, "slope_width"), 1.0, width, error)


def _rows(ratio: tuple[float, float], error: float, argument: str) -> int:
    """Rows with which the standard error √(ratio/n) is at most `error`."""
    below = ratio[1] * (error * error)
    rows = ratio[0] / below if below else math.inf
    if rows > MOST_ROWS:
        raise InputError(argument, "must be attainable", f"it would take more than {MOST_ROWS:.0e} rows")
    return max(1, math.ceil(rows))


def _benefit(risks: Risks, prevalence: float, threshold: Any, width: float, z: float) -> Criterion:
    """(TP − FP·t/(1 − t)) / events, with the sensitivity and specificity that the risks imply."""
    t = _checked("threshold", 0, threshold, "")
    sensitivity = risks(lambda p, *_: p * (p >= t)) / risks(lambda p, *_: p)
    false_alarms = risks(lambda p, q, _: q * (p >= t)) / risks(lambda p, q, _: q)  # noqa: ARG005
    weight = (1 - prevalence) / prevalence * t / (1 - t)
    variance = sensitivity * (1 - sensitivity) / prevalence
    variance += weight**2 * (false_alarms / (1 - prevalence) + false_alarms**2 / prevalence)
    error = width / (2 * z)
    rows, value = _rows((variance, 1.0), error, "benefit_width"), sensitivity - weight * false_alarms
    return Criterion(f"standardised net benefit at {t:g}", rows, value, width, error)
