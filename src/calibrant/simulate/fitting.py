"""A world fitted to data: scores like these, a curve like theirs, and a true error that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.inputs import check_choice, check_positive
from calibrant.kernels.logits import class_log_odds, sigmoid
from calibrant.maps import PiecewiseLinear, recipe_of
from calibrant.predictions import Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Table
from calibrant.simulate.beta_fit import LARGEST, BetaFit, fit_beta
from calibrant.simulate.curves import LinearCurve, MapCurve, TrueCurve
from calibrant.simulate.glm import LinearFit, fit_curves
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, WorldFit

Floats = NDArray[np.float64]

MANY_CENSORED = 0.25
"""Share of saturated scores from which a fitted Beta distribution rests on its form more than on what was seen."""

FAR = 0.05
"""Distance between the distribution functions of the data and of the Beta distribution that is worth a word."""

SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of one event with their complements, what happened, weights, and how near to 0 and 1 a score could be seen."""

    p: Floats
    q: Floats
    outcomes: Floats
    weight: Floats
    limits: tuple[float, float]


def fit_world(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    scores: Literal["beta", "empirical"] = "beta",
    curve: Any = "glm",
    resolution: float | None = None,
    weights: Any = None,
) -> BetaWorld | EmpiricalWorld:
    """What would data like these be, if their truth were known? A world with such scores and such a calibration curve.

    Parameters
    ----------
    view
        The yes/no question to fit: `binary`, `top` or `class k`. The world then speaks of that one event.
    scores
        `"beta"`: a Beta distribution by maximum likelihood. `"empirical"`: these scores, drawn again.
    curve
        `"glm"`: the best by AIC of generalised linear models. `"isotonic"`, `"piecewise"`, `"spline"`, `"gaussian_process"`, or any
        name or recipe of a map of a single event: the map fitted to these rows, taken for the truth. A map that follows the noise,
        as isotonic regression does, makes a world with too large an error.
    resolution
        The step at which scores were stored. Those stored as exactly 0 or 1 are taken as nearer to it than half a step. By default
        the precision of the numbers, or their last decimal if they were rounded. With logits nothing is lost.

    Examples
    --------
    >>> from calibrant.simulate import fit_world, named_world
    >>> data = named_world("resnet110_c100").sample(20_000, rng=0)
    >>> world = fit_world(data)
    >>> world.calibration
    ln(1 − c) = -0.1261 + 0.2811·ln(1 − p)
    >>> world.fit.table.rows[0][0]
    'logflip, logflip: b0, b1'
    """
    predictions = admit(labels, probs, weights=weights)
    check_choice("scores", scores, ("beta", "empirical"))
    name = predictions.view(view)
    rows = _rows(predictions, name, resolution)
    calibration, table, cautions = _curve(rows, curve)
    same = bool((rows.p == rows.p[0]).all() and (rows.q == rows.q[0]).all())
    beta = None if scores == "empirical" or same or not _seen(rows).any() else fit_beta(*_columns(rows))
    if scores == "beta":
        cautions += _beta_cautions(rows, beta, same)
    fit = WorldFit(predictions.n, name, rows.limits, table, cautions)
    if beta is None:
        return EmpiricalWorld(rows.p, calibration, rows.weight, "", fit)
    return BetaWorld(beta.alpha, beta.beta, calibration, "", fit)


def _columns(rows: Rows) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    return rows.p, rows.q, rows.weight, rows.limits


def _seen(rows: Rows) -> NDArray[np.bool_]:
    """Which scores are not saturated?"""
    return (rows.p >= rows.limits[0]) & (rows.q >= rows.limits[1])


def _rows(predictions: Predictions, view: str, resolution: float | None) -> Rows:
    event = predictions.event(view)
    weight = np.ones(event.n) if event.weights is None else event.weights
    kept = weight > 0
    if predictions.logits is None:
        p = event.probs.astype(np.float64)
        q, limits = 1 - p, storage_limits(event.probs, resolution)
    else:
        z = _log_odds(predictions, view)
        p, q, limits = sigmoid(z), sigmoid(-z), (SMALLEST, SMALLEST)
    return Rows(p[kept], q[kept], event.outcomes.astype(np.float64)[kept], weight[kept], limits)


def _log_odds(predictions: Predictions, view: str) -> Floats:
    """Log-odds of the event from the logits, where nothing has been rounded to 1."""
    assert predictions.logits is not None
    logits = predictions.logits.astype(np.float64)
    if predictions.is_binary:
        return -logits if view == f"class {predictions.classes[0]}" else logits
    odds = class_log_odds(logits)
    if view == "top":
        return odds[np.arange(len(odds)), predictions.probs.argmax(axis=1)]
    names = [f"class {c}" for c in predictions.classes]
    return odds[:, 1 if view == "binary" else names.index(view)]


