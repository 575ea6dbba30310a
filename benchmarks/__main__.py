"""Run every benchmark, or those named on the command line."""

from __future__ import annotations

import sys

from benchmarks import audit, binned, detect, estimators, import_time, maps, scores, small_calls, sort_units

BENCHMARKS = {
    "import_time": import_time.main,
    "binned": binned.main,
    "sort_units": sort_units.main,
    "estimators": estimators.main,
    "maps": maps.main,
    "scores": scores.main,
    "small_calls": small_calls.main,
    "detect": detect.main,
    "audit": audit.main,
}

for name in sys.argv[1:] or BENCHMARKS:
    print(f"== {name}")
    BENCHMARKS[name]()
