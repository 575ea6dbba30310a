"""Folds of predictions, assigned by the content of the rows: their order does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.kernels.fit.knot_paths import Bent, cells_of
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.kernels.rows.sorted_folds import Ints, assigned
from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Mass, Predictions
from calibrant.predictions.content import content_keys
from calibrant.problems import CalibrantError, InputError
from calibrant.types import Bools, Floats

AT_BOUND = "stopped at the bound"
"""The caution of a map that is where its bounds put it, not the data: it is no candidate."""


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """Rows that are judged, and for each part of them the rows that its map is fitted to."""

    given: Predictions
    """all rows, as they came"""
    rows: Predictions
    """those that are judged"""
    masks: list[Bools]
    others: list[Predictions]
    strict: bool = True
    """is a map at its bound refused?"""
    step: Callable[[], None] = lambda: None
    """called after every fit"""

    @property
    def crossed(self) -> bool:
        """Is every row in one fold, and the others of a fold all rows but its own?"""
        return len(self.masks) > 1

    @property
    def index(self) -> Ints:
        """The fold of each row."""
        return np.argmax(self.masks, axis=0)

    def continued(self, z: Floats, lines: Iterable[Bent]) -> Floats:
        """At every row the line of its fold, with slope one beyond the rows of the other folds."""
        found = np.empty(len(z))
        for mask, line in zip(self.masks, lines, strict=True):
            others = z[~mask]
            inner = np.clip(z[mask], others.min(), others.max())
            found[mask] = line.at(inner) + (z[mask] - inner)
        return found

    def answers(self, maps: Iterable[Any]) -> Floats:
        """Probabilities of every row by the map of its fold."""
        outputs, are_logits = self.rows.outputs.astype(np.float64), self.rows.logits is not None
        found = np.empty(outputs.shape)
        for mask, fitted in zip(self.masks, maps, strict=True):
            if self.strict:
                refuse_bound(fitted)
            found[mask] = fitted.recalibrated(outputs[mask], are_logits)
            self.step()
        return found


CELLS, COARSE_FROM = 1000, 4000
"""Cells of one event that the maps of folds are fitted to where there are so many rows: held-out losses stay the same
but for a small part of their noise, in a fraction of the time."""


def others_of(rows: Predictions, masks: list[Bools]) -> list[Predictions]:
    """For each fold all rows but its own; many rows of one event as cells of about equal mass."""
    values = rows.outputs
    inner = values.ndim == 1 and (rows.logits is not None or bool((values > 0).all() and (values < 1).all()))
    if not inner or rows.soft or rows.squares is not None or len(values) < COARSE_FROM:
        return [rows.rows(~mask) for mask in masks]
    z = values.astype(np.float64) if rows.logits is not None else log_odds(values.astype(np.float64))
    order, fold = np.argsort(z, kind="stable"), np.argmax(masks, axis=0)
    weight = np.ones(len(z)) if rows.weights is None else rows.weights
    cells = cells_of(z[order], rows.labels[order], weight[order], fold[order], len(masks), CELLS)
    mass = np.stack([cells.weight - cells.hits, cells.hits])  # (outcome, cell, fold)
    labels, places = np.repeat([0, 1], len(cells.x)), np.tile(cells.x, 2)
    found = []
    for f in range(len(masks)):
        counts = np.maximum(mass.sum(axis=2) - mass[:, :, f], 0.0).ravel()
        kept = counts > 0
        given = {"counts": counts[kept], "classes": rows.classes}
        if rows.logits is not None:
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
    """Rows that each lie in one fold, and a mask of these rows per fold.

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
    if rows.groups is not None:
        groups, at = np.unique(rows.groups, return_inverse=True)
        fold = np.random.default_rng(seed).permutation(np.arange(len(groups)) % n_folds)[at]
    else:
        rows, fold = _assigned(rows, n_folds, seed)
    return rows, [fold == f for f in range(n_folds)]


def _assigned(rows: Predictions, n_folds: int, seed: int) -> tuple[Predictions, Ints]:
    """Rows in their order, or split and sorted where they are counted, and the fold of each."""
    keys, rng = content_keys(rows), np.random.default_rng(seed)
    order = np.lexsort(keys)
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
