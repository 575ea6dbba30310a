"""Ratios of means: observed over expected events, and the net benefit per event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibrant.estimate.selective import plain_event
from calibrant.inputs import check_level
from calibrant.interval import Limits, mean_with_interval
from calibrant.methods import estimator
from calibrant.predictions import Event, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.types import Floats

MOST_DOUBLINGS = 60


@estimator("oe", "O/E ratio", "O/E", "observed/expected", kind="clinical estimator", soft_labels=False)
def observed_over_expected(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How many events were there for each one expected? O/E.

    Above 1: risks are too low on average. The interval holds every ratio θ for which the
    mean of y − θp may be 0, by the interval that means have here: close to the usual
    one on the log scale for many events, exact in kind for few, and finite for none. The
    usual standard error, √((1 − φ)/O), is too large for a model that discriminates, since
    expected events vary with observed ones.

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
    Estimates: observed events divided by the sum of the predicted risks; 1 is right.
    Bias: of order 1/n.
    Cost: some twenty passes.
    Source: Riley et al. 2021; Fieller 1954.

    Examples
    --------
    >>> from calibrant.estimate.clinical.ratios import observed_over_expected
    >>> observed_over_expected([0, 1, 0, 1], [0.5, 0.75, 0.5, 0.75]).value  # 2 / 2.5
    0.8
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = plain_event(predictions, view)
    p, y = event.probs.astype(np.float64), event.outcomes.astype(np.float64)
    counted = p if event.weights is None else p[event.weights > 0]
    if not counted.any():
        raise InputError("probs", "must not all be 0 for O/E", "no event is expected")
    low, high = float(counted.min()), float(counted.max())

    def limits(ratio: float) -> Limits:
        return Limits(-ratio * high, 1 - ratio * low)

    value, interval, cautions = ratio_of_means(event, y, p, limits, level, 0.0)
    described = {"view": predictions.view(view)}
    title = "O/E ratio"
    return Estimate("observed_over_expected", title, value, predictions.n, interval, None, described, {}, cautions)


@estimator("standardised_net_benefit", "standardised net benefit", "sNB", kind="clinical estimator", soft_labels=False)
def standardised_net_benefit(
    labels: Any,
    probs: Any = None,
    *,
    threshold: float | None = None,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """What is acting at a threshold worth, as a share of what acting on all events would be?

    Acting where p ≥ t gains 1 for each event and loses t/(1 − t) for each non-event; the
    mean gain is the net benefit, `parts["net_benefit"]`, with the interval of a mean. It is
    divided by the rate of events: 1 is perfect, 0 is as good as never acting, and
    `parts["always"]` is what acting on everyone is worth. The interval holds every ratio θ
    for which the mean of gain − θ·event may be 0, so that it allows for the rate being
    estimated. `decision_regret` has the curve over all thresholds.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    threshold
        Risk from which on one would act. By default the observed rate of events, where
        acting on everyone is worth nothing; the interval takes it as given.
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
    Estimates: net benefit at a threshold divided by the rate of events; higher is better.
    Bias: of order 1/n.
    Cost: some twenty passes.
    Source: Vickers & Elkin 2006; Kerr et al. 2016.

    Examples
    --------
    >>> from calibrant.estimate.clinical.ratios import standardised_net_benefit
    >>> labels, probs = [1, 1, 0, 0, 0], [0.9, 0.3, 0.6, 0.2, 0.1]
    >>> standardised_net_benefit(labels, probs, threshold=0.5).value  # (1 − 1) / 2
    0.0
    >>> standardised_net_benefit(labels, probs, threshold=0.25).value  # (2 − 1/3) / 2
    0.8333333333333334
    """
    check_threshold(threshold)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = plain_event(predictions, view)
    y = event.outcomes.astype(np.float64)
    rate = float(np.average(y, weights=event.weights))
    if not 0 < rate < 1:
        raise InputError("labels", "must hold events and non-events", f"the rate of events is {rate:g}")
    t = rate if threshold is None else float(threshold)
    loss = t / (1 - t)
    gain = np.where(event.probs.astype(np.float64) >= t, y - loss * (1 - y), 0.0)

    def limits(ratio: float) -> Limits:  # an event found or missed, a false alarm
        return Limits(min(-loss, -ratio, 1 - ratio), max(0.0, -ratio, 1 - ratio))

    value, interval, cautions = ratio_of_means(event, gain, y, limits, level)
    plain, plain_interval, _ = mean_with_interval(gain, event.weights, level, Limits(-loss, 1.0), event.squares)
    described = {"view": predictions.view(view), "threshold": t}
    own = Estimate("net_benefit", f"net benefit at {t:.3g}", plain, predictions.n, plain_interval, None, described)
    parts = {"net_benefit": own, "always": (rate - loss * (1 - rate)) / rate}
    title = f"standardised net benefit (threshold {t:.3g})"
    name, n = "standardised_net_benefit", predictions.n
    return Estimate(name, title, value, n, interval, None, described, parts, cautions)


def check_threshold(threshold: float | None) -> None:
    """Refuse a threshold that is no risk between 0 and 1."""
    if threshold is not None and not 0 < threshold < 1:
        raise InputError("threshold", "must lie between 0 and 1", f"it is {threshold!r}")


def ratio_of_means(
    event: Event,
    above: Floats,
    below: Floats,
    limits: Callable[[float], Limits],
    level: float,
    least: float = -np.inf,
) -> tuple[float, Interval | None, tuple[str, ...]]:
    """E[above] / E[below] with below ≥ 0: all θ whose mean of above − θ·below may be 0, and warnings.

    Parameters
    ----------
    event
        The rows' weights.
    above, below
        One number per row.
    limits
        Of above − θ·below, given θ.
    level
        Confidence of the interval.
    least
        The smallest ratio there can be.
    """
    check_level(level)
    w = event.weights
    value = float(np.average(above, weights=w) / np.average(below, weights=w))

    def ends(ratio: float) -> tuple[Interval | None, tuple[str, ...]]:
        return mean_with_interval(above - ratio * below, w, level, limits(ratio), event.squares)[1:]

    first, cautions = ends(value)
    if first is None:
        return value, None, cautions

    def low(ratio: float) -> float:
        found = ends(ratio)[0]
        return 0.0 if found is None else found.low

    def high(ratio: float) -> float:
        found = ends(ratio)[0]
        return 0.0 if found is None else -found.high

    mean, step = float(np.average(below, weights=w)), max(first.high - first.low, 1e-9)
    lower = _crossing(low, value, -step / mean, least)
    upper = _crossing(high, value, step / mean, np.inf)
    return value, Interval(lower, upper, float(level), f"{first.method}, ratio"), cautions


def _crossing(sign: Callable[[float], float], start: float, step: float, last: float) -> float:
    """Where a function that is below 0 at the start reaches 0, searched in steps that double, up to the last."""
    from scipy.optimize import brentq

    for k in range(MOST_DOUBLINGS):
        far = start + step * 2.0**k
        far = far if last in (-np.inf, np.inf) else max(far, last)
        if sign(far) >= 0:
            return float(brentq(sign, far, start, xtol=1e-12, rtol=1e-12)) if sign(start) < 0 else start
        if far == last:
            return far
    return float(np.copysign(np.inf, step))
