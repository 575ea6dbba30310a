"""Two plain arrays of which nothing is wrong: predictions of one event without the questions that other containers raise."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import FLOATS
from calibrant.kernels.rows.checks import all_below, all_in_unit_interval
from calibrant.predictions.predictions import Predictions
from calibrant.types import Array

CLASSES = (0, 1)


def plain_event(labels: Any, probs: Any) -> Predictions | None:
    """Borrowed predictions of zeros and ones, and floats in [0, 1]; None for all else, which the full checks read or refuse."""
    if type(labels) is not np.ndarray or type(probs) is not np.ndarray:
        return None
    dtype = labels.dtype
    if probs.dtype not in FLOATS or dtype.kind not in "biu" or not dtype.isnative:
        return None
    if probs.ndim != 1 or labels.ndim != 1 or not 0 < len(labels) == len(probs):
        return None
    codes = labels.view(np.uint8) if dtype.itemsize == 1 else labels
    if not (all_below(codes, 2) and all_in_unit_interval(probs)):
        return None
    return bare_event(codes if dtype.itemsize == 1 else codes.astype(np.uint8), probs.view())


def bare_event(labels: Array, probs: Array) -> Predictions:
    """Checked arrays as predictions; they are made read-only."""
    found = object.__new__(Predictions)
    labels.flags.writeable = probs.flags.writeable = False
    found.labels, found._probs, found.classes, found.is_confidence, found._events = labels, probs, CLASSES, False, {}
    found.logits = found.weights = found.squares = found.counted = found.groups = found.index = found.source = None
    return found
