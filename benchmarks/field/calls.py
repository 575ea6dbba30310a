"""What each package is asked, one entry per quantity and package: how it is called, and why its number may differ.

An entry's first function takes the data and returns the call that is timed; imports and conversions happen before the clock starts.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.field.data import Data

BINS = 15
EDGES = BINS + 1
"""MAPIE counts edges, not bins."""

OURS = "calibrant"
WIDTH = 0.25
"""Bandwidth of kernel errors, given so that nobody has to choose it."""

ALL_PAIRS = 10_000
"""Rows from which a package that holds all pairs in memory is not asked."""


@dataclass(frozen=True)
class Call:
    make: Callable[[Data], Callable[[], Any]]
    read: Callable[[Any], Any] = float
    """from what it returns to the number, or numbers, compared with ours"""
    differs: str = ""
    """why the numbers need not agree"""
    against: str = ""
    """calibrant's call for the question this one asks, where that is another than the task's"""
    aside: str = ""
    """"other quantity" or "not public": shown, not counted as the fastest peer"""
    most: float = math.inf
    """rows above which it is not asked"""


CALLS: dict[tuple[str, str], Call] = {}
FLOOR = Call(lambda d: lambda: sum(float(np.sum(a)) for a in d.arrays))


def add(task: str, peer: str, make: Callable[[Data], Callable[[], Any]], **facts: Any) -> None:
    CALLS[task, peer] = Call(make, **facts)


def ours(task: str, name: str, *, view: str = "", **options: Any) -> None:
    """calibrant's public call on plain arrays, checks included."""
    if view:
        options["view"] = view
    add(task, OURS, lambda d: partial(use(f"calibrant:{name}"), d.labels, d.probs, **made(options)), read=value)


def made(options: dict[str, Any]) -> dict[str, Any]:
    """Options, with bins made by the rule that is named."""
    return {key: use(f"calibrant:{each}")(BINS) if key == "bins" else each for key, each in options.items()}


