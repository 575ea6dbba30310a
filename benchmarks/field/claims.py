"""What packages claim about calibration errors with estimates, intervals and tests: tried on data whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.field.calls import CALLS, MAPIE, OURS, UC, add, use, value
from benchmarks.field.data import Data
from benchmarks.field.rivals import SUN, interval, squared_error

ESTIMATORS = {
    "ece": 1,
    "mass": 1,
    "debiased mean": 1,
    "sweep": 1,
    "smooth": 1,
    "posterior": 1,
    "variational": 1,
    "debiased": 2,
    "isotonic error": 2,
    "U-statistic": 2,
}
"""Estimators by task, with the norm of the true error that they are held against."""

INTERVALS = {"interval of norm 1": 1, "interval of norm 2": 2}
LEVEL = 0.9
"""Of the intervals."""

SIZE = 0.05
"""Rate of false alarms allowed to the tests."""

TESTS = (
    "test: Spiegelhalter",
    "test: KS",
    "test: Kuiper",
    "test: Hosmer–Lemeshow",
    "test: Cox",
    "test: mean",
    "test: SKCE",
    "test: U-statistic",
    "test: is_calibrated",
)
NAMES = {
    "variational": "variational, cross-fitted (arXiv 2602.24230)",
    "isotonic error": "root of the miscalibration of the Brier score, isotonic",
    "U-statistic": "root of the U-statistic within bins",
}
"""Titles of estimators whose speed is not compared."""


def ends(estimate: Any) -> list[float]:
    return [estimate.interval.low, estimate.interval.high]


def p_value(found: Any) -> float:
    return float(found.p_value)


add("posterior", OURS, lambda d: partial(use("calibrant:posterior_error"), d.labels, d.probs), read=value)
for peer in (OURS, "model-diagnostics"):
    whole = CALLS["decomposition", peer]
    add(
        "isotonic error",
        peer,
        whole.make,
        read=lambda found, parts=whole.read: math.sqrt(max(parts(found)[0], 0.0)),  # rounding can make 0 negative
    )
add(
    "U-statistic", SUN, lambda d: partial(squared_error, d.floats, d.probs), read=lambda t: math.sqrt(max(t.value, 0.0))
)


def variational(d: Data) -> Callable[[], Any]:
    """The estimator of arXiv 2602.24230 by its authors: the gain of an isotonic map, fitted on other folds, in the loss of the L1 norm.

    Asked of two columns, whose L1 distance is twice that of one.
    """
    import torch

    loss = use("probmetrics.metrics:ProperLpLoss")(p=1, binary_as_multiclass=True)
    cross_fitted = use("probmetrics.metrics:MetricsWithCalibration")(
        loss,
        use("probmetrics.calibrators:get_calibrator")("isotonic", calibrate_with_mixture=True),
        val_splitter=use("probmetrics.splitters:CVSplitter")(n_cv=5),
        cal_name="isotonic",
        random_state=0,
    )
    labels = use("probmetrics.distributions:CategoricalDirac")(torch.from_numpy(d.ints), n_classes=2)
    probs = use("probmetrics.distributions:CategoricalProbs")(torch.from_numpy(d.two_columns))

    def call() -> float:
        found = cross_fitted.compute_all(labels, probs)
        return next(float(each) for name, each in found.items() if name.startswith("calib-err")) / 2

    return call


add("variational", "probmetrics", variational)
for task, norm in INTERVALS.items():
    add(
        task,
        OURS,
        lambda d, norm=norm: partial(use("calibrant:posterior_error"), d.labels, d.probs, norm=norm, level=LEVEL),
        read=ends,
    )
    add(
        task,
        UC,
        lambda d, norm=norm: partial(use("calibration:get_calibration_error_uncertainties"), d.probs, d.ints, p=norm),
        read=lambda found: [found[0], found[2]],
        differs="asked for its default, documented as 90 %; its code reads alpha = 0.1 as 0.1 %",
    )
add("interval of norm 2", SUN, lambda d: partial(interval, d.floats, d.probs, LEVEL), read=list)


def tested(name: str, **options: Any) -> Callable[[Data], Callable[[], Any]]:
    return lambda d: partial(use(f"calibrant.detect:{name}"), d.labels, d.probs, **options)


for task, name, options in (
    ("Spiegelhalter", "spiegelhalter_test", {}),
    ("KS", "cumulative_test", {"statistic": "max"}),
    ("Kuiper", "cumulative_test", {"statistic": "range"}),
    ("Hosmer–Lemeshow", "hosmer_lemeshow_test", {}),
    ("Cox", "cox_test", {}),
    ("SKCE", "skce_test", {"view": "binary"}),
    ("is_calibrated", "is_calibrated", {}),
):
    add(f"test: {task}", OURS, tested(name, **options), read=p_value)
add("test: U-statistic", SUN, lambda d: partial(squared_error, d.floats, d.probs), read=p_value)
for task, function, options in (
    ("Spiegelhalter", "spiegelhalter_z", {}),
    ("Hosmer–Lemeshow", "hosmer_lemeshow", {}),
    ("Cox", "calibration_test", {}),
    ("SKCE", "skce_test", {"n_boot": 199}),
):
    add(
        f"test: {task}",
        "probcal",
        lambda d, function=function, options=options: partial(
            use(f"probcal.metrics:{function}"), d.labels, d.probs, **options
        ),
        read=p_value,
        differs="its SKCE test is asked for 199 draws, a fifth of its default, for time" if options else "",
    )
for task, function in (("Spiegelhalter", "spiegelhalter"), ("KS", "kolmogorov_smirnov"), ("Kuiper", "kuiper")):
    add(
        f"test: {task}",
        "MAPIE",
        lambda d, function=function: partial(use(f"{MAPIE}{function}_p_value"), d.ints, d.probs),
        differs="its Spiegelhalter test is one-sided: it sees scores that are too large"
        if task == "Spiegelhalter"
        else "",
    )
add(
    "test: mean",
    "model-diagnostics",
    lambda d: partial(use("model_diagnostics.calibration:compute_bias"), d.floats, d.probs),
    read=lambda frame: float(frame["p_value"][0]),
)
