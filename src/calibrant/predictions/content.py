"""An order of rows by what they hold, whatever order they came in."""

from __future__ import annotations

import numpy as np

from calibrant.predictions.predictions import Predictions
from calibrant.types import Array


def one_by_one(rows: Predictions) -> Predictions:
    """Rows that occurred twice as two rows; those of weight 0 are none."""
    if rows.mass is None or (rows.squares is not None and (rows.mass.counts == 1).all()):
        return rows
    at, mass = rows.mass.single()
    return rows.rows(at).with_mass(None if mass.squares is None else mass)


def in_own_order(rows: Predictions) -> Predictions:
    """The same rows, one by one, in an order that depends on their content alone.

    They are sorted and then shuffled with a fixed seed, as sorted rows are no sample to a
    method that takes rows in their order.
    """
    if rows.weights is None and rows.counted is not None:
        return rows  # a state, which holds no rows
    rows = one_by_one(rows)
    keys = content_keys(rows) if rows.weights is None else (rows.weights, *content_keys(rows))
    if rows.groups is not None:
        keys = (np.unique(rows.groups, return_inverse=True)[1].ravel(), *keys)
    return rows.rows(np.random.default_rng(0).permutation(np.lexsort(keys)))


def content_keys(rows: Predictions) -> tuple[Array, ...]:
    """Numbers that differ where rows do, the first key last; names of classes do not matter."""
    probs, labels, given = rows.probs, rows.labels, rows.outputs
    if probs.ndim == 1:
        return given, labels, probs
    steps = np.arange(probs.shape[1], dtype=np.float64)

    def projected(columns: Array, at: Array) -> Array:
        return np.einsum("ij,j->i", columns, at)  # in one order for all rows, unlike a matrix product

    key, name = projected(np.sort(probs, axis=1), np.cos(steps**2)), np.sin(steps**2 + 1)
    if labels.ndim == 2:
        return projected(labels, name), projected(given, name), np.einsum("ij,ij->i", labels, probs), key
    return labels, projected(given, name), probs[np.arange(len(probs)), labels], key
