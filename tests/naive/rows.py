"""Rows of whole weight written out, so that the twins need no weights."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np


def counted(said: Any) -> Any:
    """The same rows with small whole weights in place of any others; a weight of zero stays."""
    if said.weights is None:
        return said
    return replace(said, weights=np.array([float(min(4, ceil(w))) for w in said.weights]))


def written_out(labels: Any, probs: Any, weights: Any) -> tuple[list[Any], list[Any]]:
    """Labels and probabilities with every row as often as its weight says."""
    times = [1] * len(probs) if weights is None else [int(w) for w in weights]
    rows = [j for j, w in enumerate(times) for _ in range(w)]
    return [labels[j] for j in rows], [probs[j] for j in rows]


def two_classes(outcomes: Any, probs: Any) -> tuple[list[list[float]], list[list[float]]]:
    """An event as rows (1−y, y) and (1−p, p)."""
    return [[1 - float(y), float(y)] for y in outcomes], [[1 - float(p), float(p)] for p in probs]


def one_hot(labels: Any, n_classes: int) -> list[list[float]]:
    return [[float(k == label) for k in range(n_classes)] for label in labels]
