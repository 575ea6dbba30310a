"""Is `import calibrant` light? Compared with importing NumPy alone, each in fresh processes."""

from __future__ import annotations

import re
import subprocess
import sys

from benchmarks.harness import Report

RUNS = 15


def microseconds(module: str) -> float:
    """Cumulative import time that `python -X importtime` prints for a module, least of several runs."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    pattern = re.compile(rf"\|\s+(\d+) \| {module}\s*$", re.MULTILINE)
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stderr for _ in range(RUNS)]
    return min(float(pattern.findall(output)[-1]) for output in outputs)


def first_use() -> float:
    """The same until `calibrant.ece` can be called."""
    command = [sys.executable, "-X", "importtime", "-c", "import calibrant; calibrant.ece"]
    outputs = [subprocess.run(command, capture_output=True, text=True, check=True).stderr for _ in range(RUNS)]
    own = re.compile(r"^import time:\s+(\d+) \|", re.MULTILINE)
    site = re.compile(r"\|\s+(\d+) \| site\s*$", re.MULTILINE)
    return min(sum(map(float, own.findall(output))) - float(site.findall(output)[0]) for output in outputs)


def main() -> None:
    report = Report(
        "import_time", "Is `import calibrant` light? Goal: below 1.5 × importing NumPy.", ("import", "ms", "× NumPy")
    )
    numpy, ours = microseconds("numpy"), microseconds("calibrant")
    report.add("numpy", numpy / 1e3, 1.0)
    report.add("calibrant", ours / 1e3, ours / numpy)
    first = first_use()
    report.add("calibrant, until `calibrant.ece` can be called (loads NumPy)", first / 1e3, first / numpy)
    report.write()


if __name__ == "__main__":
    main()
