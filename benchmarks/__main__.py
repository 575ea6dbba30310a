"""Run every benchmark, or those named on the command line."""

from __future__ import annotations

import sys

from benchmarks import audit, detect, scores, sort_units

BENCHMARKS = {"sort_units": sort_units.main, "scores": scores.main, "detect": detect.main, "audit": audit.main}

for name in sys.argv[1:] or BENCHMARKS:
    print(f"== {name}")
    BENCHMARKS[name]()
