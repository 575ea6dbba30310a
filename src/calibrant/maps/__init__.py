"""Recalibration maps, one family per file."""

from typing import Any

from calibrant.maps.auto import Auto as Auto
from calibrant.maps.bayesian_binning import BayesianBinning as BayesianBinning
from calibrant.maps.bayesian_binning import BayesianBinningMap as BayesianBinningMap
from calibrant.maps.binary import BinaryMap as BinaryMap
from calibrant.maps.binary import BinaryRecipe as BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap as CalibrationMap
from calibrant.maps.calibration_map import Candidate as Candidate
from calibrant.maps.calibration_map import Choice as Choice
from calibrant.maps.calibration_map import Fit as Fit
from calibrant.maps.calibration_map import Recalibrator as Recalibrator
from calibrant.maps.calibration_map import SavedMap as SavedMap
from calibrant.maps.calibration_map import load_map as load_map
from calibrant.maps.ensemble import EnsembleMap as EnsembleMap
from calibrant.maps.ensemble import EnsembleTemperature as EnsembleTemperature
from calibrant.maps.gaussian_process import GaussianProcessMap as GaussianProcessMap
from calibrant.maps.gaussian_process import GaussianProcessTable as GaussianProcessTable
from calibrant.maps.identity import Identity as Identity
from calibrant.maps.identity import IdentityMap as IdentityMap
from calibrant.maps.kernel_density import KernelDensity as KernelDensity
from calibrant.maps.kernel_density import KernelDensityMap as KernelDensityMap
from calibrant.maps.linear import Dirichlet as Dirichlet
from calibrant.maps.linear import LinearMap as LinearMap
from calibrant.maps.linear import MatrixScaling as MatrixScaling
from calibrant.maps.linear import VectorScaling as VectorScaling
from calibrant.maps.logistic import Beta as Beta
from calibrant.maps.logistic import BetaMap as BetaMap
from calibrant.maps.logistic import LogOddsMap as LogOddsMap
from calibrant.maps.logistic import Platt as Platt
from calibrant.maps.logistic import Quadratic as Quadratic
from calibrant.maps.one_vs_rest_temperature import OneVsRestTemperature as OneVsRestTemperature
from calibrant.maps.one_vs_rest_temperature import OneVsRestTemperatureMap as OneVsRestTemperatureMap
from calibrant.maps.order_preserving import OrderPreserving as OrderPreserving
from calibrant.maps.order_preserving import OrderPreservingMap as OrderPreservingMap
from calibrant.maps.piecewise import PiecewiseLinear as PiecewiseLinear
from calibrant.maps.piecewise import PiecewiseMap as PiecewiseMap
from calibrant.maps.quantile import QuantileMap as QuantileMap
from calibrant.maps.quantile import QuantileRecalibration as QuantileRecalibration
from calibrant.maps.regression import RegressionMap as RegressionMap
from calibrant.maps.regression import StdScaling as StdScaling
from calibrant.maps.regression import StdScalingMap as StdScalingMap
from calibrant.maps.regression import VarianceMap as VarianceMap
from calibrant.maps.regression import VariancePlatt as VariancePlatt
from calibrant.maps.regression import VariancePlattMap as VariancePlattMap
from calibrant.maps.scaling_binning import ScalingBinning as ScalingBinning
from calibrant.maps.scaling_binning import ScalingBinningMap as ScalingBinningMap
from calibrant.maps.several import OneVsRest as OneVsRest
from calibrant.maps.several import OneVsRestMap as OneVsRestMap
from calibrant.maps.several import TopLabel as TopLabel
from calibrant.maps.several import TopLabelMap as TopLabelMap
from calibrant.maps.spline import Spline as Spline
from calibrant.maps.spline import SplineMap as SplineMap
from calibrant.maps.steps import Histogram as Histogram
from calibrant.maps.steps import HistogramMap as HistogramMap
from calibrant.maps.steps import Isotonic as Isotonic
from calibrant.maps.steps import KnotMap as KnotMap
from calibrant.maps.steps import StepMap as StepMap
from calibrant.maps.structured import StructuredMap as StructuredMap
from calibrant.maps.structured import StructuredMatrix as StructuredMatrix
from calibrant.maps.structured import StructuredVector as StructuredVector
from calibrant.maps.temperature import Temperature as Temperature
from calibrant.maps.temperature import TemperatureMap as TemperatureMap
from calibrant.maps.unit_slope_bins import UnitSlopeBins as UnitSlopeBins
from calibrant.maps.unit_slope_bins import UnitSlopeMap as UnitSlopeMap
from calibrant.maps.venn_abers import VennAbers as VennAbers
from calibrant.maps.venn_abers import VennAbersMap as VennAbersMap
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
