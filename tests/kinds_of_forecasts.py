"""Forecasts of every kind, of the same numbers."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from calibrant.forecasts import BentForecasts, Forecasts, GaussianForecasts, QuantileForecasts, SampleForecasts


def every_kind(rng: np.random.Generator, n: int = 400, width: float = 1.0) -> dict[str, Forecasts]:
    """Each kind, of the same Gaussian forecasts, which are right if the width is 1."""
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2, n)
    labels = rng.normal(mean, sd)
    levels = np.arange(1, 20) / 20
    said = GaussianForecasts(labels, mean, (width * sd) ** 2)
    return {
        "Gaussian": said,
        "bent": BentForecasts(said, [0, 0.5, 1], [0, 0.5, 1]),
        "quantile": QuantileForecasts(labels, levels, norm.ppf(levels, mean[:, None], width * sd[:, None])),
        "sample": SampleForecasts(labels, rng.normal(mean[:, None], width * sd[:, None], (n, 40))),
    }
