"""Marginal calibration: taken together, do the forecasts have the distribution of what came?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.forecasts import Forecasts, SampleForecasts, admit_forecasts
from calibrant.inputs import check_count
from calibrant.interval import normal_quantile
from calibrant.methods import method
from calibrant.results import Curve, Estimate

Floats = NDArray[np.float64]


@method(
    "forecast estimator",
    title="marginal error",
    quantity="largest gap between the mean forecast distribution and that of the labels",
    views=("Gaussian", "quantile", "sample"),
    bias="up by noise: see the noise floor",
    cost="points × rows, and a draw of labels a simulation",
    source="Gneiting, Balabdaoui, Raftery 2007",
)
def marginal_error(
    forecasts: Any, *, points: int = 50, n_simulations: int = 199, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Taken together, do the forecasts have the distribution of the labels? The largest gap mean F(x) − share(y ≤ x).

    The gap is taken at `points` values of x, spread as numbers drawn from the forecasts are. `parts["curve"]` is the gap over x, with
    the band that holds all of it at once with probability `level` if labels come from the forecasts, drawn `n_simulations` times;
    `parts["p_value"]` says how often such labels show as large a gap, exactly; `noise_floor` is its mean. A model can be right
    in the mean over rows and wrong in every row: this is a necessary condition only.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> from calibrant.estimate.regression.marginal import marginal_error
    >>> labels = np.linspace(-2, 2, 41)
    >>> found = marginal_error(cal.Predictions.from_gaussian(labels, np.full(41, 3.0), np.ones(41)))
    >>> found.value > 0.8, found.parts["p_value"]
    (True, 0.005)
    """
    said = admit_forecasts(forecasts)
    check_count(points, "points", 2)
    check_count(n_simulations, "n_simulations")
    normal_quantile(level)
    rng = np.random.default_rng(seed)
    source, scale = _source(said)
    shares = (np.arange(points) + 0.5) / points
    x = np.unique(np.quantile(source.draw(rng), shares, weights=said.weights, method="inverted_cdf"))
    expected = np.array([np.average(source.cdf(at), weights=said.weights) for at in x])
    gap = scale * (expected - _below(said.labels, x, said))
    draws = (source.draw(rng) for _ in range(n_simulations))
    drawn = scale * np.array([np.abs(expected - _below(labels, x, said)).max() for labels in draws])
    value = float(np.abs(gap).max())
    p = (1 + int((drawn >= value).sum())) / (1 + n_simulations)
    reach = float(np.quantile(drawn, level, method="higher"))
    curve = Curve(x, gap, np.full(len(x), -reach), np.full(len(x), reach), np.full(len(x), 1 / len(x)), level)
    described = {"forecasts": said.kind, "points": len(x), "n_simulations": n_simulations, "seed": seed}
    parts = {"curve": curve, "p_value": p}
    return Estimate("marginal_error", "marginal error", value, said.n, None, float(drawn.mean()), described, parts)


def _source(said: Forecasts) -> tuple[Forecasts, float]:
    """What labels are drawn from: the forecasts. Of m samples and the label any may be the label, and F is that of the others.

    With P the share among all m + 1, F(x) − [y ≤ x] is (m+1)/m times P(x) − [y ≤ x].
    """
    if not isinstance(said, SampleForecasts):
        return said, 1.0
    pool = np.concatenate([said.samples, said.labels[:, None]], axis=1)
    return SampleForecasts(said.labels, pool), (said.n_samples + 1) / said.n_samples


def _below(labels: Floats, x: Floats, said: Forecasts) -> Floats:
    """The share of labels at or below each x."""
    counts = np.bincount(np.searchsorted(x, labels), said.weights, len(x) + 1)
    return np.cumsum(counts[:-1]) / counts.sum()
