"""How large can the calibration error be at most?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from calibrant.forecasts import Forecasts
from calibrant.methods import ONE_EVENT, estimator
from calibrant.options import checked
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.score.brier import brier_score
from calibrant.score.forecast_score import check_forecast_score
from calibrant.score.rule import Rule
from calibrant.score.score import check_score


@checked
def upper_bound(
    labels: Any,
    probs: Any = None,
    *,
    score: str | Rule = "auto",
    view: Any = "canonical",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How large can the score's calibration error be at most?

    U_S = mean score − smallest entropy, with its interval. For the Brier score the
    bound is the score itself, and `parts["root"]` is its root, the root Brier score,
    which bounds CE₂. A score whose entropy has no smallest value
    has no bound (Gruber & Buettner 2022, Theorem 4.3): the Dawid–Sebastiani and the
    Gaussian log score.

    Parameters
    ----------
    labels, probs
        Truth first; or one `Predictions`; or forecasts of a real number.
    score
        Name of a proper score, or a rule; `"auto"` is the Brier score, and CRPS for
        forecasts.
    view
        `canonical` for all classes, or a yes/no question: `binary`, `top` or `class k`.
    level
        Confidence of the interval.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    When to trust it: the estimate is unbiased at every sample size and needs no bins.
    It is close for an accurate model and loose for one that is calibrated but
    uncertain; a difference of two bounds is exact where the map between them is
    injective: see `compare`.

    Examples
    --------
    >>> import calibrant as cal
    >>> found = cal.upper_bound([1, 0], [0.8, 0.4])
    >>> round(found.value, 6), round(found.parts["root"].value, 6)
    (0.2, 0.447214)
    """
    rule: Rule
    if isinstance(labels, Forecasts):
        if any(each is not None for each in (probs, counts, weights)):
            raise InputError("labels", "are forecasts and carry their own data", advice="Pass them alone")
        rule, options = check_forecast_score("crps" if score == "auto" else score, labels), {}
    else:
        rule, options = check_score("brier" if score == "auto" else score), {"view": view}
        labels = admit(labels, probs, counts=counts, weights=weights)
    if not math.isfinite(rule.infimum):
        raise InputError(
            "score",
            "must have an entropy with a finite infimum",
            f"that of {rule.name} is {rule.infimum}: no model bounds its calibration error",
            "Only differences are meaningful: use compare. Or set its infimum, if it has one",
        )
    found = rule.score(labels, level=level, **options)
    value, interval = found.value - rule.infimum, found.interval
    if interval is not None:
        interval = replace(interval, low=interval.low - rule.infimum, high=interval.high - rule.infimum)
    settings = {**found.settings, "infimum": rule.infimum}
    parts = {}
    if rule.rooted:
        root, ends = math.sqrt(value), rooted(interval, "root of the bound's")
        parts["root"] = Estimate("root_bound", f"root {rule.title}", root, found.n, ends, settings=found.settings)
    title = f"upper bound on the calibration error ({rule.title})"
    return Estimate("upper_bound", title, value, found.n, interval, None, settings, parts, found.cautions)


def rooted(interval: Interval | None, method: str) -> Interval | None:
    """The roots of an interval's ends, those below 0 taken as 0."""
    if interval is None:
        return None
    low, high = (math.sqrt(max(end, 0.0)) for end in (interval.low, interval.high))
    return Interval(low, high, interval.level, method)


@estimator("root_brier", "root Brier score", "RBS", views=("canonical", *ONE_EVENT), of_the_error=False)
def root_brier(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "canonical",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How large can the calibration error be at most? √Brier ≥ CE₂, with an interval.

    The bound is loose for a model that is calibrated but unsure; differences of it are
    informative: see `compare`.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    view
        `canonical` is all classes jointly; or a yes/no question: `binary`, `top`,
        `class k`.
    level
        Confidence of the interval.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: upper bound on the L2 calibration error.
    Bias: slightly down, by the root of a mean: about variance / (8 · value³).
    Cost: one pass.
    Source: Gruber & Buettner 2022, Theorem 3.1.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.root_brier([1, 0], [0.8, 0.4], view="binary").value, 6)
    0.316228
    """
    score = brier_score(labels, probs, view=view, level=level, counts=counts, weights=weights)
    interval = rooted(score.interval, "root of the Brier score's")
    root, settings, cautions = math.sqrt(score.value), score.settings, score.cautions
    return Estimate("root_brier", "root Brier score", root, score.n, interval, None, settings, {}, cautions)
