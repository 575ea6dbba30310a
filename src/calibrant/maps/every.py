"""The public names of all families of maps."""

# isort: off
# fmt: off
from calibrant.maps.auto import Auto
from calibrant.maps.bayesian_binning import BayesianBinning, BayesianBinningMap
from calibrant.maps.bent import Bent, BentMap
from calibrant.maps.binary import BinaryMap, BinaryRecipe
from calibrant.maps.calibration_map import CalibrationMap, Fit, SavedMap
from calibrant.maps.choice import Candidate, Choice
from calibrant.maps.ensemble_temperature import EnsembleMap, EnsembleTemperature
from calibrant.maps.evolved_pieces import EvolvedMap, EvolvedPieces
from calibrant.maps.gaussian_process import GaussianProcessMap, GaussianProcessTable
from calibrant.maps.identity import Identity, IdentityMap
from calibrant.maps.isotonic import CenteredIsotonic, Isotonic, KnotMap
from calibrant.maps.kernel_density import KernelDensity, KernelDensityMap
from calibrant.maps.linear import Dirichlet, LinearMap, MatrixScaling, VectorScaling
from calibrant.maps.loading import load_map
from calibrant.maps.logistic import Beta, BetaMap, Logistic, LogOddsMap, Platt, Quadratic
from calibrant.maps.mixture import MixtureMap
from calibrant.maps.multicalibration import Multicalibration, MulticalibrationMap, Shift
from calibrant.maps.order_preserving import OrderPreserving, OrderPreservingMap
from calibrant.maps.piecewise import PiecewiseLinear, PiecewiseMap
from calibrant.maps.prior_shift import PriorShift, PriorShiftMap
from calibrant.maps.quantile import QuantileMap, QuantileRecalibration
from calibrant.maps.regression import (
    RegressionMap, StdScaling, StdScalingMap, VarianceMap, VariancePlatt, VariancePlattMap,
)
from calibrant.maps.segmented import BySegment, Segmented, SegmentedMap
from calibrant.maps.several import OneVsRest, OneVsRestMap, PerLabelMap, TopLabel, TopLabelMap
from calibrant.maps.spline import Spline, SplineMap
from calibrant.maps.steps import (
    Histogram, HistogramMap, ScalingBinning, ScalingBinningMap, StepMap, VennAbers, VennAbersMap,
)
from calibrant.maps.structured import StructuredMap, StructuredMatrix, StructuredVector
from calibrant.maps.temperature import OneVsRestTemperature, OneVsRestTemperatureMap, Temperature, TemperatureMap
from calibrant.maps.unit_slope_bins import UnitSlopeBins, UnitSlopeMap
from calibrant.maps.unpenalised import UnpenalisedMatrix

__all__ = [
    "Auto", "BayesianBinning", "BayesianBinningMap", "Bent", "BentMap", "Beta", "BetaMap", "BinaryMap", "BinaryRecipe",
    "BySegment",
    "CalibrationMap", "Candidate", "CenteredIsotonic", "Choice", "Dirichlet", "EnsembleMap", "EnsembleTemperature", "EvolvedMap",
    "EvolvedPieces", "Fit", "GaussianProcessMap",
    "GaussianProcessTable", "Histogram", "HistogramMap", "Identity", "IdentityMap", "Isotonic", "KernelDensity",
    "KernelDensityMap", "KnotMap", "LinearMap", "LogOddsMap", "Logistic", "MatrixScaling", "MixtureMap",
    "Multicalibration", "MulticalibrationMap", "OneVsRest", "OneVsRestMap",
    "OneVsRestTemperature", "OneVsRestTemperatureMap", "OrderPreserving", "OrderPreservingMap", "PerLabelMap", "PiecewiseLinear",
    "PiecewiseMap", "Platt", "PriorShift", "PriorShiftMap", "Quadratic", "QuantileMap", "QuantileRecalibration", "RegressionMap", "SavedMap",
    "ScalingBinning", "ScalingBinningMap", "Segmented", "SegmentedMap", "Shift", "Spline", "SplineMap", "StdScaling", "StdScalingMap", "StepMap",
    "StructuredMap", "StructuredMatrix", "StructuredVector", "Temperature", "TemperatureMap", "TopLabel", "TopLabelMap",
    "UnitSlopeBins", "UnitSlopeMap", "UnpenalisedMatrix", "VarianceMap", "VariancePlatt", "VariancePlattMap",
    "VectorScaling", "VennAbers",
    "VennAbersMap", "load_map",
]
# fmt: on
