"""What packages claim about calibration errors with intervals and tests: tried on data whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.field.calls import MAPIE, OURS, UC, add, use, value
from benchmarks.field.data import Data

ESTIMATORS = {
    "ece": 1,
    "mass": 1,
    "debiased mean": 1,
    "sweep": 1,
    "smooth": 1,
    "posterior": 1,
    "variational": 1,
    "debiased": 2,
}
"""Estimators by task, with the norm of the true error that they are held against."""

INTERVALS = {"interval of norm 2": 2, "interval of norm 1": 1}
LEVEL = 0.9
"""Of the intervals; and 1 minus it is the rate of false alarms allowed to tests."""

TESTS = ("test: Spiegelhalter", "test: KS", "test: Kuiper", "test: Hosmer–Lemeshow", "test: Cox", "test: all questions")


def ends(estimate: Any) -> list[float]:
    return [estimate.interval.low, estimate.interval.high]


def p_value(found: Any) -> float:
    return float(found.p_value)


add("posterior", OURS, lambda d: partial(use("calibrant:posterior_error"), d.labels, d.probs), read=value)
add(
    "interval of norm 1",
    OURS,
    lambda d: partial(use("calibrant:posterior_error"), d.labels, d.probs, level=LEVEL),
    read=ends,
)
add(
    "interval of norm 2",
    OURS,
    lambda d: partial(use("calibrant:posterior_error"), d.labels, d.probs, norm=2, level=LEVEL),
    read=ends,
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
for norm in (1, 2):
    add(
        f"interval of norm {norm}",
        UC,
        lambda d, norm=norm: partial(use("calibration:get_calibration_error_uncertainties"), d.probs, d.ints, p=norm),
        read=lambda found: [found[0], found[2]],
    )


def tested(name: str, **options: Any) -> Callable[[Data], Callable[[], Any]]:
    return lambda d: partial(use(f"calibrant.detect:{name}"), d.labels, d.probs, **options)


add("test: Spiegelhalter", OURS, tested("spiegelhalter_test"), read=p_value)
add("test: KS", OURS, tested("cumulative_test"), read=p_value)
add("test: Kuiper", OURS, tested("cumulative_test", statistic="range"), read=p_value)
add("test: Hosmer–Lemeshow", OURS, tested("hosmer_lemeshow_test"), read=p_value)
add("test: Cox", OURS, tested("cox_test"), read=p_value)
add("test: all questions", OURS, tested("is_calibrated"), read=p_value)
for task, function in (
    ("Spiegelhalter", "spiegelhalter_z"),
    ("Hosmer–Lemeshow", "hosmer_lemeshow"),
    ("Cox", "calibration_test"),
):
    add(
        f"test: {task}",
        "probcal",
        lambda d, function=function: partial(use(f"probcal.metrics:{function}"), d.labels, d.probs),
        read=p_value,
    )
for task, function in (("Spiegelhalter", "spiegelhalter"), ("KS", "kolmogorov_smirnov"), ("Kuiper", "kuiper")):
    add(
        f"test: {task}",
        "MAPIE",
        lambda d, function=function: partial(use(f"{MAPIE}{function}_p_value"), d.ints, d.probs),
    )
