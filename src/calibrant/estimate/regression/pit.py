"""The probability integral transform F(y): uniform for a calibrated model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.forecasts import admit_forecasts
from calibrant.inputs import check_count
from calibrant.interval import normal_quantile
from calibrant.methods import FORECASTS, method
from calibrant.results import Curve, Estimate
from calibrant.types import Floats


@method("forecast estimator", title="PIT error", views=FORECASTS, also_called=("PIT",))
def pit_error(forecasts: Any, *, n_bins: int = 10, level: float = 0.95, seed: int = 0) -> Estimate:
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
