"""calibrant: is a model calibrated, how sure are we, how is it repaired, and did the repair help?"""

from calibrant.bins import Edges, EqualMass, EqualWidth
from calibrant.estimate.binned import binned_error, ece
from calibrant.estimate.label_binned import label_binned_error
from calibrant.estimate.mean_gap import mean_gap
from calibrant.estimate.root_brier import root_brier
from calibrant.example import example
from calibrant.maps import CalibrationMap, Identity, Temperature, load_map
from calibrant.predictions import Predictions
from calibrant.problems import CalibrantError, FileError, InputError, MapError, MissingExtra
from calibrant.results import BinTable, Curve, Estimate, Interval, Table
from calibrant.score import BrierScore, LogScore, Score, brier_score, log_score
from calibrant.verbs.compare import Comparison, compare
from calibrant.verbs.diagnose import Diagnosis, diagnose
from calibrant.verbs.recalibrate import recalibrate

__version__ = "0.1.0"

__all__ = [
    "BinTable",
    "BrierScore",
    "CalibrantError",
    "CalibrationMap",
    "Comparison",
    "Curve",
    "Diagnosis",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "Estimate",
    "FileError",
    "Identity",
    "InputError",
    "Interval",
    "LogScore",
    "MapError",
    "MissingExtra",
    "Predictions",
    "Score",
    "Table",
    "Temperature",
    "binned_error",
    "brier_score",
    "compare",
    "diagnose",
    "ece",
    "example",
    "label_binned_error",
    "load_map",
    "log_score",
    "mean_gap",
    "recalibrate",
    "root_brier",
]
