"""Squared kernel calibration error of Gaussian forecasts: is the predicted distribution right, whatever it is?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.skce import Kind, pairs_of_rows
from calibrant.forecasts import Forecasts, GaussianForecasts, admit_forecasts
from calibrant.forecasts.base import LARGEST
from calibrant.inputs import check_choice, check_count, check_positive, check_seed
from calibrant.interval import SkewedMean, around, normal_quantile
from calibrant.kernels.pairs.gaussian_pairs import Rows, pair_sums, pair_values
from calibrant.kernels.sums.stable_sums import inner
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.types import Floats, Seed


@method("forecast estimator", title="SKCE of Gaussians", views=("Gaussian",), also_called=("SKCE", "KCE"))
def gaussian_skce(
    forecasts: Any,
    *,
    estimator: Kind = "unbiased",
    bandwidth: float | None = None,
    label_bandwidth: float | None = None,
    block_size: int = 2,
    level: float = 0.95,
    seed: Seed = 0,
) -> Estimate:
    """Are the distributions of Gaussian forecasts calibrated?

    The mean over pairs of rows of a kernel of their errors.

    h = κ·(k(y, y') − E k(Z, y') − E k(y, Z') + E k(Z, Z')), where Z is drawn from the
    forecast, κ = exp(−W/ν) with W the Wasserstein distance of two forecasts,
    √((μ−μ')² + (σ−σ')²), and k = exp(−(y−y')²/(2γ²)). Its expectation is 0 for a calibrated
    model and for no other.

    Parameters
    ----------
    forecasts
        Gaussian forecasts, `Predictions.from_gaussian(...)`.
    estimator
        "unbiased" averages over pairs of different rows and may be negative where the
        truth is near 0; its interval is the jackknife's with an error that grows with
        the value, as that of a square does. "biased" takes all pairs. "block" averages
        the unbiased value over consecutive blocks, in time O(n).
    bandwidth
        ν; the median W over pairs if None, exact up to 1500 rows.
    label_bandwidth
        γ; the median σ if None. Neither depends on the labels.
    block_size
        Rows per block.
    level
        Confidence of the interval.
    seed
        For the pairs drawn to find the median W of many rows.

    Notes
    -----
    Estimates: squared kernel calibration error of Gaussian forecasts; 0 only for a
      calibrated model.
    Bias: none for the unbiased and block estimators; up for the biased one.
    Cost: all pairs of rows, in O(n) memory; O(n) for blocks.
    Source: Widmann, Lindsten, Zachariah 2021.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.skce import gaussian_skce
    >>> forecasts = cal.Predictions.from_gaussian([3.0, -3.0, 2.5, -2.0], mean=[0.0] * 4, variance=[1.0] * 4)
    >>> round(gaussian_skce(forecasts, bandwidth=1.0).value, 6)
    0.546827
    """
    data = gaussian_forecasts(forecasts)
    check_choice("estimator", estimator, ("unbiased", "biased", "block"))
    normal_quantile(level)
    check_count(block_size, "block_size", 2)
    rows, width, described, cautions = prepared(data, bandwidth, label_bandwidth, check_seed(seed))
    described |= {"estimator": estimator}
    title = f"SKCE of Gaussians ({estimator})"
    if estimator == "block":
        if data.weights is not None:
            repeat = "Use 'unbiased', or repeat rows"
            raise InputError("weights", "cannot be used with estimator='block'", advice=repeat)
        values = block_means(rows, width, checked_size(block_size, data.n))
        mean = SkewedMean.of(values, None)
        interval, few = mean.interval(level)
        described |= {"block_size": block_size}
        left = data.n % block_size
        few += (f"{left} rows do not fill a block and are not used",) if left else ()
        return Estimate("gaussian_skce", title, mean.mean, data.n, interval, 0.0, described, {}, cautions + few)
    w = np.ones(len(data.labels)) if data.weights is None else data.weights
    n = float(w.sum())
    own = w if data.squares is None else data.squares
    sums, squares = pair_sums(rows, w, own / np.where(w > 0, w, 1.0), width)
    if estimator == "biased":
        diagonal = inner(own, pair_values(rows, rows, width))
        floor = inner(own, 1 - 1 / np.sqrt(1 + 2 * rows.sd**2)) / n**2
        value = (inner(w, sums) + diagonal) / n**2
        return Estimate("gaussian_skce", title, value, data.n, None, floor, described, {}, cautions)
    if n < 2:
        raise InputError("forecasts", "must hold at least two rows for the unbiased estimator", f"they hold {n:g}")
    value, interval = inner(w, sums) / (n * (n - 1)), None
    if n > 2:
        variance = 4 * inner(own, (sums / (n - 1) - value) ** 2) * (n - 1) / n / (n - 2) ** 2
        interval = _interval(value, variance, 2 * inner(w, squares) / (n * (n - 1)) ** 2, n, level)
    return Estimate("gaussian_skce", title, value, data.n, interval, 0.0, described, {}, cautions)


def _interval(value: float, variance: float, least: float, n: float, level: float) -> Interval:
    """All t with (value − t)² ≤ q²(least + variance·t/value), q Student's quantile.

    The error of a square grows with the square: an interval with one error for both ends
    misses the truth above. `least` is the variance of a calibrated model, `variance` the
    jackknife's; a value smaller than its error is taken to be as large as its error.
    """
    q = around(0.0, 1.0, n - 1, level, "").high
    slope = variance / max(value, variance**0.5) if variance > 0 else 0.0
    middle = value + q * q * slope / 2
    half = max(middle**2 - value**2 + q * q * least, 0.0) ** 0.5
    return Interval(middle - half, middle + half, level, "jackknife, error growing with the value")


def block_means(rows: Rows, width: float, size: int) -> Floats:
    """The unbiased value of each block of consecutive rows."""
    blocks = in_blocks(rows, size)
    total = np.zeros(len(blocks.mean))
    for i in range(size):
        for j in range(i + 1, size):
            total += pair_values(blocks.at((slice(None), i)), blocks.at((slice(None), j)), width)
    return total * 2 / (size * (size - 1))


def in_blocks(rows: Rows, size: int) -> Rows:
    """`(blocks, size)`; rows that do not fill a block are left out."""
    used = len(rows.mean) // size * size
    return Rows(*(x[:used].reshape(-1, size) for x in rows))


def gaussian_forecasts(forecasts: Any) -> GaussianForecasts:
    """Gaussian forecasts; others are refused."""
    data = admit_forecasts(forecasts)
    if not isinstance(data, GaussianForecasts):
        kind = f"they are {type(data).__name__}"
        raise InputError("forecasts", "must be Gaussian", kind, "Use Predictions.from_gaussian")
    return data


def checked_size(block_size: Any, n: int) -> int:
    """The rows of a block, checked."""
    size = check_count(block_size, "block_size", 2)
    if size > n:
        raise InputError("block_size", "must be at most the number of rows", f"it is {size}, of {n} rows")
    return size


def prepared(
    data: GaussianForecasts, bandwidth: float | None, label_bandwidth: float | None, seed: int
) -> tuple[Rows, float, dict[str, Any], tuple[str, ...]]:
    """Rows in units of γ, ν in the same units, the settings and cautions."""
    sd, cautions = np.sqrt(data.variance), tuple[str, ...]()
    if label_bandwidth is None:
        label_bandwidth = weighted_median(sd, data.weights)
    check_positive("label_bandwidth", label_bandwidth)
    if bandwidth is None:
        bandwidth = median_distance(data, seed)
        if bandwidth == 0:
            bandwidth, cautions = 1.0, ("half of all pairs of forecasts are equal: the bandwidth was set to 1",)
    check_positive("bandwidth", bandwidth)
    columns = (data.mean, sd, data.labels)
    if (least := max(float(np.abs(x).max()) for x in columns) / LARGEST) > label_bandwidth:
        raise InputError("label_bandwidth", f"must be at least {least:.3g} here", f"it is {label_bandwidth:g}")
    rows = Rows.of(*(x / label_bandwidth for x in columns))
    return rows, bandwidth / label_bandwidth, {"bandwidth": bandwidth, "label_bandwidth": label_bandwidth}, cautions


def weighted_median(values: Floats, weights: Floats | None) -> float:
    """The middle value, or the mean of the two in the middle; a weight of w counts as w values."""
    w = np.ones(len(values)) if weights is None else weights
    order = np.argsort(values, kind="stable")
    below = np.cumsum(w[order])
    half = below[-1] / 2
    low, high = np.searchsorted(below, half), np.searchsorted(below, half, side="right")
    return float(values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2


def median_distance(data: Forecasts, seed: int) -> float:
    """The median Wasserstein distance of two Gaussian forecasts."""
    rows = np.stack([data.mean, np.sqrt(data.variance)], axis=1)
    w = np.ones(len(data.labels)) if data.weights is None else data.weights
    i, j, mass, equal = pairs_of_rows(w, w if data.squares is None else data.squares, seed)
    distance = np.sqrt(((rows[i] - rows[j]) ** 2).sum(axis=1))
    if not len(distance):
        return 0.0
    return weighted_median(np.append(distance, 0.0), np.append(mass, equal))
