"""Uncertainty of means and rates."""

from calibrant.interval.cells import CellMoments
from calibrant.interval.clusters import ClusterMean, cluster_mean, clusters_of
from calibrant.interval.family import holm
from calibrant.interval.limited_mean import LimitedMean, Limits, gap_limits, mean_with_interval
from calibrant.interval.mean import Moments, around, moments_of, normal_quantile, two_sided
from calibrant.interval.proportion import wilson

__all__ = [
    "CellMoments",
    "ClusterMean",
    "LimitedMean",
    "Limits",
    "Moments",
    "around",
    "cluster_mean",
    "clusters_of",
    "gap_limits",
    "holm",
    "mean_with_interval",
    "moments_of",
    "normal_quantile",
    "two_sided",
    "wilson",
]
