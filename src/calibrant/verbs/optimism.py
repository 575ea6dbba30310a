"""How well would a prediction model do on new patients, judged by those it was developed on? Harrell's bootstrap."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.arrays import to_numpy
from calibrant.estimate.clinical.concordance import c_statistic, concordance
from calibrant.estimate.clinical.curve import integrated_calibration_index
from calibrant.estimate.clinical.line import calibration_intercept, calibration_slope
from calibrant.estimate.clinical.ratios import observed_over_expected
from calibrant.infer.possible_curves import possible_curves
from calibrant.inputs import check_choice, check_count, check_level, check_seed
from calibrant.kernels.fit.log_odds_line import LogOddsRows
from calibrant.options import checked
from calibrant.predictions import Event, Predictions
from calibrant.problems import InputError
from calibrant.progress import reported
from calibrant.results import Answer, Estimate, Interval, Keyed, Table, ends, kind, rows_by_key
from calibrant.results.constraints import Probability
from calibrant.results.tables import gap_cell
from calibrant.score import brier_score
from calibrant.types import Array, Floats, Indices, Seed

MOST_REDRAWN = 100
"""Resamples without an event, or with events only, that are drawn again before the rows are refused."""


def _slope(event: Event) -> float:
    return _line(event)[1]


def _intercept(event: Event) -> float:
    return _line(event)[0]


def _line(event: Event) -> tuple[float, float]:
    """Intercept and slope; infinite where the predictions separate events from all others, undefined without a spread."""
    rows = _rows(event)
    if not np.ptp(rows.odds) > 0:
        return np.nan, np.nan
    if side := rows.separation():
        return np.nan, side * np.inf
    a, b = rows.line().coefficients.tolist()
    return a, b


def _level(event: Event) -> float:
    return float(_rows(event).level(1.0).coefficients[0])


def _rows(event: Event) -> LogOddsRows:
    pooled = event.pooled
    return LogOddsRows.of(pooled.values, pooled.weight, pooled.hits)


def _brier(event: Event) -> float:
    return float(2 * np.mean((event.probs - event.outcomes) ** 2))


def _ratio(event: Event) -> float:
    return float(event.outcomes.sum() / event.probs.sum())


def _ici(event: Event) -> float:
    return float(np.median(possible_curves(event).errors(1)))


@dataclass(frozen=True)
class _Measure:
    """A number of a model on rows: quickly for every draw, and once with its interval."""

    quick: Callable[[Event], float]
    estimated: Callable[[Predictions, float], Estimate]


MEASURES: dict[str, _Measure] = {
    "calibration_slope": _Measure(_slope, lambda rows, level: calibration_slope(rows, level=level)),
    "joint_intercept": _Measure(
        _intercept, lambda rows, level: calibration_slope(rows, level=level).parts["intercept"]
    ),
    "calibration_intercept": _Measure(_level, lambda rows, level: calibration_intercept(rows, level=level)),
    "observed_over_expected": _Measure(_ratio, lambda rows, level: observed_over_expected(rows, level=level)),
    "c_statistic": _Measure(
        lambda event: concordance(event.pooled), lambda rows, level: c_statistic(rows, level=level)
    ),
    "brier_score": _Measure(_brier, lambda rows, level: brier_score(rows, level=level)),
    "integrated_calibration_index": _Measure(_ici, lambda rows, level: integrated_calibration_index(rows, level=level)),
}
"""What is corrected, by the name of the estimate."""


@kind
@dataclass(frozen=True, eq=False, repr=False)
class OptimismReport(Keyed[Estimate], Answer):
    """The measures of a model on the rows it was developed on, corrected for its optimism."""

    name: str
    n: int
    events: int
    n_draws: int
    level: Probability
    estimates: tuple[Estimate, ...]
    """corrected; `parts` holds apparent, training, test and optimism"""
    cautions: tuple[str, ...] = ()

    question: ClassVar[str] = "How would the model do on new patients?"

    def results(self) -> dict[str, Estimate]:
        """The corrected estimates by name."""
        return {each.name: each for each in self.estimates}

    def figures(self) -> dict[str, Any]:
        """Rows, events, refits, and every corrected estimate by its name."""
        return {"n": self.n, "events": self.events, "n_draws": self.n_draws, **self.results()}

    def rows_of_frame(self) -> list[dict[str, Any]]:
        """One row per estimate."""
        return rows_by_key(self.results())

    @property
    def heading(self) -> str:
        """Name, rows, events and refits."""
        return f"{self.name}: {self.n:,} rows, {self.events:,} events, {self.n_draws:,} refits"

    def sentence(self) -> str:
        """Apparent and corrected values of what is asked most."""
        found = self.results()
        shown = [found[name] for name in ("calibration_slope", "c_statistic") if name in found] or self.estimates[:1]
        words = [f"{e.title} {e.parts['apparent']:.3f} on its own rows, {e.value:.3f} corrected" for e in shown]
        text = "; ".join(words)
        return f"{text[:1].upper()}{text[1:]}."

    def tables(self) -> tuple[Table, ...]:
        """As `validate` of R's rms prints them, with intervals."""
        rows = tuple(
            (
                each.title,
                *(gap_cell(each.parts[name]) for name in ("apparent", "training", "test", "optimism")),
                each.value,
                ends(each.interval),
            )
            for each in self.estimates
        )
        columns = ("measure", "apparent", "training", "test", "optimism", "corrected", f"{self.level:.0%} interval")
        note = "optimism: mean of training − test over refits; corrected: apparent − optimism"
        return (Table("Corrected for optimism", columns, rows, note),)


