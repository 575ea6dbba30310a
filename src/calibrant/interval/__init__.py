"""Uncertainty of means and rates."""

from calibrant.interval.cells import Cells as Cells
from calibrant.interval.clusters import ClusterMean as ClusterMean
from calibrant.interval.clusters import cluster_mean as cluster_mean
from calibrant.interval.clusters import design_effect as design_effect
from calibrant.interval.formulas import holm as holm
from calibrant.interval.limited_mean import LimitedMean as LimitedMean
from calibrant.interval.limited_mean import Limits as Limits
from calibrant.interval.limited_mean import gap_limits as gap_limits
from calibrant.interval.limited_mean import mean_with_interval as mean_with_interval
from calibrant.interval.mean import Moments as Moments
from calibrant.interval.mean import around as around
from calibrant.interval.mean import moments_of as moments_of
from calibrant.interval.mean import normal_quantile as normal_quantile
from calibrant.interval.mean import two_sided as two_sided
from calibrant.interval.mean import wilson as wilson
from calibrant.interval.skewed_mean import Possible as Possible
from calibrant.interval.skewed_mean import SkewedMean as SkewedMean
