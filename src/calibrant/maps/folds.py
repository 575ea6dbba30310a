"""Rows dealt into folds by what they say, so that neither their order nor the way they are weighted matters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Predictions
from calibrant.problems import InputError

MOST_ROWS = 1 << 14
"""Rows up to which whole weights are written out as repeated rows."""


def unit_rows(predictions: Predictions) -> Predictions:
    """Whole weights written out as rows; other weights stay as they are."""
    predictions = rows_that_count(predictions)
    w = predictions.weights
    if w is None or (w != np.floor(w)).any() or w.sum() > MOST_ROWS:
        return predictions
    return predictions.rows(np.repeat(np.arange(predictions.n), w.astype(np.intp))).without_weights()


def held_out(predictions: Predictions, folds: int) -> Iterator[NDArray[np.bool_]]:
    """The rows of each fold in turn. There are no more folds than rows, or than groups, which stay together."""
    units = n_units(predictions)
    if units < 2:
        what = "row" if predictions.groups is None else "group"
        raise InputError("labels", f"must hold two {what}s at least to judge one by the others", "there is one")
    fold = dealt(predictions, min(folds, units))
    for f in range(min(folds, units)):
        yield fold == f


def n_units(predictions: Predictions) -> int:
    """Rows, or groups of rows that belong together."""
    return predictions.n if predictions.groups is None else len(np.unique(predictions.groups))


def dealt(predictions: Predictions, folds: int, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each row: rows are sorted by what they say, then dealt out at random.

    Groups, where given, stay together. Dealing in turn by label would give every fold the same local rates, and flatter
    whatever overfits.
    """
    rng = np.random.default_rng(seed)
    if predictions.groups is not None:
        groups, at = np.unique(predictions.groups, return_inverse=True)
        return rng.permutation(np.arange(len(groups)) % folds)[at]
    probs, labels = predictions.probs, predictions.labels
    key, tie = probs, labels
    if probs.ndim == 2:  # the names of the classes must not matter either
        key = np.sort(probs, axis=1) @ np.cos(np.arange(probs.shape[1], dtype=np.float64) ** 2)
        tie = (labels * probs).sum(axis=1) if labels.ndim == 2 else probs[np.arange(len(probs)), labels]
    fold = np.empty(predictions.n, dtype=np.intp)
    fold[np.lexsort((tie, key))] = rng.permutation(np.arange(predictions.n) % folds)
    return fold
