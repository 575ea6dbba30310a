"""If the model may abstain where it is uncertain, how often are its answers wrong?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.interval import Limits, cluster_mean, mean_with_interval
from calibrant.kernels.sums.running_error import influences, risk_coverage
from calibrant.options import checked
from calibrant.predictions import Event, Predictions, admit
from calibrant.predictions.content import one_by_one
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval, Line
from calibrant.types import Floats

FEW_ERRORS = 10
"""Below this the spread of the area is hardly known."""


@checked
def selective_risk(
    labels: Any,
    probs: Any = None,
    *,
    groups: Any = None,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How often is the model wrong if it answers only where it is confident?

    The area under the risk–coverage curve (AURC). `parts["curve"]` is the share of
    wrong answers among the most confident ones (y) against their share of all (x). The
    value is the mean over all coverages: small if errors come with low confidence, the
    error rate itself (`parts["risk"]`) if confidence is uninformative. It judges the
    ranking of confidences, not their calibration. `parts["best"]` is the area if every
    error came last. Answers of equal confidence have no order: ties are averaged over.

    Parameters
    ----------
    labels, probs
        Truth first; or one `Predictions`.
    groups
        The question of each answer: rows of a group may then depend on each other.
    view
        The yes/no question whose probability is the confidence: `binary`, `top` or
        `class k`.
    level
        Confidence of the interval, which is that of a smooth function of means.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same. Shares
        of answers are then shares of their weight; rows of a tie count by their mean
        weight.

    When to trust it: with fewer than ten wrong answers the interval is unreliable, and
    a warning says so.

    Examples
    --------
    >>> from calibrant.estimate.selective import selective_risk
    >>> round(selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5]).value, 6)
    0.145833
    """
    predictions = grouped_rows(admit(labels, probs, counts=counts, weights=weights), groups)
    event, clusters = plain_event(predictions, view), predictions.groups
    confidences, wrong = event.probs.astype(np.float64), 1.0 - event.outcomes
    found = risk_coverage(event.pooled, confidences)
    n_wrong = int(wrong.sum())
    moves = influences(found, confidences, wrong, event.weights)
    _, interval, cautions = clustered_mean(moves, clusters, level, None, event.weights, event.squares)
    if interval is not None:
        interval = _on_log_scale(found.area, interval)
    if n_wrong < FEW_ERRORS:
        cautions = (*cautions, f"wrong answers are few ({n_wrong}): the interval is unreliable")
    risk = float(np.average(wrong, weights=event.weights))
    parts = {
        "curve": Line.thinned(found.coverage, found.risk),
        "thresholds": Line.thinned(found.coverage, found.order),
        "risk": risk,
        "best": _best(risk, n_wrong),
    }
    settings, title = {"view": predictions.view(view)}, "area under the risk–coverage curve"
    return Estimate("selective_risk", title, found.area, event.n, interval, None, settings, parts, cautions)


def grouped_rows(predictions: Predictions, groups: Any) -> Predictions:
    """Rows one by one, with the groups that the user gave beside them, if any."""
    return one_by_one(predictions if groups is None else predictions.with_groups(groups))


def _best(risk: float, n_wrong: int) -> float:
    """The area if the wrong answers, of equal weight, all came last."""
    if not n_wrong:
        return 0.0
    wrong = risk * np.arange(1, n_wrong + 1) / n_wrong  # share of all answers up to each
    return float((wrong / (1 - risk + wrong)).sum() * risk / n_wrong)


def plain_event(predictions: Predictions, view: Any) -> Event:
    """The event of answers that are right or wrong."""
    event = predictions.event(view)
    if not event.hard:
        raise InputError("labels", "must be answers that are right or wrong", "they are shares (soft labels)")
    return event


def clustered_mean(
    values: Floats,
    clusters: Any,
    level: float,
    limits: Limits | None = None,
    weights: Any = None,
    squares: Any = None,
) -> tuple[float, Interval | None, tuple[str, ...]]:
    """Mean, interval and warnings: within `limits` for independent rows, by Student's t on clusters otherwise."""
    if clusters is None:
        return mean_with_interval(values, weights, level, limits, squares)
    found = cluster_mean(values, weights, clusters)
    return found.mean, *found.interval(level)


def _on_log_scale(area: float, around_zero: Interval) -> Interval | None:
    """The area times and divided by e^(half width / area): it stays positive, and is skewed as areas are."""
    if area == 0:
        return None
    with np.errstate(over="ignore"):  # a half width far beyond the area: any area is possible
        factor = float(np.exp(around_zero.high / area))
    method = f"{around_zero.method}, influence of each row, log scale"
    return Interval(area / factor, min(area * factor, 1.0), around_zero.level, method)
