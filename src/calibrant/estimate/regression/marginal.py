"""Marginal calibration: does the average forecast distribution equal that of the labels?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.forecasts import Forecasts, SampleForecasts, admit_forecasts
from calibrant.inputs import check_count, check_seed
from calibrant.interval import normal_quantile
from calibrant.methods import FORECASTS, method
from calibrant.results import Curve, Estimate
from calibrant.types import Floats, Seed


@method("forecast estimator", title="marginal error", views=FORECASTS)
def marginal_error(
    forecasts: Any, *, n_points: int = 50, n_draws: int = 199, level: float = 0.95, seed: Seed = 0
) -> Estimate:
    """Does the average forecast distribution equal that of the labels?

    The largest gap mean F(x) − share(y ≤ x).

    `parts["curve"]` is the gap over x, with a band that holds all of it at once if labels
    come from the forecasts; `parts["p_value"]` is the exact p-value of the largest gap
    for such labels, and `noise_floor` their mean gap. A model can be right on average
    over rows and wrong in every row: this is a necessary condition only.

    Parameters
    ----------
    forecasts
        Forecasts of a real number, such as `Predictions.from_gaussian(...)`.
    n_points
        Number of values of x, placed at quantiles of numbers drawn from the forecasts.
    n_draws
        Number of sets of labels drawn from the forecasts.
    level
        Probability that a calibrated model's gap lies in the band.
    seed
        An integer, or a generator to draw from.

    Notes
    -----
    Estimates: largest gap between the mean forecast distribution and that of the
      labels.
    Bias: up by noise: see the noise floor.
    Cost: points × rows, and one draw of labels per simulation.
    Source: Gneiting, Balabdaoui, Raftery 2007.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> from calibrant.estimate.regression.marginal import marginal_error
    >>> labels = np.linspace(-2, 2, 41)
    >>> found = marginal_error(cal.Predictions.from_gaussian(labels, np.full(41, 3.0), np.ones(41)))
    >>> found.value > 0.8, found.parts["p_value"]
    (True, 0.005)
    """
    data = admit_forecasts(forecasts)
    check_count(n_points, "n_points", 2)
    check_count(n_draws, "n_draws")
    seed = check_seed(seed)
    normal_quantile(level)
    rng = np.random.default_rng(seed)
    source, scale = _source(data)
    shares = (np.arange(n_points) + 0.5) / n_points
    x = np.unique(np.quantile(source.draw(rng), shares, weights=data.weights, method="inverted_cdf"))
    expected = np.array([np.average(source.cdf(at), weights=data.weights) for at in x])
    gap = scale * (expected - _below(data.labels, x, data))
    draws = (source.draw(rng) for _ in range(n_draws))
    drawn = scale * np.array([np.abs(expected - _below(labels, x, data)).max() for labels in draws])
    value = float(np.abs(gap).max())
    p = (1 + int((drawn >= value).sum())) / (1 + n_draws)
    margin = np.full(len(x), np.quantile(drawn, level, method="higher"))
    curve = Curve(x, gap, -margin, margin, np.full(len(x), 1 / len(x)), level)
    described = {"forecasts": data.kind, "n_points": len(x), "n_draws": n_draws, "seed": seed}
    parts = {"curve": curve, "p_value": p}
    return Estimate("marginal_error", "marginal error", value, data.n, None, float(drawn.mean()), described, parts)


def _source(data: Forecasts) -> tuple[Forecasts, float]:
    """The forecasts from which labels are drawn, and a factor for the gaps.

    Under calibration any of m samples and the label may be the label, and F is that of
    the others. With P the share among all m + 1, F(x) − [y ≤ x] is (m+1)/m times
    P(x) − [y ≤ x].
    """
    if not isinstance(data, SampleForecasts):
        return data, 1.0
    pool = np.concatenate([data.samples, data.labels[:, None]], axis=1)
    return SampleForecasts(data.labels, pool), (data.n_samples + 1) / data.n_samples


def _below(labels: Floats, x: Floats, data: Forecasts) -> Floats:
    """The share of labels at or below each x."""
    counts = np.bincount(np.searchsorted(x, labels), data.weights, len(x) + 1)
    return np.cumsum(counts[:-1]) / counts.sum()
