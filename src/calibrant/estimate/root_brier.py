"""Root Brier score: an upper bound on the L2 calibration error that needs no bins."""

from __future__ import annotations

import math
from typing import Any

from calibrant.estimate.score_bound import rooted
from calibrant.methods import ONE_EVENT, estimator
from calibrant.results import Estimate
from calibrant.score.brier import brier_score


@estimator("root_brier", "root Brier score", "RBS", views=("canonical", *ONE_EVENT), of_the_error=False)
def root_brier(
    labels: Any, probs: Any = None, *, view: Any = "canonical", level: float = 0.95, weights: Any = None
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
    weights
        How often each row occurred; by default once.

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
    score = brier_score(labels, probs, view=view, level=level, weights=weights)
    interval = rooted(score.interval, "root of the Brier score's")
    root, settings, cautions = math.sqrt(score.value), score.settings, score.cautions
    return Estimate("root_brier", "root Brier score", root, score.n, interval, None, settings, {}, cautions)
