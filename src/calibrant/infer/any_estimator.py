"""Intervals of any estimator: by test inversion along a path of curves, or by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np

from calibrant.infer.error import KEPT, event_ends, inverted
from calibrant.infer.error_path import ErrorPath, path_of
from calibrant.inputs import check_choice, check_count, check_level, check_seed
from calibrant.kernels.draws.laws import Law
from calibrant.kernels.fit.log_odds_process import bounded_log_odds
from calibrant.kernels.logits import sigmoid
from calibrant.options import checked
from calibrant.predictions import Event, Predictions, admit
from calibrant.predictions.content import in_own_order
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval
from calibrant.types import Floats, Seed

Streams = Iterator[np.random.Generator]

CAUTION = (
    "a bootstrap interval of a calibration error: resampled rows show more error than the rows themselves, so it "
    "may miss the truth far more often than its level says, always where the model is nearly calibrated"
)

METHOD = "test inversion along the fitted curve"

BOOTSTRAPS = {"bootstrap": "percentile bootstrap", "bca": "BCa bootstrap"}

LEAST_DRAWS = 50
"""Draws below which neither moments nor quantiles of an estimate are worth anything."""

CLOSE = 1e-2
"""Precision of t, the place on the path, where distributions are drawn."""

PARTS = 100
"""Parts of the rows that are left out in turn for BCa; single rows where there are no more."""


@checked
def interval_of(
    estimator: Callable[..., Any],
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["inversion", "bootstrap", "bca"] = "inversion",
    level: float = 0.95,
    n_draws: int = 200,
    seed: Seed = 0,
    view: Any = "auto",
    counts: Any = None,
    weights: Any = None,
) -> Estimate:
    """The estimate of any estimator with an interval for the value that it would show without noise.

    Inversion follows a path of calibration curves from "calibrated" through the fitted
    curve and beyond (see `calibration_error_interval`). For each curve, sets of labels
    are drawn for the distribution of the estimate, and the estimator itself, on the true
    rates as soft labels, gives the value without noise. The interval holds the values of
    all curves under which the estimate is not extreme; for estimates of the calibration
    error itself, which bins and fits may hide, also those of
    `calibration_error_interval`. It takes about 20 · `n_draws` calls of the estimator.
    Rows are first put in an order of their own, by their content: the order in which they
    come changes nothing.

    Parameters
    ----------
    estimator
        A function of a `Predictions`, such as `calibrant.smooth_error` or
        `partial(calibrant.sweep_error, bins=EqualWidth)`.
    labels, probs
        Labels and predicted probabilities, or a `Predictions` alone.
    method
        "inversion", or one that resamples rows: "bootstrap" (percentiles) and "bca" are
        here because papers print them, and carry a warning.
    level
        Confidence of the interval.
    n_draws
        Sets of labels per curve, or resampled data sets; at least 50.
    seed
        An integer or a sequence of integers.
    view
        The event to ask about: "auto", "binary", "top" or "class k".
    counts
        How often each row occurred; by default once.
    weights
        How much each row matters, relative to the others; by default all the same.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.infer import interval_of
    >>> valid, test = cal.example()
    >>> found = interval_of(cal.smooth_error, test, n_draws=50)
    >>> found.interval.low < found.value < found.interval.high
    True
    >>> interval_of(cal.ece, test, method="bootstrap", n_draws=50).cautions[-1][:20]
    'a bootstrap interval'
    """
    check_choice("method", method, ("inversion", *BOOTSTRAPS))
    check_level(level)
    seed = check_seed(seed)
    check_count(n_draws, "n_draws", LEAST_DRAWS)
    predictions = in_own_order(admit(labels, probs, counts=counts, weights=weights))

    def measure(rows: Predictions) -> Estimate:
        found = estimator(rows) if view == "auto" else estimator(rows, view=view)
        if not isinstance(found, Estimate):
            raise InputError("estimator", "must return an Estimate", f"it returned a {type(found).__name__}")
        return found

    estimate = measure(predictions)
    if method != "inversion":
        found = _bootstrapped(measure, predictions, estimate.value, method, level, _streams(seed, n_draws))
        interval = Interval(*found, float(level), BOOTSTRAPS[method])
        return replace(estimate, interval=interval, cautions=(*estimate.cautions, CAUTION))
    chosen = predictions.view(view)
    if estimate.settings.get("view", chosen if predictions.is_binary else None) != chosen:
        about = f"{estimate.title} is about {estimate.settings.get('view', 'the whole distribution')}"
        raise InputError("estimator", "must measure one question for inversion", about, "Pass method='bootstrap'")
    event = predictions.event(chosen)
    path = path_of(event)
    ends = _inverted(estimator, event, path, estimate.value, level, n_draws, seed)
    norm = estimate.settings.get("norm")
    if norm in (1, 2):
        power = 1 if estimate.settings.get("root", True) else norm
        ends = (*ends, *(end**power for end in event_ends(event, norm, level)))
    return replace(estimate, interval=Interval(min(ends), max(ends), float(level), METHOD))


def _inverted(
    estimator: Callable[..., Any], event: Event, path: ErrorPath, value: float, level: float, n_draws: int, seed: int
) -> tuple[float, ...]:
    """Ends by drawing labels under each curve, with the same random numbers for all curves."""
    p, mass = event.probs.astype(np.float64), event.mass
    logit = bounded_log_odds(p)
    away = np.interp(logit, path.logit, path.away)

    def rates(t: float) -> Floats:
        return sigmoid(logit + t * away) if t else p

    @cache
    def law(t: float) -> Law:
        drawn = (rng.random(len(p)) < rates(t) for rng in _streams(seed, n_draws))
        values = np.array([float(estimator(Predictions.borrowed(y, p).with_mass(mass))) for y in drawn])
        centred = values - values.mean()
        return Law(float(values.mean()), float((centred**2).mean()), float((centred**3).mean()))

    def truth(t: float) -> float:
        return float(estimator(Predictions.borrowed(rates(t), p, soft=True).with_mass(mass)))

    cautious = max(value, law(0.0).mean)  # less noise than on average does not prove an error small
    return tuple(truth(t) for t in inverted(law, value, cautious, KEPT[1] * (1 - level) / 2, CLOSE))


def _streams(seed: int, n_draws: int) -> Streams:
    return (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n_draws))


def _bootstrapped(
    measure: Callable[[Predictions], Estimate],
    rows: Predictions,
    value: float,
    method: str,
    level: float,
    streams: Streams,
) -> tuple[float, float]:
    """Percentiles of resampled estimates; for BCa corrected for bias and for a changing spread."""
    n = len(rows.labels)
    drawn = np.array([measure(rows.rows(rng.integers(0, n, n))).value for rng in streams])
    shares = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        parts = np.arange(n) * min(PARTS, n) // n
        left_out = np.array([measure(rows.rows(parts != k)).value for k in range(parts[-1] + 1)])
        shares = _corrected(shares, drawn, value, left_out)
    low, high = np.quantile(drawn, shares)
    return float(low), float(high)


def _corrected(shares: Floats, drawn: Floats, value: float, left_out: Floats) -> Floats:
    """Efron's bias-corrected and accelerated percentiles."""
    from scipy.special import ndtr, ndtri

    below = np.clip((drawn < value).mean() + (drawn == value).mean() / 2, 0.5 / len(drawn), 1 - 0.5 / len(drawn))
    bias, away = ndtri(below), left_out.mean() - left_out
    spread = float((away**2).sum()) ** 1.5
    acceleration = float((away**3).sum()) / (6 * spread) if spread else 0.0
    z = bias + ndtri(shares)
    return np.asarray(ndtr(bias + z / (1 - acceleration * z)))
