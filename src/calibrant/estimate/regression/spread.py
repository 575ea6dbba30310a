"""A test of the predicted variances: are errors as large as was said, wherever it was said?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.variance_bins import variance_bins
from calibrant.forecasts import GaussianForecasts, admit_forecasts
from calibrant.inputs import check_count
from calibrant.problems import InputError
from calibrant.results import TestResult


def spread_test(forecasts: Any, *, n_bins: int = 10, n_simulations: int = 999, seed: int = 0) -> TestResult:
    """Are the errors of Gaussian forecasts as large as was said, bin by bin of σ? Exact for independent rows.

    If the forecasts are right, the sum of ((y−μ)/σ)² over a bin of m rows is χ² with m degrees of freedom, whatever the variances. The
    statistic is Σ over bins of (sum − m)²/(2m); its distribution is drawn `n_simulations` times.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.estimate.regression.spread import spread_test
    >>> said = cal.Predictions.from_gaussian([2.0, -2.0, 3.0, -3.0], mean=[0.0] * 4, variance=[0.25] * 4)
    >>> spread_test(said, n_bins=1).p_value
    0.001
    """
    said = admit_forecasts(forecasts)
    if not isinstance(said, GaussianForecasts):
        raise InputError("forecasts", "must be Gaussian for this test", f"they are {type(said).__name__}")
    check_count(n_simulations, "n_simulations")
    bins = variance_bins(said, n_bins)
    m = bins.weight

    def statistic(sums: Any) -> Any:
        return ((sums - m) ** 2 / (2 * m)).sum(axis=-1)

    found = float(statistic(bins.ratio * m))
    drawn = statistic(np.random.default_rng(seed).chisquare(m, (n_simulations, len(m))))
    p = (1 + int((drawn >= found).sum())) / (1 + n_simulations)
    described = {"bins": f"{len(m)} equal-mass bins of σ", "n_simulations": n_simulations, "seed": seed}
    null = f"χ² in every bin, drawn {n_simulations} times; exact for Gaussian labels"
    return TestResult("spread", "spread test", found, p, said.n, null, described, {"ratios": bins.ratio.tolist()})
