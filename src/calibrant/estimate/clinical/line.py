"""Calibration intercept and slope: the logistic regression of the outcome on the predicted log-odds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.estimate.selective import plain_event
from calibrant.inputs import check_level
from calibrant.interval import normal_quantile
from calibrant.kernels.fit.log_odds_line import LogOddsRows, profile_ends
from calibrant.methods import estimator
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.types import Floats

MANY_EVENTS = 2000
"""Events, and rows without one, from which on the normal interval is as good as that of the profile likelihood."""


@estimator(
    "intercept",
    "calibration intercept (slope 1)",
    "calibration intercept",
    kind="clinical estimator",
    soft_labels=False,
)
def calibration_intercept(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Are risks too high or too low on average? The intercept in log-odds, with slope 1.

    Calibration in the large: logit P(y) = a + logit(p). Above 0: risks are too low on
    average; below 0: too high. The interval is that of the profile likelihood, or the
    normal one where events and non-events are at least 2000 each.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`. Predictions of 0 and 1 have no log-odds: they are left out, and a
        warning says so.
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
    Estimates: the intercept in log-odds that the model needs, with slope 1; 0 is right.
    Bias: of order 1/events.
    Cost: one sort and some ten logistic fits.
    Source: Cox 1958; Van Calster et al. 2019.

    Examples
    --------
    >>> from calibrant.estimate.clinical.line import calibration_intercept
    >>> round(calibration_intercept([1] * 6 + [0] * 4, [0.5] * 10).value, 4)  # ln(0.6 / 0.4)
    0.4055
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_level(level)
    rows, spread, cautions = _rows(plain_event(predictions, view))
    value = float(rows.level(1.0).coefficients[0])
    least = rows.loss(value, 1.0)
    variances = rows.covariance(value, 1.0, spread, np.ones((len(spread), 1)))
    interval = _interval(rows, lambda a: rows.loss(a, 1.0) - least, value, variances, 0, level)
    return _estimate("calibration_intercept", predictions, view, value, interval, cautions)


@estimator("slope", "calibration slope", kind="clinical estimator", soft_labels=False)
def calibration_slope(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Are risks too extreme or not extreme enough? The slope in log-odds.

    The slope b of logit P(y) = a + b·logit(p), fitted with its intercept a, which is
    `parts["intercept"]`. Below 1: risks are too extreme (an overfitted model); above 1:
    not extreme enough. The interval is that of the profile likelihood, or the normal one
    where events and non-events are at least 2000 each.

    Where the predictions separate events from all others, no finite slope fits best: the
    value is infinite, its other end is finite, and a warning says so.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`. Predictions of 0 and 1 have no log-odds: they are left out, and a
        warning says so.
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
    Estimates: the slope in log-odds that the model needs; 1 is right, below 1 too
      extreme.
    Bias: away from 0 where events are few.
    Cost: one sort and some twenty logistic fits.
    Source: Cox 1958; Van Calster et al. 2019.

    Examples
    --------
    >>> from calibrant.estimate.clinical.line import calibration_slope
    >>> labels, probs = [0] * 4 + [1] * 6 + [0] * 6 + [1] * 4, [0.8] * 10 + [0.2] * 10
    >>> found = calibration_slope(labels, probs)  # ln(0.6 / 0.4) / ln(0.8 / 0.2)
    >>> round(found.value, 4), round(found.interval.low, 2), round(found.interval.high, 2)
    (0.2925, -0.34, 0.97)
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_level(level)
    rows, spread, cautions = _rows(plain_event(predictions, view))
    if not np.ptp(rows.odds) > 0:
        raise InputError("probs", "must vary for a slope", f"all between 0 and 1 have log-odds {rows.odds[0]:.6g}")

    def profile(slope: float) -> float:
        return rows.loss(float(rows.level(slope).coefficients[0]), slope)

    name = "calibration_slope"
    if side := rows.separation():
        ends = profile_ends(
            lambda b: 2 * (profile(b) - rows.least_loss()), side * np.inf, 1 / np.ptp(rows.odds), _limit(level)
        )
        apart = "the predictions separate events from all others: no finite slope fits best, and only one end is known"
        interval = Interval(*ends, float(level), "profile likelihood")
        return _estimate(name, predictions, view, side * np.inf, interval, (*cautions, apart))
    a, b = (float(each) for each in rows.line().coefficients)
    least, features = rows.loss(a, b), np.stack([np.ones(len(spread)), rows.odds], axis=1)
    variances = rows.covariance(a, b, spread, features)
    interval = _interval(rows, lambda slope: profile(slope) - least, b, variances, 1, level)
    own = _interval(rows, lambda x: rows.loss(x, float(rows.tilt(x).coefficients[0])) - least, a, variances, 0, level)
    joint = _estimate("joint_intercept", predictions, view, a, own, title="intercept of the joint fit")
    return _estimate(name, predictions, view, b, interval, cautions, {"intercept": joint})


def _estimate(
    name: str,
    predictions: Predictions,
    view: Any,
    value: float,
    interval: Interval,
    cautions: tuple[str, ...] = (),
    parts: dict[str, Any] | None = None,
    title: str = "",
) -> Estimate:
    titles = {"calibration_intercept": "calibration intercept (slope 1)", "calibration_slope": "calibration slope"}
    described = {"view": predictions.view(view)}
    title = title or titles[name]
    return Estimate(name, title, value, predictions.n, interval, None, described, parts or {}, cautions)


def _rows(event: Event) -> tuple[LogOddsRows, Floats, tuple[str, ...]]:
    """The rows that have log-odds, what multiplies their variances, and a warning if others were left out."""
    pooled = event.pooled
    kept = (pooled.values > 0) & (pooled.values < 1)
    rows = LogOddsRows.of(pooled.values, pooled.weight, pooled.hits)
    events, total = float(rows.hits.sum()), float(rows.weight.sum())
    if not 0 < events < total:
        wanted = "must hold events and non-events among predictions between 0 and 1"
        raise InputError("labels", wanted, f"events are {events:,.6g} of {total:,.6g} rows")
    share = 1 - total / pooled.total
    left = f"predictions of 0 or 1 have no log-odds: {share:.2%} of the rows are left out"
    return rows, pooled.spread[kept], (left,) * (not kept.all())


def _limit(level: float) -> float:
    return normal_quantile(level) ** 2


def _interval(
    rows: LogOddsRows,
    lost: Callable[[float], float],
    value: float,
    variances: tuple[Floats, Floats],
    at: int,
    level: float,
) -> Interval:
    """Values whose profile likelihood is not too low; normal for many events.

    Weights that are not numbers of rows make the variance larger than the likelihood says: its ratio divides the deviance.
    """
    plain, actual = (float(each[at, at]) for each in variances)
    error = float(np.sqrt(actual))
    events = float(rows.hits.sum())
    if min(events, float(rows.weight.sum()) - events) >= MANY_EVENTS:
        half = normal_quantile(level) * error
        return Interval(value - half, value + half, float(level), "Wald")
    ends = profile_ends(lambda x: 2 * lost(x) * (plain / actual), value, error, _limit(level))
    return Interval(*ends, float(level), "profile likelihood")
