"""Proper scores, one a file. A new score is its file and one line here."""

from calibrant.score.brier import BrierScore, brier_score
from calibrant.score.logarithmic import LogScore, log_score
from calibrant.score.score import Score

SCORES: dict[str, Score] = {score.name: score for score in (BrierScore(), LogScore())}

__all__ = ["SCORES", "BrierScore", "LogScore", "Score", "brier_score", "log_score"]
