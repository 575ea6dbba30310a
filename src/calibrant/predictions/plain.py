"""Two plain arrays of which nothing is wrong: predictions of one event without the questions that other containers raise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant.arrays import read_only
from calibrant.inputs import FLOATS
from calibrant.kernels.rows.checks import all_below, all_in_unit_interval
from calibrant.predictions.predictions import Predictions
from calibrant.predictions.views import FEW_ROWS
from calibrant.types import Array

CLASSES = (0, 1)
CODES = np.dtype(np.uint8)


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
    if counts is not None or weights is not None or not _are_plain(labels, probs, FEW_ROWS):
        return None
    codes, probs = labels.copy() if labels.dtype == CODES else labels.astype(CODES), probs.copy()
    codes.setflags(write=False)
    probs.setflags(write=False)
    return codes, probs


def _are_plain(labels: Any, probs: Any, most: float = math.inf) -> bool:
    """Are these arrays of zeros and ones, and of as many floats in [0, 1], and not too many?"""
    if type(labels) is not np.ndarray or type(probs) is not np.ndarray:
        return False
    dtype = labels.dtype
    if probs.dtype not in FLOATS or dtype.kind not in "biu" or not dtype.isnative:
        return False
    if probs.ndim != 1 or labels.ndim != 1 or not 0 < len(labels) == len(probs) <= most:
        return False
    return all_below(labels, 2) and all_in_unit_interval(probs)


def event_of_rows(labels: Array, probs: Array) -> Predictions:
    """Checked, read-only arrays as predictions."""
    found = object.__new__(Predictions)
    found.labels, found._probs, found.classes, found.is_confidence, found._events = labels, probs, CLASSES, False, {}
    found.logits = found.weights = found.squares = found.counted = found.groups = found.index = found.source = None
    return found
