"""Two plain arrays of which nothing is wrong: predictions of one event without the questions that other containers raise."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.inputs import FLOATS
from calibrant.kernels.rows.checks import all_below, all_in_unit_interval
from calibrant.predictions.predictions import Predictions
from calibrant.predictions.views import FEW_ROWS
from calibrant.types import Array

CLASSES = (0, 1)
CODES = np.dtype(np.uint8)


def plain_event(labels: Any, probs: Any) -> Predictions | None:
    """Predictions of zeros and ones, and floats in [0, 1], borrowed where they are many; None for all else.

    The full checks read or refuse all else.
    """
    if type(labels) is not np.ndarray or type(probs) is not np.ndarray:
        return None
    dtype = labels.dtype
    if probs.dtype not in FLOATS or dtype.kind not in "biu" or not dtype.isnative:
        return None
    if probs.ndim != 1 or labels.ndim != 1 or not 0 < len(labels) == len(probs):
        return None
    if not (all_below(labels, 2) and all_in_unit_interval(probs)):
        return None
    if len(probs) <= FEW_ROWS:
        return bare_event(labels.astype(CODES), probs.copy())
    return bare_event(labels.view(CODES) if dtype.itemsize == 1 else labels.astype(CODES), probs.view())


def bare_event(labels: Array, probs: Array) -> Predictions:
    """Checked arrays as predictions; they are made read-only."""
    found = object.__new__(Predictions)
    labels.flags.writeable = probs.flags.writeable = False
    found.labels, found._probs, found.classes, found.is_confidence, found._events = labels, probs, CLASSES, False, {}
    found.logits = found.weights = found.squares = found.counted = found.groups = found.index = found.source = None
    return found
