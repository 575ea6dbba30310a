"""All that is made for forecasts of a real number. Written by tools/make_names.py."""

# fmt: off
# ruff: noqa: I001
from calibrant.detect import gaussian_skce_test as gaussian_skce_test, pit_test as pit_test, spread_test as spread_test
from calibrant.estimate.regression.marginal import marginal_error as marginal_error
from calibrant.estimate.regression.means import (
    mean_error as mean_error, variance_gap as variance_gap, variance_ratio as variance_ratio
)
from calibrant.estimate.regression.pit import (
    coverage_error as coverage_error, miscalibration_area as miscalibration_area, pit_error as pit_error
)
from calibrant.estimate.regression.skce import gaussian_skce as gaussian_skce
from calibrant.estimate.regression.variance_bins import ence as ence, uncertainty_error as uncertainty_error
from calibrant.forecasts import (
    BentForecasts as BentForecasts, Forecasts as Forecasts, GaussianForecasts as GaussianForecasts,
    QuantileForecasts as QuantileForecasts, SampleForecasts as SampleForecasts
)
from calibrant.maps import (
    QuantileRecalibration as QuantileRecalibration, RegressionMap as RegressionMap, StdScaling as StdScaling,
    VariancePlatt as VariancePlatt
)
from calibrant.score import (
    CRPS as CRPS, DawidSebastianiScore as DawidSebastianiScore, GaussianLogScore as GaussianLogScore,
    IntervalScore as IntervalScore, PinballScore as PinballScore, crps as crps,
    dawid_sebastiani_score as dawid_sebastiani_score, gaussian_log_score as gaussian_log_score,
    interval_score as interval_score, pinball_score as pinball_score
)
