"""The public names, for type checkers; the package itself loads them on first use."""

from calibrant import plot as plot
from calibrant import report as report
from calibrant.bins import Edges as Edges
from calibrant.bins import EqualMass as EqualMass
from calibrant.bins import EqualWidth as EqualWidth
from calibrant.estimate.binned import binned_error as binned_error
from calibrant.estimate.binned import ece as ece
from calibrant.estimate.canonical import canonical_error as canonical_error
from calibrant.estimate.classwise import adaptive_error as adaptive_error
from calibrant.estimate.classwise import classwise_error as classwise_error
from calibrant.estimate.classwise import static_error as static_error
from calibrant.estimate.classwise import thresholded_error as thresholded_error
from calibrant.estimate.crossvalidated import crossvalidated_error as crossvalidated_error
from calibrant.estimate.cumulative import ks_error as ks_error
from calibrant.estimate.density import density_error as density_error
from calibrant.estimate.expected import expected_ece as expected_ece
from calibrant.estimate.label_binned import label_binned_error as label_binned_error
from calibrant.estimate.mean_gap import mean_gap as mean_gap
from calibrant.estimate.mmce import mmce as mmce
from calibrant.estimate.root_brier import root_brier as root_brier
from calibrant.estimate.skce import skce as skce
from calibrant.estimate.smooth import smooth_error as smooth_error
from calibrant.estimate.sweep import sweep_error as sweep_error
from calibrant.examples import example as example
from calibrant.files import read as read
from calibrant.maps import (
    CalibrationMap as CalibrationMap,
)
from calibrant.maps import (
    Identity as Identity,
)
from calibrant.maps import (
    Temperature as Temperature,
)
from calibrant.maps import (
    load_map as load_map,
)
from calibrant.predictions import Predictions as Predictions
from calibrant.problems import (
    CalibrantError as CalibrantError,
)
from calibrant.problems import (
    FileError as FileError,
)
from calibrant.problems import (
    InputError as InputError,
)
from calibrant.problems import (
    MapError as MapError,
)
from calibrant.problems import (
    MissingExtra as MissingExtra,
)
from calibrant.results import (
    BinTable as BinTable,
)
from calibrant.results import (
    ClassTable as ClassTable,
)
from calibrant.results import (
    Curve as Curve,
)
from calibrant.results import (
    Estimate as Estimate,
)
from calibrant.results import (
    Interval as Interval,
)
from calibrant.results import Line as Line
from calibrant.results import (
    Table as Table,
)
from calibrant.score import (
    BrierScore as BrierScore,
)
from calibrant.score import (
    LogScore as LogScore,
)
from calibrant.score import (
    Score as Score,
)
from calibrant.score import (
    brier_score as brier_score,
)
from calibrant.score import (
    log_score as log_score,
)
from calibrant.verbs.compare import Comparison as Comparison
from calibrant.verbs.compare import compare as compare
from calibrant.verbs.diagnose import Diagnosis as Diagnosis
from calibrant.verbs.diagnose import diagnose as diagnose
from calibrant.verbs.recalibrate import recalibrate as recalibrate

__version__: str
__all__: list[str]
