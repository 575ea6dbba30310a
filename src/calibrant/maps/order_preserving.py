"""Order-preserving maps: richer than a temperature, and no class ever overtakes another."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from calibrant.inputs import check_choice, check_count, check_positive
from calibrant.kernels.fit import monotone_logits as kernel
from calibrant.kernels.fit.lbfgs import NEARLY, Smooth, least
from calibrant.kernels.fit.monotone_logits import Coefficients, SortedRows
from calibrant.kernels.logits import inside, row_blocks, row_sums, sigmoid, two_columns
from calibrant.kernels.rows.keep_order import keep_order
from calibrant.maps.calibration_map import ARRAY, CalibrationMap, Fit, Recipe, fitted_once, map_recipe, map_record
from calibrant.maps.folds import Folds
from calibrant.maps.log_space import normalised_columns, reading_of_zero, soft_shares
from calibrant.maps.temperature import Temperature
from calibrant.predictions import Predictions
from calibrant.results.constraints import BIG, Above, Holds, Rising, Shape, Within
from calibrant.types import Array, Floats

KINDS = ("diagonal", "invariant", "general")

PARTS = {"diagonal": (1.0, 0.0, 0.0), "invariant": (0.5, 0.5, 0.0), "general": (0.375, 0.375, 0.125)}
"""The share of 1/T that slopes, rates by place, and each of the two rates by class begin with."""

ODDS = (0.05, 0.35, 0.65, 0.95)
"""Quantiles of the top log-odds at which the knots lie."""

LEAST = 1e-3
"""No slope or rate falls below this part of its start, so that every gap stays open."""

ENOUGH = 10
"""Rows per parameter below which there is a warning."""


@map_recipe("order_preserving")
class OrderPreserving(Recipe["OrderPreservingMap"]):
    """A map that keeps the order of the classes in every row exactly, ties included.

    Rows of log-probabilities are sorted and their gaps stretched or squeezed (Rahimi et al.
    2020). The number of parameters does not grow with the number of classes K, except that
    `"general"` adds 2K. A probability of 0 is read as the rounding unit of its precision,
    and lower where that is needed to stay below every other of its row.

    Parameters
    ----------
    kind
        What the gaps depend on. `"diagonal"`: one increasing function of the
        log-probability for all classes; different predictions stay different.
        `"invariant"`: half of it that function, half a positive factor per place of the gap
        (first, next two, all below) that depends on the confidence in the top class.
        `"general"`: in addition two positive numbers per class, for the gap above it and
        the gap below it.
    n_pieces
        Straight pieces of the increasing function, on equal shares of the data.
    penalty
        All parameters start at the temperature that fits best, and λ/n Σ (c/c₀ − 1)² is
        added to the mean log loss. The sum is convex: there is one solution, never worse
        than temperature scaling on the fitting data.

    Examples
    --------
    >>> import calibrant as cal
    >>> valid, test = cal.example()
    >>> fitted = cal.maps.OrderPreserving().fit(valid)
    >>> fitted.n_parameters, fitted.keeps_ranking
    (40, True)
    >>> fitted.fit.loss < cal.Temperature().fit(valid).fit.loss
    True
    """

    kind: Literal["diagonal", "invariant", "general"] = "general"
    n_pieces: int = 8
    penalty: float = 1.0

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_count(self.n_pieces, "n_pieces")
        check_positive("penalty", self.penalty)

    def fit_predictions(self, predictions: Predictions) -> OrderPreservingMap:
        """The slopes and rates that minimise the log score, held near a temperature."""
        return self._fitted(predictions, None)

    def fit_near(self, predictions: Predictions, near: Any) -> OrderPreservingMap:
        """From known slopes and rates."""
        return self._fitted(predictions, near)

    def held_out(self, folded: Folds, fitted: Any) -> Floats:
        """All folds with the cuts and knots of all rows, from the coefficients of all rows."""
        every, coefficients = folded.every, fitted.coefficients
        never = every.logits is None and not every.is_binary and not every.probs.all()
        if every.is_binary or (never and not folded.in_all((every.probs == 0).any(axis=1))):
            return Recipe.held_out(self, folded, fitted)
        logs = normalised_columns(every.outputs, fitted.zero, every.logits is not None)
        given = folded.given
        given = given.with_logits(normalised_columns(given.probs, fitted.zero, False)) if never else given
        start = fitted_once(Temperature(), given)
        betas = Temperature().betas_of(logs, folded, 1 / start.temperature)
        if betas is None:
            return Recipe.held_out(self, folded, fitted)
        order = np.argsort(-logs, axis=1, kind="stable")
        rows = SortedRows(np.take_along_axis(logs, order, axis=1), order, fitted.cuts, fitted.knots)
        shares = np.take_along_axis(class_shares(every), order, axis=1)
        weights = np.ones(len(logs)) if every.weights is None else every.weights
        searches, found = kernel.Without(rows, shares, weights, folded.fold, coefficients), np.empty(logs.shape)
        for f, beta in enumerate(betas.tolist()):
            unit = self._start(rows, beta).flat()
            mine, new = searches.answers(f, searches.best(f, unit, LEAST, self.penalty))
            found[mine[:, None], order[mine]] = new
            folded.step()
        return found[folded.judged]

    def _fitted(self, predictions: Predictions, near: OrderPreservingMap | None) -> OrderPreservingMap:
        zero, cautions = reading_of_zero(predictions, always=True)
        logs = normalised_columns(predictions.outputs, zero, predictions.logits is not None)
        plain = logs[:, 1] - logs[:, 0] if predictions.is_binary else logs
        shared = near is not None and (predictions.logits is not None or predictions.probs.all())
        start = fitted_once(Temperature(), predictions if shared else predictions.with_logits(plain))
        rows = self._sorted(logs, predictions.weights)
        found, loss, converged = self._search(rows, predictions, 1 / start.temperature, near)
        cautions += start.fit.cautions + doubts(predictions, logs, found.flat().size)
        if not converged:
            cautions += ("the search did not converge; the last step is returned",)
        fit, at = Fit(predictions.n, loss, converged, cautions), (rows.cuts, found.slopes, rows.knots, found.rates)
        ends = (found.above, found.below, zero)
        return OrderPreservingMap(predictions.classes, predictions.is_binary, fit, self.kind, *at, *ends)

    def _sorted(self, logs: Floats, weights: Floats | None) -> SortedRows:
        order = np.argsort(-logs, axis=1, kind="stable")
        ranked = np.take_along_axis(logs, order, axis=1)
        spread = None if weights is None else np.repeat(weights, logs.shape[1])
        cuts = quantiles(ranked.ravel(), spread, np.arange(1, self.n_pieces) / self.n_pieces)
        places = self.kind != "diagonal" and logs.shape[1] > 2
        knots = quantiles(kernel.top_odds(ranked), weights, np.array(ODDS)) if places else np.zeros(0)
        return SortedRows(ranked, order, cuts, knots)

    def _search(
        self, rows: SortedRows, predictions: Predictions, beta: float, near: OrderPreservingMap | None
    ) -> tuple[Coefficients, float, bool]:
        """Minimise the loss and the penalty over the coefficients in units of their start."""
        shapes = self._start(rows, beta)
        unit = shapes.flat()
        shares = np.take_along_axis(class_shares(predictions), rows.order, axis=1)
        loss = kernel.log_loss(rows, shares, predictions.weights, shapes)
        total = float(predictions.n if predictions.weights is None else predictions.weights.sum())
        begin, ones, gain = None if near is None else near.coefficients.flat(), np.ones(len(unit)), 0.0
        if begin is not None and begin.size == unit.size:
            begin, gain = np.maximum(begin / unit, LEAST), NEARLY / total
        else:
            begin = ones
        found = least(penalised(loss, unit, self.penalty / total), begin, LEAST * ones, gain=gain)
        return shapes.like(found.at * unit), loss(found.at * unit)[0], found.converged

    def _start(self, rows: SortedRows, beta: float) -> Coefficients:
        """The temperature, written as slopes and rates."""
        k = rows.logs.shape[1]
        slope, rate, ends = PARTS[self.kind]
        if not len(rows.knots):  # two classes have one gap, whose place says nothing
            slope, rate = slope + rate, 0.0
        n_places = int(kernel.places(k).max()) + 1 if rate else 0
        per_class = np.full(k if ends else 0, ends * beta)
        slopes, rates = np.full(len(rows.cuts) + 1, slope * beta), np.full((n_places, len(rows.knots)), rate * beta)
        return Coefficients(slopes, rates, per_class, per_class.copy())


def penalised(loss: Smooth, unit: Floats, penalty: float) -> Smooth:
    """The loss in units of the start, and what it costs to leave the start."""

    def value(theta: Floats) -> tuple[float, Floats]:
        found, slopes = loss(theta * unit)
        off = theta - 1
        return found + penalty * float(np.einsum("i,i->", off, off)), slopes * unit + 2 * penalty * off

    return value


RATES = "must have a row for each place of a gap and a column for each knot"


def rates_fit(classes: tuple[Any, ...], knots: Floats, rates: Floats, **_: Any) -> bool:
    """Are there rates for every place and knot, or neither knots nor rates?"""
    return rates.shape == (kernel.places(len(classes)).max() + 1, len(knots)) if len(knots) else not rates.size


@map_record
class OrderPreservingMap(CalibrationMap):
    """Gaps between sorted log-probabilities, stretched by positive factors.

    Order and ties are kept exactly in `new_logits`, in `apply(probs)` and in
    `apply(logits=…)`: where rounding would make a tie, or a probability would underflow, the
    next floating-point number is taken. A `Predictions` with logits carries new logits;
    their softmax may round.
    """

    family: Literal["diagonal", "invariant", "general"] = "diagonal"
    cuts: Annotated[Floats, Shape(), Within(-BIG, BIG), Rising()] = ARRAY
    slopes: Annotated[Floats, Shape("cuts+1"), Above(0, BIG)] = (1.0,)  # type: ignore[assignment]
    knots: Annotated[Floats, Shape(), Within(-BIG, BIG), Rising()] = ARRAY
    rates: Annotated[Floats, Holds(RATES, rates_fit), Above(0, BIG)] = ARRAY
    above: Annotated[Floats, Shape("classes", other=Shape(0)), Above(0, BIG)] = ARRAY
    below: Annotated[Floats, Shape("above"), Above(0, BIG)] = ARRAY
    zero: Annotated[float, Within(0, 0.5)] = 0.0
    """what a probability of 0 is read as; 0 leaves it as small as the precision allows"""

    method: ClassVar[str] = "order_preserving"
    keeps_ranking = keeps_accuracy = True

    @property
    def injective(self) -> bool:  # type: ignore[override]
        """Where a row has one increasing function for all its classes, or only one gap."""
        return self.family == "diagonal" or len(self.classes) == 2

    @property
    def parameters(self) -> dict[str, Any]:
        found = {"slopes": self.slopes, "rates": self.rates, "above": self.above, "below": self.below}
        return {name: value for name, value in found.items() if value.size}

    @property
    def coefficients(self) -> Coefficients:
        """All slopes and rates."""
        return Coefficients(self.slopes, self.rates, self.above, self.below)

    def new_logits(self, logits: Array) -> Array:
        """New logits, with the largest of each row at 0."""
        if logits.ndim == 1:
            return self._event_logits(np.stack([np.zeros_like(logits), logits], axis=1), logits=True)
        return self._ordered(logits, logits=True, probs=False)

    def recalibrated(self, predictions: Array, are_logits: bool) -> Array:
        """The softmax of the new logits."""
        if predictions.ndim == 2:
            return self._ordered(predictions, are_logits, probs=True)
        if are_logits:
            return event_probabilities(self.new_logits(predictions))
        zero = predictions.dtype.type(self.zero)  # a least value, so that no row overtakes another
        return event_probabilities(self._event_logits(np.maximum(two_columns(predictions), zero), logits=False))

    def _event_logits(self, columns: Array, logits: bool) -> Array:
        z = self._ordered(columns, logits, probs=False)
        return z[:, 1] - z[:, 0]

    def _ordered(self, columns: Array, logits: bool, probs: bool) -> Array:
        """New logits, or their softmax, in the order of the columns."""
        coefficients = self.coefficients
        out = np.empty_like(columns)
        for rows in row_blocks(*columns.shape):
            x = columns[rows]
            order = np.argsort(-x, axis=1, kind="stable")
            ranked = np.take_along_axis(normalised_columns(x, self.zero, logits), order, axis=1)
            with np.errstate(over="ignore"):
                z = SortedRows(ranked, order, self.cuts, self.knots).heights(coefficients)
            z = np.maximum(z, -float(np.finfo(x.dtype).max))
            e = np.exp(z) if probs else z
            new = inside(e / row_sums(e), x.dtype) if probs else z.astype(x.dtype)
            np.put_along_axis(out[rows], order, keep_order(new, np.take_along_axis(x, order, axis=1)), axis=1)
        return out


def event_probabilities(z: Array) -> Array:
    """σ(z) on the right side of ½, and never rounded to 0, ½ or 1."""
    half = z.dtype.type(0.5)
    p = inside(sigmoid(z))
    p = np.where(z < 0, np.minimum(p, np.nextafter(half, z.dtype.type(0))), p)
    return np.where(z > 0, np.maximum(p, np.nextafter(half, z.dtype.type(1))), p)


def quantiles(values: Floats, weights: Floats | None, shares: Floats) -> Floats:
    """The distinct values below or at which these shares of the weight lie."""
    order = np.argsort(values)
    mass = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    at = np.searchsorted(mass, (shares - 1e-9) * mass[-1])
    return np.unique(values[order[at]])


def class_shares(predictions: Predictions) -> Floats:
    """Labels as rows of class shares that sum to 1."""
    if predictions.soft:
        shares = soft_shares(predictions)
        return shares / shares.sum(axis=1, keepdims=True)
    shares = np.zeros((len(predictions.labels), predictions.n_classes))
    shares[np.arange(len(predictions.labels)), predictions.labels] = 1.0
    return shares


def doubts(predictions: Predictions, logs: Floats, n_parameters: int) -> tuple[str, ...]:
    """Warnings about the data of a fit."""
    found = []
    if len(logs) > 1 and (logs == logs[0]).all():
        found.append("every row makes the same prediction: the map knows of no other")
    seen = class_shares(predictions).sum(axis=0) > 0
    if not seen.all():
        missing = [str(c) for c, occurs in zip(predictions.classes, seen.tolist(), strict=True) if not occurs]
        found.append(f"never seen in the labels: {', '.join(missing[:3])}{' …' * (len(missing) > 3)}")
    if predictions.n < ENOUGH * n_parameters:
        found.append(f"{predictions.n} rows for {n_parameters} parameters: the penalty holds them near a temperature")
    return tuple(found)
