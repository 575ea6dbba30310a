"""Distances between predicted and observed risks along a smooth calibration curve: ICI, E50, E90 and Emax.

The curve is not one fit but all that the rows leave possible (`infer.possible_curves`), as
`posterior_error` has them; values are posterior medians.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.selective import plain_event
from calibrant.infer.possible_curves import possible_curves
from calibrant.inputs import check_level
from calibrant.methods import estimator
from calibrant.predictions import Predictions, admit
from calibrant.results import Estimate, Interval

WIDENED = 5
"""The noise of a curve adds to a quantile of its distances, so that the plain posterior interval misses it too often: the rate at
which it may miss is divided by this."""

BESIDE = 0.05
"""Noise also exchanges rows that are far off and rows that are not: where distances jump, as at the edge of an error in one place,
the quantile of a curve lies on the wrong side of the jump. The ends are those of quantiles this share of the rows below and above."""


@estimator("ici", "ICI", "integrated calibration index", kind="clinical estimator", soft_labels=False)
def integrated_calibration_index(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are risks from observed rates, on average? The integrated calibration index.

    E|c(p) − p| over the rows, with c the rate at each prediction: what `posterior_error`
    estimates, by its value and its interval. Published ICIs put a loess or spline fit in
    the place of c, whose noise makes them too large near calibration.

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
    Estimates: mean distance between prediction and rate.
    Bias: up where rows are few and the model is nearly right.
    Cost: as `posterior_error`; all four share their fits on the same `Predictions`.
    Source: Austin & Steyerberg 2019; the curve is of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimate.clinical.curve import integrated_calibration_index
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(4000)
    >>> found = integrated_calibration_index(rng.random(4000) < probs**2, probs)
    >>> 1 / 6 in found.interval  # E|p² − p|
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    plain_event(predictions, view)
    found = posterior_error(predictions, view=view, level=level)
    return replace(found, name="integrated_calibration_index", title="ICI")


@estimator("e50", "E50", kind="clinical estimator", soft_labels=False)
def error_quantile_50(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are risks from observed rates, for half of the rows at most?

    The median of |c(p) − p| over the rows, with c the rate at each prediction. The value
    is its median over the calibration curves that `posterior_error` has. The interval
    reaches from the lower end of the 45 % quantile to the upper end of the 55 % quantile,
    and errs a fifth as often as the posterior says: noise moves quantiles. How often it
    holds is in `studies/results/coverage_clinical.md`.

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
    Estimates: the distance between prediction and rate that half of the rows do not exceed.
    Bias: up where rows are few and the model is nearly right.
    Cost: as `posterior_error`; all four share their fits on the same `Predictions`.
    Source: Austin & Steyerberg 2019; the curve is of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimate.clinical.curve import error_quantile_50
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(4000)
    >>> found = error_quantile_50(rng.random(4000) < probs**2, probs)  # p − p² is at most 3/16 for half
    >>> 3 / 16 in found.interval
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    return _quantile(predictions, "error_quantile_50", 0.5, view, level)


@estimator("e90", "E90", kind="clinical estimator", soft_labels=False)
def error_quantile_90(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are risks from observed rates, for nine tenths of the rows at most?

    The 90 % quantile of |c(p) − p| over the rows, with c the rate at each prediction. The
    value is its median over the calibration curves that `posterior_error` has. The interval
    reaches from the lower end of the 85 % quantile to the upper end of the 95 % quantile,
    and errs a fifth as often as the posterior says: noise moves quantiles. How often it
    holds is in `studies/results/coverage_clinical.md`.

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
    Estimates: the distance between prediction and rate that nine tenths of the rows do not exceed.
    Bias: up where rows are few and the model is nearly right.
    Cost: as `posterior_error`; all four share their fits on the same `Predictions`.
    Source: Austin & Steyerberg 2019; the curve is of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimate.clinical.curve import error_quantile_90
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(4000)
    >>> found = error_quantile_90(rng.random(4000) < probs**2, probs)  # p − p² is at most 99/400 for 9/10
    >>> 99 / 400 in found.interval
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    return _quantile(predictions, "error_quantile_90", 0.9, view, level)


@estimator("emax", "Emax", kind="clinical estimator", soft_labels=False)
def largest_error(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    level: float = 0.95,
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far are risks from observed rates, at worst?

    The largest |c(p) − p| over the predictions, with c the rate at each of them: value and
    interval of `posterior_error(norm="max")`. Few rows far from all others, such as the
    highest risks of a rare event, leave their rate open, and with it the largest distance:
    the interval then reaches far up. How often it holds, and how wide it is, is in
    `studies/results/coverage_clinical.md`. E90 is steadier.

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
    Estimates: largest distance between prediction and rate.
    Bias: up; the largest of many is seldom known well.
    Cost: as `posterior_error`, with a second fit where few rows lie far apart; all four
      share their fits on the same `Predictions`.
    Source: Austin & Steyerberg 2019; the curve is of this package.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimate.clinical.curve import largest_error
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(4000)
    >>> found = largest_error(rng.random(4000) < probs**2, probs)
    >>> 1 / 4 in found.interval  # p − p² is largest at ½
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    plain_event(predictions, view)
    found = posterior_error(predictions, norm="max", view=view, level=level)
    return replace(found, name="largest_error", title="Emax")


def _quantile(predictions: Predictions, name: str, share: float, view: Any, level: float) -> Estimate:
    """The posterior median of a quantile of the distances, and the ends of those a little below and above.

    No quantile is larger than the largest distance, nor its upper end than that one's.
    """
    check_level(level)
    event = plain_event(predictions, view)
    curves = possible_curves(event)
    shares, wide = (share - BESIDE, share, share + BESIDE), 1 - (1 - level) / WIDENED
    below, at, above = (curves.posterior(each, wide, exact=True) for each in curves.error_quantiles(*shares))
    high = max(at[1], min(above[2], possible_curves(event, finely=True).most(level)))
    interval = Interval(below[0], high, float(level), "posterior, widened")
    described = {"view": predictions.view(view)}
    return Estimate(name, f"E{100 * share:.0f}", at[1], predictions.n, interval, None, described)
