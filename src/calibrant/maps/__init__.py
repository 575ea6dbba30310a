"""Recalibration maps, one family per file."""

from typing import Any

from calibrant.maps.auto import Auto
from calibrant.maps.bayesian_binning import BayesianBinning, BayesianBinningMap
from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap, Candidate, Choice, Fit, Recalibrator, SavedMap, load_map
from calibrant.maps.ensemble import EnsembleMap, EnsembleTemperature
from calibrant.maps.gaussian_process import GaussianProcessMap, GaussianProcessTable
from calibrant.maps.identity import Identity, IdentityMap
from calibrant.maps.kernel_density import KernelDensity, KernelDensityMap
from calibrant.maps.linear import Dirichlet, LinearMap, MatrixScaling, VectorScaling
from calibrant.maps.logistic import Beta, BetaMap, LogOddsMap, Platt, Quadratic
from calibrant.maps.one_vs_rest_temperature import OneVsRestTemperature, OneVsRestTemperatureMap
from calibrant.maps.order_preserving import OrderPreserving, OrderPreservingMap
from calibrant.maps.piecewise import PiecewiseLinear, PiecewiseMap
from calibrant.maps.quantile import QuantileMap, QuantileRecalibration
from calibrant.maps.regression import (
    RegressionMap,
    StdScaling,
    StdScalingMap,
    VarianceMap,
    VariancePlatt,
    VariancePlattMap,
)
from calibrant.maps.scaling_binning import ScalingBinning, ScalingBinningMap
from calibrant.maps.several import OneVsRest, OneVsRestMap, TopLabel, TopLabelMap
from calibrant.maps.spline import Spline, SplineMap
from calibrant.maps.steps import Histogram, HistogramMap, Isotonic, KnotMap, StepMap
from calibrant.maps.structured import StructuredMap, StructuredMatrix, StructuredVector
from calibrant.maps.temperature import Temperature, TemperatureMap
from calibrant.maps.unit_slope_bins import UnitSlopeBins, UnitSlopeMap
from calibrant.maps.venn_abers import VennAbers, VennAbersMap
from calibrant.methods import methods
from calibrant.problems import InputError


def recipe_of(method: Any) -> Any:
    """The recipe that a name stands for, `"auto"` included, or the recipe itself."""
    if not isinstance(method, type | CalibrationMap) and callable(getattr(method, "fit", None)):
        return method
    if isinstance(method, str) and method == "auto":
        return Auto()
    known = methods("map")
    if not isinstance(method, str) or method not in known:
        names = ", ".join(map(repr, ("auto", *known)))
        raise InputError("method", f"must be one of {names}, or a recipe with fit", f"it is {method!r}")
    return known[method].function()


__all__ = [
    "Auto",
    "BayesianBinning",
    "BayesianBinningMap",
    "Beta",
    "BetaMap",
    "BinaryMap",
    "BinaryRecipe",
    "CalibrationMap",
    "Candidate",
    "Choice",
    "Dirichlet",
    "EnsembleMap",
    "EnsembleTemperature",
    "Fit",
    "GaussianProcessMap",
    "GaussianProcessTable",
    "Histogram",
    "HistogramMap",
    "Identity",
    "IdentityMap",
    "Isotonic",
    "KernelDensity",
    "KernelDensityMap",
    "KnotMap",
    "LinearMap",
    "LogOddsMap",
    "MatrixScaling",
    "OneVsRest",
    "OneVsRestMap",
    "OneVsRestTemperature",
    "OneVsRestTemperatureMap",
    "OrderPreserving",
    "OrderPreservingMap",
    "PiecewiseLinear",
    "PiecewiseMap",
    "Platt",
    "Quadratic",
    "QuantileMap",
    "QuantileRecalibration",
    "Recalibrator",
    "RegressionMap",
    "SavedMap",
    "ScalingBinning",
    "ScalingBinningMap",
    "Spline",
    "SplineMap",
    "StdScaling",
    "StdScalingMap",
    "StepMap",
    "StructuredMap",
    "StructuredMatrix",
    "StructuredVector",
    "Temperature",
    "TemperatureMap",
    "TopLabel",
    "TopLabelMap",
    "UnitSlopeBins",
    "UnitSlopeMap",
    "VarianceMap",
    "VariancePlatt",
    "VariancePlattMap",
    "VectorScaling",
    "VennAbers",
    "VennAbersMap",
    "load_map",
    "recipe_of",
]
