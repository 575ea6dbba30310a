"""calibrant: is a model calibrated, how sure are we, how is it repaired, and did the repair help?"""

from calibrant.bins import Edges, EqualMass, EqualWidth
from calibrant.estimate.binned import binned_error, ece
from calibrant.estimate.label_binned import label_binned_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.estimate.root_brier import root_brier
from calibrant.predictions import Predictions
from calibrant.results import Estimate, Interval
from calibrant.score import BrierScore, LogScore, brier_score, log_score
