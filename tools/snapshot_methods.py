"""Cases of `snapshot.py` for events and classes, one line each: adapt them when names or keywords change."""
# ruff: noqa: PLW0108

from __future__ import annotations

import numpy as np

from snapshot_cases import (
    BIG,
    BIG_EVENT,
    DATA,
    HARD,
    MANY,
    NARROW,
    SMALL,
    WIDE,
    N,
    alone,
    answers,
    class_arrays,
    drawn,
    edges,
    event_arrays,
    features,
    fitted_and_applied,
    mass,
    monitored,
    name,
    on,
    random,
    read_back,
    watched,
    width,
    with_properties,
)

# --- estimators of an event or of classes ---
on(
    (*WIDE, *BIG, "float32", "logits"),
    ece=lambda d: name("ece")(d),
    binned=lambda d: name("binned_error")(d),
    binned_debiased=lambda d: name("binned_error")(d, bins=width(12), norm=2, debiased=True, root=False, clip=False),
    sweep=lambda d: name("sweep_error")(d),
    ks=lambda d: name("ks_error")(d),
    mean_gap=lambda d: name("mean_gap")(d),
    brier=lambda d: name("brier_score")(d),
    log=lambda d: name("log_score")(d),
    spherical=lambda d: name("spherical_score")(d),
    root_brier=lambda d: name("root_brier")(d),
)
on(
    (*NARROW, "big"),
    ece_7=lambda d: name("ece")(d, bins=7),
    binned_1=lambda d: name("binned_error")(d, debiased=True),
    binned_2=lambda d: name("binned_error")(d, bins=mass(8), norm=2),
    binned_max=lambda d: name("binned_error")(d, bins=width(8, closed="left"), norm="max"),
    binned_edges=lambda d: name("binned_error")(d, bins=edges(), norm=2, debiased=True),
    sweep_width=lambda d: name("sweep_error")(d, bins=name("EqualWidth"), norm=2, debiased=True),
    crossvalidated=lambda d: name("crossvalidated_error")(d),
    label_binned=lambda d: name("label_binned_error")(d),
    ks_range=lambda d: name("ks_error")(d, statistic="range"),
    expected_ece=lambda d: name("expected_ece")(d, norm=2, root=False),
    ece_guo=lambda d: name("ece")(d, compat="guo"),
    ece_torchmetrics=lambda d: name("ece")(d, compat="torchmetrics"),
    ece_netcal=lambda d: name("ece")(d, compat="netcal"),
    ece_sklearn=lambda d: name("ece")(d, compat="sklearn", view="top" if d.n_classes > 2 else "auto"),
    ece_hle=lambda d: name("ece")(d, compat="hle"),
    two_bin=lambda d: name("averaged_two_bin_error")(d),
    smooth=lambda d: name("smooth_error")(d),
    density=lambda d: name("density_error")(d),
    fitted=lambda d: name("fitted_error")(d),
    ranked=lambda d: name("ranked_probability_score")(d),
)
on(
    ("float32",),
    f32_guo=lambda d: name("ece")(d, compat="guo"),
    f32_torchmetrics=lambda d: name("ece")(d, compat="torchmetrics"),
    f32_netcal=lambda d: name("ece")(d, compat="netcal"),
)
on(("tied", "plain"), split_ties=lambda d: name("binned_error")(d, bins=mass(9, ties="split")))
on(
    NARROW,
    crossvalidated_width=lambda d: name("crossvalidated_error")(d, bins=name("EqualWidth"), norm=2, n_folds=5, seed=3),
    label_binned_2=lambda d: name("label_binned_error")(d, bins=width(6), norm=2, root=False),
    expected_ece_1=lambda d: name("expected_ece")(d, n=100, bins=mass(6)),
    two_bin_debiased=lambda d: name("averaged_two_bin_error")(d, debiased=True, root=True),
    smooth_sigma=lambda d: name("smooth_error")(d, sigma=0.05),
    density_2=lambda d: name("density_error")(d, norm=2, method="integrated", bandwidth=0.1),
    fitted_cross=lambda d: name("fitted_error")(d, method="platt", norm=2, cross_fitted=True, n_folds=4),
    mmce=lambda d: name("mmce")(d),
    mmce_options=lambda d: name("mmce")(d, bandwidth=0.2, kernel="gaussian", root=False),
    skce=lambda d: name("skce")(d),
    skce_biased=lambda d: name("skce")(d, estimator="biased", kernel="laplace", bandwidth=0.5),
    skce_block=lambda d: name("skce")(d, estimator="block", kernel="gaussian", block_size=4, seed=2),
    posterior=lambda d: name("posterior_error")(d),
    posterior_2=lambda d: name("posterior_error")(d, norm=2, level=0.9),
    posterior_max=lambda d: name("posterior_error")(d, norm="max"),
    regret=lambda d: name("decision_regret")(d),
    regret_draws=lambda d: name("decision_regret")(d, method="platt", thresholds=(0.2, 0.5, 0.8), n_draws=30, seed=1),
    decompose=lambda d: name("decompose")(d),
    decompose_log=lambda d: name("decompose")(
        d, score="log", method="platt", cross_fitted=True, n_folds=4, view="auto"
    ),
    decompose_bins=lambda d: name("decompose")(d, method=mass(6), view="auto"),
    upper_bound=lambda d: name("upper_bound")(d),
    upper_bound_log=lambda d: name("upper_bound")(d, score="log", level=0.9),
    upper_bound_spherical=lambda d: name("upper_bound")(d, score="spherical"),
    brier_auto=lambda d: name("brier_score")(d, view="auto", level=0.9),
    kernel_score=lambda d: name("KernelScore")("gaussian", bandwidth=0.5).score(d),
    kernel_score_tv=lambda d: name("KernelScore")().score(d),
)
on(
    (*MANY, "big classes"),
    static=lambda d: name("static_error")(d, bins=10),
    adaptive=lambda d: name("adaptive_error")(d, bins=10),
    thresholded=lambda d: name("thresholded_error")(d, threshold=0.02, bins=10),
    classwise=lambda d: name("classwise_error")(d),
    classwise_debiased=lambda d: name("classwise_error")(d, bins=mass(8), debiased=True, average="mean"),
    binned_classwise=lambda d: name("binned_error")(d, view="classwise"),
    binned_class=lambda d: name("binned_error")(d, view="class 2", norm=2),
    sweep_classwise=lambda d: name("sweep_error")(d, view="classwise"),
    label_binned_classwise=lambda d: name("label_binned_error")(d, view="classwise", average="sum"),
    ranked_score=lambda d: name("ranked_probability_score")(d),
    log_top=lambda d: name("log_score")(d, view="top"),
)
on(
    MANY,
    canonical=lambda d: name("canonical_error")(d),
    canonical_2=lambda d: name("canonical_error")(d, norm=2, bandwidth=0.2, root=False),
    crossvalidated_classwise=lambda d: name("crossvalidated_error")(d, view="classwise", n_folds=5),
    skce_top=lambda d: name("skce")(d, view="top"),
    classwise_intervals=lambda d: name("classwise_intervals")(d),
    classwise_intervals_2=lambda d: name("classwise_intervals")(d, norm=2, level=0.9),
    decompose_classes=lambda d: name("decompose")(d, score="brier", method="temperature"),
)
on(
    ("grouped", "grouped classes"),
    mean_gap_cluster=lambda d: name("mean_gap")(d, cluster=True),
    brier_cluster=lambda d: name("brier_score")(d, cluster=True),
    log_cluster=lambda d: name("log_score")(d, cluster=True),
    spherical_cluster=lambda d: name("spherical_score")(d, cluster=True),
    is_calibrated_cluster=lambda d: name("is_calibrated")(d, cluster=True, n_draws=199),
    is_calibrated_same=lambda d: name("is_calibrated")(d, cluster="same", n_draws=199),
    cumulative_cluster=lambda d: name("cumulative_test")(d, cluster=True, n_draws=199),
    cox_cluster=lambda d: name("cox_test")(d, cluster=True, n_draws=99),
    diagnose_cluster=lambda d: name("diagnose")(d, cluster=True),
    where_cluster=lambda d: name("where")(d, cluster=True, n_draws=99),
    compare_cluster=lambda d: name("compare")(
        d,
        d.with_probs(d.probs**1.1 / (d.probs**1.1).sum(1, keepdims=True) if d.n_classes > 2 else d.probs**1.1),
        cluster=True,
    ),
    selective_risk_groups=lambda d: name("selective_risk")(d),
    audit_groups=lambda d: name("audit")(d, min_size=5, n_draws=99),
    audit_cluster=lambda d: name("audit")(d, features(), cluster=True, n_draws=99),
)
# --- tests ---
on(
    HARD,
    is_calibrated=lambda d: name("is_calibrated")(d, n_draws=199),
    is_calibrated_count=lambda d: name("is_calibrated")(d, n_draws=99, ties="count", seed=5),
    test_binned=lambda d: name("calibration_test")(d, n_draws=99, seed=1),
    test_ece=lambda d: name("calibration_test")(d, statistic=name("ece"), n_draws=39),
    test_kuiper=lambda d: name("calibration_test")(d, statistic="kuiper", n_draws=99),
    test_ks=lambda d: name("calibration_test")(d, statistic="ks", n_draws=99),
    test_mean_gap=lambda d: name("calibration_test")(d, statistic="mean_gap", n_draws=99),
    test_sweep=lambda d: name("calibration_test")(d, statistic=name("sweep_error"), n_draws=39),
    test_bins=lambda d: name("calibration_test")(d, statistic="binned", n_draws=99, bins=width(8), norm=2),
    cox=lambda d: name("cox_test")(d, n_draws=99),
    cox_likelihood=lambda d: name("cox_test")(d, method="likelihood"),
    cox_score=lambda d: name("cox_test")(d, method="score"),
    cumulative=lambda d: name("cumulative_test")(d, n_draws=199),
    cumulative_brownian=lambda d: name("cumulative_test")(d, method="brownian", statistic="max"),
    hosmer_lemeshow=lambda d: name("hosmer_lemeshow_test")(d, n_draws=199),
    hosmer_lemeshow_chi2=lambda d: name("hosmer_lemeshow_test")(d, method="chi2", bins=width(8)),
    multi_scale=lambda d: name("multi_scale_test")(d, n_draws=199),
    spiegelhalter=lambda d: name("spiegelhalter_test")(d, n_draws=199),
    spiegelhalter_normal=lambda d: name("spiegelhalter_test")(d, method="normal"),
    two_part=lambda d: name("two_part_test")(d, n_draws=199),
    two_part_asymptotic=lambda d: name("two_part_test")(d, method="asymptotic"),
    skce_test=lambda d: name("skce_test")(d, n_draws=99),
    skce_test_asymptotic=lambda d: name("skce_test")(d, method="asymptotic", n_draws=99),
    skce_test_bound=lambda d: name("skce_test")(d, method="bound", estimator="biased"),
    where=lambda d: with_properties(name("where")(d, n_draws=99), "p_value", "gap", "loss_bound"),
    diagnose=lambda d: name("diagnose")(d),
)
on(
    ("fractional",),
    is_calibrated_fixed=lambda d: name("is_calibrated")(d, n_draws=199),
    test_fixed=lambda d: name("calibration_test")(d, n_draws=99),
)
on(
    BIG,
    big_is_calibrated=lambda d: name("is_calibrated")(d, n_draws=19),
    big_cumulative=lambda d: name("cumulative_test")(d, method="brownian"),
    big_spiegelhalter=lambda d: name("spiegelhalter_test")(d, method="normal"),
    big_hosmer_lemeshow=lambda d: name("hosmer_lemeshow_test")(d, method="chi2"),
    big_two_part=lambda d: name("two_part_test")(d, method="asymptotic"),
    big_binned_test=lambda d: name("calibration_test")(d, n_draws=19),
    big_decompose=lambda d: name("decompose")(d, view="auto"),
    big_confidence_band=lambda d: name("confidence_band")(d, bins=mass(15)),
    big_squared=lambda d: name("squared_error_interval")(d),
    big_selective=lambda d: name("selective_risk")(d),
)
# --- intervals and bands ---
on(
    NARROW,
    error_interval=lambda d: name("calibration_error_interval")(d),
    error_interval_2=lambda d: name("calibration_error_interval")(d, norm=2, level=0.9),
    cumulative_interval=lambda d: name("cumulative_interval")(d),
    cumulative_interval_range=lambda d: name("cumulative_interval")(d, statistic="range", level=0.9),
    squared_interval=lambda d: name("squared_error_interval")(d),
    squared_interval_bins=lambda d: name("squared_error_interval")(d, bins=width(6), root=False),
    interval_of=lambda d: name("interval_of")(name("ece"), d, n_draws=50),
    interval_of_bootstrap=lambda d: name("interval_of")(name("ks_error"), d, method="bootstrap", n_draws=50),
    interval_of_bca=lambda d: name("interval_of")(
        name("sweep_error"), d.rows(np.arange(120)), method="bca", n_draws=50, seed=3
    ),
    confidence_band=lambda d: name("confidence_band")(d),
    confidence_band_bins=lambda d: name("confidence_band")(d, bins=mass(8), everywhere=True),
    consistency_band=lambda d: name("consistency_band")(d, n_draws=99),
    consistency_band_bins=lambda d: name("consistency_band")(d, bins=mass(8), level=0.9),
    simultaneous_band=lambda d: name("simultaneous_band")(d, n_pools=40),
    simultaneous_digits=lambda d: name("simultaneous_band")(d, n_pools=None, n_digits=1),
    band_consistency=lambda d: name("band_of_bins")(name("binned_error")(d).parts["bins"], "consistency"),
    band_confidence=lambda d: name("band_of_bins")(name("binned_error")(d).parts["bins"], "confidence", 0.9, True),
    band_simultaneous=lambda d: name("band_of_bins")(name("binned_error")(d).parts["bins"], "simultaneous"),
    selective=lambda d: name("selective_risk")(d),
    fit_world=lambda d: drawn(name("fit_world")(d)),
    fit_world_empirical=lambda d: drawn(name("fit_world")(d, scores="empirical")),
    validation=lambda d: with_properties(name("plan_validation")(predictions=d, threshold=0.3), "n", "events"),
    plan_predictions=lambda d: name("plan")(error=0.05, predictions=d),
    plan_brier=lambda d: name("plan")(width=0.02, statistic="brier", predictions=d),
)
# --- scores ---
on(
    NARROW,
    score_rows=lambda d: [
        name(s)().rows(d) for s in ("BrierScore", "LogScore", "SphericalScore", "RankedProbabilityScore")
    ],
)
alone(
    score_divergence=lambda: [
        [name(s)().expected(class_arrays(9)[1], class_arrays(9, 12)[1]), name(s)().entropy(class_arrays(9)[1])]
        for s in ("BrierScore", "LogScore", "SphericalScore", "RankedProbabilityScore")
    ],
    score_objects=lambda: [s().score(*event_arrays(N, 2, True)) for s in map(name, ("BrierScore", "LogScore"))],
)
# --- maps ---
for recipe in (
    "Identity",
    "Temperature",
    "OneVsRestTemperature",
    "EnsembleTemperature",
    "VectorScaling",
    "MatrixScaling",
    "Dirichlet",
    "StructuredVector",
    "StructuredMatrix",
    "OrderPreserving",
):
    on(
        ("weighted classes", "logits", "tied"),
        **{f"map {recipe}": lambda d, r=recipe: fitted_and_applied(name(r)(), d)},
    )
