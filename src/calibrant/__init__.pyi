"""The public names, for type checkers. Written by tools/make_names.py."""

# fmt: off
# ruff: noqa: I001
from calibrant import (
    detect as detect, extend as extend, files as files, maps as maps, plot as plot, regression as regression,
    report as report, results as results, score as score, simulate as simulate
)
from calibrant.bins import Edges as Edges, EqualMass as EqualMass, EqualWidth as EqualWidth
from calibrant.detect import calibration_test as calibration_test, is_calibrated as is_calibrated
from calibrant.estimate.binned import binned_error as binned_error, ece as ece
from calibrant.estimate.canonical import canonical_error as canonical_error
from calibrant.estimate.classwise import (
    adaptive_error as adaptive_error, classwise_error as classwise_error, static_error as static_error,
    thresholded_error as thresholded_error
)
from calibrant.estimate.crossvalidated import crossvalidated_error as crossvalidated_error
from calibrant.estimate.cumulative import ks_error as ks_error
from calibrant.estimate.density import density_error as density_error
from calibrant.estimate.expected import expected_ece as expected_ece
from calibrant.estimate.fitted import fitted_error as fitted_error
from calibrant.estimate.label_binned import label_binned_error as label_binned_error
from calibrant.estimate.mean_gap import mean_gap as mean_gap
from calibrant.estimate.mmce import mmce as mmce
from calibrant.estimate.posterior import posterior_error as posterior_error
from calibrant.estimate.regret import decision_regret as decision_regret
from calibrant.estimate.sampled import sampled_error as sampled_error
from calibrant.estimate.score_bound import root_brier as root_brier, upper_bound as upper_bound
from calibrant.estimate.selective import selective_risk as selective_risk
from calibrant.estimate.skce import skce as skce
from calibrant.estimate.smooth import smooth_error as smooth_error
from calibrant.estimate.sweep import sweep_error as sweep_error
from calibrant.estimate.two_bin import averaged_two_bin_error as averaged_two_bin_error
from calibrant.examples import example as example
from calibrant.files import read as read
from calibrant.infer import (
    band_of_bins as band_of_bins, calibration_error_interval as calibration_error_interval,
    classwise_intervals as classwise_intervals, confidence_band as confidence_band,
    consistency_band as consistency_band, cumulative_interval as cumulative_interval, interval_of as interval_of,
    simultaneous_band as simultaneous_band, squared_error_interval as squared_error_interval
)
from calibrant.maps import (
    Auto as Auto, Beta as Beta, Dirichlet as Dirichlet, Histogram as Histogram, Isotonic as Isotonic,
    OneVsRest as OneVsRest, Platt as Platt, Temperature as Temperature, TopLabel as TopLabel, VennAbers as VennAbers,
    load_map as load_map
)
from calibrant.monitor import Monitor as Monitor
from calibrant.predictions import Predictions as Predictions
from calibrant.problems import (
    CalibrantError as CalibrantError, FileError as FileError, InputError as InputError, MapError as MapError,
    MissingExtra as MissingExtra
)
from calibrant.score import (
    brier_score as brier_score, log_score as log_score, ranked_probability_score as ranked_probability_score,
    spherical_score as spherical_score
)
from calibrant.state.state import State as State
from calibrant.verbs.answer_models import compare_answers as compare_answers
from calibrant.verbs.answers import assess_answers as assess_answers
from calibrant.verbs.auditing.audit import audit as audit
from calibrant.verbs.clinical import clinical as clinical
from calibrant.verbs.collect import collect as collect
from calibrant.verbs.compare import compare as compare
from calibrant.verbs.decompose import decompose as decompose
from calibrant.verbs.diagnose import diagnose as diagnose
from calibrant.verbs.examine import examine as examine
from calibrant.verbs.optimism import optimism as optimism
from calibrant.verbs.planning.plan import plan as plan
from calibrant.verbs.planning.validation import plan_validation as plan_validation
from calibrant.verbs.recalibrate import recalibrate as recalibrate
from calibrant.verbs.scan import scan as scan
from calibrant.verbs.trust import trust as trust
from calibrant.verbs.where import where as where

SUBMODULES: tuple[str, ...]
__version__: str
