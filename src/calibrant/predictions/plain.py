"""Two plain arrays of which nothing is wrong: predictions of one event without the questions that other containers raise."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.arrays import read_only
from calibrant.inputs import FLOATS
from calibrant.kernels.rows.checks import BITS, UNSIGNED, all_below, all_in_unit_interval
from calibrant.predictions.predictions import Predictions
from calibrant.predictions.views import FEW_ROWS
from calibrant.types import Array

CLASSES = (0, 1)
CODES = UNSIGNED[1]
FLOAT_BITS: dict[Any, tuple[Any, int]] = {dtype: BITS[dtype.itemsize] for dtype in FLOATS}
"""By the type of floats: the whole numbers of the same bits, and the bits of 1."""

WHOLE: dict[Any, Any] = {np.dtype(c): UNSIGNED[np.dtype(c).itemsize] for c in "?bhilqBHILQ"}
"""By the type of whole numbers: as what negative ones are large."""


def plain_event(labels: Any, probs: Any) -> Predictions | None:
    """Borrowed predictions of zeros and ones, and floats in [0, 1]; None for all else, which the full checks read or refuse."""
    if not _are_plain(labels, probs):
        return None
    codes = labels.view(CODES) if labels.dtype.itemsize == 1 else labels.astype(CODES)
    return event_of_rows(read_only(codes), read_only(probs.view()))


def few_plain_rows(labels: Any, probs: Any, counts: Any, weights: Any) -> tuple[Array, Array] | None:
    """Labels and probabilities of such predictions, copied, where they are few: a short call does without `Predictions`.

    A copy costs next to nothing then, so that what waits until it is read can have one.
    """
    if counts is not None or weights is not None or type(labels) is not np.ndarray or type(probs) is not np.ndarray:
        return None
    whole, bits, shape = WHOLE.get(labels.dtype), FLOAT_BITS.get(probs.dtype), probs.shape
    if whole is None or bits is None or labels.shape != shape or len(shape) != 1 or not 0 < shape[0] <= FEW_ROWS:
        return None
    # the checks are those of kernels.rows.checks, whose calls take longer than they do of so few rows
    probs, codes = probs.copy(), labels.copy() if labels.dtype is CODES else labels.view(whole)
    read = probs.view(bits[0])
    if codes.item(codes.argmax()) > 1 or read.item(read.argmax()) > bits[1]:
        return None
    if labels.dtype is not CODES:
        codes = codes.astype(CODES)
    codes.setflags(write=False)
    probs.setflags(write=False)
    return codes, probs


def _are_plain(labels: Any, probs: Any) -> bool:
    """Are these arrays of zeros and ones, and of as many floats in [0, 1]?"""
    if type(labels) is not np.ndarray or type(probs) is not np.ndarray:
        return False
    dtype = labels.dtype
    if probs.dtype not in FLOATS or dtype.kind not in "biu" or not dtype.isnative:
        return False
    if probs.ndim != 1 or labels.ndim != 1 or not 0 < len(labels) == len(probs):
        return False
    return all_below(labels, 2) and all_in_unit_interval(probs)


def event_of_rows(labels: Array, probs: Array) -> Predictions:
    """Checked, read-only arrays as predictions."""
    found = object.__new__(Predictions)
    found.labels, found._probs, found.classes, found.is_confidence, found._events = labels, probs, CLASSES, False, {}
    found.logits = found.weights = found.squares = found.counted = found.groups = found.index = found.source = None
    return found
