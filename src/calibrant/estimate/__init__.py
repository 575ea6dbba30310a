"""Calibration errors, one estimator a file. A new estimator is its file and one line in this table."""

from calibrant.about import About
from calibrant.estimate import binned, label_binned, mean_gap, root_brier

ESTIMATORS: dict[str, About] = {
    about.name: about for about in (binned.ECE, binned.ABOUT, label_binned.ABOUT, mean_gap.ABOUT, root_brier.ABOUT)
}

__all__ = ["ESTIMATORS"]
