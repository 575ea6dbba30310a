"""Calibration errors, one estimator per file; each is registered beside its function (`calibrant.methods`)."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "ESTIMATORS":
        raise AttributeError(f"module 'calibrant.estimate' has no attribute {name!r}")
    from calibrant.estimate.table import ESTIMATORS

    return ESTIMATORS
