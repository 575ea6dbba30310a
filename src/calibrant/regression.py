"""All that is made for forecasts of a real number. Written by tools/make_names.py."""

from calibrant.estimate.regression.coverage import (
    coverage_error as coverage_error,
    miscalibration_area as miscalibration_area,
)
from calibrant.estimate.regression.ence import ence as ence
from calibrant.estimate.regression.marginal import marginal_error as marginal_error
from calibrant.estimate.regression.mean_error import mean_error as mean_error
from calibrant.estimate.regression.pit import pit_error as pit_error, pit_test as pit_test
from calibrant.estimate.regression.skce import gaussian_skce as gaussian_skce, gaussian_skce_test as gaussian_skce_test
from calibrant.estimate.regression.spread import spread_test as spread_test
from calibrant.estimate.regression.uncertainty_error import uncertainty_error as uncertainty_error
from calibrant.estimate.regression.variance_gap import variance_gap as variance_gap
from calibrant.estimate.regression.variance_ratio import variance_ratio as variance_ratio
from calibrant.forecasts import (
    BentForecasts as BentForecasts,
    Forecasts as Forecasts,
    GaussianForecasts as GaussianForecasts,
    QuantileForecasts as QuantileForecasts,
    SampleForecasts as SampleForecasts,
)
from calibrant.maps.quantile import QuantileRecalibration as QuantileRecalibration
from calibrant.maps.regression import (
    RegressionMap as RegressionMap,
    StdScaling as StdScaling,
    VariancePlatt as VariancePlatt,
)
from calibrant.score.crps import CRPS as CRPS, crps as crps
from calibrant.score.dawid_sebastiani import (
    DawidSebastianiScore as DawidSebastianiScore,
    dawid_sebastiani_score as dawid_sebastiani_score,
)
from calibrant.score.gaussian_log import GaussianLogScore as GaussianLogScore, gaussian_log_score as gaussian_log_score
from calibrant.score.interval_score import IntervalScore as IntervalScore, interval_score as interval_score
from calibrant.score.pinball import PinballScore as PinballScore, pinball_score as pinball_score
