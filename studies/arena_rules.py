"""The rules of the arena, in NumPy alone, so that they hold in every environment: rows, entries, scores."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

LEAST_TEST, MOST_TEST = 300, 5000
"""Rows to judge by: fewer are no experiment, more are not needed."""

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are read as this at least: an entry that answers 0 where 0 happens loses 36 nats, not all."""


class Entry(Protocol):
    """What takes part: anything with `fit(p, y)` and `predict_proba(p)`, p of shape `(n, K)` and y from 0 to K − 1."""

    def fit(self, p: Any, y: Any, /) -> Any: ...
    def predict_proba(self, p: Any, /) -> Any: ...


def rows(path: Path, size: int, seed: int) -> tuple[np.ndarray, ...] | None:
    """Calibration and test rows of a file of outputs: p, y, p, y; None if the file has too few."""
    held = np.load(path)
    labels, probs = held["labels"], held["probs"].astype(np.float64)
    if len(labels) < size + LEAST_TEST:
        return None
    p = np.stack([1 - probs, probs], axis=1) if probs.ndim == 1 else probs / probs.sum(axis=1, keepdims=True)
    order = np.random.default_rng([zlib.crc32(path.stem.encode()), size, seed]).permutation(len(labels))
    fit, test = order[:size], order[size : size + MOST_TEST]
    return p[fit], labels[fit], p[test], labels[test]


def row_scores(p: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log loss and Brier score of each row, summed over classes."""
    p = np.maximum(np.asarray(p, dtype=np.float64), SMALLEST)
    p = p / p.sum(axis=1, keepdims=True)
    hit = p[np.arange(len(y)), y]
    return -np.log(hit), (p**2).sum(axis=1) - 2 * hit + 1


def scores(p: Any, y: np.ndarray, before: np.ndarray) -> tuple[float, float, float]:
    """Mean log loss, mean Brier score, and the standard error of the change of the former from no repair, row by row."""
    log, brier = row_scores(p, y)
    return float(log.mean()), float(brier.mean()), float((log - before).std(ddof=1) / len(y) ** 0.5)


def judged(made: dict[str, Callable[[], Entry]], given: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """Log loss, Brier score, the error of the former's change and CPU seconds of the fit for every entry, or why not."""
    p, y, new, labels = given
    before, found = row_scores(new, labels)[0], {}
    for name, make in made.items():
        start = time.process_time()
        try:
            entry = make()
            entry.fit(p, y)
            took = time.process_time() - start
            found[name] = [*scores(entry.predict_proba(new), labels, before), took]
        except Exception as error:
            found[name] = f"{type(error).__name__}: {str(error)[:100]}"
    return found
