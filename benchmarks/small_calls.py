"""How long does a call on few rows take? In units of a bare ECE in NumPy without any check, same run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks.harness import Report, best

ROWS = (100, 1_000, 10_000, 100_000)
LOOP = 20
"""Calls timed together."""


def bare_ece(labels: np.ndarray, probs: np.ndarray) -> float:
    """The sum of 15 gaps: what any package must do at least."""
    index = np.minimum((probs * 15).astype(np.intp), 14)
    return float(np.abs(np.bincount(index, probs - labels, minlength=15)).sum() / len(probs))


def looped(call: Callable[..., Any], *arguments: Any) -> float:
    """Milliseconds of one call among many."""

    def loop() -> None:
        for _ in range(LOOP):
            call(*arguments)

    return best(loop, 1.0) / LOOP


def main() -> None:
    report = Report(
        "small_calls",
        "A call in a loop, from plain arrays with all checks, before and after this process has compiled the loop for many rows.",
        ("rows", "call", "bare ECE in NumPy, ms", "ms", "ratio", "with its interval, ms"),
    )
    rng = np.random.default_rng(1)
    probs = rng.random(400_000)
    labels = (rng.random(len(probs)) < probs).astype(np.int64)
    for when in ("", ", compiled"):
        for n in ROWS:
            few = labels[:n].copy(), probs[:n].copy()
            floor = looped(bare_ece, *few)
            for name, call in (("ece", cal.ece), ("brier_score", cal.brier_score), ("log_score", cal.log_score)):
                took = looped(call, *few)
                whole = looped(lambda *given, call=call: call(*given).interval, *few)
                report.add(n, name + when, floor, took, took / floor, whole)
        cal.ece(labels, probs)
    report.write()
