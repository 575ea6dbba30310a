"""Calibration error as a posterior: median and interval over all curves still possible."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from calibrant.estimate.binned import binned_error
from calibrant.estimate.sweep import sweep_error
from calibrant.infer import calibration_error_interval
from calibrant.infer.error import least_error
from calibrant.infer.largest_error import least_largest_error
from calibrant.infer.possible_curves import possible_curves
from calibrant.inputs import check_choice, check_level
from calibrant.methods import estimator
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.results import Estimate, Interval
from calibrant.results.later import Later


@estimator("posterior", "calibration error, posterior median", "ECE_posterior", "GP error")
def posterior_error(
    labels: Any,
    probs: Any = None,
    *,
    norm: Literal[1, 2, "max"] = 1,
    root: bool = True,
    level: float = 0.95,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How large is the calibration error, as far as these rows can tell? No bins.

    The value is the posterior median of the error, over the calibration curves that the
    rows leave possible: right everywhere, straight lines in log-odds, smooth and short
    bends (Gaussian processes around the model's own log-odds), waves, errors in one
    tail, one hill or one short stretch, and stretches of which some are right. Each family is
    weighed by its evidence. So an error in one place is not spread over the rest, and
    noise where the model is right is not counted as error. Predictions of exactly 0 and
    1 have rates of their own and do not bend the curve beside them; where none of them
    was wrong, they count as right.

    The median of the root mean square alone is off by more than needed where an error
    in one place is barely seen. For norm 2 the value is the mean of four numbers: that
    median, and three estimates from bins (debiased, sweep and plain, of equal mass), each
    moved into the middle half of the posterior if it lies outside; for soft labels it is
    the median.

    Norms 1 and 2 are never below what the mean gap and the interval of the error prove
    them to be at 95 %. Their interval is that of `calibration_error_interval`, reaching to
    the value; its coverage is in `studies/results/coverage_error.md`. For `"max"` its
    lower end is the larger of two bounds, where that is below the posterior's, which is
    too large as the largest of noisy distances: that of the RMS error, and mean gaps
    over windows of predictions. Its upper end is that of the posterior, which errs half
    as often as the level says, at cells that are cut finely where few rows lie far
    apart; for soft labels it is the posterior interval. The curve with its band is
    `parts["curve"]`. Curves are drawn with a fixed seed: the same rows give the same
    answer. Its RMSE beside that of binned estimators, for errors in one place, waves
    and few predictions, is in `studies/results/error_estimates.md`. Errors that change
    sign within a hundredth of the rows, or waves of more than eight periods, are beyond
    it.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square;
        `"max"` the largest.
    root
        Take the α-th root; `False` gives the squared error for norm 2.
    level
        Confidence of the interval.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean distance between prediction and rate, over the curves the data leave
      possible.
    Bias: up where rows are few and the model is nearly right, less than bins; down for
      waves that so few rows cannot show.
    Cost: one sort, 200 small fits and a recursion over 100 cells.
    Source: posterior over calibration curves; this package.

    Examples
    --------
    >>> import calibrant as cal, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> probs = rng.random(5000)
    >>> calibrated = cal.posterior_error(rng.random(5000) < probs, probs)
    >>> calibrated.value < 0.005 < cal.ece(rng.random(5000) < probs, probs).value
    True
    """
    check_choice("norm", norm, (1, 2, "max"))
    check_level(level)
    predictions = admit(labels, probs, counts=counts, weights=weights)
    rows = as_predictions(predictions.event(view))
    curves = possible_curves(rows.event("binary"), finely=norm == "max")
    errors = np.sqrt(curves.errors(norm)) if norm == 2 else curves.errors(norm)
    low, value, high = curves.posterior(errors, level, exact=norm == "max")
    if norm == 2:
        value = root_mean_square(rows)
    if norm != "max" and not rows.soft:
        value = max(value, least_error(rows.event("binary"), norm))
    if norm == 2 and not root:
        low, value, high = low**2, value**2, high**2
    described = {"view": predictions.view(view), "norm": norm, "root": root}
    kind = {1: "", 2: "RMS " if root else "squared ", "max": "largest "}[norm]
    title = f"{kind}calibration error, posterior{' and bins' if norm == 2 and not rows.soft else ' median'}"
    parts = Later(lambda: {"curve": curves.band(level)})
    interval = Interval(low, high, float(level), "posterior")
    if norm == "max" and not rows.soft:  # the largest of noisy distances is too large
        apart = (1 + level) / 2  # each of the two bounds errs half as often
        bounds = (
            calibration_error_interval(rows, norm=2, level=apart).low,
            least_largest_error(rows.event("binary"), apart),
        )
        method = "gaps over windows below, posterior above"
        interval = Interval(min(low, max(bounds)), curves.most(level), float(level), method)
    elif norm != "max" and not rows.soft:
        tested = calibration_error_interval(rows, norm=norm, level=level)
        ends = (tested.low, tested.high) if norm == 1 or root else (tested.low**2, tested.high**2)
        interval = Interval(min(value, ends[0]), max(value, ends[1]), float(level), tested.method)
    return Estimate("posterior_error", title, value, rows.n, interval, None, described, parts)


def root_mean_square(rows: Predictions) -> float:
    """The mean of the posterior median and of three binned estimates, each within the posterior's middle half.

    Parameters
    ----------
    rows
        Of one event.
    """
    errors = np.sqrt(possible_curves(rows.event("binary")).errors(2))
    low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
    if rows.soft:
        return float(middle)
    binned = (
        binned_error(rows, norm=2, debiased=True).value,
        sweep_error(rows, norm=2).value,
        binned_error(rows, norm=2).value,
    )
    return float(np.mean([middle, *np.clip(binned, low, high)]))
