"""All that is made for forecasts of a real number. Written by tools/make_names.py."""

# fmt: off
# ruff: noqa: I001
from calibrant.detect.gaussian_skce import gaussian_skce_test as gaussian_skce_test
from calibrant.detect.pit import pit_test as pit_test
from calibrant.detect.spread import spread_test as spread_test
from calibrant.estimate.regression.coverage import (
    coverage_error as coverage_error, miscalibration_area as miscalibration_area
)
from calibrant.estimate.regression.marginal import marginal_error as marginal_error
from calibrant.estimate.regression.means import (
    mean_error as mean_error, variance_gap as variance_gap, variance_ratio as variance_ratio
)
from calibrant.estimate.regression.pit import pit_error as pit_error
from calibrant.estimate.regression.skce import gaussian_skce as gaussian_skce
from calibrant.estimate.regression.variance_bins import ence as ence, uncertainty_error as uncertainty_error
from calibrant.forecasts.base import Forecasts as Forecasts
from calibrant.forecasts.bent import BentForecasts as BentForecasts
from calibrant.forecasts.gaussian import GaussianForecasts as GaussianForecasts
from calibrant.forecasts.quantile import QuantileForecasts as QuantileForecasts
from calibrant.forecasts.sample import SampleForecasts as SampleForecasts
from calibrant.maps.quantile import QuantileRecalibration as QuantileRecalibration
from calibrant.maps.regression import (
    RegressionMap as RegressionMap, StdScaling as StdScaling, VariancePlatt as VariancePlatt
)
from calibrant.score.crps import CRPS as CRPS, crps as crps
from calibrant.score.dawid_sebastiani import (
    DawidSebastianiScore as DawidSebastianiScore, dawid_sebastiani_score as dawid_sebastiani_score
)
from calibrant.score.gaussian_log import GaussianLogScore as GaussianLogScore, gaussian_log_score as gaussian_log_score
from calibrant.score.interval_score import IntervalScore as IntervalScore, interval_score as interval_score
from calibrant.score.pinball import PinballScore as PinballScore, pinball_score as pinball_score
