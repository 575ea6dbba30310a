"""Proper scores, one per file."""

from calibrant.score.brier import BrierScore, brier_score
from calibrant.score.crps import CRPS, crps
from calibrant.score.dawid_sebastiani import DawidSebastianiScore, dawid_sebastiani_score
from calibrant.score.forecast_score import ForecastScore
from calibrant.score.gaussian_log import GaussianLogScore, gaussian_log_score
from calibrant.score.interval_score import IntervalScore, interval_score
from calibrant.score.logarithmic import LogScore, log_score
from calibrant.score.pinball import PinballScore, pinball_score
from calibrant.score.ranked import RankedProbabilityScore, ranked_probability_score
from calibrant.score.rule import Rule
from calibrant.score.score import Score
from calibrant.score.spherical import SphericalScore, spherical_score
from calibrant.score.u_score import KernelScore, UScore

__all__ = [
    "CRPS",
    "BrierScore",
    "DawidSebastianiScore",
    "ForecastScore",
    "GaussianLogScore",
    "IntervalScore",
    "KernelScore",
    "LogScore",
    "PinballScore",
    "RankedProbabilityScore",
    "Rule",
    "Score",
    "SphericalScore",
    "UScore",
    "brier_score",
    "crps",
    "dawid_sebastiani_score",
    "gaussian_log_score",
    "interval_score",
    "log_score",
    "pinball_score",
    "ranked_probability_score",
    "spherical_score",
]
