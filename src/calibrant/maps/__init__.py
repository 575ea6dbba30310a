"""Recalibration maps, one family a file. A new map is its file and one line in this table."""

from typing import Any

from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap, Fit, Recalibrator, load_map
from calibrant.maps.identity import Identity, IdentityMap
from calibrant.maps.logistic import Beta, BetaMap, LogOddsMap, Platt, Quadratic
from calibrant.maps.several import OneVsRest, OneVsRestMap, TopLabel, TopLabelMap
from calibrant.maps.steps import Histogram, Isotonic, KnotMap, StepMap
from calibrant.maps.temperature import Temperature, TemperatureMap

METHODS: dict[str, Any] = {
    "identity": Identity,
    "temperature": Temperature,
    "platt": Platt,
    "quadratic": Quadratic,
    "beta": Beta,
    "isotonic": Isotonic,
    "histogram": Histogram,
}
"""Recipes by the name that `recalibrate` and the command line know."""

__all__ = [
    "METHODS",
    "Beta",
    "BetaMap",
    "BinaryMap",
    "BinaryRecipe",
    "CalibrationMap",
    "Fit",
    "Histogram",
    "Identity",
    "IdentityMap",
    "Isotonic",
    "KnotMap",
    "LogOddsMap",
    "OneVsRest",
    "OneVsRestMap",
    "Platt",
    "Quadratic",
    "Recalibrator",
    "StepMap",
    "Temperature",
    "TemperatureMap",
    "TopLabel",
    "TopLabelMap",
    "load_map",
]
