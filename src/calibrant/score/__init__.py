"""Proper scores, one per file."""

from calibrant.score.brier import BrierScore as BrierScore, brier_score as brier_score
from calibrant.score.crps import CRPS as CRPS, crps as crps
from calibrant.score.dawid_sebastiani import (
    DawidSebastianiScore as DawidSebastianiScore,
    dawid_sebastiani_score as dawid_sebastiani_score,
)
from calibrant.score.forecast_score import ForecastScore as ForecastScore
from calibrant.score.gaussian_log import GaussianLogScore as GaussianLogScore, gaussian_log_score as gaussian_log_score
from calibrant.score.interval_score import IntervalScore as IntervalScore, interval_score as interval_score
from calibrant.score.logarithmic import LogScore as LogScore, log_score as log_score
from calibrant.score.pinball import PinballScore as PinballScore, pinball_score as pinball_score
from calibrant.score.ranked import (
    RankedProbabilityScore as RankedProbabilityScore,
    ranked_probability_score as ranked_probability_score,
)
from calibrant.score.rule import Rule as Rule
from calibrant.score.score import Score as Score
from calibrant.score.spherical import SphericalScore as SphericalScore, spherical_score as spherical_score
from calibrant.score.u_score import KernelScore as KernelScore, UScore as UScore
