"""Plans: the laws are those of naive simulations, a plan and its inverse agree, and what cannot be planned is refused."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.interval.formulas import brownian_range_p_value
from calibrant.simulate import (
    BetaScores,
    EmpiricalScores,
    EmpiricalWorld,
    ShapeWorld,
    UniformScores,
    calibrated_world,
    named_world,
    power_world,
)
from calibrant.verbs.planning.check import PlanCheck
from calibrant.verbs.planning.plan import Plan, plan
from calibrant.verbs.planning.power_laws import (
    AbsoluteLaw,
    GapLaw,
    KuiperLaw,
    SquaredLaw,
    Variance,
    drifting_range,
    range_quantile,
)
from calibrant.verbs.planning.quantities import quantity_of
from calibrant.verbs.planning.width_laws import MeanWidth, RateWidth, SquaredWidth, clipped_square
from tolerances import STANDARD_ERRORS

ROUGH = 0.05
"""How far formula and simulation may be apart for models that are not confident, as docs/planning.md says: in power, and in share of width."""

by_formula = partial(plan, statistic="binned")
"""The test of the error over bins, whose law is a formula."""

TWO_VALUES = Variance(EmpiricalScores([0.05, 0.5]))


# the laws


def test_the_normal_law_has_the_published_figures():
    law = SquaredLaw.of(Variance(None, 0.12))
    found = [law.normal_detectable(n, 0.8, 0.05) for n in (1000, 5000, 10_000)]
    assert found == pytest.approx([0.037, 0.019, 0.014], abs=0.0005)
    assert all(law.detectable(n, 0.8, 0.05) > e for n, e in zip((1000, 5000, 10_000), found, strict=True))


@pytest.mark.parametrize("error", [0.0, 0.03, 0.06])
def test_the_squared_law_is_that_of_a_sum_of_squares(rng, error):
    """One normal variable per bin, half of the bins with each variance, errors in proportion to √v; χ² has two of its moments."""
    n, draws, v = 1000, 40_000, np.repeat([0.05 * 0.95, 0.25], 5)
    noise = rng.normal(size=(2, draws, len(v))) * np.sqrt(v)
    shift = error * np.sqrt(v / v.mean() * n / len(v))
    null, values = (noise[0] ** 2).sum(axis=1), ((noise[1] + shift) ** 2).sum(axis=1)
    power = (values > np.quantile(null, 0.95)).mean()
    assert SquaredLaw.of(TWO_VALUES).power(n, error, 0.05) == pytest.approx(power, abs=0.02)


@pytest.mark.parametrize("error", [0.0, 0.03, 0.06])
def test_the_absolute_law_is_that_of_a_mean_of_folded_normals(rng, error):
    n, draws, v = 8000, 40_000, np.repeat([0.05 * 0.95, 0.25], 10)
    noise = rng.normal(size=(2, draws, len(v))) * np.sqrt(v * len(v) / n)
    null, values = np.abs(noise[0]).mean(axis=1), np.abs(noise[1] + error).mean(axis=1)
    power = (values > np.quantile(null, 0.95)).mean()
    assert AbsoluteLaw(TWO_VALUES).power(n, error, 0.05) == pytest.approx(power, abs=0.02)  # a normal law for 20 bins


def test_the_range_without_drift_is_the_known_one():
    for r in (0.8, 1.5, 2.5, 4.0):
        assert 1 - drifting_range(r, 0.0) == pytest.approx(brownian_range_p_value(r), abs=1e-12)
    assert brownian_range_p_value(range_quantile(0.05)) == pytest.approx(0.05, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.5, 2.0, 3.5])
def test_the_range_with_drift_is_that_of_a_random_walk(rng, drift):
    steps, draws, r = 2000, 4000, 2.5
    walk = np.cumsum(rng.normal(drift / steps, steps**-0.5, size=(draws, steps)), axis=1)
    overshoot = 2 * 0.5826 / math.sqrt(steps)  # what either end of a motion lies beyond that of its walk
    ranges = np.maximum(walk.max(axis=1), 0) - np.minimum(walk.min(axis=1), 0) + overshoot
    share = (ranges <= r).mean()
    assert abs(drifting_range(r, drift) - share) < STANDARD_ERRORS * math.sqrt(share * (1 - share) / draws)
    assert drifting_range(r, -drift) == pytest.approx(drifting_range(r, drift), abs=1e-12)


@given(st.floats(0.5, 5), st.floats(0, 60))
def test_the_range_is_a_probability_and_at_least_the_distance_to_the_end(r, drift):
    below = drifting_range(r, drift)
    end = 0.5 * (math.erf((r - drift) / 2**0.5) - math.erf((-r - drift) / 2**0.5))
    assert 0 <= below <= end + 1e-9


@pytest.mark.parametrize("error", [0.0, 0.5, 1.5, 4.0])
def test_the_square_of_a_bin_is_seen_as_its_expectation(rng, error):
    noise = 0.3
    values = np.maximum((error + math.sqrt(noise) * rng.normal(size=200_000)) ** 2 - noise, 0)
    found = clipped_square(np.array([error]), np.array([noise]))[0]
    assert abs(found - values.mean()) < STANDARD_ERRORS * values.std() / math.sqrt(len(values))


LAWS = {
    "squared": SquaredLaw.of(TWO_VALUES),
    "absolute": AbsoluteLaw(Variance(None, 0.12)),
    "kuiper": KuiperLaw(0.12),
    "gap": GapLaw(0.12),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(st.floats(0.02, 0.5), st.floats(0.3, 0.99), st.sampled_from([0.01, 0.05, 0.2]))
def test_rows_needed_and_errors_detectable_are_inverse(law, error, power, alpha):
    n = law.needed(error, power, alpha)
    assert law.power(n, error, alpha) >= power
    assert n == 2 or law.power(n - 1, error, alpha) < power
    found = law.detectable(n, power, alpha)
    assert found <= error + 1e-9
    assert law.power(n, found, alpha) == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize("law", [LAWS["squared"], LAWS["kuiper"], LAWS["gap"]], ids=["squared", "kuiper", "gap"])
def test_no_error_is_found_as_often_as_false_alarms_are_allowed(law):
    assert law.power(1000, 0.0, 0.05) == pytest.approx(0.05, abs=1e-9)


def test_a_law_says_when_nothing_can_be_found():
    assert GapLaw(0.25).detectable(50, 0.999, 0.001) < 1
    assert GapLaw(0.25).detectable(2, 0.999, 0.001) == math.inf


def test_the_mean_gap_has_the_textbook_size():
    """(1.959964 + 0.841621)² · 0.25 / 0.05² = 784.9."""
    assert GapLaw(0.25).needed(0.05, 0.8, 0.05) == 785


def test_widths_of_means_and_rates_are_textbook():
    assert MeanWidth.even(0.5).needed(0.02, 0.95) == pytest.approx((2 * 1.959964 * 0.5 / 0.02) ** 2, rel=0.01)
    assert (
        1.05 < MeanWidth.even(0.5).needed(0.1, 0.95) / (2 * 1.959964 * 0.5 / 0.1) ** 2 < 1.15
    )  # few rows, known limits
    assert RateWidth(0.5).width(100, 0.95) == pytest.approx(2 * 1.959964 * 0.5 / math.sqrt(100 + 1.959964**2), rel=1e-6)


def test_variance_is_averaged_over_the_scores():
    assert Variance(UniformScores()).mean() == pytest.approx(1 / 6)
    assert Variance(BetaScores(2.0, 1.0)).mean(np.square) == pytest.approx(2 * (1 / 4 - 2 / 5 + 1 / 6))
    assert Variance(EmpiricalScores([0.1, 0.3])).largest == pytest.approx(0.21)


# the verb


def test_a_plan_and_its_inverse_agree():
    found = by_formula(error=0.03, mean_variance=0.1)
    back = by_formula(n=found.n, error=0.03, mean_variance=0.1)
    assert back.detectable == pytest.approx(0.03, rel=0.01)
    assert back.reached == found.reached >= 0.8
    assert (found.goal, back.goal) == ("error", "n")
    assert found.beside["rows by normal approximation, too few"] < found.n


def test_more_is_needed_for_smaller_errors_more_power_fewer_alarms_and_more_noise():
    base = by_formula(error=0.03, mean_variance=0.1).n
    assert by_formula(error=0.02, mean_variance=0.1).n > base
    assert by_formula(error=0.03, power=0.9, mean_variance=0.1).n > base
    assert by_formula(error=0.03, alpha=0.01, mean_variance=0.1).n > base
    assert by_formula(error=0.03, mean_variance=0.2).n > base
    assert by_formula(error=0.03).n > by_formula(error=0.03, mean_variance=0.2).n


def test_nothing_known_is_the_worst_case():
    found = by_formula(n=300)
    assert found.mean_variance == 0.25
    assert "nothing is known" in found.cautions[0]


def test_rows_like_yours_count_by_their_scores(rng):
    p = rng.beta(4, 1, 400)
    rows = cal.Predictions(rng.random(400) < p, p)
    found = by_formula(error=0.04, predictions=rows)
    assert found.mean_variance == pytest.approx((p * (1 - p)).mean())
    assert found.n == by_formula(error=0.04, world=EmpiricalWorld(p)).n
    assert by_formula(error=0.04, predictions=(rows.labels, p), counts=np.full(400, 3.0)).n == found.n
    weights = np.where(np.arange(400) < 200, 3.0, 1.0)
    weighted = by_formula(error=0.04, predictions=(rows.labels, p), weights=weights)
    assert weighted.n == by_formula(error=0.04, world=EmpiricalWorld(p, weights=weights)).n
    assert "it takes 1.25 times as many" in weighted.cautions[0]  # 400 rows are worth 800² / 2000
    grouped = cal.Predictions(rows.labels, p, groups=np.arange(400) // 4)
    assert "group" in by_formula(error=0.04, predictions=grouped).cautions[-1]


def test_a_view_chooses_the_event():
    _, test = cal.example()
    top = test.event("top").probs.astype(float)
    assert by_formula(n=500, predictions=test).mean_variance == pytest.approx((top * (1 - top)).mean())
    first = test.probs[:, 0].astype(float)
    one = by_formula(n=500, predictions=test, view=f"class {test.classes[0]}")
    assert one.mean_variance == pytest.approx((first * (1 - first)).mean())


@pytest.mark.slow
def test_a_world_is_what_is_to_be_found():
    world = power_world(0.05)
    assert by_formula(world=world).error == pytest.approx(world.true_error(2))
    assert by_formula(world=world, norm=1).error == pytest.approx(0.05)
    assert plan(world=world, statistic="mean_gap").error == pytest.approx(0.05)  # p^d errs on one side
    assert by_formula(error=0.1, world=world).error == 0.1
    given_rows = by_formula(n=500, world=world)
    assert given_rows.error == pytest.approx(world.true_error(2))
    assert given_rows.reached == by_formula(n=500, error=given_rows.error, world=calibrated_world(world)).reached
    assert by_formula(n=500, world=calibrated_world(world)).error is None


def test_shares_are_shown_with_the_digits_they_have():
    assert "with power 97.5%, at 0.5% false alarms" in repr(by_formula(error=0.1, power=0.975, alpha=0.005))


def test_a_confident_model_is_warned_about():
    assert "promises too much" in by_formula(n=200, world=named_world("resnet110_c10")).cautions[-1]
    assert not by_formula(n=200, world=power_world(0.1)).cautions


@pytest.mark.slow
def test_the_curve_holds_the_answer():
    found = by_formula(error=0.05, mean_variance=0.2)
    assert found.axes == ("rows", "power")
    assert (found.curve.x[0], found.curve.x[-1]) == (round(found.n / 4), 4 * found.n)
    assert np.interp(found.n, found.curve.x, found.curve.y) == pytest.approx(
        0.8, abs=0.02
    )  # between points, over jumps
    given_rows = by_formula(n=500, mean_variance=0.2)
    assert given_rows.axes == ("true error", "power")
    assert np.interp(given_rows.detectable, given_rows.curve.x, given_rows.curve.y) == pytest.approx(0.8, abs=0.01)
    wide = plan(width=0.05, statistic="kuiper", mean_variance=0.2)
    assert wide.axes == ("rows", "width")
    assert (np.diff(wide.curve.y) < 0).mean() > 0.9


@pytest.mark.slow
def test_a_plan_prints_and_travels():
    found = by_formula(error=0.05, mean_variance=0.2, check=True, n_data_sets=40)
    assert Plan.from_json(found.to_json()) == found
    assert isinstance(found.check, PlanCheck)
    assert repr(found).startswith(f"{found.n:,} rows detect an RMS calibration error of 0.0500 with power 80%")
    assert "checked: power" in repr(found)
    assert "power checked" in found.tables()[0].to_text()
    assert "rows detect" in found._repr_html_()
    assert len(found.check.tables()[0].rows) == 3
    assert "power planned" in repr(found.check)
    assert "One of 0.0500 is detected" in repr(by_formula(n=100, error=0.05))
    assert "detect no mean gap" in repr(plan(n=2, statistic="mean_gap", power=0.999, alpha=0.001))
    assert "95% interval of the observed rate" in repr(plan(width=0.1, statistic="rate"))
    assert ("confidence", "95%") in plan(width=0.1, statistic="rate").tables()[0].rows
    alone = by_formula(n=100, error=0.1, mean_variance=0.2, check=True, n_data_sets=40)
    assert "rows by the check" not in alone.tables()[0].to_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "error must be given, or width, or n"),
        ({"error": -0.1}, "error must be positive"),
        ({"error": 0.0}, "no test can detect"),
        ({"error": True}, "error must be positive"),
        ({"world": calibrated_world((1, 1))}, "no test can detect"),
        ({"error": 1e-8}, "error must be attainable"),
        ({"width": 0.1, "n": 100}, "width and n cannot both be given"),
        ({"width": 0.1, "statistic": "smooth"}, "statistic must be one of"),
        ({"width": 0.1, "statistic": "is_calibrated"}, "statistic must have an interval for a width"),
        ({"error": 0.1, "counts": [1, 2]}, r"counts are those of predictions.*Pass predictions=\(labels, probs\)"),
        ({"error": 0.1, "weights": [1, 2]}, "weights are those of predictions"),
        ({"error": 0.1, "predictions": cal.Predictions([0, 1], [0.2, 0.7]), "counts": [1, 2]}, "Pass it alone"),
        ({"error": 0.1, "predictions": [0.2, 0.7]}, "probs is required"),
        ({"error": 0.1, "statistic": "nothing"}, "statistic must be one of"),
        ({"statistic": "brier"}, "width or n must be given"),
        ({"width": 0.1, "statistic": "brier"}, "predictions or world must be given"),
        ({"n": 1}, "n must be a whole number, at least 2"),
        ({"error": 0.1, "power": 0.04}, "power must lie between alpha and 1"),
        ({"error": 0.1, "power": 1}, "power must lie between alpha and 1"),
        ({"error": 0.1, "alpha": 0}, "alpha must be positive and at most 0.5"),
        ({"error": 0.1, "norm": 3}, "norm must be one of"),
        ({"error": 0.1, "mean_variance": 0.3}, "at most 1/4"),
        ({"error": 0.1, "mean_variance": 0.2, "world": power_world(0.1)}, "cannot both be given"),
        ({"error": 0.1, "world": ShapeWorld("square", 0.1)}, "world must be a world of scores"),
        ({"error": 0.1, "world": EmpiricalWorld([0.0, 1.0])}, "must not all be 0 or 1"),
        ({"error": 0.05, "predictions": cal.Predictions([0, 0], [1e-300, 1e-300])}, "must not all be 0 or 1"),
        ({"error": 0.05, "mean_variance": 1e-300}, "mean_variance must be at least 1e-12"),
        ({"error": 1.5}, "error must be below 1; it is 1.5"),
        ({"width": 0.1, "error": 1.0, "statistic": "rate"}, "error must be below 1; it is 1"),
        ({"error": 0.51}, "error must be at most 0.5, the largest possible here; it is 0.51"),
        ({"n": 100, "error": 0.51}, "error must be at most 0.5"),
        ({"width": 0.1, "error": 0.51}, "error must be at most 0.5"),
        ({"error": 0.51, "statistic": "mean_gap", "mean_variance": 0.1}, "error must be at most 0.5"),
        ({"error": 0.76, "norm": 1, "world": calibrated_world((1, 1))}, "error must be at most 0.75"),
        ({"error": 0.77, "world": calibrated_world((1, 1))}, "error must be at most 0.7638"),  # √(7/12)
        ({"error": 0.91, "statistic": "kuiper", "world": EmpiricalWorld([0.1])}, "error must be at most 0.9"),
        ({"error": 0.1, "check": True, "statistic": "binned"}, "check needs predictions"),
        ({"error": 0.1, "mean_variance": 0.2, "check": True, "n_data_sets": 1}, "n_data_sets must be"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, message):
    with pytest.raises(cal.InputError, match=message):
        plan(**options)


def test_an_error_that_is_not_possible_is_not_found_either():
    assert by_formula(n=3).detectable == math.inf  # the formula gives 0.8, where ½ is predicted
    assert "3 rows detect no RMS calibration error" in repr(by_formula(n=3))
    assert by_formula(n=3).curve.x[-1] == 0.5
    most = by_formula(error=0.5)
    assert most.detectable <= 0.5
    assert most.reached >= 0.8


@pytest.mark.slow
def test_a_law_of_next_to_no_noise_does_not_overflow():
    assert by_formula(n=100, norm=1, mean_variance=1e-9).detectable < 1e-3


def test_a_score_of_all_classes_is_not_simulated():
    _, test = cal.example()
    with pytest.raises(cal.InputError, match="simulates single events only"):
        plan(width=0.1, statistic="brier", predictions=test, check=True)


def test_an_infinite_score_has_no_width():
    rows = cal.Predictions([1, 0, 1], [0.0, 0.5, 0.7])
    with pytest.raises(cal.InputError, match="must be finite on these data"):
        plan(width=0.1, statistic="log", predictions=rows)
    with pytest.raises(cal.InputError, match="must be finite in the world"):
        quantity_of("log", 2).interval(rows, 0.95, "canonical")


def test_a_score_is_as_wide_as_it_would_be():
    _, test = cal.example()
    for view in ("auto", "top"):
        found = plan(n=test.n, statistic="brier", predictions=test, view=view)
        interval = cal.score.BrierScore().score(test, view="canonical" if view == "auto" else view).interval
        assert found.reached == pytest.approx(interval.high - interval.low, rel=1e-9)


def test_a_score_of_a_large_table_is_as_wide_as_it_would_be(monkeypatch):
    _, test = cal.example()
    monkeypatch.setattr("calibrant.score.possible.MOST_NUMBERS", 1000)
    found = plan(n=test.n, statistic="brier", predictions=test)
    interval = cal.brier_score(test).interval
    assert found.reached == pytest.approx(interval.high - interval.low, rel=1e-9)


def test_a_rate_is_as_wide_as_it_would_be(rng):
    rows = cal.Predictions((rng.random(500) < 0.2).astype(int), np.full(500, 0.2))
    found = plan(n=500, statistic="rate", predictions=rows)
    expected = quantity_of("rate", 2).interval(rows, 0.95, "binary")
    assert found.reached == pytest.approx(expected.high - expected.low)


# formula against simulation


CASES = {
    "rms": {"error": 0.06, "statistic": "binned"},
    "absolute": {"error": 0.06, "norm": 1, "statistic": "binned"},
    "kuiper": {"error": 0.05, "statistic": "kuiper"},
    "gap": {"error": 0.05, "statistic": "mean_gap"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_the_formula_is_near_the_simulation(options):
    found = plan(**options, world=calibrated_world((2.0, 1.0)), check=True, n_data_sets=1000)
    assert found.check.sizes[1] == found.n
    off = np.abs(found.check.planned - found.check.simulated)
    assert (off < ROUGH + STANDARD_ERRORS * found.check.errors).all()
    assert found.check.rows == pytest.approx(found.n, abs=0.15 * found.n + STANDARD_ERRORS * found.check.rows_error)


WIDTHS = {
    "rms, calibrated": {"width": 0.06},
    "rms": {"width": 0.06, "error": 0.05},
    "absolute, calibrated": {"width": 0.05, "norm": 1},
    "absolute": {"width": 0.05, "norm": 1, "error": 0.05},
    "kuiper, calibrated": {"width": 0.06, "statistic": "kuiper"},
    "kuiper": {"width": 0.06, "statistic": "kuiper", "error": 0.04},
    "gap": {"width": 0.05, "statistic": "mean_gap"},
    "brier": {"width": 0.05, "statistic": "brier"},
    "rate": {"width": 0.05, "statistic": "rate"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", WIDTHS.values(), ids=WIDTHS)
def test_the_width_is_near_the_simulated_one(options):
    found = plan(**options, world=calibrated_world((2.0, 1.0)), check=True, n_data_sets=300)
    off = np.abs(found.check.planned - found.check.simulated)
    errors = found.check.errors + found.errors.get("reached", 0.0)
    assert (off < ROUGH * found.check.simulated + STANDARD_ERRORS * errors).all()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"norm": 1}, {"statistic": "kuiper"}], ids=str)
def test_an_error_widens_its_interval_without_a_world_too(options):
    assert plan(width=0.1, error=0.1, **options).n > plan(width=0.1, **options).n


@pytest.mark.slow
def test_checks_on_predictions_and_on_given_rows(rng):
    p = rng.beta(2, 2, 300)
    rows = cal.Predictions(rng.random(300) < p, p)
    at = by_formula(n=400, error=0.08, predictions=rows, check=True, n_data_sets=300)
    assert at.check.sizes == (400,)
    assert at.check.rows is None
    assert abs(at.check.simulated[0] - at.reached) < ROUGH + STANDARD_ERRORS * at.check.errors[0]
    log = plan(width=0.1, statistic="log", predictions=rows, check=True, n_data_sets=100)
    assert log.check.simulated[1] == pytest.approx(0.1, rel=2 * ROUGH)  # its world is a fit to 300 rows
    rate = plan(width=0.1, statistic="rate", mean_variance=0.09, check=True, n_data_sets=100)
    assert rate.check.simulated[1] == pytest.approx(0.1, rel=ROUGH)


def test_an_interval_with_no_error_is_even():
    variance = Variance(UniformScores())
    even, within = SquaredWidth.even(variance), SquaredWidth.within(calibrated_world((1, 1)), 0.0)
    assert even.width(1000, 0.95) == pytest.approx(within.width(1000, 0.95), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [(1.0, 1.0), (3.0, 1.0), (0.5, 0.5)])
@pytest.mark.parametrize(("n", "error"), [(200, 0.08), (1000, 0.045), (5000, 0.025)])
def test_the_power_of_the_rms_error_over_worlds(scores, n, error):
    found = by_formula(n=n, error=error, world=calibrated_world(scores), check=True, n_data_sets=2000)
    assert abs(found.reached - found.check.simulated[0]) < ROUGH + STANDARD_ERRORS * found.check.errors[0]
