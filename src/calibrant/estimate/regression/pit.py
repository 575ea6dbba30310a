"""The probability integral transform F(y), uniform for a calibrated model, and the coverage of quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.forecasts import QuantileForecasts, admit_forecasts, checked_levels
from calibrant.inputs import check_count, check_seed
from calibrant.interval import moments_of, normal_quantile, wilson
from calibrant.methods import FORECASTS, method
from calibrant.results import Curve, Estimate
from calibrant.types import Floats, Seed

LEVELS = np.arange(1, 20) / 20
"""The levels unless some are given, or the forecasts have their own."""

FINE = (np.arange(1000) + 0.5) / 1000
"""Levels over which expected deviations are averaged."""


@method("forecast estimator", title="PIT error", views=FORECASTS, also_called=("PIT",))
def pit_error(forecasts: Any, *, n_bins: int = 10, level: float = 0.95, seed: Seed = 0) -> Estimate:
    """Does every tenth of the forecast distributions hold a tenth of the labels?

    The share of rows in excess of that.

    The histogram of u = F(y) over equal bins is flat if the forecasts are calibrated:
    high at both ends, the distributions are too narrow; high in the middle, too wide;
    sloping, shifted. The value is ½Σ|share − 1/bins|, and `noise_floor` its expected value
    under calibration (exact). `parts["curve"]` has a point per bin: its share relative to
    a flat histogram, with a band that holds all of them at once if calibrated (binomial,
    Bonferroni). A flat histogram is not enough: a forecast that is the same for all rows
    can have one.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    n_bins
        Number of bins of F(y).
    level
        Probability, at least, that a calibrated model's histogram lies in the band.
    seed
        For labels at a jump of F, or between quantiles, F(y) is drawn with this seed.

    Notes
    -----
    Estimates: share of rows whose label lies in a part of its forecast distribution
      that is hit too often.
    Bias: up by noise: see the noise floor.
    Cost: one pass.
    Source: Dawid 1984; Gneiting, Balabdaoui, Raftery 2007.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.pit import pit_error
    >>> forecasts = cal.Predictions.from_gaussian([3.0, -3.0, 2.0, 0.1], mean=[0.0] * 4, variance=[1.0] * 4)
    >>> pit_error(forecasts, n_bins=4).value  # 1, 0, 1 and 2 of four rows
    0.25
    """
    data = admit_forecasts(forecasts)
    check_count(n_bins)
    normal_quantile(level)
    seed = check_seed(seed)
    u, w = data.pit(seed), data.weights
    counts = np.bincount(np.minimum((u * n_bins).astype(np.intp), n_bins - 1), w, n_bins).astype(np.float64)
    n = float(counts.sum())
    value = float(np.maximum(counts / n - 1 / n_bins, 0).sum())
    floor = n_bins * mean_deviation(n, np.array([1 / n_bins])).item() / 2
    low, high = band(round(n), n_bins, 1 - (1 - level) / n_bins)
    scale = n_bins / n
    centres = (np.arange(n_bins) + 0.5) / n_bins
    curve = Curve(
        centres, counts * scale, np.full(n_bins, low * scale), np.full(n_bins, high * scale), counts / n, level
    )
    described = {"bins": f"{n_bins} bins of F(y)", "forecasts": data.kind, "seed": seed}
    return Estimate("pit_error", "PIT error", value, data.n, None, floor, described, {"curve": curve})


def band(n: int, n_bins: int, level: float) -> tuple[float, float]:
    """The central range of a bin's count, with probability at least `level`, exactly."""
    tail = (1 - level) / 2
    return _count(tail, n, 1 / n_bins), _count(1 - tail, n, 1 / n_bins)


def _count(share: float, n: int, p: float) -> float:
    """The smallest count that a binomial variable does not exceed with probability `share` or more."""
    from scipy.special import bdtr, bdtrik

    found = math.ceil(bdtrik(share, n, p))
    return float(max(found - 1, 0) if bdtr(found - 1, n, p) >= share else found)


def mean_deviation(n: float, share: Floats) -> Floats:
    """E|X/n − p| for X binomial (de Moivre): 2(m+1)·C(n, m+1)·p^(m+1)·(1−p)^(n−m)/n with m = ⌊np⌋."""
    from scipy.special import gammaln, xlog1py, xlogy

    m = np.floor(n * share)
    ways = gammaln(n + 1) - gammaln(m + 1) - gammaln(np.maximum(n - m, 1e-300))
    found: Floats = 2 / n * np.exp(ways + xlogy(m + 1, share) + xlog1py(n - m, -share))
    return found


