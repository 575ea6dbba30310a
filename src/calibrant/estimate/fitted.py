"""Calibration error by fitting: any map of a single event, fitted on the test data, measures the error."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import check_count
from calibrant.maps import GaussianProcessMap, recipe_of
from calibrant.maps.folds import in_folds
from calibrant.maps.gaussian_process import GaussianProcessTable
from calibrant.methods import estimator
from calibrant.norms import Norm, check_norm, mean_power, norm_of_name, rooted
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.results import Curve, Estimate

DEFAULT = GaussianProcessMap()
"""Of the maps compared on worlds with a known truth, the closest one: see studies/results/piecewise.md."""

BIAS = {
    "temperature": "understates errors that no single temperature makes",
    "platt": "understates errors that no straight line in log-odds makes",
    "quadratic": "understates errors that no parabola in log-odds makes",
    "beta": "understates errors that no beta map makes",
    "isotonic": "follows the noise: overstates small errors, and understates maps that fall",
    "histogram": "follows the noise and flattens every bin: overstates small errors",
    "unit_slope_bins": "follows the noise: overstates small errors, as binned ECE does",
    "bayesian_binning": "flattens every bin: overstates small errors",
    "scaling_binning": "flattens every bin of a fitted line",
    "venn_abers": "follows the noise: overstates small errors",
    "spline": "smooths bends away that few knots cannot follow",
    "kernel_density": "smooths structure away where scores crowd",
    "piecewise_linear": "overstates small errors a little; with identity=True it understates",
    "gaussian_process": "draws towards calibration where rows are few: understates small errors",
    "identity": "moves nothing: its error is always 0",
}
"""In which direction each family errs."""

FEW = "understates errors that its few parameters cannot follow"


@estimator("fitted", "calibration error by fitting", "ECE_PL", "ECE_PL3", "ECE_GP", "fit on the test")
def fitted_error(
    labels: Any,
    probs: Any = None,
    *,
    method: Any = None,
    norm: Norm = 1,
    root: bool = True,
    cross_fitted: bool = False,
    n_folds: int = 10,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How far does a recalibration map move these predictions? ECE by fitting.

    The map ĉ, fitted on these rows, is the reliability curve (`parts["curve"]`, with a band
    where the map has one), and the error is the mean of |ĉ(p) − p|^α (Kängsepp et al. 2023).
    The default, `GaussianProcessMap()`, gives ECE_GP;
    `PiecewiseLinear(space="probability", identity=False)` ECE_PL,
    `PiecewiseLinear(identity=False)` ECE_PL3, and `UnitSlopeBins(bins)` the binned ECE itself.
    `posterior_error` asks which errors are possible, over more families of curves.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    method
        Name or recipe of a map of one event.
    norm
        Exponent α of the error: 1 is the mean absolute error, 2 the root mean square, any
        number from 1 to 100; `"max"` the largest.
    root
        Take the α-th root; `False` gives the mean power, the squared error for norm 2.
    cross_fitted
        Judge each row by a map that has not seen it: mean of sign(ĉ − p)(y − p) for norm 1,
        of (p − y)² − (ĉ − y)² for norm 2. Its expectation never exceeds the true error,
        whatever the map; on calibrated data it scatters around 0 or below.
    n_folds
        Number of folds of `cross_fitted`.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: mean distance between a prediction and a map fitted on the same rows.
    Bias: depends on the map's family; cross-fitted: down.
    Cost: one fit of the map; one fit per fold if cross-fitted.
    Source: Kängsepp et al. 2023; Berta et al. 2025 for the cross-fitted form.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> bins = cal.EqualMass(15)
    >>> by_fitting = cal.fitted_error(test, method=cal.maps.UnitSlopeBins(bins)).value
    >>> abs(by_fitting - cal.binned_error(test, bins=bins).value) < 1e-12
    True
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    norm = check_norm(norm)
    if cross_fitted and norm not in (1, 2):
        raise InputError("cross_fitted", "is defined for norms 1 and 2", f"norm is {norm!r}")
    check_count(n_folds, "n_folds", 2)
    recipe = DEFAULT if method is None else recipe_of(method)
    rows = as_predictions(predictions.event(view))
    fitted = recipe.fit(rows)
    in_sample = mean_power(fitted.moves(rows.probs), norm, rows.weights)
    power = _cross_fitted(recipe, rows, norm, n_folds) if cross_fitted else in_sample
    value = float(np.sign(power) * rooted(abs(power), norm, root))
    how = f"cross-fitted over {n_folds} folds" if cross_fitted else "fitted on the same rows"
    described = {"view": predictions.view(view), "method": repr(recipe), "norm": norm, "root": root, "fit": how}
    title = f"{norm_of_name(norm, root)}calibration error by fitting ({fitted.method.replace('_', ' ')})"
    parts = {"curve": curve(fitted, rows), "map": fitted}
    bias = () if cross_fitted else (f"{fitted.method} {BIAS.get(fitted.method, FEW)}",)
    return Estimate("fitted_error", title, value, rows.n, None, None, described, parts, fitted.fit.cautions + bias)


def _cross_fitted(recipe: Any, rows: Predictions, norm: Norm, n_folds: int) -> float:
    units, masks = in_folds(rows, n_folds)
    gains = np.empty(len(units.labels))
    for held_out in masks:
        p = units.probs[held_out].astype(np.float64)
        away = recipe.fit(units.rows(~held_out)).moves(units.probs[held_out])
        error = units.labels[held_out] - p
        gains[held_out] = np.sign(away) * error if norm == 1 else error**2 - (error - away) ** 2
    return float(np.average(gains, weights=units.weights))


def curve(fitted: Any, rows: Predictions) -> Curve:
    """ĉ where the data are, with the share of the rows around each point."""
    if isinstance(fitted, GaussianProcessTable):
        return fitted.band()
    p = rows.probs.astype(np.float64)
    x = np.unique(np.concatenate([np.quantile(p, np.linspace(0, 1, POINTS)), np.linspace(p.min(), p.max(), POINTS)]))
    between = (x[1:] + x[:-1]) / 2
    share = np.bincount(np.searchsorted(between, p), rows.weights, len(x)).astype(np.float64)
    unknown = np.full(len(x), np.nan)
    return Curve(x, np.clip(x + fitted.moves(x), 0, 1), unknown, unknown, share / share.sum())


POINTS = 101
"""Of the curve: so many spread evenly, and so many by the rows."""
