"""Exact tests at full size: 10 000 draws from the null."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks.harness import Report
from calibrant.detect.calibration import calibration_test
from calibrant.detect.cumulative import cumulative_test
from calibrant.detect.multi_scale import multi_scale_test
from calibrant.detect.omnibus import is_calibrated
from calibrant.detect.skce import skce_test

DRAWS = 9999


def event(n: int, grid: int | None = None) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    p = rng.random(n) if grid is None else rng.integers(0, grid + 1, n) / grid
    return (rng.random(n) < p).astype(np.uint8), p


def classes(n: int, k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(k, 0.5), n)
    return (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1), probs


def seconds(call: Callable[[], Any]) -> float:
    """The shorter of two calls, after a small one has loaded the compiled code."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    report = Report(
        "detect",
        "Seconds for an exact p-value. A goal is an upper limit on two cores.",
        ("test", "rows", "draws", "seconds", "ns a drawn label", "goal, s", "met"),
    )
    large, small, tied, several = event(100_000), event(2000), event(100_000, 20), classes(10_000, 10)
    binned = partial(calibration_test, statistic="binned", bins=cal.EqualMass(15))
    cases: list[tuple[str, Callable[..., Any], tuple[Any, Any], int, dict[str, Any], float | None]] = [
        ("binned error, 15 bins", binned, large, DRAWS, {}, 5.0),
        ("KS", partial(calibration_test, statistic="ks"), large, DRAWS, {}, None),
        ("Kuiper", cumulative_test, large, DRAWS, {}, None),
        ("is_calibrated", is_calibrated, large, DRAWS, {}, 10.0),
        ("is_calibrated, 21 different predictions", is_calibrated, tied, DRAWS, {}, None),
        ("is_calibrated", is_calibrated, small, DRAWS, {}, None),
        ("is_calibrated, canonical, 10 classes", is_calibrated, several, 999, {"view": "canonical"}, None),
        ("SKCE, one event", skce_test, large, 999, {"bandwidth": 0.25}, None),
        ("SKCE, canonical, 3 classes", skce_test, classes(2000, 3), 999, {"bandwidth": 0.25}, None),
        ("T-Cal", multi_scale_test, large, 999, {}, None),
        ("sweep error, called on each draw", partial(calibration_test, statistic="sweep"), small, 999, {}, None),
    ]
    for name, test, (labels, probs), draws, options, goal in cases:
        test(labels[:100], probs[:100], n_draws=19, **options)
        took = seconds(lambda: test(labels, probs, n_draws=draws, **options))  # noqa: B023  (called at once)
        met = "" if goal is None else "yes" if took <= goal else "no"
        report.add(name, f"{len(labels):,}", f"{draws:,}", took, 1e9 * took / draws / len(labels), goal or "", met)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    report.findings.append(f"Load average at the end {load}: other work may have shared the cores.")
    report.write(("scipy",))


if __name__ == "__main__":
    main()
