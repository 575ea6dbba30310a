"""The probability integral transform F(y): uniform for a calibrated model."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts import Forecasts, admit_forecasts
from calibrant.inputs import check_choice, check_count
from calibrant.interval import normal_quantile
from calibrant.methods import method
from calibrant.results import Curve, Estimate, TestResult

Floats = NDArray[np.float64]


@method(
    "forecast estimator",
    title="PIT error",
    quantity="share of rows whose label lies in a part of its forecast distribution that is hit too often",
    views=("Gaussian", "quantile", "sample"),
    bias="up by noise: see the noise floor",
    cost="one pass",
    source="Dawid 1984; Gneiting, Balabdaoui, Raftery 2007",
    also_called=("PIT",),
)
def pit_error(forecasts: Any, *, n_bins: int = 10, level: float = 0.95, seed: int = 0) -> Estimate:
    """Does every tenth of the forecast distributions hold a tenth of the labels? The share of rows in too full a bin.

    The histogram of u = F(y) over `n_bins` equal bins is flat if the forecasts are calibrated: high at both ends, the distributions are
    too narrow; high in the middle, too wide; sloping, shifted. The value is ½Σ|share − 1/bins|, and `noise_floor` what chance
    alone shows (exact). `parts["curve"]` has a point for each bin: its share relative to a flat histogram, and the band in which
    all of them lie at once with probability `level` or more if calibrated (binomial, Bonferroni). A flat histogram is not
    enough: the forecast that is the same for all rows can have one.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.pit import pit_error
    >>> said = cal.Predictions.from_gaussian([3.0, -3.0, 2.0, 0.1], mean=[0.0] * 4, variance=[1.0] * 4)
    >>> pit_error(said, n_bins=4).value  # 1, 0, 1 and 2 of four rows
    0.25
    """
    said = admit_forecasts(forecasts)
    check_count(n_bins)
    normal_quantile(level)
    u, w = said.pit(seed), said.weights
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
    described = {"bins": f"{n_bins} bins of F(y)", "forecasts": said.kind, "seed": seed}
    return Estimate("pit_error", "PIT error", value, said.n, None, floor, described, {"curve": curve})


def band(n: int, n_bins: int, level: float) -> tuple[float, float]:
    """The central counts of a bin that have at least probability `level`, exactly."""
    tail = (1 - level) / 2
    return _count(tail, n, 1 / n_bins), _count(1 - tail, n, 1 / n_bins)


def _count(share: float, n: int, p: float) -> float:
    """The smallest count that a binomial number does not exceed with probability `share` or more."""
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


def pit_test(forecasts: Any, *, statistic: Literal["kuiper", "ks"] = "kuiper", seed: int = 0) -> TestResult:
    """Are the values F(y) uniform? Kuiper's or Kolmogorov and Smirnov's test, for independent rows.

    `kuiper` adds the largest distances above and below, and so sees a wrong width as well as a shift. `ks` takes the larger one;
    its p-value is exact, that of `kuiper` Stephens' approximation.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.pit import pit_test
    >>> said = cal.Predictions.from_gaussian([3.0, -3.0, 2.0, -2.5], mean=[0.0] * 4, variance=[1.0] * 4)
    >>> round(pit_test(said).statistic, 4)
    0.971
    """
    said = admit_forecasts(forecasts)
    check_choice("statistic", statistic, ("kuiper", "ks"))
    above, below, n = distances(said, seed)
    if statistic == "ks":
        from scipy.stats import kstwo

        value = max(above, below)
        p, how = float(kstwo.sf(value, round(n))), "Kolmogorov–Smirnov, exact"
    else:
        value = above + below
        p, how = kuiper_tail(value, n), "Kuiper, Stephens' approximation"
    described = {"statistic": statistic, "forecasts": said.kind, "seed": seed}
    title = "Kuiper test of the PIT" if statistic == "kuiper" else "KS test of the PIT"
    return TestResult("pit", title, value, p, said.n, f"F(y) uniform ({how})", described)


def distances(said: Forecasts, seed: int) -> tuple[float, float, float]:
    """How far the distribution of F(y) rises above the diagonal and falls below it, and the number of rows."""
    u = said.pit(seed)
    order = np.argsort(u, kind="stable")
    w = np.ones(said.n) if said.weights is None else said.weights[order]
    reached = np.cumsum(w)
    total = float(reached[-1])
    after, before = reached / total - u[order], u[order] - (reached - w) / total
    return max(float(after.max()), 0.0), max(float(before.max()), 0.0), total


def kuiper_tail(value: float, n: float) -> float:
    """P(V ≥ value) for n uniform numbers: the limit law with the correction of Stephens (1970)."""
    x = value * (n**0.5 + 0.155 + 0.24 / n**0.5)
    if x < SURE:
        return 1.0
    j = np.arange(1, 101)
    return float(np.clip(2 * ((4 * j**2 * x**2 - 1) * np.exp(-2 * j**2 * x**2)).sum(), 0, 1))


SURE = 0.4
"""Below this Kuiper's tail is 1 to seven digits, and its series converges slowly."""
