"""Averaged two-bin error: the squared mean errors of the two parts of a random cut, added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.sums.stable_sums import inner
from calibrant.methods import estimator
from calibrant.predictions import admit
from calibrant.results import Estimate


@estimator("two_bin", "averaged two-bin error", "ATB", of_the_error=False)
def averaged_two_bin_error(
    labels: Any,
    probs: Any = None,
    *,
    debiased: bool = False,
    root: bool = False,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How wrong are the two parts of a random cut? An error that honest forecasts minimise (ATB).

    The mean over q, uniform on [0, 1], of
    (1/n Σ_(p < q) (p − y))² + (1/n Σ_(p ≥ q) (p − y))². A model that predicts the true rates has
    the smallest value on average, which does not hold for an ECE with fixed bins: those reward
    constant forecasts. `noise_floor`, Σp(1−p)/n², is exact whatever the predictions.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    debiased
        Subtract Σ(p − y)²/n², the terms of each row with itself; the value may be below 0.
    root
        Take the root, in units of probability, with the sign of what is under it.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean over random cuts of the squared mean errors below and above the cut;
      smallest for who says the truth.
    Bias: up by Σp(1−p)/n² if calibrated; debiased: none.
    Cost: one sort.
    Source: Hartline, Hu, Wu 2026.

    Examples
    --------
    >>> import calibrant as cal
    >>> round(averaged_two_bin_error([0, 1, 1], [0.2, 0.5, 0.6]).value, 6)
    0.063778
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    pooled = event.pooled
    below = np.concatenate([[0.0], np.cumsum(pooled.residual)])
    widths = np.diff(np.concatenate([[0.0], pooled.values, [1.0]]))
    power = inner(widths, below**2 + (below[-1] - below) ** 2)
    floor = inner(pooled.spread, pooled.values * (1 - pooled.values))
    if debiased:
        squares = (event.probs.astype(np.float64) - event.outcomes) ** 2
        power -= float(squares.sum() if event.spread is None else inner(event.spread, squares))
    value, floor = (float(x) / pooled.total**2 for x in (power, floor))
    if root:
        value, floor = float(np.sign(value) * np.sqrt(abs(value))), float(np.sqrt(floor))
    described = {"view": predictions.view(view), "debiased": debiased, "root": root}
    title = ("debiased " if debiased else "") + ("root " if root else "") + "averaged two-bin error"
    return Estimate("averaged_two_bin_error", title, value, event.n, None, None if debiased else floor, described)
