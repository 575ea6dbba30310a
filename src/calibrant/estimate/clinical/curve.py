"""Distances between predicted and observed risks along a smooth calibration curve: ICI, E50, E90 and Emax.

The curve is not one fit but all that the rows leave possible (`infer.possible_curves`), as
`posterior_error` has them; values are posterior medians.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibrant.estimate.posterior import posterior_error
from calibrant.estimate.selective import plain_event
from calibrant.infer.possible_curves import WIDENED, PossibleCurves, possible_curves
from calibrant.inputs import check_level
from calibrant.methods import estimator
from calibrant.predictions import Predictions, admit
from calibrant.results import Estimate, Interval

BESIDE, LEAST_BESIDE, MANY = 0.05, 0.01, 1000
"""Noise also exchanges rows that are far off and rows that are not. The upper end is that of a quantile this share of the rows above;
beyond so many rows less, with the root of their number, but not less than a cell."""

AROUND, TAIL = 0.02, 0.025
"""The lower end is that of a quantile this share below, or less where a band of the curve, each end of which is exceeded with that
probability, leaves it open."""

APART, RARE_TAIL = {0.5: 0.1, 0.9: 0.05}, 0.005
"""Where distances change steeply at the quantile, as at the edge of an error in one place, curves lie on the wrong side of it: the band
is wider, and more rows may lie outside it."""

STEEPLY = (
    "distances change steeply at this quantile, as where some rows are far off and the others right: "
    "it may lie on either side of the change, and the interval may be too short"
)


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
    reaches from a quantile a little lower to one a little higher, as noise exchanges rows
    that are far off and rows that are not, and errs a fifth as often as the posterior says.
    Where distances change steeply at this quantile it is wider, may still be too short, and
    a caution says so. How often it holds is in `studies/results/coverage_clinical.md`.

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
    reaches from a quantile a little lower to one a little higher, as noise exchanges rows
    that are far off and rows that are not, and errs a fifth as often as the posterior says.
    Where distances change steeply at this quantile it is wider, may still be too short, and
    a caution says so. How often it holds is in `studies/results/coverage_clinical.md`.

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
    """The posterior median of a quantile of the distances, with ends a little below and above.

    No quantile is larger than the largest distance, nor its upper end than that one's.
    """
    check_level(level)
    event = plain_event(predictions, view)
    curves = possible_curves(event)
    steep = curves.steep(share, BESIDE)
    low, value, high = _ends(curves, share, level, steep, event.pooled.total)
    high = max(value, min(high, possible_curves(event, finely=True).most(level)))
    interval = Interval(min(low, value), high, float(level), "posterior, widened")
    described = {"view": predictions.view(view)}
    cautions = (STEEPLY,) if steep else ()
    return Estimate(name, f"E{100 * share:.0f}", value, predictions.n, interval, None, described, {}, cautions)


def _ends(curves: PossibleCurves, share: float, level: float, steep: bool, rows: float) -> tuple[float, float, float]:
    """Lower end, median and upper end of a quantile."""
    if steep:
        below, above, tail, apart = BESIDE, BESIDE, RARE_TAIL, APART[share]
    else:
        below, above = AROUND, max(LEAST_BESIDE, BESIDE * min(1.0, (MANY / rows) ** 0.5))
        tail, apart = TAIL, AROUND
    wide, missed = 1 - (1 - level) / WIDENED, 1 - level
    shares = (share - below, share, share + above)
    lower, at, upper = (curves.posterior(each, wide, exact=True) for each in curves.error_quantiles(*shares))
    least, most = curves.least_and_most(share, apart, tail * missed / 0.05)
    return min(lower[0], least), at[1], max(upper[2], most) if steep else upper[2]