@checked
def optimism(
    model: Any,
    X: Any,
    labels: Any,
    *,
    measures: Iterable[str] = tuple(MEASURES),
    n_draws: int = 200,
    level: float = 0.95,
    seed: Seed = 0,
    name: str = "model",
    progress: Any = True,
) -> OptimismReport:
    """Correct the measures of a prediction model for its optimism, by bootstrap.

    A model looks better on the rows it was fitted to than it is. Harrell's bootstrap
    estimates by how much: the model is fitted again to rows drawn with replacement, and
    measured on these (training) and on the rows as they are (test). The mean difference is
    the optimism, which is subtracted from the measure of the model itself (apparent). All
    that was learned from the rows has to happen in `fit`: choice of variables, penalties,
    imputation. A held-out or external validation says more; `clinical` is for these.

    The interval is that of the apparent measure, moved by the optimism (location-shifted;
    Noma et al. 2021): it does not allow for the noise of the optimism itself, and is
    slightly too short where rows are few.

    Parameters
    ----------
    model
        Anything with `fit(X, labels)` and `predict_proba(X)`, as in scikit-learn. It is
        copied for every fit and stays as it is.
    X
        Features, one row per patient: an array or a frame.
    labels
        The outcomes, 0 and 1 or False and True.
    measures
        Which to correct: `calibration_slope`, `joint_intercept`, `calibration_intercept`,
        `observed_over_expected`, `c_statistic`, `brier_score`,
        `integrated_calibration_index`. The last takes most of the time.
    n_draws
        Refits.
    level
        Confidence of the intervals.
    seed
        Of the rows drawn.
    name
        What to call the model in the answer.
    progress
        Show a bar on a terminal; or a function of (done, of).

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> died = rng.random(200) < 1 / (1 + np.exp(1 - X[:, 0]))
    >>> model = LogisticRegression(C=1e6)
    >>> found = cal.optimism(model, X, died, measures=["calibration_slope", "c_statistic"], n_draws=50)
    >>> print(found.sentence())
    Calibration slope 1.000 on its own rows, 0.794 corrected; c-statistic 0.798 on its own rows, 0.758 corrected.
    """
    wanted = _wanted(measures)
    check_level(level)
    check_count(n_draws, "n_draws")
    y = _outcomes(labels)
    if len(y) != _length(X):
        raise InputError("labels", "and X must have as many rows", f"labels has {len(y)}, X {_length(X)}")
    rows = Predictions(y, _risks(_fitted(model, X, y), X))
    estimates = {measure: MEASURES[measure].estimated(rows, level) for measure in wanted}
    found = _draws(model, X, y, wanted, n_draws, np.random.default_rng(check_seed(seed)), progress)
    corrected, cautions = [], [caution for each in estimates.values() for caution in each.cautions]
    for measure, apparent in estimates.items():
        pair = found[measure]
        known = np.isfinite(pair).all(axis=1)
        if not known.any():
            raise InputError("X", f"must leave {apparent.title} defined in some refit", "it is in none")
        lost = int((~known).sum())
        cautions += [f"{apparent.title}: undefined in {lost} of {n_draws} refits, which are left out"] * (lost > 0)
        corrected.append(_corrected(measure, apparent, pair[known]))
    return OptimismReport(name, len(y), int(y.sum()), n_draws, level, tuple(corrected), tuple(dict.fromkeys(cautions)))


