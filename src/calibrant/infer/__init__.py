"""Inference that fits curves or calls estimators: intervals of calibration errors, and bands."""

from calibrant.infer.any_estimator import interval_of as interval_of
from calibrant.infer.band import Band as Band
from calibrant.infer.bands import band_of_bins as band_of_bins
from calibrant.infer.bands import confidence_band as confidence_band
from calibrant.infer.bands import consistency_band as consistency_band
from calibrant.infer.bands import simultaneous_band as simultaneous_band
from calibrant.infer.error import calibration_error_interval as calibration_error_interval
from calibrant.infer.error import classwise_intervals as classwise_intervals
from calibrant.infer.running import cumulative_interval as cumulative_interval
from calibrant.infer.squared import squared_error_interval as squared_error_interval
