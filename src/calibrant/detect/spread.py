"""A test of predicted variances: are errors as large as predicted, at every predicted size?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.skce import gaussian_forecasts
from calibrant.estimate.regression.variance_bins import variance_bins
from calibrant.inputs import check_count, check_seed
from calibrant.methods import method
from calibrant.resampling.rank import rank_p_value
from calibrant.results import TestResult
from calibrant.types import Seed


@method("forecast test", name="spread", title="spread test", views=("Gaussian",), ways=("exact",))
def spread_test(forecasts: Any, *, n_bins: int = 10, n_draws: int = 999, seed: Seed = 0) -> TestResult:
    """Are errors of Gaussian forecasts as large as predicted, bin by bin of σ? Exact for independent rows.

    If the forecasts are right, the sum of ((y−μ)/σ)² over a bin of m rows is χ² with m
    degrees of freedom, whatever the variances. The statistic is Σ over bins of
    (sum − m)²/(2m).

    Parameters
    ----------
    forecasts
        Gaussian forecasts with their labels: `Predictions.from_gaussian(...)`.
    n_bins
        Bins of σ with equally many rows.
    n_draws
        Number of null draws.
    seed
        Chooses the draws.

    Notes
    -----
    Power against: variances that are wrong on average or for some predicted variances.
    Cost: one sort, and bins times draws.
    Source: χ² of standardised errors per bin; Monte-Carlo test of Barnard 1963.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.detect.spread import spread_test
    >>> labels = [2.0, -2.0, 3.0, -3.0]
    >>> forecasts = cal.Predictions.from_gaussian(labels, mean=[0.0] * 4, variance=[0.25] * 4)
    >>> spread_test(forecasts, n_bins=1).p_value
    0.001
    """
    gaussian = gaussian_forecasts(forecasts)
    check_count(n_draws, "n_draws")
    seed = check_seed(seed)
    bins = variance_bins(gaussian, n_bins)
    m = bins.weight
    drawn = np.random.default_rng(seed).chisquare(m, (n_draws, len(m)))
    values = ((np.vstack([bins.ratio * m, drawn]) - m) ** 2 / (2 * m)).sum(axis=-1)
    settings = {"bins": f"{len(m)} equal-mass bins of σ", "n_draws": n_draws, "seed": seed}
    null = f"χ² in every bin, drawn {n_draws} times; exact for Gaussian labels"
    parts = {"ratios": bins.ratio.tolist()}
    p = rank_p_value(values, "count", 0.0)
    return TestResult("spread", "spread test", float(values[0]), p, gaussian.n, null, settings, parts)
