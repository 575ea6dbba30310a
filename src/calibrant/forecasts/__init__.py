"""Forecasts of a real number: a distribution and a label per row."""

from calibrant.forecasts.base import Forecasts as Forecasts
from calibrant.forecasts.base import admit_forecasts as admit_forecasts
from calibrant.forecasts.base import checked_levels as checked_levels
from calibrant.forecasts.gaussian import BentForecasts as BentForecasts
from calibrant.forecasts.gaussian import GaussianForecasts as GaussianForecasts
from calibrant.forecasts.gaussian import checked_moments as checked_moments
from calibrant.forecasts.quantile import QuantileForecasts as QuantileForecasts
from calibrant.forecasts.sample import SampleForecasts as SampleForecasts
