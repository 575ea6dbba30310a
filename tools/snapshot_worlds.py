"""Cases of `snapshot.py` for forecasts of a real number and for worlds, one line each."""
# ruff: noqa: PLW0108

from __future__ import annotations

import numpy as np

from snapshot_cases import (
    DATA,
    GAUSSIAN,
    LEVELS,
    NUMBERS,
    N,
    alone,
    drawn,
    event_arrays,
    features,
    fitted_and_applied,
    forecast_facts,
    name,
    number_arrays,
    on,
    pictured,
    random,
    watched,
)

# --- forecasts of a real number ---
on(
    NUMBERS,
    facts=lambda d: forecast_facts(d),
    coverage=lambda d: name("coverage_error")(d),
    coverage_debiased=lambda d: name("coverage_error")(d, levels=LEVELS, debiased=True, seed=2),
    area=lambda d: name("miscalibration_area")(d),
    ence=lambda d: name("ence")(d, n_bins=8),
    ence_debiased=lambda d: name("ence")(d, n_bins=8, debiased=True),
    marginal=lambda d: name("marginal_error")(d, n_points=20, n_draws=39),
    mean_error=lambda d: name("mean_error")(d),
    pit_error=lambda d: name("pit_error")(d),
    pit_test=lambda d: name("pit_test")(d),
    pit_test_ks=lambda d: name("pit_test")(d, statistic="ks", seed=3),
    spread_test=lambda d: name("spread_test")(d, n_draws=99),
    uncertainty=lambda d: name("uncertainty_error")(d),
    variance_gap=lambda d: name("variance_gap")(d),
    variance_ratio=lambda d: name("variance_ratio")(d),
    crps=lambda d: name("crps")(d),
    crps_fair=lambda d: name("crps")(d, fair=True),
    pinball=lambda d: name("pinball_score")(d),
    pinball_levels=lambda d: name("pinball_score")(d, levels=(0.2, 0.5)),
    interval_score=lambda d: name("interval_score")(d, coverage=0.6),
    dawid_sebastiani=lambda d: name("dawid_sebastiani_score")(d),
    gaussian_log=lambda d: name("gaussian_log_score")(d),
    forecast_scores=lambda d: [name(s)().score(d) for s in ("CRPS", "PinballScore", "IntervalScore")],
    moment_scores=lambda d: [name(s)().rows(d) for s in ("DawidSebastianiScore", "GaussianLogScore")],
    decompose_forecasts=lambda d: name("decompose")(d),
    bound_forecasts=lambda d: name("upper_bound")(d),
    diagnose_forecasts=lambda d: name("diagnose")(d),
)
on(
    GAUSSIAN,
    gaussian_skce=lambda d: name("gaussian_skce")(d),
    gaussian_skce_biased=lambda d: name("gaussian_skce")(d, estimator="biased", bandwidth=0.7, label_bandwidth=1.1),
    gaussian_skce_block=lambda d: name("gaussian_skce")(d, estimator="block", block_size=3),
    gaussian_skce_test=lambda d: name("gaussian_skce_test")(d, n_draws=39),
    map_std=lambda d: fitted_and_applied(name("StdScaling")(), d),
    map_variance_platt=lambda d: fitted_and_applied(name("VariancePlatt")(), d),
    map_quantile=lambda d: fitted_and_applied(name("QuantileRecalibration")(n_points=50), d),
    recalibrate_forecasts=lambda d: name("recalibrate")(d).apply(d),
    compare_forecasts=lambda d: name("compare")(d, name("StdScaling")().fit(d).apply(d)),
    compare_forecasts_log=lambda d: name("compare")(d, name("VariancePlatt")().fit(d).apply(d), score="gaussian_log"),
)
alone(
    quantile_class=lambda: forecast_facts(
        name("QuantileForecasts")(number_arrays(50)[0], (0.05, 0.5, 0.95), random(2).random((50, 3)).cumsum(1))
    ),
    sample_class=lambda: forecast_facts(
        name("SampleForecasts")(number_arrays(50)[0], random(2).standard_normal((50, 8)))
    ),
    gaussian_class=lambda: forecast_facts(name("GaussianForecasts")(*number_arrays(50))),
    bent_class=lambda: forecast_facts(
        name("BentForecasts")(name("GaussianForecasts")(*number_arrays(50)), (0.0, 0.4, 1.0), (0.0, 0.5, 1.0))
    ),
)
# --- worlds ---
FAMILIES = ("power", "scaled", "tempered")
SQUARE = {"estimators": lambda: {"ece": name("ece"), "sweep": name("sweep_error")}}
alone(
    beta_world=lambda: drawn(name("BetaWorld")(2.0, 1.0, name("PowerCurve")(2.0)), norms=(1, 2, "max")),
    uniform_world=lambda: drawn(name("UniformWorld")(0.2, 0.9, name("ScaledCurve")(0.9))),
    linear_world=lambda: drawn(name("BetaWorld")(1.5, 1.0, name("LinearCurve")("logit", "logit", 0.1, 0.8))),
    empirical_world=lambda: drawn(name("EmpiricalWorld")(event_arrays(N, 2, True)[1], name("ScaledCurve")(0.8))),
    map_world=lambda: drawn(name("UniformWorld")(calibration=name("Platt")().fit(DATA["plain"]()))),
    shape_worlds=lambda: [drawn(name("ShapeWorld")(s, 0.03)) for s in ("square", "stairs")],
    shape_curve=lambda: name("ShapeWorld")("square", 0.05).curve(np.linspace(0, 1, 11)),
    named_worlds=lambda: [drawn(name("named_world")(w)) for w in name("NAMED_WORLDS")],
    named_calibrated=lambda: drawn(name("named_world")("resnet110_c10", calibrated=True)),
    power_world=lambda: drawn(name("power_world")(0.05, (1.2, 0.8), norm=2)),
    bent_worlds=lambda: [drawn(name("bent_world")(0.03, family=f)) for f in FAMILIES],
    calibrated_world=lambda: drawn(name("calibrated_world")((2.0, 0.5))),
    gaussian_world=lambda: drawn(name("GaussianWorld")(1.3, 0.9), "quantile", "variance"),
    friedman_world=lambda: drawn(name("FriedmanWorld")(0.8), "quantile", "variance"),
    dirichlet_world=lambda: [
        name("DirichletWorld")((1.0, 2.0, 1.5), 1.4).rows(50, 1),
        drawn(name("DirichletWorld")((1.0, 2.0, 1.5), 1.4), norms=()),
    ],
    dirichlet_truth=lambda: name("DirichletWorld")((1.0, 2.0), 1.4).truth(2, "top"),
    logistic_world=lambda: drawn(name("LogisticNormalWorld")(5, 1.5, 4.0), norms=()),
    bias=lambda: name("bias")(name("ece"), name("ShapeWorld")("square", 0.05), 200, 20, workers=1),
    biases=lambda: name("bias")(
        SQUARE["estimators"](), name("named_world")("resnet110_c10"), [100, 200], 10, workers=1
    ),
    bias_grid=lambda: name("bias_grid")(name("ShapeWorld")("square", 0.05), [100, 200], [5, 10], 10, workers=1),
    bias_numbers=lambda: name("bias")(name("ence"), name("GaussianWorld")(1.2), 200, 10, workers=1, truth=0.1),
    detection=lambda: name("detection")(name("ece"), name("power_world")(0.1), 200, n_data_sets=20, workers=1),
    detections=lambda: name("detection")(
        SQUARE["estimators"](), name("power_world")(0.1), [100, 200], n_data_sets=20, workers=1
    ),
    map_quality=lambda: name("map_quality")(["platt", "isotonic"], name("ShapeWorld")("square", 0.05), 200, 5),
    rank_correlation=lambda: name("rank_correlation")(
        SQUARE["estimators"](), [name("ShapeWorld")("square", v) for v in (0.0, 0.03, 0.06)], 300, 4
    ),
    seeds=lambda: random(0).random(3),
)
# --- plots: their data; pages and texts are not recorded ---
on(
    ("plain", "tied"),
    plot_reliability=lambda d: pictured("reliability", name("diagnose")(d)),
    plot_bars=lambda d: pictured("reliability", name("ece")(d), style="bars"),
    plot_tilted=lambda d: pictured("reliability", name("diagnose")(d), style="tilted"),
    plot_decision=lambda d: pictured("decision", name("decision_regret")(d)),
    plot_benefit=lambda d: pictured("decision", name("decision_regret")(d), show="net benefit"),
    plot_risk=lambda d: pictured("risk_coverage", name("selective_risk")(d)),
    plot_evidence=lambda d: pictured("evidence", watched(d)),
    plot_segments=lambda d: pictured("segments", name("audit")(d, features(), n_draws=99)),
)
alone(plot_power=lambda: pictured("power_curve", name("plan")(error=0.03, mean_variance=0.12)))