for recipe in (
    "BayesianBinning",
    "Beta",
    "GaussianProcessMap",
    "Histogram",
    "Isotonic",
    "KernelDensity",
    "PiecewiseLinear",
    "Platt",
    "Quadratic",
    "ScalingBinning",
    "Spline",
    "UnitSlopeBins",
    "VennAbers",
):
    on(("plain", "weighted", "soft"), **{f"map {recipe}": lambda d, r=recipe: fitted_and_applied(name(r)(), d)})
    on(
        ("small classes",),
        **{f"one vs rest {recipe}": lambda d, r=recipe: fitted_and_applied(name("OneVsRest")(name(r)()), d)},
    )
on(
    ("plain", "weighted"),
    isotonic_centred=lambda d: fitted_and_applied(name("CenteredIsotonic")(bounded=False), d),
    beta_ab=lambda d: fitted_and_applied(name("Beta")("ab"), d),
    beta_am=lambda d: fitted_and_applied(name("Beta")("am"), d),
    histogram_width=lambda d: fitted_and_applied(name("Histogram")(bins=width(7), bounded=False), d),
    spline_cubic=lambda d: fitted_and_applied(name("Spline")(kind="cubic", n_knots=5), d),
    spline_parabolic=lambda d: fitted_and_applied(name("Spline")(kind="parabolic", n_folds=4), d),
    kernel_width=lambda d: fitted_and_applied(name("KernelDensity")(bandwidth=0.1), d),
    piecewise_cv=lambda d: fitted_and_applied(name("PiecewiseLinear")("probability", "brier", "cv", n_folds=4), d),
    piecewise_monotone=lambda d: fitted_and_applied(name("PiecewiseLinear")(n_pieces=3, monotone=True), d),
    auto=lambda d: fitted_and_applied(name("Auto")(n_folds=3, candidates=("platt", "isotonic", "temperature")), d),
)
on(
    SMALL,
    auto_default=lambda d: fitted_and_applied(name("Auto")("brier", n_folds=3), d),
    recalibrate=lambda d: name("recalibrate")(d).apply(d),
    recalibrate_auto=lambda d: name("recalibrate")(d, name("Auto")(n_folds=2, candidates=("temperature",))).apply(d),
    recalibrate_name=lambda d: name("recalibrate")(d, "temperature"),
    compare_map=lambda d: with_properties(
        name("compare")(d, name("recalibrate")(d, "temperature").apply(d)), "bound", "calibration"
    ),
    compare_log=lambda d: name("compare")(d, name("recalibrate")(d, "temperature").apply(d), score="log", margin=0.01),
    compare_several=lambda d: name("compare")(
        d, {m: name("recalibrate")(d, m).apply(d) for m in ("temperature", "identity")}
    ),
)
on(
    ("small classes",),
    top_label=lambda d: fitted_and_applied(name("TopLabel")(name("Histogram")(bins=mass(5))), d),
    matrix_l2=lambda d: fitted_and_applied(name("MatrixScaling")(penalty="l2", strength=0.1, intercept=0.1), d),
    dirichlet_plain=lambda d: fitted_and_applied(name("Dirichlet")(penalty=None), d),
    order_diagonal=lambda d: fitted_and_applied(name("OrderPreserving")("diagonal", n_pieces=4), d),
    order_invariant=lambda d: fitted_and_applied(name("OrderPreserving")("invariant", n_pieces=4), d),
)
for recipe in ("Temperature", "Platt", "Isotonic", "Histogram", "Beta", "UnitSlopeBins", "Quadratic", "ScalingBinning"):
    on(BIG_EVENT, **{f"map {recipe}": lambda d, r=recipe: name(r)().fit(d).apply(d)})
