"""Uncertainty of an estimate."""

from calibrant.interval.mean import mean_with_interval, normal_quantile
from calibrant.interval.proportion import wilson

__all__ = ["mean_with_interval", "normal_quantile", "wilson"]