def storage_limits(probs: NDArray[Any], resolution: float | None = None) -> tuple[float, float]:
    """How near a score must have been to 0 and to 1 to be stored as such: half a step at either end."""
    if resolution is not None:
        half = check_positive("resolution", resolution) / 2
        if half >= 0.25:
            raise InputError("resolution", "must be below 0.5", f"it is {resolution}")
        return half, half
    narrow = probs.astype(np.float32)
    info = np.finfo(np.float32 if (narrow == probs).all() else np.float64)
    for digits in range(1, int(info.precision)):
        if (np.round(probs.astype(np.float64), digits).astype(info.dtype) == probs).all():
            return 0.5 * 10.0**-digits, 0.5 * 10.0**-digits
    return max(float(info.smallest_subnormal) / 2, SMALLEST), float(info.epsneg) / 2


def _curve(rows: Rows, curve: Any) -> tuple[TrueCurve, Table | None, tuple[str, ...]]:
    """The curve, the table of those tried, and what a user should know."""
    hits = rows.weight * rows.outcomes
    total, happened = float(rows.weight.sum()), float(hits.sum())
    constant = bool((rows.p == rows.p[0]).all() and (rows.q == rows.q[0]).all())
    told: list[str] = []
    if happened in (0.0, total):
        told.append(
            f"the event {'always' if happened else 'never'} happened: the true rate is taken as the same everywhere"
        )
    elif constant:
        told.append("all scores are equal: one rate is all that can be learned")
    if told:
        rate = (happened + 0.5) / (total + 1)
        return LinearCurve("logit", "logit", float(np.log(rate) - np.log1p(-rate)), 0.0, rows.limits), None, tuple(told)
    if isinstance(curve, str) and curve == "glm":
        found = fit_curves(rows.p, rows.q, hits, rows.weight, rows.limits)
        if not found[0].converged:
            told.append("the fit of the curve did not converge")
        if _falls(found[0].curve):
            told.append("the fitted curve falls: higher scores come true less often")
        return found[0].curve, aic_table(found), tuple(told)
    recipe = PiecewiseLinear(identity=False) if isinstance(curve, str) and curve == "piecewise" else recipe_of(curve)
    soft = not np.isin(rows.outcomes, (0.0, 1.0)).all()
    data = Predictions(rows.outcomes, rows.p, weights=rows.weight, soft=soft)
    fitted = recipe.fit(data)
    return MapCurve(fitted), None, tuple(fitted.fit.cautions)


def _falls(curve: LinearCurve) -> bool:
    """Does the rate fall where the score rises?"""
    low, high = curve.rates(np.array([0.25, 0.75]), np.array([0.75, 0.25]))
    return bool(high < low)


def aic_table(found: list[LinearFit]) -> Table:
    """The curves tried, best first."""
    rows = tuple((each.name, each.n_parameters, each.aic, each.curve.intercept, each.curve.slope) for each in found)
    return Table("Curves by AIC", ("link, transform", "parameters", "AIC", "b0", "b1"), rows)


def _beta_cautions(rows: Rows, beta: BetaFit | None, same: bool) -> tuple[str, ...]:
    if beta is None:
        what = "all scores are equal" if same else "all scores are exactly 0 or 1"
        return (f"{what}: no Beta distribution can be fitted, so the scores are drawn as they are",)
    told = []
    share = sum(beta.censored) / float(rows.weight.sum())
    if share > MANY_CENSORED:
        told.append(
            f"{share:.0%} of the scores are stored as exactly 0 or 1: the Beta distribution there rests on its form"
        )
    if max(beta.alpha, beta.beta) > LARGEST / 2:
        told.append("the scores are so close together that the Beta distribution is at the end of its range")
    off = beta_distance(rows, beta)
    if off > FAR:
        told.append(
            f"the Beta distribution is off by {off:.0%} of the rows somewhere: scores='empirical' follows the data"
        )
    return tuple(told)


def beta_distance(rows: Rows, beta: BetaFit) -> float:
    """The largest distance between the distribution functions, where scores are seen."""
    from scipy.special import betainc

    order = np.lexsort((rows.p, -rows.q))
    p, q, weight = rows.p[order], rows.q[order], rows.weight[order]
    below = np.cumsum(weight) / weight.sum()
    ends = np.append((np.diff(p) > 0) | (np.diff(q) < 0), True)
    seen = (p >= rows.limits[0]) & (q >= rows.limits[1])
    fitted = np.where(p < 0.5, betainc(beta.alpha, beta.beta, p), 1 - betainc(beta.beta, beta.alpha, q))
    at = ends & seen
    return float(np.abs(below[at] - fitted[at]).max())
