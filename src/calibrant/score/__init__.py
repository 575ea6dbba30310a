"""Proper scores, one a file. A new score is its file and one line here."""

from calibrant.score.brier import BrierScore, brier_score
from calibrant.score.logarithmic import LogScore, log_score
from calibrant.score.ranked import RankedProbabilityScore, ranked_probability_score
from calibrant.score.score import Score
from calibrant.score.spherical import SphericalScore, spherical_score
from calibrant.score.u_score import KernelScore, UScore

SCORES: dict[str, Score] = {
    score.name: score for score in (BrierScore(), LogScore(), SphericalScore(), RankedProbabilityScore())
}

__all__ = [
    "SCORES",
    "BrierScore",
    "KernelScore",
    "LogScore",
    "RankedProbabilityScore",
    "Score",
    "SphericalScore",
    "UScore",
    "brier_score",
    "log_score",
    "ranked_probability_score",
    "spherical_score",
]
