"""Calibration of forecasts of a real number, one method a file; `table.py` lists them all, and is loaded when asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibrant.estimate.regression.table import REGRESSION

__all__ = ["REGRESSION"]


def __getattr__(name: str) -> Any:
    """Load the table on first use."""
    if name != "REGRESSION":
        raise AttributeError(f"module 'calibrant.estimate.regression' has no attribute {name!r}")
    from calibrant.estimate.regression.table import REGRESSION

    return REGRESSION
