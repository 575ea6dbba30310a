"""Predictions as logarithms, ready to fit: what a probability of 0 is read as, and the label of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.kernels.logits import log_probabilities, row_blocks, row_maxima, sigmoid, tamed, two_columns
from calibrant.predictions import Predictions, on_device, plain_event
from calibrant.predictions.content import one_by_one
from calibrant.problems import InputError
from calibrant.results.constraints import BIG
from calibrant.types import Array, Bools, Floats, Indices

NEVER = -1e30
"""The logit of a probability of 0 that takes no part: finite, and far enough down."""


def log_columns(probs: Array, zero: float) -> Array:
    """ln p, `(n, K)`; a single event becomes the pair (1−p, p). A probability of 0 is read as `zero`.

    It stays below every positive probability of its row, so that no class overtakes another;
    for a single event nothing is read as less than `zero`, so that no row overtakes another.
    With `zero` = 0 its class takes no part.
    """
    if probs.ndim == 1:
        return log_columns(np.maximum(two_columns(probs), zero), 0.0)
    if probs.min() > 0:
        return np.asarray(np.log(probs))
    found: Array = np.log(probs, out=np.full_like(probs, NEVER), where=probs > 0)
    if not zero:
        return found
    row, column = np.nonzero(probs == 0)
    if len(row):
        least = np.where(probs[row] > 0, found[row], np.inf).min(axis=1) - np.log(2)
        found[row, column] = np.minimum(least, np.log(zero))
    return found


def raw_or_log_columns(predictions: Predictions, zero: float) -> Array:
    """Logits as they were given, `(n, K)`; else ln p."""
    if predictions.logits is None:
        return log_columns(predictions.probs, zero)
    return _logit_columns(predictions.logits)


def normalised_columns(predictions: Array, zero: float, are_logits: bool) -> Floats:
    """ln p in float64, `(n, K)`, of probabilities or logits: the same for logits that differ by a constant."""
    if not are_logits:
        return log_columns(predictions.astype(np.float64), zero)
    return log_probabilities(_logit_columns(predictions.astype(np.float64)))


def _logit_columns(logits: Array) -> Array:
    z = tamed(logits)
    return np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z


def reading_of_zero(predictions: Predictions, *, always: bool = False) -> tuple[float, tuple[str, ...]]:
    """What a probability of 0 is read as, and the warning that goes with it.

    0 where no label has probability 0, else the rounding unit of the probabilities; `always` takes the rounding unit
    wherever a probability is 0.
    """
    if predictions.logits is not None:
        return 0.0, ()
    probs = predictions.probs
    unit = float(np.finfo(probs.dtype).eps)
    columns = two_columns(probs) if probs.ndim == 1 else probs
    if predictions.soft:
        row = np.flatnonzero(((columns == 0) & (soft_shares(predictions) > 0)).any(axis=1))
    else:
        row = np.flatnonzero(impossible(predictions))
    if len(row):
        text = f"{len(row)} rows (first: row {row[0]}) give probability 0 to their label"
        return unit, (f"{text}; 0 is read as {unit:.1e}",)
    if always and (columns == 0).any():
        return unit, (f"a probability of 0 is read as {unit:.1e}",)
    return unit * always, ()


def soft_shares(predictions: Predictions) -> Floats:
    """Soft labels as rows of class shares."""
    labels = predictions.labels
    return labels if labels.ndim == 2 else two_columns(labels)


def impossible(predictions: Predictions) -> Bools:
    """Has each row a label, not soft, of probability 0?"""
    probs = two_columns(predictions.probs) if predictions.probs.ndim == 1 else predictions.probs
    return np.asarray(probs[np.arange(len(probs)), predictions.labels] == 0)


def prevalence_of(predictions: Predictions) -> Floats:
    """The share of each class among the labels; of multi-label predictions, of the rows in which each label is true."""
    labels, weights = predictions.observed, predictions.weights
    if predictions.soft or labels.ndim == 2:
        shares = labels if labels.ndim == 2 else two_columns(labels)
        return np.asarray(np.average(shares, axis=0, weights=weights))
    found = np.bincount(labels, weights=weights, minlength=predictions.n_classes)
    return np.asarray(found / found.sum())


def label_entries(predictions: Predictions) -> tuple[Indices, Array, Array]:
    """Row, class and weight of each label; a soft label has an entry per class with a share."""
    weights = np.ones(len(predictions.labels)) if predictions.weights is None else predictions.weights
    if not predictions.soft:
        return np.arange(len(predictions.labels)), predictions.labels, weights
    shares = soft_shares(predictions)
    row, column = np.nonzero(shares)
    return row, column, shares[row, column] * weights[row]


def label_gaps(z: Array, predictions: Predictions) -> Floats:
    """The logit of the label of each row less the largest of the row; for soft labels its mean."""
    labels, top = predictions.labels, row_maxima(z)[:, 0].astype(np.float64)
    if not predictions.soft:
        return z[np.arange(len(z)), labels].astype(np.float64) - top
    return np.einsum("ij,ij->i", z, soft_shares(predictions), dtype=np.float64) - top


def predicted_gaps(z: Array) -> Floats:
    """What `label_gaps` is in the mean if the predictions softmax(z) are right."""
    found = np.empty(len(z))
    for rows in row_blocks(*z.shape):
        below = z[rows].astype(np.float64)
        below -= row_maxima(below)
        share = np.exp(below)
        found[rows] = np.einsum("ij,ij->i", share, below) / share.sum(axis=1)
    return found


def prior_share(predictions: Predictions, penalty: float | None) -> float:
    """λ/(n + λ): the part of the outcomes that is read as predicted, with a penalty of λ rows."""
    total = float(len(predictions.labels) if predictions.weights is None else predictions.weights.sum())
    return 0.0 if penalty is None else penalty / (total + penalty)


def hits_and_prior(weight: Floats, hits: Floats, z: Floats, penalty: float | None) -> Floats:
    """Hits at log-odds z `(…, places)` of which a share of λ/(n + λ) is as predicted; as they are without a penalty."""
    if penalty is None:
        return hits
    share = penalty / (weight.sum(axis=-1, keepdims=True) + penalty)
    return hits * (1 - share) + share * weight * sigmoid(z)


def check_penalty(penalty: Any, name: str = "penalty") -> None:
    """Refuse what is neither a number of rows nor None."""
    number = isinstance(penalty, float | int) and not isinstance(penalty, bool) and 0 < penalty <= BIG
    if penalty is not None and not number:
        raise InputError(name, f"must be a number of rows above 0 and up to {BIG:g}, or None", f"it is {penalty!r}")


def rows_that_count(predictions: Predictions) -> Predictions:
    """Without the rows of weight 0; rows with weights that occurred several times are several rows."""
    if predictions.squares is not None:
        return one_by_one(predictions)
    weights = predictions.weights
    return predictions if weights is None or weights.all() else predictions.rows(weights > 0)


def admit_fit(labels: Any, probs: Any, logits: Any, counts: Any, weights: Any) -> Predictions:
    """The data of a fit: a `Predictions`, or labels with probs or logits."""
    if isinstance(labels, Predictions):
        if any(each is not None for each in (probs, logits, counts, weights)):
            raise InputError("labels", "is a Predictions and carries its own data", advice="Pass it alone")
        return labels
    if logits is None and counts is None and weights is None and (plain := plain_event(labels, probs)) is not None:
        return plain
    name = given_of(probs, logits)
    found = on_device(labels, probs if logits is None else logits, counts, weights, logits=logits is not None)
    if found is not None:
        return found
    if name == "logits":
        return Predictions.from_logits(labels, logits, counts=counts, weights=weights)
    return Predictions.borrowed(labels, probs, counts=counts, weights=weights)


def given_of(probs: Any, logits: Any) -> str:
    """Which of the two was given."""
    if (probs is None) == (logits is None):
        raise InputError("probs", "or logits must be given, one of the two")
    return "probs" if logits is None else "logits"
