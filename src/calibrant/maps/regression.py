"""Maps for regression: forecasts of a mean and a variance, made as wide as the errors are."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, overload

import numpy as np

from calibrant.forecasts import Forecasts, GaussianForecasts, checked_moments
from calibrant.forecasts.base import LARGEST
from calibrant.inputs import check_choice
from calibrant.kernels.fit.lbfgs import least
from calibrant.kernels.sums.stable_sums import inner
from calibrant.maps.calibration_map import Fit, SavedMap, map_recipe, map_record
from calibrant.problems import InputError
from calibrant.results.constraints import BIG, Above, Holds
from calibrant.types import Floats

EPS = float(np.finfo(np.float64).eps)
LEAST = 1e-12
"""The scale of a variance never falls below this part of its start: the map stays positive and injective."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Squared standardised residuals, variances, and weights that sum to 1."""

    squares: Floats
    variance: Floats
    weights: Floats

    @property
    def n(self) -> int:
        return len(self.squares)

    def mean(self, values: Floats) -> float:
        """The weighted mean."""
        return inner(self.weights, values)

    def score(self, variance: Floats) -> float:
        """Mean Dawid–Sebastiani score (μ−y)²/σ² + ln σ² with other variances."""
        return self.mean(self.squares * (self.variance / variance) + np.log(variance))


def admit_fit(labels: Any, mean: Any, variance: Any, counts: Any, weights: Any) -> GaussianForecasts:
    """The data of a fit: `GaussianForecasts`, or labels with means and variances."""
    if isinstance(labels, Forecasts):
        if any(each is not None for each in (mean, variance, counts, weights)):
            raise InputError("labels", "are forecasts and carry their own data", advice="Pass them alone")
        return gaussian(labels)
    return GaussianForecasts(labels, mean, variance, counts=counts, weights=weights)


def gaussian(forecasts: Forecasts) -> GaussianForecasts:
    """Refuse forecasts that are not Gaussian."""
    if isinstance(forecasts, GaussianForecasts):
        return forecasts
    raise InputError("forecasts", "must be Gaussian for this map", f"they are {type(forecasts).__name__}")


def admit_forecasts(labels: Any, mean: Any, variance: Any, counts: Any, weights: Any) -> Residuals:
    """The data of a fit, checked: one finite number per row each, variances positive."""
    data = admit_fit(labels, mean, variance, counts, weights)
    observed, centre, spread = data.labels, data.mean, data.variance
    weight = np.ones(len(data.labels)) if data.weights is None else data.weights
    with np.errstate(over="ignore"):
        squares = ((observed - centre) / np.sqrt(spread)) ** 2
    if not np.isfinite(squares).all():
        row = int(np.argmax(~np.isfinite(squares)))
        raise InputError("labels", "lie too far from mean to be squared", f"labels[{row}] is {observed[row]}")
    counts = weight > 0
    return Residuals(squares[counts], spread[counts], weight[counts] / weight.sum())


@dataclass(frozen=True, eq=False, repr=False)
class RegressionMap(SavedMap):
    """A map of forecasts of mean and variance; `fit.loss` is a Dawid–Sebastiani score."""

    fit: Fit = field(default_factory=lambda: Fit(0))

    method: ClassVar[str]
    injective: ClassVar[bool] = True

    @abstractmethod
    def apply(self, mean: Any) -> Any:
        """The recalibrated forecasts."""


class VarianceMap(RegressionMap):
    """A map that leaves the mean and changes the variance."""

    @abstractmethod
    def of_variance(self, variance: Floats) -> Floats:
        """Recalibrated variances."""

    @overload
    def apply(self, mean: GaussianForecasts) -> GaussianForecasts: ...
    @overload
    def apply(self, mean: Any, variance: Any) -> tuple[Floats, Floats]: ...
    def apply(self, mean: Any, variance: Any = None) -> Any:
        """The means as they are and the recalibrated variances.

        Parameters
        ----------
        mean
            Mean of each forecast; or `GaussianForecasts`, of which recalibrated ones are
            returned.
        variance
            Variance of each forecast.
        """
        if isinstance(mean, Forecasts):
            given = gaussian(mean)
            return given.with_gaussian(*self.apply(given.mean, given.variance), made_by=self)
        centre, spread = checked_moments(mean, variance)
        with np.errstate(over="ignore"):
            return centre.copy(), np.clip(self.of_variance(spread), 1 / LARGEST, LARGEST)


