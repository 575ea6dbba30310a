"""Cumulative differences: how large does the running sum of errors get? No bins, no tuning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from calibrant.estimate.classwise import class_weights
from calibrant.inputs import check_choice, check_statistic
from calibrant.kernels.rows.buckets import worth_buckets
from calibrant.kernels.sums.running_error import Course, bucket_course, group_course
from calibrant.methods import EVERY_VIEW, estimator
from calibrant.predictions import Event, MultilabelPredictions, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import ClassTable, Estimate, Line
from calibrant.results.later import Later, both_later
from calibrant.types import Floats

EXPECTED = {"max": float(np.sqrt(np.pi / 2)), "range": float(2 * np.sqrt(2 / np.pi))}
"""Mean of the largest distance from 0, and of the range, of a Brownian motion on [0, 1] of variance 1; that of C(1), if the
forecasts are right, is Σ p(1−p) / n²."""

TITLES = {"max": "KS calibration error", "range": "Kuiper calibration error"}


KS_NAMES = ("KS", "ECCE", "ECCE-MAD", "ECCE-R", "Kuiper")


@estimator("ks", "KS calibration error", *KS_NAMES, views=EVERY_VIEW, of_the_error=False)
def ks_error(
    labels: Any,
    probs: Any = None,
    *,
    statistic: Literal["max", "ks", "range", "kuiper"] = "max",
    view: Any = "auto",
    average: Literal["top", "mean", "sum"] = "top",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How much do errors accumulate along the sorted predictions? Kolmogorov–Smirnov error.

    C(σ) = 1/n Σ_(p ≤ σ) (p − y). `parts["curve"]` is C: it rises where the model predicts too
    high and falls where it predicts too low; the steepest stretch is where the model is
    wrong. Equal predictions are added in one step, so the order of rows does not matter.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    statistic
        `max` or `ks` is max|C| (ECCE-MAD); `range` or `kuiper` is max C − min C (ECCE-R,
        cutoff calibration error).
    view
        `binary`, `top` (is the most probable class right?), `class k` or `classwise`;
        `auto` is `binary` for one column and `top` for several.
    average
        For `classwise`: the mean over classes weighted by how often each is the `top` class,
        E[KS(f, C)] of Gruber & Buettner, definition C.2; or the plain `mean` or `sum`;
        multi-label predictions have no top class.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: largest running sum of errors along the sorted predictions; a lower bound
      on the calibration error.
    Bias: up near calibration.
    Cost: one sort; many rows take one pass and a sort of a part.
    Source: Gupta et al. 2021; Arrieta-Ibarra et al. 2022; class-wise: Gruber & Buettner
      2022, C.2.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.ks_error([0, 1, 1], [0.2, 0.5, 0.6]).value, 6)
    0.233333
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    chosen = check_statistic(statistic, tuple(EXPECTED))
    check_choice("average", average, ("top", "mean", "sum"))
    if predictions.view(view) == "classwise":
        return _classwise(predictions, chosen, average)
    event, name = predictions.event(view), predictions.view(view)
    sums, total, found = running(event, chosen)
    top, bottom = _extremes(sums, total)
    value = max(top, -bottom) if chosen == "max" else top - bottom

    def later() -> tuple[float, dict[str, Any]]:
        known = found()
        sums, places = known.sums / known.total, known.places
        ends = [float(places[sums.argmax()]) if top else 0.0, float(places[sums.argmin()]) if bottom else 0.0]
        where = [0.0, ends[0] if top >= -bottom else ends[1]] if chosen == "max" else sorted(ends)
        floor = EXPECTED[chosen] * float(np.sqrt(known.variance)) / known.total
        return floor, {"curve": Line(places, sums), "where": where}

    described = Later(lambda: {"view": name, "statistic": chosen})
    floor, parts = both_later(later)
    return Estimate("ks_error", TITLES[chosen], value, event.n, None, floor, described, parts)


def _extremes(sums: Floats, total: float) -> tuple[float, float]:
    """The largest and the smallest C, 0 at the start included."""
    top, bottom = float(np.maximum.reduce(sums)), float(np.minimum.reduce(sums))
    return max(top / total, 0.0), min(bottom / total, 0.0)


def _classwise(predictions: Predictions, statistic: str, average: str) -> Estimate:
    """The statistic of each class's own probabilities over all rows, and their mean or sum."""
    extremes = np.array([_extremes(*running(event, statistic)[:2]) for event in predictions.class_events()])
    values = np.abs(extremes).max(axis=1) if statistic == "max" else extremes[:, 0] - extremes[:, 1]
    weights = np.full(len(values), 1.0 if average == "sum" else 1 / len(values))
    if average == "top":
        if isinstance(predictions, MultilabelPredictions):
            raise InputError("average", "cannot be 'top' for multi-label predictions", advice="Pass 'mean' or 'sum'")
        counts = np.bincount(predictions.probs.argmax(axis=1), predictions.weights, predictions.n_classes)
        weights = counts / counts.sum()
    described = {"view": "classwise", "statistic": statistic, "average": average}
    parts = {"classes": ClassTable(predictions.classes, values, class_weights(predictions))}
    title = f"{TITLES[statistic]}, class by class ({average})"
    value = float(weights @ values)
    return Estimate("ks_error", title, value, predictions.n, settings=described, parts=parts)


def running(event: Event, statistic: str) -> tuple[Floats, float, Callable[[], Course]]:
    """C times the weight of all rows, its extremes at least; that weight; and C along the predictions.

    Many rows are not sorted for it.
    """
    if worth_buckets(event.probs, event.outcomes, event.weights):
        known = bucket_course(event.buckets, both=statistic == "range")
        return known.sums, known.total, lambda: known
    pooled, sums = event.pooled, event.pooled.residual
    return np.add.accumulate(sums, out=sums), pooled.total, lambda: group_course(pooled)
