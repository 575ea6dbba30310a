"""What each package is asked about several classes, and about forecasts of a real number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.field.calls import BINS, EDGES, MAPIE, OURS, TM, TU, UC, WIDTH, add, fresh, ours, use, value
from benchmarks.field.data import Data

# several classes
ours("top", "ece")
add(
    "top",
    "torchmetrics",
    lambda d: partial(use(TM + "multiclass_calibration_error"), *d.tensors, num_classes=d.probs.shape[1], n_bins=BINS),
    differs="edges and sums in float32",
)
add(
    "top",
    "netcal",
    lambda d: partial(use("netcal.metrics:ECE")(BINS).measure, d.probs, d.labels),
    differs="sums in float32",
)
add("top", UC, lambda d: partial(use("calibration:get_ece"), d.probs, d.ints, num_bins=BINS), differs="sums in float32")
add(
    "top",
    "torch-uncertainty",
    lambda d: fresh(TU + "MulticlassCalibrationError", num_classes=d.probs.shape[1], num_bins=BINS)(d),
    differs="edges and sums in float32",
)
ours("classwise", "static_error")
add(
    "classwise",
    "MAPIE",
    lambda d: partial(
        use(MAPIE + "expected_calibration_error"),
        None,
        d.probs,
        num_bins=EDGES,
        split_strategy="uniform",
        classwise=True,
        class_labels=d.labels,
    ),
    differs="sums in float32",
)
add(
    "classwise",
    UC,
    lambda d: partial(use("calibration:get_ece"), d.probs, d.ints, num_bins=BINS, mode="marginal"),
    most=10_000,
)
ours("brier of classes", "brier_score")
add(
    "brier of classes",
    "scikit-learn",
    lambda d: partial(
        use("sklearn.metrics:brier_score_loss"),
        d.labels,
        d.wide,
        labels=np.arange(d.probs.shape[1]),
        scale_by_half=False,
    ),
    differs="rows of float32 divided by their sum first",
)
ours("log of classes", "log_score")
add(
    "log of classes",
    "scikit-learn",
    lambda d: partial(use("sklearn.metrics:log_loss"), d.labels, d.wide, labels=np.arange(d.probs.shape[1])),
    differs="rows of float32 divided by their sum first",
)

# what no other package has
ours("cross-validated", "crossvalidated_error")
ours("density", "density_error")
ours("skce chosen", "skce")
ours("canonical", "canonical_error")
ours("skce of classes", "skce", bandwidth=WIDTH)
add(
    "is_calibrated",
    OURS,
    lambda d: partial(use("calibrant:is_calibrated"), d.labels, d.probs),
    read=lambda found: float(found.p_value),
)
add(
    "diagnose",
    OURS,
    lambda d: partial(use("calibrant:diagnose"), d.labels, d.probs),
    read=lambda found: found["ece"].value,
)

# forecasts of a real number, given as normal distributions


def our_crps(d: Data) -> Callable[[], Any]:
    crps, forecasts = use("calibrant.regression:crps"), use("calibrant.forecasts:GaussianForecasts")
    variance = d.sd**2
    return lambda: crps(forecasts(d.labels, d.probs, variance))


add("crps", OURS, our_crps, read=value)
add(
    "crps",
    "scoringrules",
    lambda d: partial(use("scoringrules:crps_normal"), d.labels, d.probs, d.sd),
    read=lambda rows: float(np.mean(rows)),
)
add(
    "crps",
    "uncertainty-toolbox",
    lambda d: partial(use("uncertainty_toolbox.metrics_scoring_rule:crps_gaussian"), d.probs, d.sd, d.labels),
)
