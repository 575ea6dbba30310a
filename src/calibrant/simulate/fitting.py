"""A world fitted to data: similar scores, a similar curve, and a true error that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.inputs import check_choice, check_positive
from calibrant.kernels.logits import class_log_odds, sigmoid
from calibrant.maps import PiecewiseLinear, recipe_of
from calibrant.options import checked
from calibrant.predictions import Mass, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Table
from calibrant.simulate.curves import LinearCurve, MapCurve, TrueCurve, fit_curves
from calibrant.simulate.world import BetaWorld, EmpiricalWorld, WorldFit
from calibrant.types import Array, Bools, Floats

LARGEST = 1e7
"""Largest α and β: scores closer together than this makes them are practically equal."""


@dataclass(frozen=True, slots=True)
class BetaFit:
    """Parameters, mean log-likelihood, and the weights taken as censored at 0 and at 1."""

    alpha: float
    beta: float
    likelihood: float
    censored: tuple[float, float]


def fit_beta(p: Floats, q: Floats, weight: Floats, limits: tuple[float, float]) -> BetaFit:
    """Maximise Σ w·ln f(p) + w₀·ln P(p < limits[0]) + w₁·ln P(q < limits[1]) over α and β.

    Scores stored as exactly 0 or 1 are censored; some row must not be. Five sums
    suffice: the weight, Σ ln p and Σ ln q of the rows that are not censored, and the
    weights at either end.
    """
    from scipy.optimize import minimize
    from scipy.special import betaln

    at_zero, at_one = p < limits[0], q < limits[1]
    inside = ~(at_zero | at_one)
    total = float(weight.sum())
    low, high, inner = (float(weight[rows].sum()) / total for rows in (at_zero, at_one, inside))
    mean_log_p, mean_log_q = (float(weight[inside] @ np.log(side[inside])) / total for side in (p, q))

    def loss(logs: Floats) -> float:
        a, b = np.exp(logs)
        value = inner * betaln(a, b) - (a - 1) * mean_log_p - (b - 1) * mean_log_q
        value -= low * log_tail(limits[0], a, b) if low else 0.0
        value -= high * log_tail(limits[1], b, a) if high else 0.0
        return float(value)

    mean = float(weight @ p) / total
    variance = max(float(weight @ (p - mean) ** 2) / total, 1e-12)
    size = max(mean * (1 - mean) / variance - 1, 0.05)
    start = np.log(np.clip([mean * size, (1 - mean) * size], 1e-3, LARGEST / 10))
    ends = (np.log(1e-8), np.log(LARGEST))
    options: Any = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000}
    found = minimize(loss, start, method="Nelder-Mead", bounds=(ends, ends), options=options)
    alpha, beta = np.exp(found.x).tolist()
    return BetaFit(alpha, beta, -float(found.fun), (low * total, high * total))


def log_tail(x: float, a: float, b: float) -> float:
    """ln P(X < x) for X ~ Beta(a, b) and small x, far below where the probability itself underflows."""
    from scipy.special import betaln, hyp2f1

    return float(a * np.log(x) - np.log(a) - betaln(a, b) + np.log(hyp2f1(a, 1 - b, a + 1, x)))


MANY_CENSORED = 0.25
"""Share of saturated scores from which on a fitted Beta distribution rests on its form more than on the data."""

FAR = 0.05
"""Distance between the distribution functions of the data and of the Beta distribution that deserves a warning."""

SMALLEST = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores of one event with their complements, outcomes and weights.

    `limits`: how near to 0 and 1 a score can be stored.
    """

    p: Floats
    q: Floats
    outcomes: Floats
    weight: Floats
    limits: tuple[float, float]

    @property
    def uncensored(self) -> Bools:
        """Which scores are not saturated?"""
        return (self.p >= self.limits[0]) & (self.q >= self.limits[1])

    @property
    def constant(self) -> bool:
        """Are all scores equal?"""
        return bool((self.p == self.p[0]).all() and (self.q == self.q[0]).all())