@method("forecast estimator", title="coverage error", views=FORECASTS, also_called=("Kuleshov",))
def coverage_error(
    forecasts: Any, *, levels: Any = None, debiased: bool = False, level: float = 0.95, seed: Seed = 0
) -> Estimate:
    """Do labels stay below each quantile as often as they should?

    Root mean square of coverage − level over the levels.

    Its square is the error of Kuleshov et al. (2018). Noise alone makes it positive:
    `noise_floor` is the root of its expected square for a calibrated model, the mean of
    τ(1−τ)/n over the levels, exact. `parts["curve"]` holds the coverage at each level with
    Wilson's interval.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    levels
        Levels of the quantiles: 5 %, 10 %, …, 95 % if None, or those of quantile
        forecasts.
    debiased
        Subtract τ̂(1−τ̂)/(n−1) from each square; the value is never below 0.
    level
        Confidence of each interval of the curve.
    seed
        For labels at a jump of F, or between quantiles, F(y) is drawn with this seed.

    Notes
    -----
    Estimates: root mean square of coverage − level over quantile levels.
    Bias: up by noise: see the noise floor; small for the debiased form.
    Cost: one pass.
    Source: Kuleshov, Fenner, Ermon 2018.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.pit import coverage_error
    >>> forecasts = cal.Predictions.from_quantiles([0.0, 5.0, 6.0, 7.0], [0.25, 0.75], [[1.0, 4.0]] * 4)
    >>> found = coverage_error(forecasts)
    >>> found.parts["curve"].y, round(found.value, 4)  # 1 of 4 below both, where 1 and 3 should be
    (array([0.25, 0.25]), 0.3536)
    """
    data = admit_forecasts(forecasts)
    normal_quantile(level)
    if levels is None:
        levels = data.levels if isinstance(data, QuantileForecasts) else LEVELS
    at = checked_levels(levels)
    seed = check_seed(seed)
    u, w = data.pit(seed), data.weights
    n = float(data.n if w is None else w.sum())
    below = [moments_of((u <= tau).astype(np.float64), w, data.squares) for tau in at]
    covered, rows = np.array([(each.mean, each.weight) for each in below]).T
    squares = (covered - at) ** 2
    floor: float | None = float(np.sqrt((at * (1 - at)).mean() / n))
    if debiased:
        squares, floor = squares - covered * (1 - covered) / np.maximum(rows - 1, 1), None
    value = float(np.sqrt(max(squares.mean(), 0.0)))
    low, high = wilson(covered, rows, level)
    curve = Curve(at, covered, low, high, np.full(len(at), 1 / len(at)), level)
    described = {"levels": at.tolist(), "forecasts": data.kind, "debiased": debiased, "seed": seed}
    title = "debiased coverage error" if debiased else "coverage error"
    return Estimate("coverage_error", title, value, data.n, None, floor, described, {"curve": curve})


@method("forecast estimator", title="miscalibration area", views=FORECASTS)
def miscalibration_area(forecasts: Any, *, seed: Seed = 0) -> Estimate:
    """How far is coverage from its level, on average over all levels?

    The area between coverage and diagonal, exactly.

    `noise_floor` is the expected value for a calibrated model, close to 0.31/√n.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    seed
        For labels at a jump of F, or between quantiles, F(y) is drawn with this seed.

    Notes
    -----
    Estimates: area between coverage and level over all levels.
    Bias: up by noise: see the noise floor.
    Cost: one sort.
    Source: Chung, Char, Guo, Schneider, Neiswanger 2021.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.pit import miscalibration_area
    >>> forecasts = cal.Predictions.from_gaussian([0.0], mean=[0.0], variance=[1.0])
    >>> miscalibration_area(forecasts).value  # two triangles of ½·½·½
    0.25
    """
    data = admit_forecasts(forecasts)
    seed = check_seed(seed)
    u = data.pit(seed)
    order = np.argsort(u, kind="stable")
    w = np.ones(len(data.labels)) if data.weights is None else data.weights[order]
    heights = np.concatenate([[0.0], np.cumsum(w)]) / w.sum()
    ends = np.concatenate([[0.0], u[order], [1.0]])
    left, right = ends[:-1] - heights, ends[1:] - heights
    value = float((right * np.abs(right) - left * np.abs(left)).sum() / 2)  # the slope of x|x|/2 is |x|
    floor = float(mean_deviation(float(w.sum()), FINE).mean())
    described = {"forecasts": data.kind, "seed": seed}
    return Estimate("miscalibration_area", "miscalibration area", value, data.n, None, floor, described)
