"""Uncertainty of an estimate."""

from calibrant.interval.band import Band
from calibrant.interval.bands import band_of_bins, confidence_band, consistency_band, simultaneous_band
from calibrant.interval.bootstrap import interval_of
from calibrant.interval.calibration_error import calibration_error_interval, classwise_intervals
from calibrant.interval.clusters import ClusterMean, cluster_mean, clusters_of
from calibrant.interval.cumulative import cumulative_interval
from calibrant.interval.family import holm
from calibrant.interval.limited_mean import LimitedMean, Limits, gap_limits, mean_with_interval
from calibrant.interval.mean import Moments, around, moments_of, normal_quantile, two_sided
from calibrant.interval.proportion import wilson
from calibrant.interval.squared_error import squared_error_interval

__all__ = [
    "Band",
    "ClusterMean",
    "LimitedMean",
    "Limits",
    "Moments",
    "around",
    "band_of_bins",
    "calibration_error_interval",
    "classwise_intervals",
    "cluster_mean",
    "clusters_of",
    "confidence_band",
    "consistency_band",
    "cumulative_interval",
    "gap_limits",
    "holm",
    "interval_of",
    "mean_with_interval",
    "moments_of",
    "normal_quantile",
    "simultaneous_band",
    "squared_error_interval",
    "two_sided",
    "wilson",
]
