"""Inference that fits curves or calls estimators: intervals of calibration errors, bands around reliability curves."""

from calibrant.infer.any_estimator import interval_of
from calibrant.infer.band import Band
from calibrant.infer.bands import band_of_bins, confidence_band, consistency_band, simultaneous_band
from calibrant.infer.error import calibration_error_interval, classwise_intervals
from calibrant.infer.running import cumulative_interval
from calibrant.infer.squared import squared_error_interval

__all__ = [
    "Band",
    "band_of_bins",
    "calibration_error_interval",
    "classwise_intervals",
    "confidence_band",
    "consistency_band",
    "cumulative_interval",
    "interval_of",
    "simultaneous_band",
    "squared_error_interval",
]