def use(path: str) -> Any:
    """What `module:name` stands for."""
    module, name = path.split(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def value(estimate: Any) -> float:
    return float(estimate.value)


def number(found: Any) -> Any:
    """A float, or a list of them."""
    return [float(each) for each in found] if np.ndim(found) else float(found)


def fresh(metric: str, *options: Any, **more: Any) -> Callable[[Data], Callable[[], Any]]:
    """A torchmetrics-style metric made, fed and read."""

    def make(d: Data) -> Callable[[], Any]:
        kind, (probs, labels) = use(metric), d.single_tensors

        def call() -> Any:
            made = kind(*options, **more)
            made.update(probs, labels)
            return made.compute()

        return call

    return make


CUT = "cuts at interpolated quantiles: rows near a cut change bins"
TOP = "asks about the more probable class, in float32"
TU = "torch_uncertainty.metrics.classification.calibration:"
TM = "torchmetrics.functional.classification:"
UC = "uncertainty-calibration"

# equal-width bins
ours("ece", "ece")
add("ece", "relplot", lambda d: partial(use("relplot.metrics:binnedECE"), d.probs, d.floats, nbins=BINS))
add("ece", "probcal", lambda d: partial(use("probcal.metrics:ece"), d.labels, d.probs, n_bins=BINS, strategy="width"))
add("ece", "torchmetrics", lambda d: partial(use(TM + "binary_calibration_error"), *d.tensors, n_bins=BINS))
add("ece", "netcal", lambda d: partial(use("netcal.metrics:ECE")(BINS).measure, d.probs, d.labels))
add("ece", UC, lambda d: partial(use("calibration:get_ece"), d.probs, d.ints, num_bins=BINS))
add("ece", "calibre", lambda d: partial(use("calibre:expected_calibration_error"), d.ints, d.probs, n_bins=BINS))
add(
    "ece", "MCGrad", lambda d: partial(use("mcgrad.metrics:expected_calibration_error"), d.ints, d.probs, num_bins=BINS)
)
MAPIE = "mapie.metrics.calibration:"


def mapie_ece(split: str) -> Callable[[Data], Callable[[], Any]]:
    error = MAPIE + "expected_calibration_error"
    return lambda d: partial(use(error), d.ints, d.probs, num_bins=EDGES, split_strategy=split)


add("ece", "MAPIE", mapie_ece("uniform"))
add(
    "ece", "torch-uncertainty", fresh(TU + "BinaryCalibrationError", num_bins=BINS), differs="edges and sums in float32"
)

# equal mass
ours("mass", "binned_error", bins="EqualMass")
CALLS["mass of the top class", OURS] = Call(lambda d: partial(use("calibrant:binned_error"), *d.top), value)
add(
    "mass",
    "probcal",
    lambda d: partial(use("probcal.metrics:ece"), d.labels, d.probs, n_bins=BINS, strategy="mass"),
    differs=CUT,
)
add(
    "mass",
    "netcal",
    lambda d: partial(use("netcal.metrics:ECE")(BINS, equal_intervals=False).measure, d.probs, d.labels),
    differs=CUT,
)
add("mass", "MAPIE", mapie_ece("quantile"), differs=CUT)
add(
    "mass",
    UC,
    lambda d: partial(use("calibration:get_ece_em"), d.probs, d.ints, num_bins=BINS),
    differs="the first bins take the rows left over",
)
add(
    "mass",
    "MCGrad",
    lambda d: partial(use("mcgrad.metrics:adaptive_calibration_error"), d.ints, d.probs, num_bins=BINS),
    differs="edges rounded to three digits by pandas.qcut",
)
add(
    "mass",
    "torch-uncertainty",
    fresh(TU + "AdaptiveCalibrationError", "binary", num_bins=BINS),
    against="mass of the top class",
    differs=TOP,
)

# debiased
ours("debiased", "binned_error", bins="EqualWidth", norm=2, debiased=True)
ours("debiased mean", "binned_error", bins="EqualWidth", debiased=True)


def kumar(d: Data) -> Callable[[], Any]:
    """Kumar and colleagues' debiased error on equal-width bins."""
    scheme = use("calibration.utils:get_equal_prob_bins")
    options = {"p": 2, "debias": True, "num_bins": BINS, "binning_scheme": scheme}
    return partial(use("calibration.utils:lower_bound_scaling_ce"), d.probs, d.ints, **options)


add("debiased", UC, kumar)
add(
    "debiased",
    "probcal",
    lambda d: partial(use("probcal.metrics:ece_debiased"), d.labels, d.probs, n_bins=BINS, strategy="width"),
    differs="mean of the bins' roots, each bin floored at 0",
    aside="other quantity",
)
add(
    "debiased",
    "torchmetrics",
    lambda d: partial(
        use("torchmetrics.functional.classification.calibration_error:_ce_compute"), *d.tensors, BINS, "l2", debias=True
    ),
    aside="not public",
)
add(
    "debiased mean",
    UC,
    lambda d: partial(use("calibration:get_ece"), d.probs, d.ints, debias=True, num_bins=BINS),
    differs="1000 random draws where ours has the integral",
)

# sweep, smooth, cumulative sums
ours("sweep", "sweep_error")
add(
    "sweep",
    "probcal",
    lambda d: partial(use("probcal.metrics:ece_sweep"), d.labels, d.probs),
    differs="cuts at interpolated quantiles, at most 100 bins",
)
ours("smooth", "smooth_error")
CALLS["smooth of the top class", OURS] = Call(lambda d: partial(use("calibrant:smooth_error"), *d.top), value)
add(
    "smooth",
    "relplot",
    lambda d: partial(use("relplot:smECE"), d.probs, d.floats),
    differs="the width to 1/1024; the cells at 0 and 1 do not conserve mass",
)
add(
    "smooth",
    "probcal",
    lambda d: partial(use("probcal.metrics:smooth_ece"), d.labels, d.probs),
    differs="smooths log-odds, not probabilities",
    aside="other quantity",
)
add(
    "smooth",
    "torch-uncertainty",
    fresh(TU + "SmoothCalibrationError", kernel_type="reflected"),
    against="smooth of the top class",
    differs=TOP + "; the width to 1/1024",
)
ours("ks", "ks_error")
ours("kuiper", "ks_error", statistic="range")


def scaled(statistic: str) -> Callable[[Data], Callable[[], Any]]:
    """MAPIE's statistic times its unit, the standard deviation under calibration."""

    def make(d: Data) -> Callable[[], Any]:
        found, unit = use(MAPIE + statistic), use(MAPIE + "length_scale")(d.probs)
        return lambda: found(d.ints, d.probs) * unit

    return make


add(
    "ks",
    "probcal",
    lambda d: partial(use("probcal.metrics:ecce"), d.labels, d.probs),
    read=lambda found: found.stat_max,
)
add("ks", "MAPIE", scaled("kolmogorov_smirnov_statistic"), differs="breaks ties by random jitter")
add("kuiper", "MAPIE", scaled("kuiper_statistic"), differs="breaks ties by random jitter")
add("kuiper", "MCGrad", lambda d: partial(use("mcgrad.metrics:ecce"), d.ints, d.probs))

# kernels over pairs of rows
ours("skce", "skce", bandwidth=WIDTH)
add(
    "skce",
    "probcal",
    lambda d: partial(use("probcal.metrics:skce"), d.labels, d.probs, bandwidth=WIDTH),
    most=ALL_PAIRS,
)
CALLS["mmce", OURS] = Call(lambda d: partial(use("calibrant:mmce"), d.labels, d.probs), value)
CALLS["mmce of the top class", OURS] = Call(lambda d: partial(use("calibrant:mmce"), *d.top), value)
add(
    "mmce",
    "netcal",
    lambda d: partial(use("netcal.metrics:MMCE")().measure, d.two_columns, d.ints),
    against="mmce of the top class",
    differs="asks about the more probable class",
    most=ALL_PAIRS,
)
add(
    "mmce",
    "probcal",
    lambda d: partial(use("probcal.metrics:skce"), d.labels, d.probs, estimator="biased", bandwidth=0.4),
    read=lambda found: math.sqrt(found / 2),  # twice the squared MMCE
    most=ALL_PAIRS,
)

# proper scores
ours("brier", "brier_score", view="binary")
add("brier", "scikit-learn", lambda d: partial(use("sklearn.metrics:brier_score_loss"), d.labels, d.probs))
add("brier", "probcal", lambda d: partial(use("probcal.metrics:brier_score"), d.labels, d.probs))
add("brier", "calibre", lambda d: partial(use("calibre:brier_score"), d.labels, d.probs))
add(
    "brier",
    "scoringrules",
    lambda d: partial(use("scoringrules:brier_score"), d.ints, d.probs),
    read=lambda rows: float(np.mean(rows)),
)
ours("log", "log_score")
add("log", "scikit-learn", lambda d: partial(use("sklearn.metrics:log_loss"), d.labels, d.probs))
add("log", "probcal", lambda d: partial(use("probcal.metrics:log_loss"), d.labels, d.probs))
add(
    "log",
    "scoringrules",
    lambda d: partial(use("scoringrules:log_score"), d.ints, d.probs),
    read=lambda rows: float(np.mean(rows)),
)
add("log", "model-diagnostics", lambda d: partial(use("model_diagnostics.scoring:LogLoss")(), d.floats, d.probs))
add("brier", "model-diagnostics", lambda d: partial(use("model_diagnostics.scoring:SquaredError")(), d.floats, d.probs))
CALLS["decomposition", OURS] = Call(
    lambda d: partial(use("calibrant:decompose"), d.labels, d.probs, score="brier", view="binary"),
    lambda found: [found.miscalibration, found.discrimination],
)
add(
    "decomposition",
    "model-diagnostics",
    lambda d: partial(
        use("model_diagnostics.scoring:decompose"),
        d.floats,
        d.probs,
        scoring_function=use("model_diagnostics.scoring:SquaredError")(),
    ),
    read=lambda frame: [float(frame["miscalibration"][0]), float(frame["discrimination"][0])],
)

# the reliability curve: observed rate of each bin
CALLS["curve", OURS] = Call(
    lambda d: partial(use("calibrant:binned_error"), d.labels, d.probs, bins=use("calibrant:EqualWidth")(BINS)),
    lambda found: found.parts["bins"].label_rate,
)
for package, module in (("scikit-learn", "sklearn.calibration"), ("calibre", "calibre")):
    add(
        "curve",
        package,
        lambda d, module=module: partial(use(f"{module}:calibration_curve"), d.labels, d.probs, n_bins=BINS),
        read=lambda found: found[0],
    )