@checked
def fit_world(
    labels: Any,
    probs: Any = None,
    *,
    view: Any = "auto",
    scores: Literal["beta", "empirical"] = "beta",
    curve: Any = "glm",
    resolution: float | None = None,
    counts: Any = None,
    weights: Any = None,
) -> BetaWorld | EmpiricalWorld:
    """A world with scores and a calibration curve like those of data.

    Parameters
    ----------
    labels, probs
        Truth first; or one `Predictions`.
    view
        The yes/no question to fit: `binary`, `top` or `class k`. The world is one of
        that event.
    scores
        `"beta"`: a Beta distribution by maximum likelihood. `"empirical"`: these
        scores, resampled.
    curve
        `"glm"`: the best by AIC of generalised linear models. `"isotonic"`,
        `"piecewise"`, `"spline"`, `"gaussian_process"`, or any name or recipe of a map
        of a single event: the map fitted to these rows, taken as the truth. A map that
        follows the noise, as isotonic regression does, makes a world with too large an
        error.
    resolution
        The step at which scores were stored. Those stored as exactly 0 or 1 are taken
        to be nearer to it than half a step. By default the precision of the numbers, or
        their last decimal if they were rounded. Logits are exact.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> from calibrant.simulate import fit_world, named_world
    >>> data = named_world("resnet110_c100").sample(20_000, seed=0)
    >>> world = fit_world(data)
    >>> world.calibration
    ln(1 − c) = -0.1261 + 0.2811·ln(1 − p)
    >>> world.fit.table.rows[0][0]
    'logflip, logflip: b0, b1'
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_choice("scores", scores, ("beta", "empirical"))
    name = predictions.view(view)
    rows = _rows(predictions, name, resolution)
    calibration, table, cautions = _curve(rows, curve)
    beta = None
    if scores == "beta":
        possible = not rows.constant and rows.uncensored.any()
        beta = fit_beta(rows.p, rows.q, rows.weight, rows.limits) if possible else None
        cautions += _beta_cautions(rows, beta)
    fit = WorldFit(predictions.n, name, rows.limits, table, cautions)
    if beta is None:
        return EmpiricalWorld(rows.p, calibration, rows.weight, "", fit)
    return BetaWorld(beta.alpha, beta.beta, calibration, "", fit)


def _rows(predictions: Predictions, view: str, resolution: float | None) -> Rows:
    event = predictions.event(view)
    weight = np.ones(len(event.probs)) if event.weights is None else event.weights
    kept = weight > 0
    if predictions.logits is None:
        p = event.probs.astype(np.float64)
        q, limits = 1 - p, storage_limits(event.probs, resolution)
    else:
        z = _log_odds(predictions, view)
        p, q, limits = sigmoid(z), sigmoid(-z), (SMALLEST, SMALLEST)
    return Rows(p[kept], q[kept], event.outcomes.astype(np.float64)[kept], weight[kept], limits)


def _log_odds(predictions: Predictions, view: str) -> Floats:
    """Log-odds of the event from the logits, which are not rounded to 1."""
    assert predictions.logits is not None
    logits = predictions.logits.astype(np.float64)
    if predictions.is_binary:
        return -logits if view == f"class {predictions.classes[0]}" else logits
    odds = class_log_odds(logits)
    if view == "top":
        return odds[np.arange(len(odds)), predictions.probs.argmax(axis=1)]
    names = [f"class {c}" for c in predictions.classes]
    return odds[:, 1 if view == "binary" else names.index(view)]


def storage_limits(probs: Array, resolution: float | None = None) -> tuple[float, float]:
    """How near a score must have been to 0 and to 1 to be stored as such: half a step at either end."""
    if resolution is not None:
        half = check_positive("resolution", resolution) / 2
        if half >= 0.25:
            raise InputError("resolution", "must be below 0.5", f"it is {resolution}")
        return half, half
    info = np.finfo(np.float32 if (probs.astype(np.float32) == probs).all() else np.float64)
    for digits in range(1, int(info.precision)):
        if (np.round(probs.astype(np.float64), digits).astype(info.dtype) == probs).all():
            return 0.5 * 10.0**-digits, 0.5 * 10.0**-digits
    return max(float(info.smallest_subnormal) / 2, SMALLEST), float(info.epsneg) / 2


def _curve(rows: Rows, curve: Any) -> tuple[TrueCurve, Table | None, tuple[str, ...]]:
    """The curve, the table of those tried, and warnings."""
    hits = rows.weight * rows.outcomes
    total, occurred = float(rows.weight.sum()), float(hits.sum())
    if occurred in (0.0, total) or rows.constant:
        why = "all scores are equal: one rate is all that can be learned"
        if occurred in (0.0, total):
            why = f"the event {'always' if occurred else 'never'} occurred: the true rate is taken to be the same everywhere"
        rate = (occurred + 0.5) / (total + 1)
        return LinearCurve("logit", "logit", float(np.log(rate) - np.log1p(-rate)), 0.0, rows.limits), None, (why,)
    if isinstance(curve, str) and curve == "glm":
        fits = fit_curves(rows.p, rows.q, hits, rows.weight, rows.limits)
        best, columns = fits[0], ("link, transform", "parameters", "AIC", "b0", "b1")
        tried = tuple((each.name, each.n_parameters, each.aic, each.curve.intercept, each.curve.slope) for each in fits)
        low, high = best.curve.rates(np.array([0.25, 0.75]), np.array([0.75, 0.25]))
        cautions = [] if best.converged else ["the fit of the curve did not converge"]
        cautions += ["the fitted curve falls: higher scores have lower rates"] if high < low else []
        return best.curve, Table("Curves by AIC", columns, tried), tuple(cautions)
    recipe = PiecewiseLinear(identity=False) if isinstance(curve, str) and curve == "piecewise" else recipe_of(curve)
    soft = not np.isin(rows.outcomes, (0.0, 1.0)).all()
    fitted = recipe.fit(Predictions.borrowed(rows.outcomes, rows.p, soft=soft).with_mass(Mass(rows.weight)))
    return MapCurve(fitted), None, tuple(fitted.fit.cautions)


def _beta_cautions(rows: Rows, beta: BetaFit | None) -> tuple[str, ...]:
    if beta is None:
        what = "all scores are equal" if rows.constant else "all scores are exactly 0 or 1"
        return (f"{what}: no Beta distribution can be fitted, so the scores are resampled",)
    share, off = sum(beta.censored) / float(rows.weight.sum()), beta_distance(rows, beta)
    saturated = f"{share:.0%} of the scores are stored as exactly 0 or 1: the Beta distribution there rests on its form"
    narrow = "the scores are so close together that the Beta distribution is at the end of its range"
    misfit = f"the Beta distribution is off by {off:.0%} of the rows somewhere: scores='empirical' follows the data"
    found = {saturated: share > MANY_CENSORED, narrow: max(beta.alpha, beta.beta) > LARGEST / 2, misfit: off > FAR}
    return tuple(text for text, applies in found.items() if applies)


def beta_distance(rows: Rows, beta: BetaFit) -> float:
    """The largest distance between the distribution functions at scores that are not saturated."""
    from scipy.special import betainc

    order = np.lexsort((rows.p, -rows.q))
    p, q, weight = rows.p[order], rows.q[order], rows.weight[order]
    below = np.cumsum(weight) / weight.sum()
    fitted = np.where(p < 0.5, betainc(beta.alpha, beta.beta, p), 1 - betainc(beta.beta, beta.alpha, q))
    at = np.append((np.diff(p) > 0) | (np.diff(q) < 0), True) & rows.uncensored[order]
    return float(np.abs(below[at] - fitted[at]).max())
