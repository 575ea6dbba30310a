"""What other packages build on: a method of your own, known to calibrant like one of its own.

Put `@method(kind, name=…)` above an estimator, a test, the class of a score, the recipe of a
map or a rule for bins, and name the module in your package's metadata:

    [project.entry-points."calibrant.methods"]
    mine = "my_package.my_module"

Then the command line, `recalibrate(method=…)`, `compare(score=…)`, `calibration_test(statistic=…)`,
`calibrant.simulate.bias` and `load_map` know it by its name wherever the package is installed.

- An **estimator** takes `(labels, probs=None, *, view=…, weights=None)`, passes them through
  `admit` and returns an `Estimate`.
- A **map** is a recipe with `fit(labels, probs=None, *, logits=None, weights=None)` that returns
  a `CalibrationMap`, a frozen dataclass under `@record`; `BinaryRecipe` and `BinaryMap` do most
  of it for a single event.
- A **score** is a subclass of `Score` with `expected`, or of `ForecastScore` with `of_labels`.
- A **rule for bins** is a frozen dataclass derived from `BinRule` with `edges_of`.
- A **test** takes `(labels, probs=None, …)` and returns a `TestResult`.
"""

from calibrant.bins import Binning, BinRule, BinSums
from calibrant.forecasts import Forecasts, admit_forecasts
from calibrant.maps import BinaryMap, BinaryRecipe, CalibrationMap, Fit, RegressionMap
from calibrant.maps.calibration_map import Recalibrator
from calibrant.maps.log_space import admit_fit
from calibrant.methods import EVERY_VIEW, ONE_EVENT, Method, method, methods
from calibrant.predictions import Event, Predictions, admit
from calibrant.problems import InputError, MapError
from calibrant.resampling.draw import Statistic
from calibrant.results import Estimate, Interval, Record, TestResult, kind
from calibrant.score import ForecastScore, Score, UScore

__all__ = [
    "EVERY_VIEW",
    "ONE_EVENT",
    "BinRule",
    "BinSums",
    "BinaryMap",
    "BinaryRecipe",
    "Binning",
    "CalibrationMap",
    "Estimate",
    "Event",
    "Fit",
    "ForecastScore",
    "Forecasts",
    "InputError",
    "Interval",
    "MapError",
    "Method",
    "Predictions",
    "Recalibrator",
    "Record",
    "RegressionMap",
    "Score",
    "Statistic",
    "TestResult",
    "UScore",
    "admit",
    "admit_fit",
    "admit_forecasts",
    "method",
    "methods",
    "record",
]

record = kind
"""Class decorator that makes a record known by its name, so that it can be read back from JSON."""
