"""Recalibration maps of each package: how one is fitted, and how it is applied. An entry gives two tasks, the fit and the application.

Maps are compared by what they make of the same probabilities: a grid for one event, the first rows for several classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.field.calls import BINS, CALLS, OURS, Call, use
from benchmarks.field.data import AT, ROWS, Data


def add(
    name: str, peer: str, fit: Callable[[Data], Callable[[], Any]], apply: Callable[[Any, Data], Any], **facts: Any
) -> None:
    """`fit(data)` returns the call that is timed; `apply(fitted, data)` the recalibrated probabilities."""

    def make_fit(d: Data) -> Callable[[], Any]:
        run, at = fit(d), grid(d)
        return lambda: (run(), at)

    def make_apply(d: Data) -> Callable[[], Any]:
        return partial(apply, fit(d)(), d)

    CALLS[f"{name}: fit", peer] = Call(make_fit, lambda found: np.ravel(apply(*found)), **facts)
    CALLS[f"{name}: apply", peer] = Call(make_apply, lambda found: np.ravel(np.asarray(found)[:ROWS]), **facts)


def grid(d: Data) -> Data:
    """Where maps are compared."""
    if d.probs.ndim == 1:
        return Data(np.zeros(len(AT), np.uint8), AT)
    logits = None if d.logits is None else d.logits[:ROWS]
    return Data(d.labels[:ROWS], d.probs[:ROWS], logits)


def ours(name: str, recipe: str, *options: Any, classes: bool = False, **more: Any) -> None:
    def made() -> Any:
        given = {key: use(f"calibrant:{each}")(BINS) if key == "bins" else each for key, each in more.items()}
        return use(f"calibrant.maps:{recipe}")(*options, **given)

    if classes:
        add(name, OURS, lambda d: partial(made().fit, d.labels, logits=d.logits), lambda m, d: m.apply(logits=d.logits))
    else:
        add(name, OURS, lambda d: partial(made().fit, d.labels, d.probs), lambda m, d: m.apply(d.probs))


def probcal(name: str, kind: str, **facts: Any) -> None:
    options = facts.pop("options", {})
    add(
        name,
        "probcal",
        lambda d: partial(use(kind)(**options).fit, d.probs, d.labels),
        lambda m, d: m.predict_proba(d.probs),
        **facts,
    )


def netcal(name: str, kind: str, *options: Any, **facts: Any) -> None:
    def fit(d: Data) -> Callable[[], Any]:
        made = use(kind)

        def call() -> Any:
            fitted = made(*options)
            fitted.fit(d.wide, d.ints)
            return fitted

        return call

    add(name, "netcal", fit, lambda m, d: m.transform(d.wide), **facts)


def column(probs: Any) -> Any:
    return np.asarray(probs)[:, 1]


# one event
ours("temperature", "Temperature", penalty=None)
probcal("temperature", "probcal:TemperatureCalibrator")
netcal("temperature", "netcal.scaling:TemperatureScaling", differs="its optimiser stops earlier")

ours("Platt", "Platt")
probcal("Platt", "probcal:PlattCalibrator", differs="its optimiser stops earlier")
netcal("Platt", "netcal.scaling:LogisticCalibration", differs="labels as they are, not Platt's targets")
add(
    "Platt",
    "scikit-learn",
    lambda d: partial(use("sklearn.calibration:_SigmoidCalibration")().fit, np.log(d.probs / (1 - d.probs)), d.labels),
    lambda m, d: m.predict(np.log(d.probs / (1 - d.probs))),
    aside="not public",
    differs="its optimiser stops earlier",
)


def kumar(kind: str) -> Callable[[Data], Callable[[], Any]]:
    """uncertainty-calibration's calibrators train on all rows at once."""

    def fit(d: Data) -> Callable[[], Any]:
        made, n = use("calibration:" + kind), len(d.labels)

        def call() -> Any:
            fitted = made(n, num_bins=BINS)
            fitted.train_calibration(d.probs, d.ints)
            return fitted

        return call

    return fit


UC = "uncertainty-calibration"
add(
    "Platt",
    UC,
    kumar("PlattCalibrator"),
    lambda m, d: m.calibrate(d.probs),
    differs="labels as they are, not Platt's targets; a weak L2 penalty",
)

ours("beta", "Beta", penalty=None)
add(
    "beta",
    "betacal",
    lambda d: partial(use("betacal:BetaCalibration")("abm").fit, d.probs.reshape(-1, 1), d.labels),
    lambda m, d: m.predict(d.probs.reshape(-1, 1)),
    differs="a weak L2 penalty and an optimiser that stops earlier",
)
probcal("beta", "probcal:BetaCalibrator", differs="its optimiser stops earlier")
netcal("beta", "netcal.scaling:BetaCalibration", differs="its optimiser stops earlier")

