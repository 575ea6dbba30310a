"""How long does an audit of a million rows and a thousand overlapping segments take?"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import calibrant as cal
from benchmarks.harness import Report
from calibrant.kernels.rows.blocks import n_cores
from calibrant.verbs.auditing.audit import audit

ROWS, SEGMENTS = 1_000_000, 1000
GOAL = 60.0


def cases() -> Iterator[tuple[str, cal.Predictions, dict[str, Any]]]:
    rng = np.random.default_rng(1)
    p = rng.random(ROWS)
    said = cal.Predictions(rng.random(ROWS) < p, p)
    features = {f"x{k}": rng.normal(size=ROWS) for k in range(4)}
    yield "automatic, depth 3, of 4 features in 6 bins", said, {"features": features, "n_bins": 6}
    for share in (0.01, 0.1):
        masks = {f"m{k}": rng.random(ROWS) < share for k in range(SEGMENTS)}
        yield f"masks at random, {share:.0%} of the rows each", said, {"segments": masks}


def main() -> None:
    report = Report(
        "audit",
        f"An audit of {ROWS:,} rows and {SEGMENTS} segments with the draws it takes unless told, one run each, kernels compiled beforehand. Memberships are rows "
        "counted once for each segment they belong to.",
        ("segments", "statistic", "memberships, 10⁶", "draws", "seconds", "CPU seconds", "goal", "met"),
    )
    small = cal.Predictions([0, 1] * 50, [0.3, 0.6] * 50)
    for statistic in ("gap", "both"):
        audit(small, groups=np.arange(100) % 2, statistic=statistic, n_draws=19)
    for name, said, options in cases():
        for statistic in ("gap", "both"):
            start, busy = time.perf_counter(), time.process_time()
            found = audit(said, statistic=statistic, max_segments=SEGMENTS, **options)
            took, busy = time.perf_counter() - start, time.process_time() - busy
            members = sum(s.n for s in found.segments) / 1e6
            met = "yes" if took <= GOAL else "no"
            draws = found.settings["n_draws"]
            report.add(name, statistic, members, draws, took, busy, f"≤ {GOAL:.0f}", met)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    report.findings += [
        "Labels are redrawn row by row, a tile of rows and 32 draws at a time, so that they never leave a core's cache; no statistic is rounded "
        "or read at fewer places than the rows have predictions.",
        f"{n_cores()} cores; load average at the end {load}, so other work may have shared them.",
    ]
    report.write()


if __name__ == "__main__":
    main()
