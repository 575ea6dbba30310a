"""The quantities that are compared, and on which data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int]
"""Rows and classes; one class is an event, none are forecasts of a real number."""

EVENT = tuple((10**power, 1) for power in range(2, 8))
CLASSES = ((100, 10), (1_000, 10), (10_000, 3), (10_000, 10), (10_000, 100), (50_000, 1000))
NUMBERS = tuple((10**power, 0) for power in range(2, 7))
QUICK = {1: ((1_000, 1), (100_000, 1)), 10: ((1_000, 10), (100_000, 10)), 0: ((1_000, 0), (100_000, 0))}


@dataclass(frozen=True)
class Task:
    name: str
    title: str
    shapes: tuple[Shape, ...] = EVENT
    many: int = 10**7
    """rows above which the full run does not go"""
    alone: bool = False
    """no other package has it: calibrant's time, growth and memory only, in the full run"""

    def sizes(self, quick: bool) -> tuple[Shape, ...]:
        if quick and self.alone:
            return ()
        shapes = QUICK[min(self.shapes[0][1], 10)] if quick else self.shapes
        return tuple(
            shape for shape in shapes if shape[0] * max(shape[1], 1) <= self.many * (10 if shape[1] > 1 else 1)
        )


ESTIMATES = (
    Task("ece", "ECE, 15 equal-width bins"),
    Task("mass", "ECE, 15 equal-mass bins"),
    Task("debiased", "debiased root mean square error, 15 equal-width bins"),
    Task("debiased mean", "debiased ECE, 15 equal-width bins"),
    Task("sweep", "sweep ECE"),
    Task("smooth", "smooth ECE"),
    Task("ks", "KS error"),
    Task("kuiper", "Kuiper error"),
    Task("skce", "squared kernel error (SKCE), unbiased, bandwidth given", many=10**6),
    Task("mmce", "MMCE, bandwidth 0.4", many=10**6),
    Task("brier", "Brier score"),
    Task("log", "log loss"),
    Task("decomposition", "decomposition of the Brier score by isotonic regression", many=10**6),
    Task("curve", "reliability curve, 15 bins"),
    Task("top", "top-label ECE", CLASSES),
    Task("classwise", "class-wise ECE", CLASSES),
    Task("brier of classes", "Brier score of classes", CLASSES),
    Task("log of classes", "log loss of classes", CLASSES),
    Task("crps", "CRPS of normal forecasts", NUMBERS),
)
MAPS = {
    "temperature": "temperature scaling of one event",
    "Platt": "Platt scaling",
    "beta": "beta calibration",
    "isotonic": "isotonic regression",
    "histogram": "histogram binning, 15 bins",
    "spline": "spline calibration",
    "Venn–Abers": "Venn–Abers",
    "four lines": "piecewise linear, four pieces",
    "temperature of classes": "temperature scaling of classes",
    "structured vector": "structured vector scaling",
    "structured matrix": "structured matrix scaling",
    "Dirichlet": "Dirichlet calibration, penalty given",
}
OF_CLASSES = ("temperature of classes", "structured vector", "structured matrix", "Dirichlet")
STEPS = ("fit", "apply")
ALONE = (
    Task("posterior", "posterior error, with its interval", many=10**6, alone=True),
    Task("cross-validated", "cross-validated error", alone=True),
    Task("density", "density error", many=10**6, alone=True),
    Task("skce chosen", "SKCE, bandwidth chosen", many=10**6, alone=True),
    Task("is_calibrated", "`is_calibrated`", many=10**6, alone=True),
    Task("diagnose", "`diagnose`", alone=True),
    Task("canonical", "canonical error", ((1_000, 10), (10_000, 10)), alone=True),
    Task("skce of classes", "SKCE of classes, bandwidth given", ((1_000, 10), (10_000, 10)), alone=True),
    Task("Gaussian process: fit", "Gaussian process, fit", many=10**6, alone=True),
    Task("pieces chosen: fit", "piecewise linear, pieces cross-validated, fit", many=10**6, alone=True),
    Task("auto: fit", "`auto`, fit", many=10**5, alone=True),
    Task("vector: fit", "vector scaling, fit", CLASSES, 10**6, alone=True),
    Task("order-preserving: fit", "order-preserving map, fit", CLASSES, 10**5, alone=True),
)
TASKS = (
    *ESTIMATES,
    *(
        Task(f"{name}: {step}", f"{title}, {step}", CLASSES if name in OF_CLASSES else EVENT, 10**6)
        for name, title in MAPS.items()
        for step in STEPS
    ),
    *ALONE,
)


def make_data(shape: Shape, seed: int = 1) -> dict[str, NDArray[np.generic]]:
    """Arrays of an overconfident model, or of forecasts whose standard deviations are a fifth too small."""
    rng, (n, k) = np.random.default_rng([seed, *shape]), shape
    if k == 1:
        probs = rng.uniform(1e-6, 1 - 1e-6, n)
        rate = 1 / (1 + ((1 - probs) / probs) ** 0.8)
        return {"labels": (rng.random(n) < rate).astype(np.uint8), "probs": probs}
    if k == 0:
        mean, sd = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
        return {"labels": mean + 1.25 * sd * rng.normal(size=n), "probs": mean, "sd": sd}
    logits = 2 * rng.standard_normal((n, k), dtype=np.float32)
    labels = np.argmax(0.8 * logits + rng.gumbel(size=(n, k)).astype(np.float32), axis=1).astype(np.int32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return {"labels": labels, "probs": powers / powers.sum(axis=1, keepdims=True), "logits": logits}
