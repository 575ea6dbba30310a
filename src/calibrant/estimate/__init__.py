"""Calibration errors, one estimator a file; `table.py` lists them all, and is loaded when asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.estimate.table import ESTIMATORS

__all__ = ["ESTIMATORS"]


def __getattr__(name: str) -> Any:
    """Load the table on first use."""
    if name != "ESTIMATORS":
        raise AttributeError(f"module 'calibrant.estimate' has no attribute {name!r}")
    from calibrant.estimate.table import ESTIMATORS

    return ESTIMATORS
