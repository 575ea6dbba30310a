"""Spiegelhalter, Cox, Hosmer–Lemeshow, cumulative, two-part and multi-scale tests: by hand, and exact beside asymptotic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, norm

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.detect.cox import cox_test
from calibrant.detect.cumulative import cumulative_test
from calibrant.detect.hosmer_lemeshow import hosmer_lemeshow_test
from calibrant.detect.multi_scale import multi_scale_test
from calibrant.detect.skce import skce_test
from calibrant.detect.spiegelhalter import spiegelhalter_test
from calibrant.detect.two_part import two_part_test
from calibrant.estimate.clinical.line import calibration_slope
from calibrant.methods import methods
from calibrant.resampling.exact import Exact

FORMULAS = [
    (spiegelhalter_test, "normal", {}),
    (cox_test, "score", {}),
    (cox_test, "likelihood", {}),
    (hosmer_lemeshow_test, "chi2", {}),
    (cumulative_test, "brownian", {}),
    (cumulative_test, "brownian", {"statistic": "max"}),
    (two_part_test, "asymptotic", {}),
]


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(4)
    p = rng.random(20_000)
    return (rng.random(20_000) < p + 0.012).astype(int), p


@pytest.mark.slow
@pytest.mark.parametrize(("test", "method", "options"), FORMULAS, ids=lambda case: getattr(case, "__name__", str(case)))
def test_formula_and_draws_agree_for_many_rows(many, test, method, options):
    formula, exact = test(*many, method=method, **options), test(*many, n_draws=1999, **options)
    # a running sum of n steps strays some √n-th less far than a Brownian motion: 0.02
    assert formula.p_value == pytest.approx(exact.p_value, abs=5 * np.sqrt(0.25 / 1999) * 0.5 + 0.02)
    assert formula.settings["method"] == method
    assert exact.settings["method"] == "exact"


@pytest.mark.parametrize(("test", "method", "options"), FORMULAS, ids=lambda case: getattr(case, "__name__", str(case)))
def test_formulas_warn_where_they_are_rough(rng, test, method, options):
    p = np.where(np.arange(400) % 2, 0.97, 0.03)  # Σp(1 − p) = 11.6; two bins of 6 and 194 expected labels
    words = "predictions leave little to chance (Σp(1 − p) = 11.6): the formula is rough. Use method='exact'"
    assert test(rng.random(400) < p, p, method=method, **options).cautions == (words,)
    assert test(rng.random(400) < p, p, n_draws=19, **options).cautions == ()
    even = rng.random(400)  # Σp(1 − p) = 67
    assert test(rng.random(400) < even, even, method=method, **options).cautions == ()
    # weights: as much as (Σw²)² / Σw⁴ rows of equal weight tell
    if method != "likelihood":
        heavy = np.where(np.arange(400) < 40, 100.0, 1.0)
        assert (
            "little to chance"
            in test(rng.random(400) < even, even, method=method, weights=heavy, **options).cautions[1]
        )


def test_chi_square_warns_of_bins_with_few_expected_labels(rng):
    p = np.concatenate([np.full(200, 0.5), np.full(100, 0.96), np.full(100, 1.0)])
    y = rng.random(400) < p
    found = hosmer_lemeshow_test(y, p, bins=cal.Edges([0, 0.6, 0.98, 1]), method="chi2")
    words = "1 of 2 bins expect fewer than 5 labels of one kind, the least 4.0000: χ² is rough. Use method='exact'"
    assert found.cautions == (words,)


def test_spiegelhalter_by_hand():
    found = spiegelhalter_test([1, 0, 1], [0.2, 0.6, 0.9], method="normal")
    z = (0.8 * 0.6 + -0.6 * -0.2 + 0.1 * -0.8) / np.sqrt(0.36 * 0.16 + 0.04 * 0.24 + 0.64 * 0.09)
    assert found.statistic == pytest.approx(z)
    assert found.p_value == pytest.approx(2 * norm.sf(z))


def test_spiegelhalter_calls_rare_events_that_are_too_frequent_by_what_is_seen():
    """They are more frequent than predicted, and more so where more was predicted: nothing is too extreme."""
    said = np.repeat([0.02, 0.03, 0.04], 500)
    happened = np.concatenate([np.arange(500) < hits for hits in (10, 30, 60)])
    assert calibration_slope(happened, said).value > 1.5
    found = spiegelhalter_test(happened, said, method="normal")
    assert found.finding == "the Brier score is higher than that of a calibrated model"


def test_spiegelhalter_is_the_brier_score_standardised(rng):
    p = rng.random(300)
    y = rng.random(300) < p
    expected, sd = (p * (1 - p)).mean(), np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum()) / 300
    found = spiegelhalter_test(y, p, method="normal")
    assert found.statistic == pytest.approx(abs(((p - y) ** 2).mean() - expected) / sd)


def test_cox_is_the_likelihood_ratio_of_a_logistic_regression(rng):
    p = rng.beta(2, 1, 400)
    y = (rng.random(400) < p**1.4).astype(int)
    z = np.log(p / (1 - p))

    def loss(b):
        return np.logaddexp(0, b[0] + b[1] * z).sum() - y @ (b[0] + b[1] * z)

    fit = minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-9})
    found = cox_test(y, p, method="likelihood")
    assert found.statistic == pytest.approx(2 * (loss([0, 1]) - fit.fun), abs=1e-6)
    assert (found.parts["intercept"], found.parts["slope"]) == pytest.approx(tuple(fit.x), abs=1e-5)
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, 2), rel=1e-6)


def test_cox_of_one_prediction_has_one_degree_of_freedom():
    found = cox_test([1] * 7 + [0] * 3, [0.4] * 10, method="likelihood")
    ratio = 20 * (0.7 * np.log(0.7 / 0.4) + 0.3 * np.log(0.3 / 0.6))
    assert found.statistic == pytest.approx(ratio, abs=1e-6)
    assert found.parts["degrees"] == 1
    assert found.parts["intercept"] == pytest.approx(np.log(0.7 / 0.3) - np.log(0.4 / 0.6), abs=1e-6)
    assert found.p_value == pytest.approx(chi2.sf(ratio, 1), rel=1e-5)
    assert cox_test([1] * 7 + [0] * 3, [0.4] * 10, method="score").parts["degrees"] == 1


def test_cox_refuses_what_has_no_likelihood():
    with pytest.raises(InputError, match="probs must not all be 0 or 1"):
        cox_test([0, 1], [0.0, 1.0], method="likelihood")
    with pytest.raises(InputError, match="weights must be left out for a likelihood ratio"):
        cox_test([0, 1], [0.2, 0.6], weights=[0.5, 1], method="likelihood")


def test_hosmer_lemeshow_has_as_many_degrees_as_bins(rng):
    p = rng.random(500)
    y = rng.random(500) < p
    found = hosmer_lemeshow_test(y, p, bins=EqualMass(8), method="chi2")
    assert found.parts["degrees"] == 8
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, 8))
    few = hosmer_lemeshow_test([0, 1, 1], [0.0, 0.4, 1.0], bins=EqualWidth(3), method="chi2")
    assert few.parts["degrees"] == 1  # nothing can happen in the outer bins
    with pytest.raises(InputError, match="bins must be a number of bins, EqualWidth"):
        hosmer_lemeshow_test(y, p, bins="mass")


def test_cumulative_values_are_those_of_the_estimator(rng):
    p = rng.random(300).round(2)
    y = rng.random(300) < p
    for kind in ("range", "max"):
        for method in ("exact", "brownian"):
            found = cumulative_test(y, p, statistic=kind, method=method, n_draws=19)
            assert found.statistic == pytest.approx(cal.ks_error(y, p, statistic=kind).value)
    assert cumulative_test([0, 1], [0.0, 1.0], method="brownian").p_value == 1


def test_two_parts_see_a_shift_and_a_bend(many):
    labels, probs = many
    shift = two_part_test(labels, probs, method="asymptotic")
    assert shift.parts["z"] > 0  # more labels than predicted
    assert shift.parts["p_mean"] < 0.01
    rng = np.random.default_rng(0)
    bent = two_part_test(rng.random(20_000) < probs + 0.03 * np.sign(0.5 - probs), probs, method="asymptotic")
    assert bent.parts["p_bridge"] < 1e-4 < bent.parts["p_mean"]
    assert "are too" in bent.finding


@pytest.mark.slow
def test_multi_scale_finds_fine_wiggles_that_bins_hide(rng):
    p = rng.random(2000)
    y = rng.random(2000) < p + 0.3 * np.sign(np.sin(2 * np.pi * 64 * p)) * (np.abs(p - 0.5) < 0.2)
    found = multi_scale_test(y, p, n_draws=999)
    assert found.p_value <= 0.005
    assert hosmer_lemeshow_test(y, p, n_draws=999).p_value > 0.05
    assert found.parts["n_bins"][int(np.argmin(found.parts["p_values"]))] >= 64


def test_multi_scale_is_the_unbiased_square_over_rows(rng):
    p = rng.random(50)
    y = (rng.random(50) < p).astype(int)
    found = multi_scale_test(y, p, n_draws=19)
    cell = (p * 4).astype(int)
    by_hand = sum((r.sum() ** 2 - (r**2).sum()) / len(r) for r in ((y - p)[cell == c] for c in range(4))) / 50
    assert found.parts["squared_error"][1] == pytest.approx(by_hand)


def test_scales_end_where_bins_hold_equal_predictions():
    tied = multi_scale_test([0, 1, 0, 1], [0.1, 0.1, 0.6, 0.6], n_draws=19)
    assert tied.parts["n_bins"] == [2]
    apart = multi_scale_test([0, 1, 0], [0.1, 0.2, 0.6], n_draws=19)
    assert apart.parts["n_bins"] == [2, 4]  # in eighths no two rows share a bin


@pytest.mark.parametrize("test", sorted({case[0] for case in FORMULAS}, key=lambda f: f.__name__))
def test_methods_that_a_test_does_not_have_are_refused(test):
    with pytest.raises(InputError, match="method must be one of 'exact'"):
        test([0, 1], [0.2, 0.6], method="magic")


@pytest.mark.parametrize(
    ("test", "method", "options"), FORMULAS[:2] + FORMULAS[3:], ids=lambda value: getattr(value, "__name__", str(value))
)
def test_fixed_weights_have_their_own_variance(test, method, options):
    labels, probs = [0, 1, 1, 0, 1, 0], [0.2, 0.4, 0.5, 0.6, 0.7, 0.8]
    plain = test(labels, probs, method=method, **options)
    equal = test(labels, probs, weights=[0.5] * 6, method=method, **options)
    assert equal.p_value == plain.p_value
    almost = test(labels, probs, weights=[0.5, 0.5, 0.5 + 1e-9, 0.5, 0.5, 0.5], method=method, **options)
    assert almost.p_value == pytest.approx(plain.p_value, rel=1e-6)
    weights = np.array([0.5, 2, 1, 1, 3, 0.1])
    one, other = (test(labels, probs, weights=w, method=method, **options).p_value for w in (weights, 30 * weights))
    assert one == pytest.approx(other, rel=1e-9)
    assert one != pytest.approx(plain.p_value, rel=1e-3)


@pytest.mark.parametrize("test", [spiegelhalter_test, cox_test, cumulative_test, two_part_test, multi_scale_test])
def test_soft_labels_are_refused(test):
    with pytest.raises(InputError, match="they are shares"):
        test(Predictions([0.2, 0.9], [0.3, 0.6], soft=True))


NAMED = [about.function for name, about in methods("test").items() if name not in ("is_calibrated", "calibration_test")]


def clustered():
    """Forty calibrated questions, each asked ten times with one answer."""
    rng = np.random.default_rng(3)
    groups, q = np.repeat(np.arange(40), 10), rng.random(40)
    return Predictions((rng.random(40) < q)[groups], q[groups], groups=groups)


@pytest.mark.parametrize("named", NAMED, ids=lambda test: test.__name__)
def test_rows_of_a_group_are_warned_of_or_drawn_together(named):
    said = clustered()
    alone = named(said, n_draws=99)
    assert alone.cautions[0].startswith("rows of a group are taken as independent")
    assert named(said, cluster=False, n_draws=99).cautions == ()
    assert named(said, cluster=False, n_draws=99).p_value == alone.p_value
    same = named(said, cluster="same", n_draws=99)
    seen, before = (found.parts.get("squared_error", found.statistic) for found in (same, alone))
    assert seen == pytest.approx(before, rel=1e-9)
    assert (same.cautions, same.settings["cluster"]) == ((), "same")
    assert same.p_value > alone.p_value


@pytest.mark.parametrize(("test", "method", "options"), [*FORMULAS, (skce_test, "bound", {})])
def test_formulas_are_for_independent_rows(test, method, options):
    said = clustered()
    assert test(said, method=method, **options).cautions[0].startswith("rows of a group are taken as independent")
    assert not any("of a group" in told for told in test(said, method=method, cluster=False, **options).cautions)
    with pytest.raises(InputError, match=f"cluster needs method='exact'; method is '{method}'"):
        test(said, method=method, cluster="same", **options)


@pytest.mark.parametrize("named", NAMED, ids=lambda test: test.__name__)
def test_a_plan_takes_the_place_of_its_fields(named):
    data = [0, 1, 1, 0, 1, 0], [0.2, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert named(*data, method=Exact(n_draws=49, seed=2)) == named(*data, n_draws=49, seed=2)
    counted = named(*data, method=Exact(n_draws=49, ties="count"))
    assert counted.settings["ties"] == "count"
    assert counted.p_value >= named(*data, n_draws=49).p_value
    with pytest.raises(InputError, match="method is an Exact, which holds n_draws, ties and seed"):
        named(*data, method=Exact(), n_draws=49)


def test_scales_cannot_be_flipped():
    with pytest.raises(InputError, match="cluster must be 'same' or False for this test; it is 'any'"):
        multi_scale_test(clustered(), cluster="any")
