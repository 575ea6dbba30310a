"""A test of the squared kernel calibration error of Gaussian forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.estimate.regression.skce import checked_size, gaussian_forecasts, in_blocks, prepared
from calibrant.inputs import check_count, check_seed
from calibrant.kernels.pairs.gaussian_pairs import Rows, both_drawn, nearness, with_labels
from calibrant.methods import method
from calibrant.problems import InputError
from calibrant.resampling.rank import rank_p_value
from calibrant.results import TestResult
from calibrant.types import Floats, Seed

TESTED_PAIRS = 125_000
"""Pairs of rows per null draw: 500 rows at once, or more rows in smaller blocks."""


@method(
    "forecast test",
    name="gaussian_skce",
    title="SKCE test",
    views=("Gaussian",),
    ways=("exact",),
    also_called=("SKCE", "KCE"),
)
def gaussian_skce_test(
    forecasts: Any,
    *,
    bandwidth: float | None = None,
    label_bandwidth: float | None = None,
    block_size: int | None = None,
    n_draws: int = 199,
    seed: Seed = 0,
) -> TestResult:
    """Could a calibrated model show such an SKCE? The unbiased SKCE, ranked among null draws.

    Given the forecasts, calibration fixes the distribution of every label, so the
    p-value is exact at every sample size: (1 + #{drawn ≥ observed}) / (1 +
    `n_draws`). Rows must be independent.

    Parameters
    ----------
    forecasts
        Gaussian forecasts with their labels: `Predictions.from_gaussian(...)`.
    bandwidth, label_bandwidth
        As in `gaussian_skce`.
    block_size
        The statistic is averaged over consecutive blocks of this many rows; by default
        as many as give about 125 000 pairs in all.
    n_draws
        Number of null draws.
    seed
        Chooses the draws, and the pairs from which the default bandwidth is computed.

    Notes
    -----
    Power against: any smooth error of the forecast distributions.
    Cost: 125 000 pairs times draws.
    Source: Widmann, Lindsten, Zachariah 2021.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.detect.gaussian_skce import gaussian_skce_test
    >>> labels = [3.0, -3.0, 2.5, -2.0]
    >>> forecasts = cal.Predictions.from_gaussian(labels, mean=[0.0] * 4, variance=[1.0] * 4)
    >>> gaussian_skce_test(forecasts).p_value < 0.05
    True
    """
    gaussian = gaussian_forecasts(forecasts)
    check_count(n_draws, "n_draws")
    seed = check_seed(seed)
    if gaussian.weights is not None:
        raise InputError("weights", "cannot be used in this test", advice="Repeat rows")
    rows, width, settings, warnings = prepared(gaussian, bandwidth, label_bandwidth, seed)
    n = gaussian.n
    size = checked_size(min(n, max(2, 2 * TESTED_PAIRS // n)) if block_size is None else block_size, n)
    values = _drawn_values(rows, width, size, n_draws, np.random.default_rng(seed))
    settings |= {"block_size": size, "n_draws": n_draws, "seed": seed}
    null, drawn = f"labels drawn from the forecasts {n_draws} times; exact", values[1:]
    parts = {"null_mean": float(drawn.mean()), "null_sd": float(drawn.std())}
    p = rank_p_value(values, "count", 0.0)
    return TestResult("gaussian_skce", "SKCE test", float(values[0]), p, n, null, settings, parts, warnings)


def _drawn_values(rows: Rows, width: float, size: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """The mean over blocks of the unbiased value: of the observed labels, then of drawn ones."""
    blocks = in_blocks(rows, size)
    i, j = np.triu_indices(size, 1)
    first, second = blocks.at((slice(None), i)), blocks.at((slice(None), j))
    near = nearness(first, second, width)
    fixed = float((near * both_drawn(first, second)).sum())

    def value(labels: Floats) -> float:
        moving = with_labels(first._replace(label=labels[:, i]), second._replace(label=labels[:, j]))
        return (float((near * moving).sum()) + fixed) / near.size

    draws = (blocks.mean + blocks.sd * rng.standard_normal(blocks.mean.shape) for _ in range(n_draws))
    return np.array([value(blocks.label), *(value(labels) for labels in draws)])
