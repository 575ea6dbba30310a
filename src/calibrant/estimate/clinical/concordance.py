"""The c-statistic (area under the ROC curve), with DeLong's interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.estimate.selective import plain_event
from calibrant.inputs import check_level
from calibrant.interval import Moments, around, moments_of, normal_quantile
from calibrant.methods import estimator
from calibrant.predictions import Event, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.state.pooled import Pooled
from calibrant.types import Floats


@estimator("c_statistic", "c-statistic", "AUC", "AUROC", "concordance", kind="clinical estimator", soft_labels=False)
def c_statistic(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How often has an event a higher risk than a non-event? Ties count by half.

    It judges the ranking of the risks, not their calibration: ½ is none, 1 is perfect.
    The interval is DeLong's on the logit scale, with Welch's degrees of freedom. Where
    all events lie above (below) all others, or there is one of either, that variance is 0
    or unknown: then Newcombe's, which depends on the c-statistic itself, is inverted.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    level
        Confidence of the interval.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: probability that an event has a higher prediction than a non-event.
    Bias: none.
    Cost: one sort.
    Source: DeLong, DeLong & Clarke-Pearson 1988; Newcombe 2006.

    Examples
    --------
    >>> from calibrant.estimate.clinical.concordance import c_statistic
    >>> c_statistic([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).value  # three of four pairs
    0.75
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_level(level)
    event = plain_event(predictions, view)
    value = concordance(event.pooled)
    described = {"view": predictions.view(view)}
    interval = _interval(event, value, level)
    return Estimate("c_statistic", "c-statistic", value, predictions.n, interval, None, described)


def concordance(pooled: Pooled) -> float:
    """The c-statistic of pooled rows: how often an event has a higher risk than a non-event, ties by half."""
    events, total = float(pooled.hits.sum()), pooled.total
    if not 0 < events < total:
        raise InputError("labels", "must hold events and non-events", f"events are {events:,.6g} of {total:,.6g} rows")
    misses = pooled.weight - pooled.hits
    below = np.cumsum(misses) - misses / 2
    return float((pooled.hits * below).sum() / (events * misses.sum()))


def newcombe(c: float, prevalence: float, n: float) -> float:
    """Standard error of a c-statistic from `n` rows (Newcombe 2006, method 4)."""
    pairs = n / 2 - 1
    spread = 1 + pairs * (1 - c) / (2 - c) + pairs * c / (1 + c)
    return math.sqrt(c * (1 - c) * spread / (n**2 * prevalence * (1 - prevalence)))


def placements(event: Event) -> tuple[Moments, Moments]:
    """Moments of the share of non-events below each event, and of the share of events below each non-event."""
    pooled, happened = event.pooled, event.outcomes == 1
    # rows of weight 0 are not among the pooled ones: wherever they land, they do not count
    at = np.minimum(np.searchsorted(pooled.values, event.probs.astype(np.float64)), len(pooled) - 1)
    found = []
    for rows, others in ((happened, pooled.weight - pooled.hits), (~happened, pooled.hits)):
        below: Floats = (np.cumsum(others) - others / 2) / others.sum()
        mass = (None if each is None else each[rows] for each in (event.weights, event.squares))
        found.append(moments_of(below[at[rows]], *mass))
    return found[0], found[1]


def _interval(event: Event, value: float, level: float) -> Interval:
    parts = placements(event)
    errors = [part.error for part in parts]
    if None in errors or not 0 < value < 1 or not any(errors):
        return _inverted(event.pooled, value, level)
    first, second = (float(error or 0.0) ** 2 for error in errors)
    variance = first + second
    degrees = variance**2 / sum(v**2 / part.degrees for v, part in zip((first, second), parts, strict=True))
    slope = value * (1 - value)
    found = around(math.log(value / (1 - value)), math.sqrt(variance) / slope, degrees, level, "")
    low, high = (1 / (1 + math.exp(-min(max(end, -700.0), 700.0))) for end in (found.low, found.high))
    return Interval(low, high, float(level), "DeLong, logit scale")


def _inverted(pooled: Pooled, value: float, level: float) -> Interval:
    """All c whose distance from the value is at most z times Newcombe's error at c."""
    from scipy.optimize import brentq

    z, n = normal_quantile(level), pooled.total
    rate = float(pooled.hits.sum()) / n

    def beyond(c: float) -> float:
        return abs(c - value) - z * newcombe(c, rate, max(n, 2.0))

    low = 0.0 if value == 0 or beyond(0.0) <= 0 else brentq(beyond, 0.0, min(value, 1 - 1e-12))
    high = 1.0 if value == 1 or beyond(1.0) <= 0 else brentq(beyond, max(value, 1e-12), 1.0)
    return Interval(float(low), float(high), float(level), "Newcombe, inverted")
