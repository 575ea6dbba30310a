"""How fast are the scores? The mean and its interval in units of a memory pass: `np.sum` over the same arrays, one thread, same run."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks.harness import Report
from calibrant.kernels.rows.blocks import n_cores
from calibrant.maps import TemperatureMap

ROWS = 10_000_000
MATRIX = (50_000, 1000)
ROUNDS, TIMES = 6, 12
"""Rounds in which all calls of a case take turns, so that a busy moment hits them all, and times in each."""

GOAL = 3.0
SCORES = {
    "Brier": cal.brier_score,
    "log": cal.log_score,
    "spherical": cal.spherical_score,
    "ranked probability": cal.ranked_probability_score,
}


@dataclass(frozen=True)
class Took:
    """Milliseconds on the clock, and of all cores together: the second is what one core alone would take."""

    wall: float = math.inf
    cores: float = math.inf


@dataclass(frozen=True)
class Case:
    size: str
    labels: np.ndarray
    probs: np.ndarray
    counts: np.ndarray | None = None

    def summed(self) -> None:
        """The memory pass."""
        for array in (self.labels, self.probs, self.counts):
            if array is not None:
                np.sum(array)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        probs = rng.random(ROWS, dtype=dtype)
        labels = (rng.random(ROWS, dtype=dtype) < probs).astype(np.uint8)
        yield Case(f"10⁷, {dtype.__name__}", labels, probs)
        if dtype is np.float64:
            yield Case(f"10⁷, {dtype.__name__}, counts", labels, probs, rng.integers(1, 5, ROWS).astype(np.float64))
    for dtype in (np.float32, np.float64):
        probs = rng.random(MATRIX, dtype=dtype) ** 8
        probs /= probs.sum(axis=1, keepdims=True)
        yield Case(f"50 000 × 1000, {dtype.__name__}", rng.integers(0, MATRIX[1], MATRIX[0]).astype(np.int32), probs)


def least_times(calls: dict[str, Callable[[], Any]]) -> dict[str, Took]:
    """The shortest times of each call, over rounds in which they take turns."""
    times = dict.fromkeys(calls, Took())
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()
            for _ in range(TIMES):
                start, used = time.perf_counter(), time.process_time()
                call()
                found = Took(1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - used))
                times[name] = Took(min(times[name].wall, found.wall), min(times[name].cores, found.cores))
    return times


def measure(case: Case, report: Report) -> None:
    said = cal.Predictions(case.labels, case.probs, counts=case.counts)
    calls: dict[str, Callable[[], Any]] = {"pass": case.summed}
    for name, score in SCORES.items():
        calls[f"{name}, made"] = lambda score=score: score(said)
        calls[name] = lambda score=score: score(case.labels, case.probs, counts=case.counts)
    times = least_times(calls)
    least = times["pass"]
    for name in SCORES:
        made, raw = times[f"{name}, made"], times[name]
        passes, work = raw.wall / least.wall, raw.cores / least.cores
        goal = ("≤ 3", "yes" if passes <= GOAL else "no") if case.counts is None else ("", "")
        report.add(name, case.size, least.wall, made.wall, made.wall / least.wall, raw.wall, passes, work, *goal)


def measure_pair(case: Case, report: Report) -> None:
    """`compare` of predictions with a map's output, which is made beforehand: both sides are read."""
    before = cal.Predictions(case.labels, case.probs, counts=case.counts)
    after = TemperatureMap(before.classes, before.is_binary, temperature=1.5).apply(before)
    for name in ("brier", "log"):
        times = least_times(
            {
                "pass": lambda: (case.summed(), np.sum(after.probs)),
                "ours": lambda name=name: cal.compare(before, after, score=name),
            }
        )
        ours, least = times["ours"], times["pass"]
        passes, work = ours.wall / least.wall, ours.cores / least.cores
        title = f"compare, {'Brier' if name == 'brier' else name}"
        met = "yes" if passes <= GOAL else "no"
        report.add(title, case.size, least.wall, ours.wall, passes, "", "", work, "≤ 3", met)


def main() -> None:
    report = Report(
        "scores",
        "The mean score with its interval: of predictions already made, and from plain arrays with all checks. A memory pass is "
        "`np.sum` over the same arrays (labels, probabilities, counts), one thread, in the same run.",
        (
            "score",
            "rows",
            "memory pass, ms",
            "ms",
            "passes",
            "from arrays, ms",
            "passes",
            "work of all cores, passes",
            "goal",
            "met",
        ),
    )
    for case in cases():
        measure(case, report)
        if case.counts is None and case.probs.dtype == np.float32:
            measure_pair(case, report)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    report.findings += [
        "The interval adds no pass: the scores of a block are made in a core's cache, where mean and spread are taken of them.",
        "`compare` reads both sides in one pass; per row it holds no more than blocks do.",
        "A row's log score in a large table is one entry: with predictions made, most of the table is not read.",
        f"{n_cores()} cores; load average at the end {load}, so other work may have shared them.",
    ]
    report.write()


if __name__ == "__main__":
    main()
