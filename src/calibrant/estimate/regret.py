"""What does miscalibration cost whoever decides by a threshold?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.estimate.selective import clustered_mean
from calibrant.inputs import check_column, check_count, check_seed
from calibrant.interval import LimitedMean, Limits
from calibrant.maps import GaussianProcessMap, recipe_of
from calibrant.maps.folds import in_folds
from calibrant.maps.log_space import rows_that_count
from calibrant.methods import estimator
from calibrant.predictions import Predictions, admit, as_predictions
from calibrant.problems import InputError
from calibrant.results import Curve, Estimate, Interval, Line
from calibrant.types import Floats, Seed

THRESHOLDS = np.arange(1, 100) / 100


@estimator("regret", "largest decision regret", "CDL", "net benefit", "decision curve", of_the_error=False)
def decision_regret(
    labels: Any,
    probs: Any = None,
    *,
    method: Any = None,
    cross_fitted: bool = True,
    n_folds: int = 5,
    thresholds: Any = None,
    n_draws: int = 0,
    seed: Seed = 0,
    level: float = 0.95,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """How much would decisions by recalibrated predictions save, at the worst threshold?

    Whoever acts when p ≥ t, because a false alarm costs t and a miss 1 − t, pays
    R(t) = E[|c(p) − t|·1{t between p and c(p)}] per row more than with the true rates c. The
    target is the largest R(t) over `thresholds`. The largest gain over all bounded payoffs
    is at most twice as large.

    `parts["curve"]` is R with an interval at each threshold, `parts["threshold"]` where it is
    largest: the largest of many noisy values is too high, so read the curve there with care.
    `parts["net_benefit"]` holds the decision curves mean((y − t)[p ≥ t])/(1 − t) of the
    predictions (`model`), of the recalibrated ones (`repaired`) and of acting always
    (`always`); never acting has net benefit 0. Rows of a group (`Predictions(..., groups=)`)
    stay in one fold, and the interval is clustered by group.

    Parameters
    ----------
    labels, probs
        Outcomes first, then predicted probabilities; or one `Predictions`, or a state
        from `collect`.
    method
        Name or recipe of the map that estimates c; by default a Gaussian process.
    cross_fitted
        Fit the map and choose the threshold without the rows they are judged by, and count
        the outcomes of the decisions that change: mean of (y − t)([ĉ ≥ t] − [p ≥ t]). Its
        expectation never exceeds the largest regret, whatever the map; the low end of the
        interval is a lower bound on the regret, the high end is no upper bound. `False` puts
        the map fitted on the same rows into the formula, which is too high near calibration.
    n_folds
        Number of folds.
    thresholds
        Between 0 and 1; by default 0.01, 0.02, …, 0.99.
    n_draws
        Null draws of the labels from the predictions: their mean value is `noise_floor`, and
        `parts["p_value"]` the exact p-value. Each costs as much as the value itself;
        `method="isotonic"` is the quickest.
    seed
        Of the null draws.
    level
        Confidence of the intervals.
    view
        The yes/no question: `binary`, `top` (is the most probable class right?) or
        `class k`; `auto` is `binary` for one column and `top` for several.
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Notes
    -----
    Estimates: what deciding by the predictions costs more than deciding by the true
      rates, at the worst threshold.
    Bias: down, as neither the map nor the threshold is the best one; fitted on the same
      rows: up.
    Cost: a fit of the map for each fold; as often again for each redraw.
    Source: Hu & Wu 2024; Vickers & Elkin 2006 for net benefit.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> found = decision_regret(rng.random(4000) < p**2, p)
    >>> round(found.value, 3), round(found.parts["threshold"], 2)
    (0.027, 0.36)
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    check_count(n_folds, "n_folds", 2)
    check_count(n_draws, "n_draws", 0)
    seed = check_seed(seed)
    t = THRESHOLDS if thresholds is None else _checked(thresholds)
    recipe = GaussianProcessMap() if method is None else recipe_of(method)
    event = predictions.event(view)
    rows = rows_that_count(as_predictions(event, predictions.groups))
    find = _cross_fitted if cross_fitted else _in_sample
    found = find(recipe, rows, t, n_folds, level)
    parts: dict[str, Any] = {
        "curve": found.curve,
        "threshold": float(t[np.argmax(found.curve.y)]),
        "net_benefit": _net_benefits(found.rows, found.recalibrated, t),
    }
    floor = None
    if n_draws:
        null = np.array([find(recipe, one, t, n_folds, level).value for one in _redrawn(rows, n_draws, seed)])
        floor, parts["p_value"] = float(null.mean()), (1 + int((null >= found.value).sum())) / (n_draws + 1)
    how = f"cross-fitted over {n_folds} folds" if cross_fitted else "fitted on the same rows"
    described = {"view": predictions.view(view), "method": repr(recipe), "fit": how, "n_draws": n_draws}
    name, title, n = "decision_regret", "largest decision regret", predictions.n
    return Estimate(name, title, found.value, n, found.interval, floor, described, parts, found.cautions)


