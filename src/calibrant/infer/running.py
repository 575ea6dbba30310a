"""The interval of the cumulative errors, KS and Kuiper."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_level, check_statistic
from calibrant.interval.formulas import brownian_max_p_value, brownian_range_p_value
from calibrant.kernels.fit.root import EPSILON, root
from calibrant.kernels.sums.running_error import group_course
from calibrant.options import checked
from calibrant.predictions import admit
from calibrant.results import Interval

METHOD = "Brownian motion"


@checked
def cumulative_interval(
    labels: Any,
    probs: Any = None,
    *,
    statistic: Literal["max", "ks", "range", "kuiper"] = "max",
    level: float = 0.95,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Interval:
    """Where does the true KS calibration error lie, or the Kuiper one?

    The cumulative sum of errors differs from the true one by no more than a Brownian
    motion, everywhere at once; so its maximum, or its range, differs by no more than that
    of the motion. The interval is the value ± q·√(Σ(p − y)²)/n, with q the quantile of
    the maximum, or of the range, of a Brownian motion on [0, 1]. Each end takes the
    variance that an error of that size would have, as Wilson's interval of a rate does:
    the lower one at least that of a calibrated model. It holds for every calibration
    curve, smooth or not, if rows are independent.

    Parameters
    ----------
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    statistic
        "max" or "ks" for the KS error, "range" or "kuiper" for the Kuiper error.
    level
        Confidence of the interval.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.infer import cumulative_interval
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(1000)
    >>> 1 / 6 in cumulative_interval(rng.random(1000) < probs**2, probs)  # all errors have one sign: E(p − p²) = 1/6
    True
    """
    chosen = check_statistic(statistic, ("max", "range"))
    check_level(level)
    event = admit(labels, probs, counts=counts, weights=weights).event(view)
    found = group_course(event.pooled)
    n, sums = found.total, found.sums / found.total
    top, bottom = max(float(sums.max()), 0.0), min(float(sums.min()), 0.0)
    value = max(top, -bottom) if chosen == "max" else top - bottom
    miss = (event.probs.astype(np.float64) - event.outcomes) ** 2
    square = float(np.average(miss, weights=event.spread))
    q2 = brownian_quantile(chosen, level) ** 2
    half = q2 / (2 * n)  # (p − y)² ≤ |p − y|: an error x larger adds at most x to the mean square
    calibrated = max(square, found.variance / n)
    low, high = value - np.sqrt(q2 * calibrated / n), value + half + np.sqrt(half**2 + q2 * square / n)
    return Interval(float(max(low, 0)), float(min(high, 1)), float(level), METHOD)


def brownian_quantile(statistic: str, level: float) -> float:
    """The quantile of the maximum of |W| (`max`), or of the range, of a Brownian motion W on [0, 1]."""
    beyond = brownian_max_p_value if statistic == "max" else brownian_range_p_value
    if beyond(0.2) <= 1 - level:
        return 0.2  # a little too wide, at levels nobody asks for
    return root(lambda x: 1 - level - beyond(x), 0.2, 40.0, 1e-12, EPSILON)