on(
    ("big classes",),
    big_temperature=lambda d: name("Temperature")().fit(d).apply(d),
    big_vector=lambda d: name("VectorScaling")().fit(d).apply(d),
)
# --- verbs ---
on(
    ("plain", "tied", "classes"),
    audit=lambda d: with_properties(name("audit")(d, features(), n_draws=99), "p_value"),
    audit_gap=lambda d: name("audit")(d, features(), statistic="gap", depth=2, n_draws=99, seed=2),
    audit_segments=lambda d: name("audit")(
        d, segments={"first": np.arange(N) < 200, "rest": np.arange(N) >= 200}, n_draws=99
    ),
    trust=lambda d: with_properties(name("trust")(d, n_data_sets=8, workers=1), "best", "truth"),
    trust_some=lambda d: name("trust")(
        d, norm=2, estimators=[name("binned_error"), name("sweep_error")], n_data_sets=8, workers=1
    ),
    monitor=lambda d: monitored(watched(d)),
    monitor_merged=lambda d: monitored(watched(d).merge(watched(d.rows(np.arange(100, 300))))),
    monitor_beside=lambda d: monitored(watched(d).merge(watched(d.rows(np.arange(100, 300))), beside=True)),
)
on(
    ("big", "big tied", "big classes"),
    big_diagnose=lambda d: name("diagnose")(d),
    big_error_interval=lambda d: name("calibration_error_interval")(d),
    big_simultaneous=lambda d: name("simultaneous_band")(d),
    big_cumulative_interval=lambda d: name("cumulative_interval")(d),
    big_multi_scale=lambda d: name("multi_scale_test")(d, n_draws=19),
    big_posterior=lambda d: name("posterior_error")(d),
    monitor_state=lambda d: watched(d).state,
)
alone(
    arrays_ece=lambda: name("ece")(*event_arrays(N, 1, False), weights=np.arange(1.0, N + 1)),
    arrays_sweep=lambda: name("sweep_error")(*class_arrays(N), view="top"),
    arrays_diagnose=lambda: name("diagnose")(*event_arrays(N, 2, True), counts=random(37).integers(1, 3, N)),
    band_at=lambda: name("confidence_band")(DATA["plain"]()).at(np.linspace(0, 1, 11)),
    monitor_big=lambda: monitored(watched(DATA["big"](), 20)),
    assess=lambda: name("assess_answers")(*answers()[:2]),
    assess_groups=lambda: name("assess_answers")(*answers()[:2], groups=answers()[2], n_samples=8),
    assess_random=lambda: name("assess_answers")(*answers()[:2], n_samples=8, ties="random", seed=3),
    assess_abstained=lambda: name("assess_answers")(
        answers()[0], np.where(answers()[2] < 5, np.nan, answers()[1]), abstentions="count"
    ),
    sampled=lambda: name("sampled_error")(*answers()[:2], n_samples=8),
    sampled_groups=lambda: name("sampled_error")(*answers()[:2], n_samples=8, groups=answers()[2], root=False),
    plan_error=lambda: name("plan")(error=0.03, mean_variance=0.12),
    plan_error_1=lambda: name("plan")(error=0.05, norm=1, power=0.9, alpha=0.01),
    plan_n=lambda: name("plan")(n=1000, error=0.04),
    plan_kuiper=lambda: name("plan")(error=0.03, statistic="kuiper", mean_variance=0.1),
    plan_mean_gap=lambda: name("plan")(error=0.03, statistic="mean_gap", mean_variance=0.1),
    plan_width=lambda: name("plan")(width=0.03, error=0.02, mean_variance=0.1),
    plan_rate=lambda: name("plan")(width=0.03, statistic="rate", mean_variance=0.16),
    plan_world=lambda: name("plan")(world=name("named_world")("resnet110_c10"), error=0.05),
    plan_check=lambda: name("plan")(error=0.1, mean_variance=0.15, check=True, n_data_sets=40),
    validation_rates=lambda: name("plan_validation")(0.018, 0.8, log_odds=(-5, 2.5), oe_width=1),
    validation_scores=lambda: name("plan_validation")(
        0.5, 0.75, scores=(1.3, 1.1), threshold=0.4, compat="pmvalsampsize"
    ),
    validation_plain=lambda: name("plan_validation")(0.2, 0.75),
    example=lambda: [[d.probs, d.labels] for d in name("example")()],
    read=lambda: [read_back(label="y", probs="p").probs, name("Predictions").read],
)
