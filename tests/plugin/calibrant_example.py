"""Adds to calibrant from outside: an estimator, a map, a score, a rule for bins and a test."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import Any, ClassVar

import numpy as np

from calibrant.extend import (
    ONE_EVENT,
    BinaryMap,
    BinaryRecipe,
    BinRule,
    Estimate,
    Event,
    Fit,
    Predictions,
    Score,
    TestResult,
    admit,
    method,
    record,
)


@method("estimator", name="half_gap", title="half gap", views=ONE_EVENT, also_called=("HG",))
def half_gap(
    labels: Any, probs: Any = None, *, view: Any = "auto", counts: Any = None, weights: Any = None
) -> Estimate:
    """How far off is the worse half?

    Notes
    -----
    Estimates: larger mean gap of the predictions up to ½ and above it.
    Bias: up near calibration.
    Cost: one pass.
    Source: this package.
    """
    predictions = admit(labels, probs, counts=counts, weights=weights)
    event = predictions.event(view)
    state = Halves().collect(event)
    value = np.max(np.abs(state.mean_prob - state.label_rate))
    return Estimate("half_gap", "half gap", float(value), event.n, settings={"view": predictions.view(view)})


@method("binning", name="halves")
@dataclass(frozen=True)
class Halves(BinRule):
    """Two bins, cut at a threshold or, without one, at the mean prediction."""

    cut: float | None = 0.5

    def edges_of(self, event: Event) -> np.ndarray:
        """0, the cut and 1."""
        cut = np.average(event.probs, weights=event.weights) if self.cut is None else self.cut
        return np.array([0.0, cut, 1.0])


@method("map", name="shrink")
@dataclass(frozen=True)
class Shrink(BinaryRecipe):
    """Move every prediction towards ½ by the factor with the smallest Brier score."""

    def fit_event(self, predictions: Predictions) -> ShrinkMap:
        """The factor, by least squares."""
        event = predictions.event("binary")
        x, y = event.probs.astype(np.float64) - 0.5, event.outcomes - 0.5
        w = np.ones(len(x)) if event.weights is None else event.weights
        factor = np.clip((w * x * y).sum() / max((w * x * x).sum(), 1e-300), 0.01, 1.0)
        return ShrinkMap(predictions.classes, True, Fit(predictions.n), float(factor))


@record
@dataclass(frozen=True, eq=False, repr=False)
class ShrinkMap(BinaryMap):
    """½ + factor · (p − ½)."""

    factor: float = 1.0

    method: ClassVar[str] = "shrink"
    keeps_ranking: ClassVar[bool] = True
    keeps_accuracy: ClassVar[bool] = True

    @property
    def injective(self) -> bool:
        """The factor is never 0."""
        return True

    @property
    def parameters(self) -> dict[str, Any]:
        """The factor."""
        return {"factor": self.factor}

    def of_log_odds(self, z: np.ndarray) -> np.ndarray:
        """From log-odds to the new probability."""
        return 0.5 + self.factor * 0.5 * np.tanh(z / 2)


@method("score")
class CubicScore(Score):
    """1 + Σ_k (2p_k³ − 3q_k p_k²)."""

    name: ClassVar[str] = "cubic"
    title: ClassVar[str] = "cubic score"
    infimum: ClassVar[float] = 0.0

    def expected(self, probs: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """s(P, Q)."""
        return 1 + (2 * probs**3 - 3 * truth * probs**2).sum(axis=-1)


@method("test", name="mean_z", title="z of the mean", views=ONE_EVENT)
def mean_z_test(labels: Any, probs: Any = None, *, view: Any = "auto") -> TestResult:
    """Are the predictions right on average? A normal approximation.

    Notes
    -----
    Power against: predictions too high or too low on average.
    """
    event = admit(labels, probs).event(view)
    p = event.probs.astype(np.float64)
    z = abs((event.outcomes - p).sum()) / sqrt((p * (1 - p)).sum())
    return TestResult("mean_z", "z of the mean", z, erfc(z / sqrt(2)), event.n, "normal approximation")
