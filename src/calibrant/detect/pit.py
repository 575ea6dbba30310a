"""Is the probability integral transform F(y) uniform, as it is for calibrated forecasts?"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.forecasts import Forecasts, admit_forecasts
from calibrant.inputs import check_seed, check_statistic
from calibrant.methods import method
from calibrant.results import TestResult
from calibrant.types import Seed

CERTAIN = 0.4
"""Below this Kuiper's tail is 1 to seven digits, and its series converges slowly."""


@method(
    "forecast test",
    name="pit",
    title="Kuiper test of the PIT",
    views=("Gaussian", "quantile", "sample"),
    ways=("formula",),
)
def pit_test(
    forecasts: Any, *, statistic: Literal["kuiper", "range", "ks", "max"] = "kuiper", seed: Seed = 0
) -> TestResult:
    """Are the values F(y) uniform? Kuiper's or Kolmogorov and Smirnov's test, for independent rows.

    Parameters
    ----------
    forecasts
        Gaussian, quantile or sample forecasts with their labels, such as
        `Predictions.from_gaussian(...)`.
    statistic
        `"kuiper"` or `"range"` adds the largest distances above and below the uniform distribution,
        so it has power against a wrong width as well as a shift; its p-value is
        Stephens' approximation. `"ks"` or `"max"` takes the larger one; its p-value is exact.
    seed
        Chooses F(y) at random where the forecast distribution jumps.

    Notes
    -----
    Power against: forecast distributions that are shifted, too narrow or too wide.
    Cost: one sort.
    Source: Dawid 1984; Kuiper 1960; Stephens 1970.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.detect.pit import pit_test
    >>> labels = [3.0, -3.0, 2.0, -2.5]
    >>> forecasts = cal.Predictions.from_gaussian(labels, mean=[0.0] * 4, variance=[1.0] * 4)
    >>> round(pit_test(forecasts).statistic, 4)
    0.971
    """
    admitted = admit_forecasts(forecasts)
    chosen = check_statistic(statistic, ("kuiper", "ks"))
    seed = check_seed(seed)
    above, below, n = distances(admitted, seed)
    if chosen == "ks":
        from scipy.stats import kstwo

        value, title, how = max(above, below), "KS test of the PIT", "Kolmogorov–Smirnov, exact"
        p = float(kstwo.sf(value, round(n)))
    else:
        value, title, how = above + below, "Kuiper test of the PIT", "Kuiper, Stephens' approximation"
        p = kuiper_tail(value, n)
    settings = {"statistic": chosen, "forecasts": admitted.kind, "seed": seed}
    return TestResult("pit", title, value, p, admitted.n, f"F(y) uniform ({how})", settings)


def distances(forecasts: Forecasts, seed: int) -> tuple[float, float, float]:
    """How far the distribution of F(y) rises above the diagonal and falls below it, and the total weight."""
    u = forecasts.pit(seed)
    order = np.argsort(u, kind="stable")
    w = np.ones(len(forecasts.labels)) if forecasts.weights is None else forecasts.weights[order]
    sums = np.cumsum(w)
    total = float(sums[-1])
    after, before = sums / total - u[order], u[order] - (sums - w) / total
    return max(float(after.max()), 0.0), max(float(before.max()), 0.0), total


def kuiper_tail(value: float, n: float) -> float:
    """P(V ≥ value) for n uniform numbers: the limit distribution with the correction of Stephens (1970)."""
    x = value * (n**0.5 + 0.155 + 0.24 / n**0.5)
    if x < CERTAIN:
        return 1.0
    j = np.arange(1, 101)
    return float(np.clip(2 * ((4 * j**2 * x**2 - 1) * np.exp(-2 * j**2 * x**2)).sum(), 0, 1))
