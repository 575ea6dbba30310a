"""Labels and probabilities in the forms that packages like best, made before the clock starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

AT = (np.arange(200) + 0.5) / 200
"""Probabilities at which fitted maps are compared."""

ROWS = 200
"""First rows at which maps of several classes are compared."""


@dataclass
class Data:
    labels: np.ndarray
    probs: np.ndarray
    logits: np.ndarray | None = None
    sd: np.ndarray | None = None
    """of forecasts of a real number, whose means are `probs` then"""

    @property
    def arrays(self) -> list[np.ndarray]:
        return [each for each in (self.labels, self.probs, self.sd) if each is not None]

    @cached_property
    def ints(self) -> np.ndarray:
        return self.labels.astype(np.int64)

    @cached_property
    def floats(self) -> np.ndarray:
        return self.labels.astype(np.float64)

    @cached_property
    def wide(self) -> np.ndarray:
        """Probabilities in double precision, rows that sum to 1 in it."""
        probs = self.probs.astype(np.float64)
        return probs / probs.sum(axis=1, keepdims=True) if probs.ndim == 2 else probs

    @cached_property
    def two_columns(self) -> np.ndarray:
        return np.stack([1 - self.probs, self.probs], axis=1)

    @cached_property
    def one_hot(self) -> np.ndarray:
        return np.eye(self.probs.shape[1], dtype=np.uint8)[self.labels]

    @cached_property
    def top(self) -> tuple[np.ndarray, np.ndarray]:
        """Correct or not, and confidence, of the most probable class."""
        if self.probs.ndim == 1:
            said = self.probs >= 0.5
            return (said == self.labels).astype(np.uint8), np.where(said, self.probs, 1 - self.probs)
        return (self.probs.argmax(axis=1) == self.labels).astype(np.uint8), self.probs.max(axis=1)

    @cached_property
    def tensors(self) -> tuple[Any, Any]:
        import torch

        return torch.from_numpy(self.probs), torch.from_numpy(self.ints)

    @cached_property
    def single_tensors(self) -> tuple[Any, Any]:
        probs, labels = self.tensors
        return probs.float(), labels
