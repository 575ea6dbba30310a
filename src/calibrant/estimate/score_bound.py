"""How large can the calibration error be at most?"""

from __future__ import annotations

import math
from typing import Any

from calibrant.forecasts import Forecasts
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.score.forecast_score import check_forecast_score
from calibrant.score.rule import Rule
from calibrant.score.score import check_score


def upper_bound(
    labels: Any,
    probs: Any = None,
    *,
    score: str | Rule = "auto",
    view: Any = "canonical",
    level: float = 0.95,
    weights: Any = None,
) -> Estimate:
    """How large can the score's calibration error be at most? U_S = mean score − smallest entropy, with its interval.

    The estimate is unbiased whatever the size of the data, and needs no bins. It is close for an accurate model and loose for one
    that is calibrated but unsure; a difference of two bounds is exact where the map between is injective: see `compare`. For the
    Brier score the bound is the score itself, and `parts["root"]` is its root, the root Brier score, which bounds CE₂. A score
    whose entropy has no smallest value has no bound (Gruber & Buettner 2022, Theorem 4.3).

    `labels` may be forecasts of a real number; their score is CRPS unless another is named. Dawid–Sebastiani and Gaussian log score
    have no bound.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.upper_bound([1, 0], [0.8, 0.4])
    >>> round(found.value, 6), round(found.parts["root"].value, 6)
    (0.2, 0.447214)
    """
    if isinstance(labels, Forecasts):
        return _of_forecasts(labels, probs, score, level, weights)
    rule, predictions = check_score("brier" if score == "auto" else score), admit(labels, probs, weights=weights)
    _check_bounded(rule)
    return _bound(rule, rule.score(predictions, view=view, level=level), level)


def _of_forecasts(forecasts: Forecasts, probs: Any, score: str | Rule, level: float, weights: Any) -> Estimate:
    if probs is not None or weights is not None:
        raise InputError("labels", "are forecasts and carry their own data", advice="Pass them alone")
    rule = check_forecast_score("crps" if score == "auto" else score, forecasts)
    _check_bounded(rule)
    return _bound(rule, rule.score(forecasts, level=level), level)


def _check_bounded(rule: Rule) -> None:
    if not math.isfinite(rule.infimum):
        raise InputError(
            "score",
            "must have an entropy with a finite infimum",
            f"that of {rule.name} is {rule.infimum}: no model bounds its calibration error",
            "Only differences mean something: use compare. Or set its infimum, if it has one",
        )


def _bound(rule: Rule, found: Estimate, level: float) -> Estimate:
    """The mean score less the smallest entropy."""
    value, interval = found.value - rule.infimum, found.interval
    if interval is not None:
        interval = Interval(interval.low - rule.infimum, interval.high - rule.infimum, level, interval.method)
    described = {**found.settings, "infimum": rule.infimum}
    parts = {"root": _root(value, interval, found, rule)} if rule.rooted else {}
    title = f"upper bound on the calibration error ({rule.title})"
    return Estimate("upper_bound", title, value, found.n, interval, None, described, parts, found.cautions)


def _root(value: float, interval: Interval | None, found: Estimate, rule: Rule) -> Estimate:
    """√U_S, for scores whose root is a distance."""
    if interval is not None:
        low, high = (math.sqrt(max(end, 0.0)) for end in (interval.low, interval.high))
        interval = Interval(low, high, interval.level, "root of the bound's")
    return Estimate("root_bound", f"root {rule.title}", math.sqrt(value), found.n, interval, settings=found.settings)
