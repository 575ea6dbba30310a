"""How many sorts do the sorting estimators take? Ours alone, 10⁶ float64, with NumPy's default sort and with its AVX2 one.

On some processors NumPy's AVX-512 sort is several times slower than its AVX2 sort, and goals in units of `np.sort` are then too
easily met. Run on an idle machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

import calibrant as cal
from benchmarks.harness import Report, best

WITHOUT_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
CALLS = (cal.ece, cal.ks_error, cal.binned_error, cal.sweep_error, cal.mmce)


def times() -> dict[str, float]:
    rng = np.random.default_rng(1)
    probs = rng.random(1_000_000)
    labels = (rng.random(1_000_000) < probs).astype(np.uint8)
    found = {"np.sort": best(lambda: np.sort(probs), 1)}
    for call in CALLS:
        found[call.__name__] = best(lambda call=call: call(labels, probs), 1)
    return found


def main() -> None:
    report = Report("sort_units", __doc__ or "", ("NumPy's sort", "call", "ms", "in sorts"))
    for name, disabled in (("default", ""), ("AVX2", WITHOUT_AVX512)):
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.sort_units", "times"]
        environment = os.environ | ({"NPY_DISABLE_CPU_FEATURES": disabled} if disabled else {})
        found = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
        for call, took in found.items():
            report.add(name, call, took, took / found["np.sort"])
    report.write()


if __name__ == "__main__":
    print(json.dumps(times())) if sys.argv[1:] == ["times"] else main()