ours("isotonic", "Isotonic", bounded=False)
add(
    "isotonic",
    "scikit-learn",
    lambda d: partial(use("sklearn.isotonic:IsotonicRegression")(out_of_bounds="clip").fit, d.probs, d.labels),
    lambda m, d: m.predict(d.probs),
)
probcal("isotonic", "probcal:IsotonicCalibrator", differs="steps, not lines between the steps' ends")
netcal("isotonic", "netcal.binning:IsotonicRegression")

ours("histogram", "Histogram", bins="EqualWidth", bounded=False)
probcal(
    "histogram", "probcal:HistogramBinningCalibrator", options={"n_bins": BINS, "strategy": "width", "shrinkage": None}
)
netcal("histogram", "netcal.binning:HistogramBinning", BINS)
add(
    "histogram",
    UC,
    kumar("HistogramCalibrator"),
    lambda m, d: m.calibrate(d.probs),
    differs="equal-mass bins",
    most=100_000,
)

ours("spline", "Spline")
SPLINES = "each package has a spline of its own: knots, penalty and choice differ"
probcal("spline", "probcal:SplineCalibrator", differs=SPLINES, most=10_000)
add(
    "spline",
    "splinecalib",
    lambda d: partial(fitted, use("splinecalib:SplineCalib")(), d.probs, d.ints),
    lambda m, d: m.calibrate(d.probs),
    differs=SPLINES,
    most=10_000,
)
add(
    "spline",
    "calibre",
    lambda d: partial(use("calibre:ISplineCalibrator")().fit, d.probs, d.ints),
    lambda m, d: m.transform(d.probs),
    differs=SPLINES,
    most=10_000,
)


def fitted(made: Any, *arguments: Any) -> Any:
    """For packages whose `fit` returns nothing."""
    made.fit(*arguments)
    return made


ours("Venn–Abers", "VennAbers")
add(
    "Venn–Abers",
    "venn-abers",
    lambda d: partial(fitted, use("venn_abers:VennAbers")(), d.two_columns, d.ints),
    lambda m, d: column(m.predict_proba(two(d))[0]),
    most=100_000,
)
probcal("Venn–Abers", "probcal:VennAbersCalibrator", most=100_000)


def two(d: Data) -> Any:
    return d.two_columns


ours("four lines", "PiecewiseLinear", "probability", "brier", 4)
add(
    "four lines",
    "pwlf",
    lambda d: lambda: fitted(use("pwlf:PiecewiseLinFit")(d.probs, d.floats, seed=0), 4),
    lambda m, d: m.predict(d.probs),
    differs="knots by differential evolution: another local optimum",
    most=1_000,
)

ours("Gaussian process", "GaussianProcessMap")
ours("pieces chosen", "PiecewiseLinear", "probability", n_pieces="cv")
ours("auto", "Auto")

# several classes
ours("vector", "VectorScaling", classes=True)
ours("order-preserving", "OrderPreserving", classes=True)
ours("temperature of classes", "Temperature", classes=True, penalty=None)
netcal(
    "temperature of classes", "netcal.scaling:TemperatureScaling", differs="its optimiser stops earlier", most=50_000
)
add(
    "temperature of classes",
    "scikit-learn",
    lambda d: partial(use("sklearn.calibration:_TemperatureScaling")().fit, d.logits, d.labels),
    lambda m, d: m.predict(d.logits),
    aside="not public",
    differs="its optimiser stops earlier",
)


def probmetrics(kind: str) -> dict[str, Any]:
    """probmetrics' maps by its own names, on tensors."""

    def distribution(d: Data) -> Any:
        return use("probmetrics.distributions:CategoricalLogits")(use("torch:from_numpy")(d.logits))

    def fit(d: Data) -> Callable[[], Any]:
        made, z, y = use("probmetrics.calibrators:get_calibrator"), distribution(d), use("torch:from_numpy")(d.ints)
        return lambda: made(kind).fit_torch(z, y)

    return {"fit": fit, "apply": lambda m, d: m.predict_proba_torch(distribution(d)).get_probs().numpy()}


add("temperature of classes", "probmetrics", **probmetrics("temp-scaling"), differs="its optimiser stops earlier")
ours("structured vector", "StructuredVector", classes=True)
ours("structured matrix", "StructuredMatrix", classes=True)
OWN_PENALTY = "its own strengths of the penalties"
add("structured vector", "probmetrics", **probmetrics("svs"), differs=OWN_PENALTY)
add("structured matrix", "probmetrics", **probmetrics("sms"), differs=OWN_PENALTY)
ours("Dirichlet", "Dirichlet", classes=True, strength=1e-3, intercept=1e-3, prior=None)
add(
    "Dirichlet",
    "dirichletcal",
    lambda d: partial(
        use("dirichletcal.calib.fulldirichlet:FullDirichletCalibrator")(reg_lambda=1e-3, reg_mu=1e-3).fit,
        d.wide,
        d.ints,
    ),
    lambda m, d: m.predict_proba(d.wide),
    differs="its optimiser stops earlier",
    most=2_000,
)
