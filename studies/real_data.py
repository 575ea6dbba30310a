"""What do the estimators say about real models? One row a file.

Run: python -m studies.real_data FILE_OR_FOLDER ...    (any format that `calibrant diagnose` reads)
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import calibrant as cal

COLUMNS = {
    "ECE-15": cal.ece,
    "mass-15": partial(cal.binned_error, bins=cal.EqualMass(15)),
    "debiased": partial(cal.binned_error, bins=cal.EqualMass(15), debiased=True),
    "sweep": cal.sweep_error,
    "CV": cal.crossvalidated_error,
    "smooth": cal.smooth_error,
    "KS": cal.ks_error,
    "MMCE": cal.mmce,
    "KDE": cal.density_error,
    "Brier": cal.brier_score,
}


def measured(path: Path) -> tuple[object, ...]:
    """One row: name, size and every column's value."""
    predictions = cal.read(path)
    start = time.perf_counter()
    values = [float(measure(predictions)) for measure in COLUMNS.values()]
    floor = cal.ece(predictions).noise_floor or 0.0
    took = f"{time.perf_counter() - start:.2f} s"
    return (path.stem, predictions.n, predictions.n_classes, *(f"{v:.6f}" for v in values), f"{floor:.6f}", took)


def main(arguments: list[str]) -> None:
    found = [Path(a) for a in arguments]
    files = [f for a in found for f in (sorted(a.glob("*.npz")) if a.is_dir() else [a])]
    rows = tuple(measured(file) for file in files)
    columns = ("file", "n", "K", *COLUMNS, "ECE-15 if calibrated", "time")
    print(cal.results.Table("Calibration errors of real models", columns, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
