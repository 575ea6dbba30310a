"""calibrant: is a model calibrated, how sure are we, how is it repaired, and did the repair help?

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "": ("plot", "report", "results", "simulate"),
    "bins": ("Edges", "EqualMass", "EqualWidth"),
    "detect": (
        "calibration_test",
        "cox_test",
        "cumulative_test",
        "hosmer_lemeshow_test",
        "is_calibrated",
        "multi_scale_test",
        "skce_test",
        "spiegelhalter_test",
        "two_part_test",
    ),
    "estimate.binned": ("binned_error", "ece"),
    "estimate.canonical": ("canonical_error",),
    "estimate.classwise": (
        "adaptive_error",
        "classwise_error",
        "static_error",
        "thresholded_error",
    ),
    "estimate.crossvalidated": ("crossvalidated_error",),
    "estimate.cumulative": ("ks_error",),
    "estimate.density": ("density_error",),
    "estimate.expected": ("expected_ece",),
    "estimate.fitted": ("fitted_error",),
    "estimate.mmce": ("mmce",),
    "estimate.posterior": ("posterior_error",),
    "estimate.regret": ("decision_regret",),
    "estimate.sampled": ("sampled_error",),
    "estimate.regression.coverage": ("coverage_error", "miscalibration_area"),
    "estimate.regression.ence": ("ence",),
    "estimate.regression.marginal": ("marginal_error",),
    "estimate.regression.mean_error": ("mean_error",),
    "estimate.regression.pit": ("pit_error", "pit_test"),
    "estimate.regression.skce": ("gaussian_skce", "gaussian_skce_test"),
    "estimate.regression.spread": ("spread_test",),
    "estimate.regression.uncertainty_error": ("uncertainty_error",),
    "estimate.regression.variance_gap": ("variance_gap",),
    "estimate.regression.variance_ratio": ("variance_ratio",),
    "estimate.skce": ("skce",),
    "estimate.two_bin": ("averaged_two_bin_error",),
    "estimate.smooth": ("smooth_error",),
    "estimate.sweep": ("sweep_error",),
    "estimate.label_binned": ("label_binned_error",),
    "estimate.mean_gap": ("mean_gap",),
    "estimate.root_brier": ("root_brier",),
    "examples": ("example",),
    "files": ("read",),
    "forecasts": ("BentForecasts", "Forecasts", "GaussianForecasts", "QuantileForecasts", "SampleForecasts"),
    "infer.band": ("Band",),
    "infer.bands": ("band_of_bins", "confidence_band", "consistency_band", "simultaneous_band"),
    "infer.any_estimator": ("interval_of",),
    "infer.error": ("calibration_error_interval", "classwise_intervals"),
    "infer.running": ("cumulative_interval",),
    "infer.squared": ("squared_error_interval",),
    "maps": (
        "Auto",
        "BayesianBinning",
        "Beta",
        "CalibrationMap",
        "Dirichlet",
        "EnsembleTemperature",
        "GaussianProcessMap",
        "Histogram",
        "Identity",
        "Isotonic",
        "KernelDensity",
        "MatrixScaling",
        "OneVsRest",
        "OneVsRestTemperature",
        "OrderPreserving",
        "PiecewiseLinear",
        "Platt",
        "Quadratic",
        "QuantileRecalibration",
        "ScalingBinning",
        "Spline",
        "StdScaling",
        "StructuredMatrix",
        "StructuredVector",
        "Temperature",
        "TopLabel",
        "UnitSlopeBins",
        "VariancePlatt",
        "VectorScaling",
        "VennAbers",
        "load_map",
    ),
    "monitor": ("Change", "Monitor", "MonitorState"),
    "predictions": ("Predictions",),
    "problems": ("CalibrantError", "FileError", "InputError", "MapError", "MissingExtra"),
    "results": ("BinTable", "ClassTable", "Curve", "Estimate", "Interval", "Line", "Table", "TestResult"),
    "score": (
        "CRPS",
        "BrierScore",
        "DawidSebastianiScore",
        "ForecastScore",
        "GaussianLogScore",
        "IntervalScore",
        "KernelScore",
        "LogScore",
        "PinballScore",
        "RankedProbabilityScore",
        "Rule",
        "Score",
        "SphericalScore",
        "UScore",
        "brier_score",
        "crps",
        "dawid_sebastiani_score",
        "gaussian_log_score",
        "interval_score",
        "log_score",
        "pinball_score",
        "ranked_probability_score",
        "spherical_score",
    ),
    "simulate": (
        "BetaWorld",
        "DirichletWorld",
        "EmpiricalWorld",
        "FriedmanWorld",
        "GaussianWorld",
        "LogisticNormalWorld",
        "ShapeWorld",
        "UniformWorld",
        "World",
        "bent_world",
        "bias",
        "bias_grid",
        "calibrated_world",
        "detection",
        "fit_world",
        "map_quality",
        "named_world",
        "power_world",
        "rank_correlation",
    ),
    "verbs.auditing.audit": ("Audit", "AuditedSegment", "audit"),
    "verbs.answers": ("AnswerReport", "assess_answers"),
    "verbs.confidence_levels": ("ConfidenceLevels",),
    "verbs.compare": ("Comparison", "Comparisons", "compare"),
    "verbs.decompose": ("Decomposition", "decompose"),
    "verbs.diagnose": ("Diagnosis", "diagnose"),
    "verbs.diagnose_regression": ("ForecastDiagnosis",),
    "verbs.planning.plan": ("Plan", "plan"),
    "verbs.planning.validation": ("ValidationPlan", "plan_validation"),
    "verbs.recalibrate": ("recalibrate",),
    "estimate.selective": ("selective_risk",),
    "verbs.trust": ("Trust", "trust"),
    "estimate.score_bound": ("upper_bound",),
    "verbs.where": ("Where", "where"),
}
"""Where each public name lives; tests/test_public_names.py holds it equal to the list in __init__.pyi."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    home = _HOME[name]
    value = getattr(import_module(f"calibrant.{home}"), name) if home else import_module(f"calibrant.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
