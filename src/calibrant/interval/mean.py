"""The interval of a mean of independent rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.kernels.sums import inner
from calibrant.problems import InputError
from calibrant.results import Interval

FEW_ROWS = 30
"""Below this a normal interval for a mean of skewed rows is known to be too short."""


def normal_quantile(level: float) -> float:
    """z such that a standard normal lies within ±z with the given probability."""
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating) or not 0 < level < 1:
        raise InputError("level", "must lie between 0 and 1", f"it is {level!r}")
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def mean_with_interval(
    values: NDArray[Any], weights: NDArray[Any] | None, level: float
) -> tuple[float, Interval | None, tuple[str, ...]]:
    """Weighted mean, its Student interval and cautions. A weight of w counts as w rows.

    Student's t, not the normal: at n = 10 the difference is a sixth of the width.
    """
    z = normal_quantile(level)
    if weights is not None:  # a row of no weight is not there
        values, weights = values[weights > 0], weights[weights > 0]
    count = float(len(values)) if weights is None else float(weights.sum())
    mean = float(np.average(values, weights=weights))
    if count < 2 or not np.isfinite(mean):
        few = (
            "one row has no interval"
            if len(values) == 1
            else f"weights sum to {count:g}, read as rows: too few for an interval"
        )
        return mean, None, (few,) if np.isfinite(mean) else ()
    centred = values - mean
    squares = inner(centred, centred) if weights is None else inner(weights, centred**2)
    margin = _student(level, count - 1, z) * (squares / (count - 1) / count) ** 0.5
    cautions = []
    if count < FEW_ROWS:
        cautions.append(f"{count:g} rows are few for an interval of a mean: it may be too short")
    if weights is not None and (weights != np.floor(weights)).any():
        cautions.append(
            "weights are read as numbers of rows; they are not whole numbers, so check that they count rows"
        )
    return mean, Interval(mean - margin, mean + margin, level, "Student t"), tuple(cautions)


def _student(level: float, degrees: float, normal: float) -> float:
    """Student's quantile; the normal one where they agree to four digits, which spares importing SciPy."""
    if degrees > 20_000:
        return normal
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))
