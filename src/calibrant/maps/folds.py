"""Rows dealt into folds by what they say, so that neither their order nor the way they are weighted matters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.maps.log_space import rows_that_count
from calibrant.predictions import Predictions

MOST_ROWS = 1 << 14
"""Rows up to which whole weights are written out as repeated rows."""


def unit_rows(predictions: Predictions) -> Predictions:
    """Whole weights written out as rows; other weights stay as they are."""
    predictions = rows_that_count(predictions)
    w = predictions.weights
    if w is None or (w != np.floor(w)).any() or w.sum() > MOST_ROWS:
        return predictions
    return predictions.rows(np.repeat(np.arange(predictions.n), w.astype(np.intp))).without_weights()


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
