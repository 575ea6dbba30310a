"""Uncertainty of an estimate."""

from calibrant.interval.clusters import ClusterMean, cluster_mean
from calibrant.interval.family import holm
from calibrant.interval.mean import Moments, around, mean_with_interval, moments_of, normal_quantile, two_sided
from calibrant.interval.proportion import wilson

__all__ = [
    "ClusterMean",
    "Moments",
    "around",
    "cluster_mean",
    "holm",
    "mean_with_interval",
    "moments_of",
    "normal_quantile",
    "two_sided",
    "wilson",
]
