"""If the model may keep silent where it is unsure, how wrong is what it says?"""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_groups
from calibrant.interval import cluster_mean, mean_with_interval
from calibrant.kernels.sums.risk_coverage import influences, risk_coverage
from calibrant.predictions import admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval, Line

FEW_ERRORS = 10
"""Below this the spread of the area is hardly known."""


def selective_risk(
    labels: Any, probs: Any = None, *, groups: Any = None, view: Any = "auto", level: float = 0.95
) -> Estimate:
    """How often is the model wrong if it answers only where it is confident? Area under the risk–coverage curve (AURC).

    `parts["curve"]` is the share of wrong answers among the most confident ones (y) against their share of all (x). The value is the mean
    over all coverages: small if errors come with low confidence, the error rate itself (`parts["risk"]`) if confidence says nothing.
    It judges the ranking of confidences, not their calibration. `parts["best"]` is the area if every error came last.

    Answers of equal confidence have no order, so ties are averaged over. The interval is that of a smooth function of means; with
    `groups` (the question of each answer) rows of a group may depend on each other.

    Examples
    --------
    >>> from calibrant.estimate.selective import selective_risk
    >>> round(selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5]).value, 6)
    0.145833
    """
    predictions = admit(labels, probs)
    event = predictions.event(view)
    if predictions.weights is not None or not event.hard:
        raise InputError("labels", "must be plain answers", "they have weights, or are soft", "Give one row an answer")
    clusters = predictions.groups if groups is None else check_groups(groups, predictions.n)
    found = risk_coverage(event.groups)
    wrong = 1.0 - event.outcomes
    moves = influences(found, event.probs.astype(np.float64), wrong)
    if clusters is None:
        _, interval, cautions = mean_with_interval(moves, None, level)
    else:
        interval, cautions = cluster_mean(moves, None, clusters).interval(level)
    risk = float(wrong.mean())
    if interval is not None:
        interval = _on_log_scale(found.area, interval)
    if wrong.sum() < FEW_ERRORS:
        cautions = (*cautions, f"{int(wrong.sum())} wrong answers are few: the interval is not to be trusted")
    parts = {
        "curve": Line.thinned(found.coverage, found.risk),
        "thresholds": Line.thinned(found.coverage, found.order),
        "risk": risk,
        "best": _best(int(wrong.sum()), event.n),
    }
    described = {"view": predictions.view(view)}
    title = "area under the risk–coverage curve"
    return Estimate("selective_risk", title, found.area, event.n, interval, None, described, parts, cautions)


def _on_log_scale(area: float, around_zero: Interval) -> Interval | None:
    """The area times and over e^(half width / area): it cannot be below 0, and is skewed as areas are."""
    if area == 0:
        return None
    factor = float(np.exp(around_zero.high / area))
    method = f"{around_zero.method}, influence of each row, log scale"
    return Interval(area / factor, min(area * factor, 1.0), around_zero.level, method)


def _best(wrong: int, n: int) -> float:
    """The area if the wrong rows are the least confident ones: Σ_(i > n − w) (i − n + w)/i over n."""
    places = np.arange(n - wrong + 1, n + 1)
    return float(((places - n + wrong) / places).sum() / n) if wrong else 0.0
