"""The public names, for type checkers; the package itself loads them on first use."""

from calibrant import plot as plot, report as report
from calibrant.bins import Edges as Edges, EqualMass as EqualMass, EqualWidth as EqualWidth
from calibrant.estimate.binned import binned_error as binned_error, ece as ece
from calibrant.estimate.label_binned import label_binned_error as label_binned_error
from calibrant.estimate.mean_gap import mean_gap as mean_gap
from calibrant.estimate.root_brier import root_brier as root_brier
from calibrant.examples import example as example
from calibrant.files import read as read
from calibrant.maps import (
    CalibrationMap as CalibrationMap,
    Identity as Identity,
    Temperature as Temperature,
    load_map as load_map,
)
from calibrant.predictions import Predictions as Predictions
from calibrant.problems import (
    CalibrantError as CalibrantError,
    FileError as FileError,
    InputError as InputError,
    MapError as MapError,
    MissingExtra as MissingExtra,
)
from calibrant.results import (
    BinTable as BinTable,
    ClassTable as ClassTable,
    Curve as Curve,
    Estimate as Estimate,
    Interval as Interval,
    Table as Table,
)
from calibrant.score import (
    BrierScore as BrierScore,
    LogScore as LogScore,
    Score as Score,
    brier_score as brier_score,
    log_score as log_score,
)
from calibrant.verbs.compare import Comparison as Comparison, compare as compare
from calibrant.verbs.diagnose import Diagnosis as Diagnosis, diagnose as diagnose
from calibrant.verbs.recalibrate import recalibrate as recalibrate

__version__: str
__all__: list[str]
