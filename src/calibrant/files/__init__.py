"""Predictions from files of every common format, and repaired probabilities back into them."""

from calibrant.files.columns import NAMES, NONE, Columns, UnknownColumn, choose
from calibrant.files.forecast_columns import ForecastColumns, ManyColumns
from calibrant.files.forecasts import SaidForecasts, holds_quantiles, read_forecasts, read_said_forecasts
from calibrant.files.reading import Said, read, read_features, read_said, read_with_columns
from calibrant.files.saving import write
from calibrant.files.wording import worded

__all__ = [
    "NAMES",
    "NONE",
    "Columns",
    "ForecastColumns",
    "ManyColumns",
    "Said",
    "SaidForecasts",
    "UnknownColumn",
    "choose",
    "holds_quantiles",
    "read",
    "read_features",
    "read_forecasts",
    "read_said",
    "read_said_forecasts",
    "read_with_columns",
    "worded",
    "write",
]
