"""Folds of predictions, assigned by the content of the rows: their order does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibrant.kernels.fit.knot_paths import Bent, cells_of
from calibrant.kernels.fit.newton import fit_logistic_each
from calibrant.kernels.logits import clipped, log_odds, sigmoid
from calibrant.kernels.rows.pooling import event_order
from calibrant.kernels.rows.sorted_folds import Ints, assigned
from calibrant.maps.binary import FAR
from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Mass, Predictions
from calibrant.predictions.content import content_keys
from calibrant.problems import CalibrantError, InputError
from calibrant.types import Bools, Floats

AT_BOUND = "stopped at the bound"
"""The caution of a map that is where its bounds put it, not the data: it is no candidate."""

MANY_NUMBERS = 100_000
FEWER_FOLDS = {1_000_000: 1, MANY_NUMBERS: 2, 3_000: 3}
"""Probabilities (rows × classes) from which on so many folds are judged instead of all: time is short. With fewer, one fold
tells maps apart much worse than five."""


def judged_of(rows: Predictions, n_folds: int) -> int:
    """How many of the folds of so many probabilities are judged; all where rows are grouped, for groups may be few."""
    numbers = 0 if rows.groups is not None else n_numbers(rows)
    return min([n_folds, *(judged for least, judged in FEWER_FOLDS.items() if numbers >= least)])


def n_numbers(rows: Predictions) -> int:
    """Rows, or rows times classes where there are several."""
    return rows.n * (1 if rows.is_binary else rows.n_classes)


@dataclass(slots=True, eq=False)
class Folds:
    """Rows that are judged, and for each part of them the rows that its map is fitted to."""

    given: Predictions
    """all rows, as they came"""
    every: Predictions
    """those that count, each in one fold"""
    fold: Ints
    """the fold of each of these, from 0 on"""
    n_judged: int
    """so many folds are judged, the first ones"""
    strict: bool = True
    """is a map at its bound refused?"""
    step: Callable[[], None] = lambda: None
    """called after every fit"""
    rows: Predictions = field(init=False)
    """those that are judged"""
    masks: list[Bools] = field(init=False)
    """which of them lie in each fold"""
    others: list[Predictions] = field(init=False)
    """for each judged fold all rows but its own"""
    event: EventFolds | None = field(init=False)
    """the same as a table, for one event"""
    found: dict[str, Any] = field(init=False, default_factory=dict)
    """what several maps use, by name"""

    def __post_init__(self) -> None:
        here = self.judged
        self.rows = self.every if here.all() else self.every.rows(here)
        self.masks = [self.index == f for f in range(self.n_judged)]
        self.event = _event_folds(self)
        self.others = _others(self.every, self.fold, self.n_judged, self.event)

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What these folds give, made once."""
        if name not in self.found:
            self.found[name] = make()
        return self.found[name]

    def in_all(self, some: Bools) -> bool:
        """Have the other rows of every judged fold one of some, or none?"""
        return all((some & (self.fold != f)).any() for f in range(self.n_judged)) or not some.any()

    @property
    def judged(self) -> Bools:
        """Is each row judged?"""
        return self.fold < self.n_judged

    @property
    def index(self) -> Ints:
        """The fold of each judged row."""
        return self.fold[self.judged]

    def answers(self, maps: Iterable[Any]) -> Floats:
        """Probabilities of every judged row by the map of its fold."""
        outputs, are_logits = self.rows.outputs.astype(np.float64), self.rows.logits is not None
        found = np.empty(outputs.shape)
        for mask, fitted in zip(self.masks, maps, strict=True):
            if self.strict:
                refuse_bound(fitted)
            found[mask] = fitted.recalibrated(outputs[mask], are_logits)
            self.step()
        return found


def continued(z: Floats, fold: Ints, lines: Iterable[Bent]) -> Floats:
    """At every row the line of its fold, with slope one beyond the rows of the other folds; NaN where there is no line."""
    found, lowest, highest = np.full(len(z), np.nan), int(z.argmin()), int(z.argmax())
    for f, line in enumerate(lines):
        here = fold == f
        mine = z[here]
        low = z[lowest] if fold[lowest] != f else z[~here].min()
        high = z[highest] if fold[highest] != f else z[~here].max()
        inner = np.clip(mine, low, high)
        found[here] = line.at(inner) + (mine - inner)
    return found


CELLS, COARSE_FROM = 1000, 4000
"""Cells of one event that the maps of folds are fitted to where there are so many rows: held-out losses stay the same
but for a small part of their noise, in a fraction of the time."""


@dataclass(frozen=True, slots=True, eq=False)
class EventFolds:
    """One event in folds: places in log-odds, and what the other rows of each judged fold hold there."""

    z: Floats
    """log-odds of the places `(places,)`: those of the rows, or of cells of about equal mass"""
    weight: Floats
    """weight of the other rows `(folds, places)`"""
    hits: Floats
    """of which the event happened"""
    judged: Floats
    """log-odds of the judged rows"""
    fold: Ints
    """the fold of each of these"""
    cells: bool
    """are places cells?"""
    certain: bool
    """are some predictions 0 or 1, which are read as one rounding unit away?"""
    order: Ints | None = None
    """rows sorted by log-odds, then outcome, where places are cells"""

    def regressions(self, columns: Callable[[Floats], Floats], hits: Floats, near: Floats) -> tuple[Floats, Bools]:
        """Coefficients `(folds, columns)` of logistic regressions on columns of the log-odds, and whether each was found."""
        return fit_logistic_each(columns(self.z), self.weight, hits, near)

    def answers(self, columns: Callable[[Floats], Floats], coefficients: Floats) -> Floats:
        """Probabilities of the judged rows by the regression of their fold."""
        return sigmoid(np.einsum("nk,nk->n", columns(self.judged), coefficients[self.fold]))


