"""Recalibration maps, one family per file."""

from typing import Any

from calibrant.maps.auto import Auto as Auto
from calibrant.maps.bayesian_binning import BayesianBinning as BayesianBinning, BayesianBinningMap as BayesianBinningMap
from calibrant.maps.binary import BinaryMap as BinaryMap, BinaryRecipe as BinaryRecipe
from calibrant.maps.calibration_map import (
    CalibrationMap as CalibrationMap,
    Candidate as Candidate,
    Choice as Choice,
    Fit as Fit,
    Recalibrator as Recalibrator,
    SavedMap as SavedMap,
    load_map as load_map,
)
from calibrant.maps.ensemble import EnsembleMap as EnsembleMap, EnsembleTemperature as EnsembleTemperature
from calibrant.maps.gaussian_process import (
    GaussianProcessMap as GaussianProcessMap,
    GaussianProcessTable as GaussianProcessTable,
)
from calibrant.maps.identity import Identity as Identity, IdentityMap as IdentityMap
from calibrant.maps.kernel_density import KernelDensity as KernelDensity, KernelDensityMap as KernelDensityMap
from calibrant.maps.linear import (
    Dirichlet as Dirichlet,
    LinearMap as LinearMap,
    MatrixScaling as MatrixScaling,
    VectorScaling as VectorScaling,
)
from calibrant.maps.logistic import (
    Beta as Beta,
    BetaMap as BetaMap,
    LogOddsMap as LogOddsMap,
    Platt as Platt,
    Quadratic as Quadratic,
)
from calibrant.maps.one_vs_rest_temperature import (
    OneVsRestTemperature as OneVsRestTemperature,
    OneVsRestTemperatureMap as OneVsRestTemperatureMap,
)
from calibrant.maps.order_preserving import OrderPreserving as OrderPreserving, OrderPreservingMap as OrderPreservingMap
from calibrant.maps.piecewise import PiecewiseLinear as PiecewiseLinear, PiecewiseMap as PiecewiseMap
from calibrant.maps.quantile import QuantileMap as QuantileMap, QuantileRecalibration as QuantileRecalibration
from calibrant.maps.regression import (
    RegressionMap as RegressionMap,
    StdScaling as StdScaling,
    StdScalingMap as StdScalingMap,
    VarianceMap as VarianceMap,
    VariancePlatt as VariancePlatt,
    VariancePlattMap as VariancePlattMap,
)
from calibrant.maps.scaling_binning import ScalingBinning as ScalingBinning, ScalingBinningMap as ScalingBinningMap
from calibrant.maps.several import (
    OneVsRest as OneVsRest,
    OneVsRestMap as OneVsRestMap,
    TopLabel as TopLabel,
    TopLabelMap as TopLabelMap,
)
from calibrant.maps.spline import Spline as Spline, SplineMap as SplineMap
from calibrant.maps.steps import (
    Histogram as Histogram,
    HistogramMap as HistogramMap,
    Isotonic as Isotonic,
    KnotMap as KnotMap,
    StepMap as StepMap,
)
from calibrant.maps.structured import (
    StructuredMap as StructuredMap,
    StructuredMatrix as StructuredMatrix,
    StructuredVector as StructuredVector,
)
from calibrant.maps.temperature import Temperature as Temperature, TemperatureMap as TemperatureMap
from calibrant.maps.unit_slope_bins import UnitSlopeBins as UnitSlopeBins, UnitSlopeMap as UnitSlopeMap
from calibrant.maps.venn_abers import VennAbers as VennAbers, VennAbersMap as VennAbersMap
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
