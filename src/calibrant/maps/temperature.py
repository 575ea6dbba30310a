"""Temperature scaling: one temperature, or one per class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from calibrant.arrays import to_numpy
from calibrant.kernels.fit import inverse_temperature as kernel
from calibrant.kernels.fit.device_temperature import label_gaps_on, predicted_gaps_on, slopes_on
from calibrant.kernels.logits import (
    above_zero,
    class_log_odds,
    inside,
    probabilities,
    row_maxima,
    row_sums,
    sigmoid,
    tamed,
)
from calibrant.kernels.rows.blocks import over_blocks
from calibrant.kernels.rows.keep_order import ranked_as
from calibrant.kernels.rows.softmax_rows import is_quick, softmax_into
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.log_space import (
    check_penalty,
    hits_and_prior,
    impossible,
    label_gaps,
    log_columns,
    predicted_gaps,
    prior_share,
    raw_or_log_columns,
    reading_of_zero,
)
from calibrant.predictions import DevicePredictions, Predictions
from calibrant.problems import InputError
from calibrant.results.constraints import Above, Holds, Within
from calibrant.types import Array, Floats

SAMPLE_ROWS = 2048
"""Rows of the first, rough search, which saves full passes on large data."""

NEAR, MOST_MORE = 0.1, 8
"""A Newton step in ln T this small leaves an error that is far below the noise of held-out rows; so many are tried."""

ENTRIES = 1 << 19
"""Probabilities that a core takes at a time in compiled loops."""

FEW_TIED = 100
"""Rows with ties that are left until all others are done, and then ranked at once."""

STEP = {"float32": 1e-4, "float64": 1e-5}
"""A Newton step in ln T this small ends the search; the error left is about its square, below rounding."""


@map_recipe("temperature")
class Temperature(Recipe["TemperatureMap"]):
    """Divide the logits by T > 0, chosen to minimise the log score.

    T above 1 makes an over-confident model less confident. The ranking of classes and
    the accuracy stay as they are.

    Parameters
    ----------
    bounds
        Smallest and largest T. Predictions that help less than a uniform guess end at the
        upper bound, with a warning; so do, at the lower one and without a penalty, data
        that are fitted better the smaller T is (all rows classified right).
    penalty
        λ, a number of rows: the fit counts λ more rows, predicted like the others and with
        outcomes as predicted, so that rows without an error give a finite map. It moves
        the optimum by a share of λ/(n + λ) towards the predictions as they are. `None`
        gives the plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> fitted = cal.Temperature().fit([0, 1, 1, 0], logits=[-3.0, 4.0, -2.0, 1.0])
    >>> round(fitted.temperature, 3)
    2.322
    >>> fitted.apply([0.01, 0.99]).round(3)
    array([0.121, 0.879])
    """

    bounds: tuple[float, float] = (1e-3, 1e3)
    penalty: float | None = 2.0

    def __post_init__(self) -> None:
        pair = self.bounds if isinstance(self.bounds, tuple | list) and len(self.bounds) == 2 else (0, 0)
        if not all(isinstance(b, float | int) for b in pair) or not 0 < pair[0] < 1 < pair[1] < math.inf:
            raise InputError("bounds", "must be (low, high) with 0 < low < 1 < high", f"it is {self.bounds!r}")
        check_penalty(self.penalty)

    def fit_predictions(self, predictions: Predictions) -> TemperatureMap:
        """The temperature that minimises the log score of these predictions."""
        return self._fitted(predictions, None)

    def fit_near(self, predictions: Predictions, near: Any) -> TemperatureMap:
        """The search begins at a known temperature."""
        return self._fitted(predictions, -math.log(near.temperature))

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """All folds at once, from the temperature of all rows."""
        betas = self.betas(folded, fitted)
        if betas is None:
            return Recipe.held_out(self, folded, fitted)  # super() does not know a class with slots
        if folded.event is not None and not folded.event.certain:
            return folded.event.answers(_column, betas[:, None])
        z = raw_or_log_columns(folded.rows, fitted.zero).astype(np.float64)
        found = probabilities(betas[folded.index][:, None] * z)
        return found[:, 1] if folded.rows.is_binary else found

    def each(self, folded: Folds, fitted: TemperatureMap) -> list[TemperatureMap]:
        """The maps without each fold, on which other maps build."""
        betas = self.betas(folded, fitted)
        if betas is None:
            return [fitted_once(self, rows, fitted) for rows in folded.others]

        def made(rows: Predictions, beta: float) -> Callable[[], TemperatureMap]:
            return lambda: TemperatureMap(rows.classes, rows.is_binary, Fit(rows.n), 1 / beta, fitted.zero)

        pairs = zip(folded.others, betas.tolist(), strict=True)
        return [rows.kept(f"fit of {self!r}", made(rows, beta)) for rows, beta in pairs]

    def betas(self, folded: Folds, fitted: TemperatureMap) -> Floats | None:
        """1/T without each fold; None where they are not found at once, or a probability of 0 is not read alike in all."""
        found: Floats | None = folded.kept(f"betas of {self!r}", lambda: self._betas(folded, fitted))
        return found

    def _betas(self, folded: Folds, fitted: TemperatureMap) -> Floats | None:
        event, every = folded.event, folded.every
        if event is not None and not event.certain:
            hits = hits_and_prior(event.weight, event.hits, event.z, self.penalty)
            found, ended = event.regressions(_column, hits, np.array([1 / fitted.temperature]))
            return self._within(found[:, 0]) if ended.all() else None
        if fitted.zero and (every.soft or not folded.in_all(impossible(every))):
            return None
        return self.betas_of(raw_or_log_columns(every, fitted.zero), folded, 1 / fitted.temperature)

    def betas_of(self, z: Floats, folded: Folds, beta: float) -> Floats | None:
        """The same, where logits are z and that of all rows is known."""
        gaps, weights = label_gaps(z, folded.every), folded.every.weights
        parts = np.arange(folded.n_judged)[:, None] != folded.fold
        parts = parts * (np.ones(len(gaps)) if weights is None else weights)
        steps_at = partial(kernel.steps_without, z, gaps, predicted_gaps(z) - gaps, penalty=self.penalty or 0.0)
        found = np.full(len(parts), beta)
        steps = steps_at(parts=parts, beta=beta)
        for f in range(len(found)):
            step = float(steps[f])
            for _ in range(MOST_MORE):
                found[f] *= math.exp(min(max(step, -1.0), 1.0))
                if abs(step) < NEAR:
                    break
                step = float(steps_at(parts=parts[f : f + 1], beta=found[f])[0])
            else:
                return None
        return self._within(found)

    def _within(self, betas: Floats) -> Floats | None:
        """These, if all of them are within the bounds."""
        return betas if ((betas > 1 / self.bounds[1]) & (betas < 1 / self.bounds[0])).all() else None

    def _fitted(self, predictions: Predictions, start: float | None) -> TemperatureMap:
        z, zero, cautions = _columns(predictions)
        gaps_of, predicted, slopes = HERE if isinstance(z, np.ndarray) else THERE
        gaps, share, weights = gaps_of(z, predictions), prior_share(predictions, self.penalty), predictions.weights
        more = share * (predicted(z) - gaps) if share else 0 * gaps
        found = self._search(slopes, z, gaps + more, weights, start)
        if found.at_bound == 2 and _varies(z):  # saturated from the start
            found = replace(found, at_bound=3 if share else 1, log_beta=0.0 if share else -math.log(self.bounds[0]))
        cautions += temperature_cautions(found, self.bounds)
        loss = found.loss + math.exp(found.log_beta) * float(np.average(to_numpy(more, "probs"), weights=weights))
        fit = Fit(predictions.n, max(loss, 0.0), found.converged, cautions)
        return TemperatureMap(predictions.classes, predictions.is_binary, fit, math.exp(-found.log_beta), zero)

    def _search(
        self, slopes: Callable[..., Any], z: Any, gaps: Any, weights: Array | None, start: float | None
    ) -> kernel.Found:
        search = partial(kernel.search, coercive=self.penalty is not None)
        low, high = -math.log(self.bounds[1]), -math.log(self.bounds[0])
        every = len(z) // SAMPLE_ROWS
        if start is None and every >= 8:
            few = slice(None, None, every)
            rough = partial(slopes, z[few], gaps[few], None if weights is None else weights[few])
            start = search(rough, 0.0, low, high, 1e-2).log_beta
        step = STEP[str(z.dtype).removeprefix("torch.")]
        return search(partial(slopes, z, gaps, weights), start or 0.0, low, high, step)


def _column(z: Floats) -> Floats:
    """Log-odds as the only column of a regression."""
    return z[:, None]


HERE = label_gaps, predicted_gaps, kernel.slopes
THERE = label_gaps_on, predicted_gaps_on, slopes_on
"""What the search needs, of arrays and of tensors on an accelerator."""


def _columns(predictions: Predictions) -> tuple[Any, float, tuple[str, ...]]:
    """Logits or ln p, an array or a tensor where the predictions lie; what 0 is read as; and a warning about that."""
    there = predictions.log_columns() if isinstance(predictions, DevicePredictions) else None
    if there is not None:
        return there, 0.0, ()
    zero, cautions = reading_of_zero(predictions)
    return raw_or_log_columns(predictions, zero), zero, cautions


def _varies(z: Any) -> bool:
    """Are the logits of some row unlike?"""
    most, least = (z.max(axis=1), z.min(axis=1)) if isinstance(z, np.ndarray) else (z.amax(dim=1), z.amin(dim=1))
    return bool((most != least).any())


@map_record
class TemperatureMap(CalibrationMap):
    """softmax(z/T), or σ(z/T) for a single event."""

    temperature: Annotated[float, Above(0)] = 1.0
    zero: Annotated[float, Within(0, 0.5)] = 0.0
    """what a probability of 0 is read as; 0 leaves it as small as the precision allows"""

    method: ClassVar[str] = "temperature"
    parameter_names: ClassVar[tuple[str, ...]] = ("temperature",)
    injective = keeps_ranking = keeps_accuracy = True

    def new_logits(self, logits: Array) -> Array:
        """z/T, with the largest of each row at 0 so that nothing overflows."""
        info = np.finfo(logits.dtype)
        return np.clip(self._divided(logits), info.min, info.max)

    def _divisor(self, dtype: Any) -> Any:
        """T in a precision."""
        info = np.finfo(dtype)
        return dtype.type(min(max(self.temperature, float(info.tiny)), float(info.max)))

    def _divided(self, logits: Array) -> Array:
        """The same, infinite where it overflows."""
        t = self._divisor(logits.dtype)
        with np.errstate(over="ignore"):
            if logits.ndim == 1:
                return np.asarray(logits / t)
            below = logits - row_maxima(logits)
            return np.divide(below, t, below)

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """softmax(z/T), or p^(1/T), normalised."""
        new = self.rounded(predictions, are_logits)
        return ranked_as(new, predictions) if predictions.ndim == 2 else new

    def _by_blocks(self, predictions: Array, are_logits: bool) -> Array:
        """The same by compiled loops, which give the same numbers, where that is worth it."""
        if predictions.ndim == 2 and predictions.flags.c_contiguous:
            found = np.empty(predictions.shape, predictions.dtype)
            if is_quick(predictions if are_logits else found, found):
                self._write(predictions, are_logits, found)
                return found
        return super()._by_blocks(predictions, are_logits)

    def _write(self, predictions: Array, are_logits: bool, out: Array) -> None:
        t = self._divisor(out.dtype)

        def part(rows: slice) -> Any:
            z = predictions[rows] if are_logits else log_columns(predictions[rows], self.zero)
            tied = softmax_into(z, t, out[rows])
            if len(tied) <= FEW_TIED:
                return rows.start + tied
            ranked_as(out[rows], predictions[rows], tied)
            return tied[:0]

        n_blocks = -(-out.size // ENTRIES)
        tied = [*over_blocks(len(out), part, -(-len(out) // n_blocks))]
        ranked_as(out, predictions, np.concatenate(tied))

    def rounded(self, predictions: Array, are_logits: bool) -> Array:
        """The same, in which rounding may have tied classes of a row."""
        z = predictions if are_logits else log_columns(predictions, self.zero)
        if predictions.ndim == 1:
            return inside(probabilities(self.new_logits(z if are_logits else z[:, 1] - z[:, 0])))
        new = self._divided(z)  # the largest of each row is 0
        np.exp(new, new)
        new /= row_sums(new)
        return above_zero(new)


def temperature_cautions(found: kernel.Found, bounds: tuple[float, float]) -> tuple[str, ...]:
    """What is to be said of a search that ended at a bound, or did not end."""
    smaller = "every row is fitted better the smaller T is; stopped at the bound"
    at_bound = {
        1: f"{smaller} {bounds[0]:g}. Use more validation data",
        -1: f"the predictions help less than a uniform guess; T stopped at the bound {bounds[1]:g}",
        2: "every row gives all classes the same probability; T does not matter and was set to 1",
        3: "every row is right beyond the precision of the numbers; T was set to 1",
    }
    if found.at_bound:
        return (at_bound[found.at_bound],)
    return () if found.converged else ("the search did not converge; the last temperature is returned",)


@map_recipe("one_vs_rest_temperature")
class OneVsRestTemperature(Recipe["OneVsRestTemperatureMap"]):
    """A temperature for each class's log-odds against the rest; rows are then normalised (1-Temp).

    Parameters
    ----------
    penalty
        λ, a number of rows: each class is fitted with λ more rows, predicted like the others and with
        outcomes as predicted, so that rows without an error give a finite map. It moves
        the optimum by a share of λ/(n + λ) towards the predictions as they are. `None`
        gives the plain optimum.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> cal.maps.OneVsRestTemperature().fit(valid).n_parameters
    10
    """

    penalty: float | None = 2.0

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def fit_predictions(self, predictions: Predictions) -> OneVsRestTemperatureMap:
        """One temperature per class."""
        zero, cautions = reading_of_zero(predictions, always=True)
        fits = [Temperature(penalty=self.penalty).fit(event) for event in _class_events(predictions, zero)]
        names = [f"class {name}: " for name in predictions.classes] if len(fits) > 1 else [""]
        cautions += tuple(n + text for n, m in zip(names, fits, strict=True) for text in m.fit.cautions)
        fit = Fit(predictions.n, None, all(m.fit.converged for m in fits), cautions)
        temperatures = np.array([m.temperature for m in fits])
        return OneVsRestTemperatureMap(predictions.classes, predictions.is_binary, fit, temperatures, zero)


def _class_events(predictions: Predictions, zero: float) -> Iterator[Predictions]:
    """Each class against the rest, with log-odds as logits."""
    labels, columns = predictions.labels, _log_odds(predictions.outputs, zero, predictions.logits is not None).T
    for k, z in enumerate(columns):
        y = labels if predictions.is_binary else labels[:, k] if predictions.soft else labels == k
        event = Predictions.from_logits(y, np.ascontiguousarray(z), soft=predictions.soft)
        yield event.with_mass(predictions.mass)


def _log_odds(predictions: Array, zero: float, are_logits: bool) -> Floats:
    """Log-odds of each class against the rest, `(n, K)`, or `(n, 1)` for a single event."""
    wide = predictions.astype(np.float64)
    columns = tamed(wide) if are_logits else log_columns(wide, zero)
    if wide.ndim == 2:
        return class_log_odds(columns)
    return (columns if are_logits else columns[:, 1] - columns[:, 0])[:, None]


PER_CLASS = "must be one per class, or one for a map of one column"


def one_per_column(classes: tuple[Any, ...], single: bool, temperatures: Floats, **_: Any) -> bool:
    """Are there as many temperatures as columns?"""
    return temperatures.shape == (1 if single else len(classes),)


@map_record
class OneVsRestTemperatureMap(CalibrationMap):
    """σ(logit p_k / T_k), divided by the sum over k."""

    temperatures: Annotated[Floats, Holds(PER_CLASS, one_per_column), Above(0)] = ARRAY
    zero: Annotated[float, Within(0, 0.5)] = 0.0
    """what a probability of 0 is read as"""

    method: ClassVar[str] = "one_vs_rest_temperature"
    parameter_names: ClassVar[tuple[str, ...]] = ("temperatures",)

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """For a single event; normalising can make two rows equal."""
        return self.single

    @property
    def keeps_ranking(self) -> bool:  # type: ignore[override]
        """If all temperatures are equal."""
        return bool(np.ptp(self.temperatures) == 0)

    keeps_accuracy = keeps_ranking

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """Class by class, then divided by the sum."""
        with np.errstate(over="ignore"):  # infinite log-odds are certain
            found = sigmoid(_log_odds(predictions, self.zero, are_logits) / self.temperatures)
        if predictions.ndim == 1:
            return inside(found[:, 0], predictions.dtype)
        found = np.maximum(found, np.finfo(np.float64).tiny)
        return inside(found / row_sums(found), predictions.dtype)