@dataclass(frozen=True, slots=True, eq=False)
class _Regret:
    """What a fit finds: the largest regret, R at each threshold, and the rows with their recalibrated predictions."""

    value: float
    curve: Curve
    rows: Predictions
    recalibrated: Floats
    interval: Interval | None = None
    cautions: tuple[str, ...] = ()


def _cross_fitted(recipe: Any, rows: Predictions, t: Floats, n_folds: int, level: float) -> _Regret:
    rows, masks = in_folds(rows, n_folds)
    p, y = rows.probs.astype(np.float64), rows.labels.astype(np.float64)
    recalibrated, gains = np.empty(len(rows.labels)), np.empty(len(rows.labels))
    for held_out in masks:
        others = rows.rows(~held_out)
        fitted = recipe.fit(others)
        worst = t[np.argmax(_plug_in(others, _applied(fitted, others), t))]
        recalibrated[held_out] = _applied(fitted, rows.rows(held_out))
        acts = (recalibrated[held_out] >= worst).astype(np.float64) - (p[held_out] >= worst)
        gains[held_out] = (y[held_out] - worst) * acts
    value, interval, cautions = clustered_mean(gains, rows.groups, level, Limits(-1.0, 1.0), rows.weights, rows.squares)
    return _Regret(value, _curve(rows, recalibrated, t, level), rows, recalibrated, interval, cautions)


def _in_sample(recipe: Any, rows: Predictions, t: Floats, n_folds: int, level: float) -> _Regret:  # noqa: ARG001
    recalibrated = _applied(recipe.fit(rows), rows)
    values = _plug_in(rows, recalibrated, t)
    unknown = np.full(len(t), np.nan)
    share = _between(rows, recalibrated, np.ones(len(rows.labels)), t)
    warning = ("regret fitted on the same rows follows their noise: it is too high near calibration",)
    return _Regret(
        float(values.max()), Curve(t, values, unknown, unknown, share, level), rows, recalibrated, None, warning
    )


def _applied(fitted: Any, rows: Predictions) -> Floats:
    return np.clip(rows.probs.astype(np.float64) + fitted.moves(rows.probs), 0, 1)


def _checked(thresholds: Any) -> Floats:
    t = np.unique(check_column(thresholds, "thresholds"))
    if t[0] <= 0 or t[-1] >= 1:
        raise InputError("thresholds", "must lie between 0 and 1", f"they run from {t[0]:g} to {t[-1]:g}")
    return t


def _plug_in(rows: Predictions, recalibrated: Floats, t: Floats) -> Floats:
    """R(t) with the recalibrated predictions in place of the true rates."""
    sign = np.sign(recalibrated - rows.probs)
    return _between(rows, recalibrated, sign * recalibrated, t) - t * _between(rows, recalibrated, sign, t)


