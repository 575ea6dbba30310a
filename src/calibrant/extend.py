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

from calibrant.bins import Binning as Binning
from calibrant.bins import BinRule as BinRule
from calibrant.bins import BinSums as BinSums
from calibrant.forecasts import Forecasts as Forecasts
from calibrant.forecasts import admit_forecasts as admit_forecasts
from calibrant.maps import BinaryMap as BinaryMap
from calibrant.maps import BinaryRecipe as BinaryRecipe
from calibrant.maps import CalibrationMap as CalibrationMap
from calibrant.maps import Fit as Fit
from calibrant.maps import RegressionMap as RegressionMap
from calibrant.maps.calibration_map import Recalibrator as Recalibrator
from calibrant.maps.calibration_map import admit_fit as admit_fit
from calibrant.methods import EVERY_VIEW as EVERY_VIEW
from calibrant.methods import ONE_EVENT as ONE_EVENT
from calibrant.methods import Method as Method
from calibrant.methods import method as method
from calibrant.methods import methods as methods
from calibrant.predictions import Event as Event
from calibrant.predictions import Predictions as Predictions
from calibrant.predictions import admit as admit
from calibrant.problems import InputError as InputError
from calibrant.problems import MapError as MapError
from calibrant.resampling.draw import Statistic as Statistic
from calibrant.results import Estimate as Estimate
from calibrant.results import Interval as Interval
from calibrant.results import Record as Record
from calibrant.results import TestResult as TestResult
from calibrant.results import kind
from calibrant.score import ForecastScore as ForecastScore
from calibrant.score import Score as Score
from calibrant.score import UScore as UScore

record = kind
"""Class decorator that makes a record known by its name, so that it can be read back from JSON."""
