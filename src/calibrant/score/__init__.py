"""Proper scores."""

from calibrant.score.brier import BrierScore as BrierScore
from calibrant.score.brier import brier_score as brier_score
from calibrant.score.crps import CRPS as CRPS
from calibrant.score.crps import crps as crps
from calibrant.score.dawid_sebastiani import DawidSebastianiScore as DawidSebastianiScore
from calibrant.score.dawid_sebastiani import GaussianLogScore as GaussianLogScore
from calibrant.score.dawid_sebastiani import dawid_sebastiani_score as dawid_sebastiani_score
from calibrant.score.dawid_sebastiani import gaussian_log_score as gaussian_log_score
from calibrant.score.forecast_score import ForecastScore as ForecastScore
from calibrant.score.logarithmic import LogScore as LogScore
from calibrant.score.logarithmic import log_score as log_score
from calibrant.score.pinball import IntervalScore as IntervalScore
from calibrant.score.pinball import PinballScore as PinballScore
from calibrant.score.pinball import interval_score as interval_score
from calibrant.score.pinball import pinball_score as pinball_score
from calibrant.score.ranked import RankedProbabilityScore as RankedProbabilityScore
from calibrant.score.ranked import ranked_probability_score as ranked_probability_score
from calibrant.score.rule import Rule as Rule
from calibrant.score.score import Score as Score
from calibrant.score.spherical import SphericalScore as SphericalScore
from calibrant.score.spherical import spherical_score as spherical_score
from calibrant.score.u_score import KernelScore as KernelScore
from calibrant.score.u_score import UScore as UScore
