"""Are forecasts of a real number calibrated, and how sure are we?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from calibrant.detect.gaussian_skce import gaussian_skce_test
from calibrant.detect.pit import pit_test
from calibrant.detect.spread import spread_test
from calibrant.estimate.regression.marginal import marginal_error
from calibrant.estimate.regression.means import mean_error, variance_gap, variance_ratio
from calibrant.estimate.regression.pit import coverage_error, miscalibration_area, pit_error
from calibrant.estimate.regression.skce import gaussian_skce
from calibrant.estimate.regression.variance_bins import ence
from calibrant.forecasts import Forecasts, GaussianForecasts, QuantileForecasts, SampleForecasts
from calibrant.interval import holm
from calibrant.results import (
    Answer,
    Curve,
    Estimate,
    Keyed,
    Table,
    TestResult,
    estimate_table,
    keyed,
    kind,
    number,
    p_cell,
    rows_by_key,
)
from calibrant.results.constraints import Probability, Shape
from calibrant.score.crps import crps
from calibrant.score.dawid_sebastiani import dawid_sebastiani_score
from calibrant.score.pinball import interval_score, pinball_score
from calibrant.verbs.diagnose import measured
from calibrant.verbs.verdicts import NO_ERROR_SEEN, accused

FALSE_ALARM = 0.05
"""How often a calibrated model with independent rows may be called miscalibrated, by any of the tests."""

FEW_ROWS = 100
"""Below this even a large error is hard to detect; the diagnosis warns of it."""

FEW_SAMPLES = 50
"""Below this the variance of samples is visibly smaller than that of the distribution they were drawn from."""

MOST_PAIRED = 5_000
"""Rows up to which the SKCE takes all pairs; above, pairs within blocks of fifty rows."""

DIRECTIONS = {
    "variance_ratio": ("too sure", "too cautious"),
    "mean_error": ("predicts too high", "predicts too low"),
}
"""What an estimate above, or below, that of a calibrated model says about the forecasts."""

Measure = Callable[[Any], Estimate]

OF_MOMENTS: tuple[Measure, ...] = (mean_error, variance_gap, variance_ratio, ence, partial(ence, debiased=True))
"""What is measured of means and variances."""

OF_DISTRIBUTIONS: tuple[Measure, ...] = (pit_error, coverage_error, miscalibration_area, marginal_error)
"""What is measured of every kind of forecast."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class ForecastDiagnosis(Keyed[Estimate | TestResult], Answer):
    """The answer to "are these forecasts calibrated?": estimates, tests, curves, and what to do."""

    name: str
    n: int
    forecasts: str
    """Gaussian, quantile, sample …"""
    estimates: tuple[Estimate, ...]
    tests: tuple[TestResult, ...]
    adjusted: Annotated[tuple[Probability, ...], Shape("tests")]
    """p-values of the tests, adjusted for their number (Holm)"""
    pit: Curve
    """share of the labels per bin of the PIT, relative to a flat histogram, and its band"""
    coverage: Curve
    """quantile level and share of labels below"""
    spread: Curve | None
    """predicted and observed size of the errors, where forecasts have a variance"""
    marginal: Curve
    """mean distribution function less that of the labels, and its band"""
    calibrated: bool | None
    """False: clearly not. None: these data do not show an error."""
    verdict: str
    advice: tuple[str, ...]
    cautions: tuple[str, ...]

    question: ClassVar[str] = "Are the forecasts calibrated?"
    printed_tables: ClassVar[int | None] = 2

    def results(self) -> dict[str, Estimate | TestResult]:
        """Estimates and tests under unique keys."""
        return keyed((*self.estimates, *self.tests))

    def figures(self) -> dict[str, Any]:
        """Rows, and every estimate and test by its key."""
        return {"n": self.n, **self.results()}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimate."""
        return rows_by_key(keyed(self.estimates))

    @property
    def heading(self) -> str:
        """Name, rows and kind of forecasts."""
        return f"{self.name}: {self.n:,} rows, {self.forecasts} forecasts"

    def sentence(self) -> str:
        """The verdict."""
        return self.verdict

    def tables(self) -> tuple[Table, ...]:
        """Estimates, tests, coverage by level, and spread by bin where there is a variance."""
        tests = tuple(
            (each.title, each.statistic, p_cell(each.p_value, each.least_p), p_cell(p), each.null)
            for each, p in zip(self.tests, self.adjusted, strict=True)
        )
        levels = [(f"{x:.3g}", y, f"{low:.3f} … {high:.3f}", y - x) for x, y, low, high in _points(self.coverage)]
        sizes = [(x, y, f"{number(low)} … {number(high)}", y / x) for x, y, low, high in _points(self.spread)]
        by_bin = Table("Bin by bin of σ", ("predicted σ", "error (RMSE)", "95% interval", "ratio"), tuple(sizes))
        return (
            estimate_table(self.estimates),
            Table("Tested", ("test", "statistic", "p-value", "adjusted", "if calibrated"), tests),
            Table("Level by level", ("level", "labels below", "95% interval", "gap"), tuple(levels)),
            *([] if self.spread is None else [by_bin]),
        )


def _points(curve: Curve | None) -> Iterable[tuple[float, ...]]:
    """Predicted, observed and the ends of its interval, point by point."""
    return () if curve is None else zip(curve.x, curve.y, curve.low, curve.high, strict=True)


def diagnose_forecasts(forecasts: Forecasts, *, name: str = "model", measures: Iterable[Any] = ()) -> ForecastDiagnosis:
    """Are the forecasts calibrated, how far off are they, and how much of that is noise?

    Parameters
    ----------
    forecasts
        Forecasts of a real number with their labels.
    name
        What to call the model in the answer.
    measures
        Further estimators of forecasts, by name or as functions.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=500)
    >>> found = cal.diagnose(cal.Predictions.from_gaussian(rng.normal(mean, 2.0), mean, np.ones(500)), name="too sure")
    >>> found.calibrated
    False
    >>> print(found.verdict)
    Not calibrated: too sure. Squared errors are 3.54 times the predicted variances on average; PIT error 0.2860, where a calibrated model would show about 0.0534.
    """
    spread_known = not isinstance(forecasts, QuantileForecasts)
    estimates = [measure(forecasts) for measure in (*(OF_MOMENTS if spread_known else ()), *OF_DISTRIBUTIONS)]
    estimates += _skce(forecasts) + _scores(forecasts) + measured(measures, forecasts, "forecast estimator")
    by_name = {estimate.name: estimate for estimate in reversed(estimates)}
    tests = _tests(forecasts, by_name["marginal_error"])
    adjusted = holm([test.p_value for test in tests])
    calibrated = False if min(adjusted) <= FALSE_ALARM else None
    curves: dict[str, Any] = {each: found.parts.get("curve") for each, found in by_name.items()}
    return ForecastDiagnosis(
        name,
        forecasts.n,
        forecasts.kind,
        tuple(_with_parts(estimates)),
        tests,
        adjusted,
        curves["pit_error"],
        curves["coverage_error"],
        curves.get("ence"),
        curves["marginal_error"],
        calibrated,
        _verdict(min(adjusted), by_name),
        _advice(calibrated, forecasts),
        _cautions(forecasts, estimates),
    )


def _skce(forecasts: Forecasts) -> list[Estimate]:
    if not isinstance(forecasts, GaussianForecasts) or forecasts.n < 2:
        return []
    if forecasts.n <= MOST_PAIRED:
        return [gaussian_skce(forecasts)] if forecasts.weights is None or forecasts.weights.sum() >= 2 else []
    return [] if forecasts.weights is not None else [gaussian_skce(forecasts, estimator="block", block_size=50)]


def _scores(forecasts: Forecasts) -> list[Estimate]:
    if isinstance(forecasts, QuantileForecasts):
        return [pinball_score(forecasts)]
    first = [dawid_sebastiani_score(forecasts)] if isinstance(forecasts, GaussianForecasts) else []
    return [*first, crps(forecasts), interval_score(forecasts)]


def _tests(forecasts: Forecasts, marginal: Estimate) -> tuple[TestResult, ...]:
    """Of the PIT and the marginal distribution; for Gaussian forecasts also of spread and SKCE."""
    draws, p_value = f"{marginal.settings['n_draws']} times; exact", marginal.parts["p_value"]
    null = f"labels drawn from the forecasts {draws}"
    tests = [pit_test(forecasts), TestResult("marginal", "marginal test", marginal.value, p_value, forecasts.n, null)]
    if isinstance(forecasts, GaussianForecasts):
        tests.append(spread_test(forecasts))
        if forecasts.weights is None and forecasts.n > 1:
            tests.append(gaussian_skce_test(forecasts))
    return tuple(tests)


def _with_parts(estimates: list[Estimate]) -> list[Estimate]:
    """The variance gap is shown with the two numbers it is the difference of."""
    shown = []
    for each in estimates:
        shown += [each.parts["average_variance"], each.parts["mse"]] if each.name == "variance_gap" else []
        shown.append(each)
    return shown


def _verdict(p: float, found: dict[str, Estimate]) -> str:
    pit = found["pit_error"]
    facts = f"PIT error {number(pit.value)}, where a calibrated model would show about {number(pit.noise_floor)}."
    if "variance_ratio" in found:
        ratio = found["variance_ratio"].value
        facts = f"Squared errors are {ratio:.3g} times the predicted variances on average; {facts}"
    if p > FALSE_ALARM:
        return f"No miscalibration to be seen in {pit.n:,} rows. {facts}"
    return f"{accused(p)}{_direction(found)}. {facts}"


def _direction(found: dict[str, Estimate]) -> str:
    words = []
    for name, (high, low) in DIRECTIONS.items():
        each = found.get(name)
        if each is None or each.interval is None or each.noise_floor is None or each.noise_floor in each.interval:
            continue
        words.append(high if each.value > each.noise_floor else low)
    return f": {' and '.join(words)}" if words else ""


def _advice(calibrated: bool | None, forecasts: Forecasts) -> tuple[str, ...]:
    if calibrated is None:
        return (NO_ERROR_SEEN,)
    if not isinstance(forecasts, GaussianForecasts):
        return ("Maps recalibrate Gaussian forecasts only; widen or shift these at their source.",)
    return (
        "Fit a map on validation data (recalibrate; variance_platt for the width, quantile_recalibration for the shape) and judge it on other data (compare).",
    )


def _cautions(forecasts: Forecasts, estimates: list[Estimate]) -> tuple[str, ...]:
    found = [f"{each.title}: {caution}" for each in estimates for caution in each.cautions]
    if forecasts.n < FEW_ROWS:
        found.insert(0, f"{forecasts.n} rows are few: even a clear error cannot be distinguished from noise")
    if isinstance(forecasts, SampleForecasts) and forecasts.n_samples < FEW_SAMPLES:
        m, off = forecasts.n_samples, "and a mean that is off by as much again"
        found.append(f"{m} samples per row have a variance that is too small by a {m}th, {off}")
    return tuple(dict.fromkeys(found))
