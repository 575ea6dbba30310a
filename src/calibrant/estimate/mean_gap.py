"""Calibration in the large: is the model right on average?"""

from __future__ import annotations

from typing import Any

from calibrant.estimate.selective import clustered_mean
from calibrant.interval import gap_limits
from calibrant.methods import estimator
from calibrant.predictions import admit, cluster_kind
from calibrant.results import Estimate
from calibrant.types import Cluster


@estimator("mean_gap", "mean gap", "calibration_in_the_large", of_the_error=False, better="nearer 0")
def mean_gap(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    cluster: bool | Cluster | None = None,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """Does the model predict more than is observed? Mean prediction minus observed rate.

    Positive: predictions are too high on average (over-confident, for the top class). Zero
    does not mean calibrated: errors can cancel.

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
    cluster
        How rows of a group, `Predictions(..., groups=)`, depend on each other: `"any"` or
        True, in any way, `"same"`, they share one outcome; None or False, not at all. The
        interval is that of whole groups in either case.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean prediction minus observed rate; positive is over-confident.
    Bias: none.
    Cost: one pass.
    Source: Cox 1958; Van Calster et al. 2019.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(cal.mean_gap([0, 1, 0, 1], [0.4, 0.8, 0.6, 0.8]).value, 6)
    0.15
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    difference = event.probs.astype("float64") - event.outcomes
    limits, clusters = (
        gap_limits(event.probs, event.weights),
        predictions.groups if cluster_kind(predictions, cluster) else None,
    )
    value, interval, cautions = clustered_mean(difference, clusters, level, limits, event.weights, event.squares)
    described = {"view": predictions.view(view)}
    return Estimate("mean_gap", "mean gap", value, event.n, interval, settings=described, cautions=cautions)
