"""Temperature, vector and structured maps fitted by passes over batches of rows, which need not fit into memory.

Every step of these fits is a sum over the rows; each pass asks for the batches anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from calibrant.kernels.fit import inverse_temperature as kernel
from calibrant.kernels.fit.softmax_regression import Data, Found, Linear, Parts, fit
from calibrant.maps.calibration_map import CalibrationMap, Fit
from calibrant.maps.linear import LinearMap, Space, VectorScaling, outcome_doubts, regression_data, space_of
from calibrant.maps.log_space import label_gaps, predicted_gaps, raw_or_log_columns, reading_of_zero, rows_that_count
from calibrant.maps.matrix_penalty import STEADY
from calibrant.maps.structured import StructuredMap, StructuredMatrix, StructuredVector, mixed_logs, structured_ridge
from calibrant.maps.temperature import STEP, Temperature, TemperatureMap, temperature_cautions
from calibrant.predictions import Predictions
from calibrant.problems import InputError
from calibrant.progress import Progress, reported
from calibrant.types import Array, Floats

SAMPLE = 50_000
"""Rows of the first batch on which a search begins: each pass over all rows then gains much."""

CHECKED = 4096
"""Rows of that sample, evenly taken, that the curvature is computed from."""


@dataclass(slots=True)
class Batches:
    """Batches of rows that are asked for in every pass, and what a first pass finds in them."""

    given: Iterable[Predictions]
    report: Callable[[int, int], None]
    n: int = 0
    weight: float = 0.0
    counts: Floats = field(default_factory=lambda: np.zeros(1))
    zero: bool = False
    """has a label probability 0?"""
    first: Predictions | None = None
    passes: int = 0

    def __post_init__(self) -> None:
        for rows in self:
            if self.first is None:
                self.first = rows
                self.counts = np.zeros(rows.n_classes)
            elif rows.classes != self.first.classes or (rows.logits is None) != (self.first.logits is None):
                found = f"one has {rows.classes!r}, the first {self.first.classes!r}"
                raise InputError("batches", "must have the same classes, and all probabilities or all logits", found)
            self.n += rows.n
            self.weight += _total(rows)
            self.counts += np.bincount(rows.labels, weights=rows.weights, minlength=rows.n_classes)
            self.zero = self.zero or reading_of_zero(rows)[0] > 0
        if self.first is None:
            raise InputError("batches", "must hold rows", "there are none")

    def __iter__(self) -> Iterator[Predictions]:
        for rows in self.given:
            if rows.soft:
                raise InputError("batches", "must have labels that are classes", "these are shares")
            if rows.weights is None or rows.weights.any():
                yield rows_that_count(rows)
        self.passes += 1
        self.report(self.passes, self.passes + 1)

    @property
    def sample(self) -> Predictions:
        assert self.first is not None
        every = -(-len(self.first.labels) // SAMPLE)
        return self.first.rows(slice(None, None, every)) if every > 1 else self.first

    def share(self, penalty: float | None) -> float:
        """The part of the outcomes that is read as predicted."""
        return 0.0 if penalty is None else penalty / (self.weight + penalty)

    def reading_of_zero(self, always: bool = False) -> tuple[float, tuple[str, ...]]:
        """What a probability of 0 is read as, and the warning that goes with it."""
        sample = self.sample
        unit = 0.0 if sample.logits is not None else float(np.finfo(sample.probs.dtype).eps)
        if self.zero:
            return unit, (f"some rows give probability 0 to their label; 0 is read as {unit:.1e}",)
        return unit * always, ()


def fit_batches(recipe: Any, given: Iterable[Predictions], progress: Progress = True) -> CalibrationMap:
    """The map of a recipe for the rows of all batches.

    Parameters
    ----------
    recipe
        `Temperature`, `VectorScaling`, `StructuredVector` or `StructuredMatrix`, or its name.
    given
        Batches of predictions, the same whenever they are iterated over.
    progress
        Show the number of passes on a terminal.
    """
    from calibrant.maps import recipe_of

    recipe = recipe_of(recipe)
    fits: dict[type, Any] = {Temperature: _temperature, VectorScaling: _vector}
    fits |= {StructuredVector: _structured, StructuredMatrix: _structured}
    if type(recipe) not in fits:
        names = "'temperature', 'vector', 'structured_vector' or 'structured_matrix'"
        text = f"must be {names} for rows that are read in batches"
        raise InputError("method", text, f"it is {recipe!r}", "Or scan them to a state, for maps of one event")
    with reported(progress, "passes over the rows") as report:
        return fits[type(recipe)](recipe, Batches(given, report))


def _total(rows: Predictions) -> float:
    return float(rows.n if rows.weights is None else rows.weights.sum())


def _fit(batches: Batches, loss: float, converged: bool, cautions: tuple[str, ...]) -> Fit:
    return Fit(batches.n, loss, converged, cautions, None, batches.counts / batches.counts.sum())


def _temperature(recipe: Temperature, batches: Batches) -> TemperatureMap:
    zero, cautions = batches.reading_of_zero()
    share = batches.share(recipe.penalty)

    def gaps_of(rows: Predictions) -> tuple[Array, Floats, Floats]:
        z = raw_or_log_columns(rows, zero)
        gaps = label_gaps(z, rows)
        return z, gaps, share * (predicted_gaps(z) - gaps) if share else np.zeros_like(gaps)

    def slopes(beta: float) -> tuple[float, float, float]:
        sums = np.zeros(3)
        for rows in batches:
            z, gaps, more = gaps_of(rows)
            sums += _total(rows) * np.array(kernel.slopes(z, gaps + more, rows.weights, beta))
        loss, first, second = sums / batches.weight
        return float(loss), float(first), float(second)

    sample = batches.sample
    search = partial(kernel.search, coercive=recipe.penalty is not None)
    low, high = -math.log(recipe.bounds[1]), -math.log(recipe.bounds[0])
    z, gaps, more = gaps_of(sample)
    rough = search(partial(kernel.slopes, z, gaps + more, sample.weights), 0.0, low, high, 1e-2)
    found = search(slopes, 0.0 if rough.at_bound else rough.log_beta, low, high, STEP[str(z.dtype)])
    extra = sum(float(np.sum(gaps_of(rows)[2] * (1 if rows.weights is None else rows.weights))) for rows in batches)
    loss = found.loss + math.exp(found.log_beta) * extra / batches.weight
    cautions += temperature_cautions(found, recipe.bounds)
    how = _fit(batches, max(loss, 0.0), found.converged, cautions)
    return TemperatureMap(sample.classes, sample.is_binary, how, math.exp(-found.log_beta), zero)


def _regression(
    batches: Batches, data_of: Callable[[Predictions], Data], start: Linear, ridge: Linear, share: float = 0.0
) -> Found:
    """The softmax regression of all rows, begun where that of the sample ends."""

    def weighed(rows: Predictions) -> Data:
        data = data_of(rows)
        return Data(data.x, data.labels, data.weights * (_total(rows) / batches.weight))

    sample = data_of(batches.sample)
    begin = fit(sample, start, start, ridge, share).at
    some = sample.rows(slice(None, None, -(-len(sample.x) // CHECKED)))
    return fit(Parts(lambda: map(weighed, batches), some), begin, start, ridge, share)


def _vector(recipe: VectorScaling, batches: Batches) -> LinearMap:
    sample = batches.sample
    space: Space = space_of(sample)
    zero, cautions = batches.reading_of_zero(always=True)
    k = sample.n_classes
    scale = 1 / _temperature(Temperature(), batches).temperature
    start = Linear(np.full(k, scale), np.zeros(k))
    ridge, share = Linear(np.full(k, STEADY), np.full(k, STEADY)), batches.share(recipe.penalty)
    found = _regression(batches, lambda rows: regression_data(rows, space, zero), start, ridge, share)
    how = _fit(batches, found.loss, found.converged, cautions + outcome_doubts(sample.classes, batches.counts, found))
    return LinearMap(sample.classes, sample.is_binary, how, found.at.weight, found.at.bias, space, zero, None, "vector")


def _structured(recipe: StructuredVector | StructuredMatrix, batches: Batches) -> StructuredMap:
    sample, base = batches.sample, _temperature(Temperature(), batches)
    start, ridge = structured_ridge(sample.n_classes, batches.weight, isinstance(recipe, StructuredVector))
    mix = 1 / (batches.weight + 1)

    def data_of(rows: Predictions) -> Data:
        weights = np.ones(len(rows.labels)) if rows.weights is None else rows.weights.astype(np.float64)
        return Data(mixed_logs(base, mix, rows.outputs, rows.logits is not None), rows.labels, weights / weights.sum())

    found = _regression(batches, data_of, start, ridge)
    cautions = base.fit.cautions + outcome_doubts(sample.classes, batches.counts, found)
    how = _fit(batches, found.loss, found.converged, cautions)
    return StructuredMap(sample.classes, sample.is_binary, how, base, mix, found.at.weight, found.at.bias)
