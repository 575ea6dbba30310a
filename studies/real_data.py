"""What do the estimators say about real models? One row a file.

`--data` is a file or a folder of files (`.npz`), in any format that `calibrant diagnose` reads; it may be repeated.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import calibrant as cal
from studies.frame import Job, Page, table

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


def measured(path: Path | None) -> tuple[object, ...]:
    """One row: name, size and every column's value."""
    predictions = cal.example()[1] if path is None else cal.read(path)
    start = time.perf_counter()
    values = [float(measure(predictions)) for measure in COLUMNS.values()]
    floor = cal.ece(predictions).noise_floor or 0.0
    took = f"{time.perf_counter() - start:.2f} s"
    return (
        "the embedded example" if path is None else path.stem,
        predictions.n,
        predictions.n_classes,
        *(f"{v:.6f}" for v in values),
        f"{floor:.6f}",
        took,
    )


def run(job: Job) -> Page:
    files = [f for a in job.data for f in (sorted(a.glob("*.npz")) if a.is_dir() else [a])]
    cases = {str(file): (file,) for file in files} or {"the embedded example": (None,)}
    rows = job.parts(measured, cases).values()
    columns = ("file", "n", "K", *COLUMNS, "ECE-15 if calibrated", "time")
    return Page("Calibration errors of real models", table(columns, rows))