def _event_folds(folded: Folds) -> EventFolds | None:
    """The table of one event; None where 0 and 1 are not read alike in all folds, or weights are not numbers of rows."""
    every, fold = folded.every, folded.fold
    values = every.outputs
    if values.ndim != 1 or every.squares is not None:
        return None
    z = values.astype(np.float64) if every.logits is not None else log_odds(values.astype(np.float64))
    certain = ~np.isfinite(z)
    limit = float(-np.log(np.finfo(values.dtype).eps)) if certain.any() else FAR
    if not folded.in_all(certain):
        return None
    z, here, outcomes = clipped(z, -limit, limit), folded.judged, every.event("binary").outcomes
    judged, weight = (z[here], fold[here]), np.ones(len(z)) if every.weights is None else every.weights
    if every.soft or limit < FAR or len(z) < COARSE_FROM:
        others = np.arange(folded.n_judged)[:, None] != fold
        return EventFolds(z, others * weight, others * (weight * outcomes), *judged, False, limit < FAR)
    order = _in_order(every) if every.logits is None else event_order(z, outcomes)
    cells = cells_of(z[order], outcomes[order], weight[order], fold[order], int(fold.max()) + 1, CELLS)
    mass, hits = (
        np.maximum(each.sum(axis=1, keepdims=True) - each[:, : folded.n_judged], 0.0).T
        for each in (cells.weight, cells.hits)
    )
    return EventFolds(cells.x, mass, np.minimum(hits, mass), *judged, True, False, order)


def _others(every: Predictions, fold: Ints, n_judged: int, event: EventFolds | None) -> list[Predictions]:
    """For each judged fold all rows but its own; many rows of one event as its cells."""
    if event is None or not event.cells:
        return [every.rows(fold != f) for f in range(n_judged)]
    labels, places, found = np.repeat([0, 1], len(event.z)), np.tile(event.z, 2), []
    for weight, hits in zip(event.weight, event.hits, strict=True):
        counts = np.concatenate([weight - hits, hits])
        kept = counts > 0
        given: dict[str, Any] = {"counts": counts[kept], "classes": every.classes}
        if every.logits is not None:
            found.append(Predictions.from_logits(labels[kept], places[kept], **given))
        else:
            found.append(Predictions.borrowed(labels[kept], sigmoid(places[kept]), **given))
    return found


def refuse_bound(fitted: Any) -> None:
    """Refuse a map that ended at a bound."""
    bound = [text for text in fitted.fit.cautions if AT_BOUND in text]
    if bound:
        raise CalibrantError(bound[0])


def n_units(predictions: Predictions) -> int:
    """Rows, or groups of rows that stay in one fold."""
    return predictions.n if predictions.groups is None else len(np.unique(predictions.groups))


def in_folds(predictions: Predictions, n_folds: int, seed: int = 0) -> tuple[Predictions, list[Bools]]:
    """Rows that each lie in one fold, and a mask of these rows per fold: `numbered_folds`, in another form."""
    rows, fold = numbered_folds(predictions, n_folds, seed)
    return rows, [fold == f for f in range(int(fold.max()) + 1)]


def numbered_folds(predictions: Predictions, n_folds: int, seed: int = 0) -> tuple[Predictions, Ints]:
    """Rows that each lie in one fold, and the number of that fold.

    Rows are sorted by content and assigned at random: turns by label would give every fold
    the same local rates, and favour whatever overfits. A row of integer weight is split over
    the folds as that many rows would be. Groups, where given, stay in one fold. There are at
    most as many folds as rows or groups.
    """
    units = n_units(predictions)
    if units < 2:
        what = "row" if predictions.groups is None else "group"
        raise InputError("labels", f"must hold two {what}s at least to judge one by the others", "there is one")
    rows, n_folds = rows_that_count(predictions), min(n_folds, units)
    if rows.groups is None:
        return _assigned(rows, n_folds, seed)
    groups, at = np.unique(rows.groups, return_inverse=True)
    return rows, np.random.default_rng(seed).permutation(np.arange(len(groups)) % n_folds)[at]


def _in_order(rows: Predictions) -> Ints:
    """Rows sorted by content; one event given by probabilities by these, then by outcome."""
    plain = rows.is_binary and rows.logits is None
    found: Ints = rows.kept(
        "order", lambda: event_order(rows.probs, rows.labels) if plain else np.lexsort(content_keys(rows))
    )
    return found


def _assigned(rows: Predictions, n_folds: int, seed: int) -> tuple[Predictions, Ints]:
    """Rows in their order, or split and sorted where they are counted, and the fold of each."""
    keys, rng = content_keys(rows), np.random.default_rng(seed)
    order = _in_order(rows)
    ordered = None if rows.weights is None else rows.weights[order]
    row, weights, fold = assigned(
        tuple(key[order] for key in keys), ordered, n_folds, rng, lambda _, n: rng.permutation(np.arange(n) % n_folds)
    )
    if weights is ordered:
        back = np.empty_like(fold)
        back[order] = fold
        return rows, back
    assert weights is not None  # rows were counted
    return rows.rows(order[row]).with_mass(Mass(weights)), fold