def _curve(rows: Predictions, recalibrated: Floats, t: Floats, level: float) -> Curve:
    """What changed decisions gain at each threshold, with intervals; the support is the share of rows they are.

    A decision to act gains y − t, one not to act t − y, and one that stays 0: five values, whose shares tell the interval.
    """
    y, sign = rows.labels.astype(np.float64), np.sign(recalibrated - rows.probs)
    total = float(rows.n if rows.weights is None else rows.weights.sum())
    kinds = [(sign > 0) * y, (sign > 0) * (1 - y), (sign < 0) * y, (sign < 0) * (1 - y)]
    shares = np.array([_between(rows, recalibrated, kind.astype(np.float64), t) for kind in kinds])
    changed = shares.sum(axis=0)
    shares = np.vstack([shares, np.maximum(1 - changed, 0)])
    values = np.array([1 - t, -t, t - 1, t, np.zeros(len(t))])
    ends = np.array([_gained(values[:, j], total * shares[:, j], level) for j in range(len(t))])
    return Curve(t, (shares * values).sum(axis=0), ends[:, 0], ends[:, 1], changed, level)


def _gained(values: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """Ends of the interval of a mean gain; nothing is known of one that no row has."""
    ends = float(values.min()), float(values.max())
    interval, _ = LimitedMean.of(values, np.maximum(counts, 0), Limits(*ends)).interval(level)
    return ends if interval is None else (interval.low, interval.high)


def _between(rows: Predictions, other: Floats, values: Floats, t: Floats) -> Floats:
    """Mean over all rows of the values of those whose decision differs: one is t or more, the other less."""
    p = rows.probs.astype(np.float64)
    return _mean_between(np.minimum(p, other), np.maximum(p, other), values, rows.weights, t)


def _mean_between(low: Floats, high: Floats, values: Floats, weights: Floats | None, t: Floats) -> Floats:
    """Mean of values·1{low < t ≤ high}, for each threshold."""
    w = np.ones(len(low)) if weights is None else weights
    first, last = (np.searchsorted(t, ends, side="right") for ends in (low, high))
    changes = np.bincount(first, w * values, len(t) + 1) - np.bincount(last, w * values, len(t) + 1)
    means: Floats = np.cumsum(changes)[:-1] / w.sum()
    return means


def _net_benefits(rows: Predictions, recalibrated: Floats, t: Floats) -> dict[str, Line]:
    none, y = np.full(len(rows.labels), -1.0), rows.labels.astype(np.float64)

    def acting(predicted: Floats) -> Line:
        hits = _mean_between(none, predicted, y, rows.weights, t)
        return Line(
            t, (hits - t * _mean_between(none, predicted, np.ones(len(rows.labels)), rows.weights, t)) / (1 - t)
        )

    return {
        "model": acting(rows.probs.astype(np.float64)),
        "repaired": acting(recalibrated),
        "always": acting(np.ones(len(rows.labels))),
    }


def _redrawn(rows: Predictions, n_draws: int, seed: int) -> Iterator[Predictions]:
    """The same predictions with labels drawn from them: how often each occurs is all that matters."""
    pooled = rows.event("binary").pooled
    if rows.soft or rows.groups is not None:
        raise InputError(
            "n_draws", "must be 0", f"{'soft labels' if rows.soft else 'rows in groups'} cannot be redrawn"
        )
    rng, labels = np.random.default_rng(seed), np.repeat([1, 0], len(pooled.values))
    if rows.mass is not None and rows.squares is not None:
        at, mass = rows.mass.single()
        p = rows.probs[at]
        yield from (Predictions.borrowed(rng.random(len(p)) < p, p).with_mass(mass) for _ in range(n_draws))
        return
    for _ in range(n_draws):
        hits = rng.binomial(pooled.weight.astype(np.int64), pooled.values)
        drawn = np.concatenate([hits, pooled.weight - hits])
        yield Predictions.borrowed(labels, np.tile(pooled.values, 2), counts=drawn).rows(drawn > 0)