def _wanted(measures: Iterable[str]) -> tuple[str, ...]:
    wanted = (measures,) if isinstance(measures, str) else tuple(measures)
    if not wanted:
        raise InputError("measures", "must name at least one", "it is empty")
    for measure in wanted:
        check_choice("measures", measure, tuple(MEASURES))
    return wanted


def _outcomes(labels: Any) -> Array:
    y = to_numpy(labels, "labels")
    if y.ndim != 1 or y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise InputError("labels", "must be 0 and 1, one per row", f"they are {y.dtype} of shape {y.shape}")
    y = y.astype(np.int64)
    if not 0 < y.sum() < len(y):
        raise InputError("labels", "must hold events and non-events", f"events are {y.sum()} of {len(y)} rows")
    return y


def _length(features: Any) -> int:
    shape = getattr(features, "shape", None)
    if shape or isinstance(features, list | tuple):
        return int(shape[0]) if shape else len(features)
    raise InputError("X", "must be an array or a frame with a row for each label", f"it is {features!r:.100}")


def _taken(features: Any, rows: Indices) -> Any:
    """Some rows of an array, a frame or a list."""
    if hasattr(features, "iloc"):
        return features.iloc[rows]
    if isinstance(features, list | tuple):
        return [features[int(k)] for k in rows]
    return features[rows]


def _fitted(model: Any, features: Any, y: Array) -> Any:
    if not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise InputError("model", "must have fit and predict_proba", f"it is a {type(model).__name__}")
    own = copy.deepcopy(model)
    own.fit(features, y)
    return own


def _risks(model: Any, features: Any) -> Floats:
    """Probabilities of the event."""
    probs = np.asarray(model.predict_proba(features), dtype=np.float64)
    if probs.ndim == 2 and probs.shape[1] == 2:
        probs = probs[:, 1]
    if probs.ndim != 1:
        raise InputError(
            "model", "must predict the probability of one event", f"it gives an array of shape {probs.shape}"
        )
    return probs


def _draws(
    model: Any, features: Any, y: Array, wanted: tuple[str, ...], n_draws: int, rng: np.random.Generator, progress: Any
) -> dict[str, Floats]:
    """Each measure on the rows of a refit and on all rows, `(draws, 2)`."""
    found = {measure: np.empty((n_draws, 2)) for measure in wanted}
    with reported(progress, "refits") as report:
        for k in range(n_draws):
            drawn = _resampled(y, rng)
            part = _taken(features, drawn)
            refit = _fitted(model, part, y[drawn])
            events = [
                Predictions(labels, _risks(refit, rows)).event("binary")
                for labels, rows in ((y[drawn], part), (y, features))
            ]
            for measure, pair in found.items():
                pair[k] = [MEASURES[measure].quick(event) for event in events]
            report(k + 1, n_draws)
    return found


def _resampled(y: Array, rng: np.random.Generator) -> Indices:
    """Rows drawn with replacement, with events and non-events among them."""
    for _ in range(MOST_REDRAWN):
        drawn = rng.integers(len(y), size=len(y))
        if 0 < y[drawn].sum() < len(y):
            return drawn
    raise InputError("labels", "must hold more events and non-events to be drawn again", f"events are {y.sum()}")


def _corrected(name: str, apparent: Estimate, pair: Floats) -> Estimate:
    differences = pair[:, 0] - pair[:, 1]
    by = float(differences.mean())
    error = float(differences.std(ddof=1) / np.sqrt(len(pair))) if len(pair) > 1 else np.nan
    parts = {"apparent": apparent.value, "training": float(pair[:, 0].mean()), "test": float(pair[:, 1].mean())}
    parts |= {"optimism": by, "optimism_error": error}
    interval = apparent.interval
    if interval is not None:
        low, high = _possible(name, interval.low - by, interval.high - by)
        interval = Interval(low, high, interval.level, f"{interval.method}, moved by the optimism")
    settings = {"corrected": "Harrell's bootstrap", "draws": len(pair)}
    return Estimate(name, apparent.title, apparent.value - by, apparent.n, interval, None, settings, parts)


LIMITS = {
    "observed_over_expected": (0.0, np.inf),
    "c_statistic": (0.0, 1.0),
    "brier_score": (0.0, 2.0),
    "integrated_calibration_index": (0.0, 1.0),
}
"""Between what a measure lies, where that is not everything."""


def _possible(name: str, low: float, high: float) -> tuple[float, float]:
    """An interval without values that the measure cannot have."""
    least, most = LIMITS.get(name, (-np.inf, np.inf))
    return min(max(low, least), most), max(min(high, most), least)
