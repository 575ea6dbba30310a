"""Recalibration maps, one method a file. A new map is its file and one line in this table."""

from typing import Any

from calibrant.maps.calibration_map import CalibrationMap, Fit, Recalibrator, load_map
from calibrant.maps.identity import Identity, IdentityMap
from calibrant.maps.temperature import Temperature, TemperatureMap

METHODS: dict[str, Any] = {"identity": Identity, "temperature": Temperature}
"""Recipes by the name that `recalibrate` and the command line know."""

__all__ = [
    "METHODS",
    "CalibrationMap",
    "Fit",
    "Identity",
    "IdentityMap",
    "Recalibrator",
    "Temperature",
    "TemperatureMap",
    "load_map",
]
