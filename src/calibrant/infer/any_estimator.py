"""Intervals of any estimator: by test inversion along a path of worlds, or by the bootstrap, with its caution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.infer.error import KEPT, METHOD, error_ends
from calibrant.infer.error_path import ErrorPath, path_of
from calibrant.infer.inversion import inverted
from calibrant.inputs import check_choice, check_count, check_level
from calibrant.kernels.draws.binned_law import Law
from calibrant.kernels.fit.curve_path import bounded_log_odds
from calibrant.kernels.logits import sigmoid
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError
from calibrant.results import Estimate, Interval

Floats = NDArray[np.float64]
Estimator = Callable[..., Any]

CAUTION = (
    "a bootstrap interval of a calibration error: resampled rows show more error than the rows themselves, so it may miss the "
    "truth far more often than its level says, always where the model is nearly calibrated"
)

LEAST_DRAWS = 50


def interval_of(
    estimator: Estimator,
    labels: Any,
    probs: Any = None,
    *,
    method: Literal["inversion", "bootstrap", "bca"] = "inversion",
    level: float = 0.95,
    draws: int = 200,
    seed: Any = 0,
    view: Any = "auto",
    weights: Any = None,
) -> Estimate:
    """The estimate of any estimator with an interval around what it would show without noise.

    `inversion`: worlds on a path from "calibrated" through the fitted curve and beyond (see `calibration_error_interval`). In each,
    `draws` sets of labels tell the law of the estimate, and the estimator itself, on the true rates as soft labels, the value
    without noise. The interval holds the values of all worlds in which the estimate seen is not extreme; for estimates of the
    calibration error itself, which bins and fits may hide, also those of `calibration_error_interval`. About 20 · `draws` calls.
    `bootstrap` (percentiles) and `bca` resample rows; they are here because papers print them, and carry a caution.

    The estimator takes a `Predictions`, such as `calibrant.smooth_error` or `partial(calibrant.sweep_error, bins="width")`.

    Examples
    --------
    >>> import calibrant as cal
    >>> from calibrant.infer import interval_of
    >>> valid, test = cal.example()
    >>> found = interval_of(cal.smooth_error, test, draws=50)
    >>> found.interval.low < found.value < found.interval.high
    True
    >>> interval_of(cal.ece, test, method="bootstrap", draws=50).cautions[-1][:20]
    'a bootstrap interval'
    """
    check_choice("method", method, ("inversion", "bootstrap", "bca"))
    check_level(level)
    check_count(draws, "draws", LEAST_DRAWS)
    predictions = admit(labels, probs, weights=weights)
    if method != "inversion":
        seen, interval = _bootstrapped(estimator, predictions, view, method, level, draws, seed)
        return replace(seen, interval=interval, cautions=(*seen.cautions, CAUTION))
    seen = _asked(estimator, predictions, view)
    asked = predictions.view(view)
    if seen.settings.get("view", asked if predictions.is_binary else None) != asked:
        about = f"{seen.title} is about {seen.settings.get('view', 'the whole distribution')}"
        raise InputError("estimator", "must measure one question for inversion", about, "Pass method='bootstrap'")
    event = predictions.event(asked)
    if event.weights is not None:
        raise InputError("weights", "cannot be used with inversion", advice="Repeat rows, or pass method='bootstrap'")
    path = path_of(event)
    ends = _worlds(estimator, event, path, seen.value, level, draws, seed)
    norm = seen.settings.get("norm")
    if norm in (1, 2):
        power = 1 if seen.settings.get("root", True) else norm
        ends = (*ends, *(end**power for end in error_ends(path, norm, level)))
    return replace(seen, interval=Interval(min(ends), max(ends), float(level), METHOD))


def _asked(estimator: Estimator, predictions: Predictions, view: Any) -> Estimate:
    found = estimator(predictions) if view == "auto" else estimator(predictions, view=view)
    if not isinstance(found, Estimate):
        raise InputError("estimator", "must return an Estimate", f"it returned a {type(found).__name__}")
    return found


def _worlds(
    estimator: Estimator, event: Event, path: ErrorPath, seen: float, level: float, draws: int, seed: Any
) -> tuple[float, ...]:
    """Ends of the interval by drawing labels in each world; the same random numbers everywhere, so that laws move smoothly."""
    p = event.probs.astype(np.float64)
    logit = bounded_log_odds(p)
    away = np.interp(logit, path.logit, path.away)
    laws: dict[float, Law] = {}

    def rates(t: float) -> Floats:
        return sigmoid(logit + t * away) if t else p

    def law(t: float) -> Law:
        if t not in laws:
            happened = (rng.random(len(p)) < rates(t) for rng in _streams(seed, draws))
            values = np.array([float(estimator(Predictions(y, p))) for y in happened])
            centred = values - values.mean()
            laws[t] = Law(float(values.mean()), float((centred**2).mean()), float((centred**3).mean()))
        return laws[t]

    def truth(t: float) -> float:
        return float(estimator(Predictions(rates(t), p, soft=True)))

    unlucky = max(seen, law(0.0).mean)
    ends = inverted(
        lambda t: 1 - law(t).at_most(seen), lambda t: law(t).at_most(unlucky), KEPT * (1 - level) / 2, ROUGHLY
    )
    return truth(ends[0]), truth(ends[1])


ROUGHLY = 1e-2
"""To which t is found where laws are drawn."""


def _streams(seed: Any, draws: int) -> Iterator[np.random.Generator]:
    return (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(draws))


def _bootstrapped(
    estimator: Estimator, predictions: Predictions, view: Any, method: str, level: float, draws: int, seed: Any
) -> tuple[Estimate, Interval]:
    """Percentiles of resampled estimates, for BCa corrected for bias and for how the spread moves with the value."""
    seen, n = _asked(estimator, predictions, view), predictions.n
    found = np.array(
        [_asked(estimator, predictions.rows(rng.integers(0, n, n)), view).value for rng in _streams(seed, draws)]
    )
    chances = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        chances = _corrected(chances, found, seen.value, _left_out(estimator, predictions, view))
    low, high = np.quantile(found, chances)
    name = {"bootstrap": "percentile bootstrap", "bca": "BCa bootstrap"}[method]
    return seen, Interval(float(low), float(high), float(level), name)


def _corrected(chances: Floats, found: Floats, value: float, left_out: Floats) -> Floats:
    """Efron's bias-corrected and accelerated percentiles."""
    from scipy.special import ndtr, ndtri

    below = np.clip((found < value).mean() + (found == value).mean() / 2, 0.5 / len(found), 1 - 0.5 / len(found))
    bias, away = ndtri(below), left_out.mean() - left_out
    spread = float((away**2).sum()) ** 1.5
    bend = float((away**3).sum()) / (6 * spread) if spread else 0.0
    z = bias + ndtri(chances)
    return np.asarray(ndtr(bias + z / (1 - bend * z)))


PARTS = 100
"""Parts of the rows that are left out in turn for BCa; every row by itself where there are no more."""


def _left_out(estimator: Estimator, predictions: Predictions, view: Any) -> Floats:
    n = predictions.n
    parts = np.arange(n) * min(PARTS, n) // n
    return np.array([_asked(estimator, predictions.rows(parts != k), view).value for k in range(parts[-1] + 1)])