@map_recipe("std_scaling", kind="forecast map")
class StdScaling:
    """σ ↦ sσ: s² is the mean of (μ−y)²/σ², which minimises the Dawid–Sebastiani score.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.regression.StdScaling().fit([1.0, -2.0, 3.0], mean=[0.0, 0.0, 0.0], variance=[1.0, 1.0, 1.0])
    >>> round(fitted.scale**2, 3)
    4.667
    >>> mean, variance = fitted.apply([5.0], [3.0])
    >>> variance.round(3)
    array([14.])
    """

    def fit(
        self, labels: Any, mean: Any = None, variance: Any = None, counts: Any = None, weights: Any = None
    ) -> StdScalingMap:
        """A mean, no search.

        Parameters
        ----------
        labels
            Observed numbers, one per row; or `GaussianForecasts`, which carry everything.
        mean, variance
            Mean and variance of each forecast.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        data = admit_forecasts(labels, mean, variance, counts, weights)
        square, cautions = mean_square(data)
        return StdScalingMap(Fit(data.n, data.score(square * data.variance), True, cautions), math.sqrt(square))


@map_record
class StdScalingMap(VarianceMap):
    """σ ↦ sσ."""

    scale: Annotated[float, Above(0, BIG)] = 1.0

    method: ClassVar[str] = "std_scaling"
    parameter_names: ClassVar[tuple[str, ...]] = ("scale",)

    def of_variance(self, variance: Floats) -> Floats:
        """s²σ²."""
        return self.scale**2 * variance


@map_recipe("variance_platt", kind="forecast map")
class VariancePlatt:
    """σ² ↦ wσ² + b with w > 0 and b ≥ 0, fitted by the Dawid–Sebastiani score (μ−y)²/σ² + ln σ².

    Parameters
    ----------
    signs
        `"positive"`: w > 0 and b ≥ 0, so that every variance stays positive. `"any"`: w and
        b are any real numbers with which the variances of the fit stay positive, as in
        Gruber & Buettner 2022, G.5; the map refuses variances that it would make negative.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> variance = rng.uniform(0.1, 4, 5000)
    >>> labels = rng.normal(0, np.sqrt(2 * variance + 1))
    >>> fitted = cal.regression.VariancePlatt().fit(labels, np.zeros(5000), variance)
    >>> bool(abs(fitted.slope - 2) < 0.2 and abs(fitted.offset - 1) < 0.2)
    True
    """

    signs: Literal["positive", "any"] = "positive"

    def __post_init__(self) -> None:
        check_choice("signs", self.signs, ("positive", "any"))

    def fit(
        self, labels: Any, mean: Any = None, variance: Any = None, counts: Any = None, weights: Any = None
    ) -> VariancePlattMap:
        """The best of three searches: from a pure scaling, from a constant, and from halfway.

        Parameters
        ----------
        labels
            Observed numbers, one per row; or `GaussianForecasts`, which carry everything.
        mean, variance
            Mean and variance of each forecast.
        counts
            How often each row occurred; by default once.
        weights
            How much each row matters, relative to the others; by default all the same.
        """
        data = admit_forecasts(labels, mean, variance, counts, weights)
        slope, cautions = mean_square(data)
        offset = max(data.mean(data.squares * data.variance), EPS * data.mean(data.variance))
        unit = np.array([slope, offset])

        def value(theta: Floats) -> tuple[float, Floats]:
            found, slopes = platt_score(data, *(theta * unit))
            return found, slopes * unit

        found = [least(value, np.array(start), np.array([LEAST, 0.0])) for start in STARTS]
        best = min(found, key=lambda one: one.value)
        w, b = (best.at * unit).tolist()
        if self.signs == "any" and np.ptp(data.variance) > 0:
            free, ends = _from_end_to_end(data, w, b)
            best, (w, b) = (free, ends) if free.value < best.value else (best, (w, b))
        cautions += () if best.converged else ("the search did not converge; the last step is returned",)
        return VariancePlattMap(Fit(data.n, best.value, best.converged, cautions), w, b, self.signs)


def _from_end_to_end(data: Residuals, slope: float, offset: float) -> tuple[Any, tuple[float, float]]:
    """The best line of any slope and offset that is positive between the smallest and the largest variance.

    Its heights there are the parameters: they are positive exactly if the line is.
    """
    low, high = float(data.variance.min()), float(data.variance.max())
    start = np.array([slope * low + offset, slope * high + offset])
    middle = np.full(2, data.mean(data.squares * data.variance))
    to_line = np.array([[-1.0, 1.0], [high, -low]]) / (high - low)

    def value(theta: Floats) -> tuple[float, Floats]:
        found, slopes = platt_score(data, *(to_line @ (theta * start)))
        return found, (slopes @ to_line) * start

    floor = np.full(2, LEAST_END)
    found = [least(value, each, floor) for each in (np.ones(2), np.maximum(middle / start, floor))]
    best = min(found, key=lambda one: one.value)
    w, b = (to_line @ (best.at * start)).tolist()
    return best, (w, b)


LEAST_END = 1e-6
"""A line of any slope never falls below this part of the best rising one: rounding leaves it positive."""

STARTS = ((1.0, 0.0), (LEAST, 1.0), (0.5, 0.5))
"""Slope and offset in units of the best pure scaling and of the best constant."""


def platt_score(data: Residuals, slope: float, offset: float) -> tuple[float, Floats]:
    """Mean Dawid–Sebastiani score of wσ² + b, and its slopes in w and b."""
    variance = slope * data.variance + offset
    rise = (1 - data.squares * (data.variance / variance)) / variance
    return data.score(variance), np.array([data.mean(rise * data.variance), data.mean(rise)])


def mean_square(data: Residuals) -> tuple[float, tuple[str, ...]]:
    """The mean of (μ−y)²/σ²; above 0 even if every label equals its mean."""
    found = data.mean(data.squares)
    cautions = (f"{data.n} rows: the spread of the errors is hardly known",) if data.n < FEW else ()
    if found > 0:
        return found, cautions
    return EPS, (*cautions, f"every label equals its mean: the best variance is 0; variances are scaled by {EPS:.1e}")


FEW = 10
"""Rows below which a spread is a guess."""


@map_record
class VariancePlattMap(VarianceMap):
    """σ² ↦ wσ² + b, for variances that this leaves positive."""

    slope: Annotated[float, Holds("must be above 0", lambda slope, signs, **_: signs == "any" or slope > 0)] = 1.0
    offset: Annotated[float, Holds("must be at least 0", lambda offset, signs, **_: signs == "any" or offset >= 0)] = (
        0.0
    )
    signs: Literal["positive", "any"] = "positive"

    method: ClassVar[str] = "variance_platt"
    parameter_names: ClassVar[tuple[str, ...]] = ("slope", "offset")

    @property
    def injective(self) -> bool:  # type: ignore[override]
        return self.slope != 0

    def of_variance(self, variance: Floats) -> Floats:
        """wσ² + b; refused where that is not positive."""
        found = self.slope * variance + self.offset
        if not (found > 0).all():
            row = int(np.argmin(found > 0))
            seen = f"variance[{row}] is {variance[row]:.6g} and would be {found[row]:.6g}"
            raise InputError("variance", "must stay positive", seen, "Fit VariancePlatt() with its usual signs")
        return found
