"""The exact test of any statistic: against the null written out, and against everything that must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.detect.calibration import calibration_test
from calibrant.methods import methods
from calibrant.resampling.exact import Exact
from calibrant.results import TestResult
from detect.enumeration import class_labellings, labellings, tail
from tolerances import ROUNDING, STANDARD_ERRORS

PROBS = np.array([0.15, 0.3, 0.3, 0.45, 0.6, 0.72, 0.8, 0.93])
LABELS = np.array([1, 0, 1, 1, 0, 1, 0, 1])
DRAWS = 4999

STATISTICS = {
    "ece": (cal.ece, {}),
    "binned": (cal.binned_error, {"bins": EqualMass(3), "norm": 2}),
    "max": (cal.binned_error, {"bins": EqualWidth(4), "norm": "max"}),
    "debiased": (cal.binned_error, {"bins": EqualWidth(3), "norm": 2, "debiased": True, "root": False, "clip": False}),
    "ks": (cal.ks_error, {}),
    "mean_gap": (cal.mean_gap, {}),
    "sweep": (cal.sweep_error, {}),
    "smooth": (cal.smooth_error, {"sigma": 0.1}),
}


def close(found, truth, draws=DRAWS):
    assert found == pytest.approx(truth, abs=STANDARD_ERRORS * np.sqrt(0.25 / draws) + 1 / draws)


@pytest.mark.slow
@pytest.mark.parametrize("name", STATISTICS)
def test_the_p_value_is_that_of_the_null_written_out(name):
    function, options = STATISTICS[name]
    every, chance = labellings(PROBS)
    size = abs if name == "mean_gap" else float
    values = np.array([size(function(labels, PROBS, **options).value) for labels in every])
    observed = size(function(LABELS, PROBS, **options).value)
    draws = DRAWS if name not in ("sweep", "smooth") else 999
    found = calibration_test(LABELS, PROBS, function, n_draws=draws, ties="count", **options)
    assert found.statistic == pytest.approx(observed, abs=ROUNDING)
    close(found.p_value, tail(values, chance, observed), draws)
    assert found.parts["null_mean"] == pytest.approx(values @ chance, abs=STANDARD_ERRORS * values.std() / draws**0.5)


def test_kuiper_is_the_range_of_the_ks_error():
    every, chance = labellings(PROBS)
    values = np.array([cal.ks_error(labels, PROBS, statistic="range").value for labels in every])
    found = calibration_test(LABELS, PROBS, "kuiper", n_draws=DRAWS, ties="count")
    assert found.statistic == pytest.approx(cal.ks_error(LABELS, PROBS, statistic="range").value, abs=ROUNDING)
    close(found.p_value, tail(values, chance, found.statistic))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classwise", "root_brier"])
def test_classes_are_drawn_from_the_whole_vector(name):
    probs = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2], [0.25, 0.5, 0.25]])
    labels, function = np.array([1, 2, 2, 0, 1]), methods("estimator")[name].function
    every, chance = class_labellings(probs)
    values = np.array([function(each, probs).value for each in every])
    found = calibration_test(labels, probs, name, n_draws=999, ties="count")
    close(found.p_value, tail(values, chance, function(labels, probs).value), 999)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("about", "options"),
    [
        *(
            pytest.param(about, {}, id=name, marks=pytest.mark.slow if name in ("posterior", "regret") else ())
            for name, about in methods("estimator").items()
        ),
        pytest.param(
            methods("estimator")["regret"], {"method": "beta"}, id="regret of one map", marks=pytest.mark.slow
        ),
    ],
)
def test_every_estimator_is_a_test(rng, about, options):
    shape = (25,) if {"binary", "class k"} & set(about.views) else (25, 3)
    probs = rng.random(25) if shape == (25,) else rng.dirichlet(np.ones(3), 25)
    found = calibration_test(rng.integers(0, 2, 25), probs, about.name, n_draws=19, **options)
    assert 1 / 20 <= found.p_value <= 1
    assert found.n == 25
    assert TestResult.from_json(found.to_json()) == found
    by_function = calibration_test(rng.integers(0, 2, 25), probs, about.function, n_draws=19, **options)
    assert by_function.name == about.name


NAMED = ["spiegelhalter", "cox", "kuiper", "hosmer_lemeshow", "scan", "atb", "two_part"]
NAMED += ["neyman", "rank_polynomials", "waves", "rank_kernel", "isotonic_ratio"]


@pytest.mark.parametrize("name", NAMED)
def test_statistics_by_name(name):
    assert calibration_test(LABELS, PROBS, name, n_draws=99).name == name


def test_any_function_of_labels_and_probs_will_do():
    def misses(labels, probs, at):
        return np.abs(labels - probs)[probs > at].sum()

    found = calibration_test(LABELS, PROBS, misses, n_draws=99, at=0.5)
    assert found.title == "misses"
    assert found.settings["at"] == 0.5
    with pytest.raises(InputError, match="finite number on every draw; <lambda> gave inf"):
        calibration_test(LABELS, PROBS, lambda y, p: np.inf, n_draws=19)


def test_fast_and_slow_paths_agree():
    fast = calibration_test(LABELS, PROBS, cal.ece, n_draws=500)
    slow = calibration_test(LABELS, PROBS, lambda y, p: cal.ece(y, p).value, n_draws=500)
    assert slow.p_value == fast.p_value
    assert slow.statistic == fast.statistic
    assert slow.parts["null_95"] == pytest.approx(fast.parts["null_95"], abs=ROUNDING)


# What must not matter.


@given(said=some.events(weighted=False), data=st.data())
def test_the_order_of_rows_does_not_matter(said, data):
    order = np.array(data.draw(st.permutations(range(said.n))))
    for statistic in ("binned", "kuiper"):
        found = calibration_test(said.labels, said.probs, statistic, n_draws=19)
        assert calibration_test(said.labels[order], said.probs[order], statistic, n_draws=19).p_value == found.p_value


@given(said=some.events(), data=st.data())
def test_any_event_gives_a_p_value(said, data):
    statistic = data.draw(st.sampled_from(["ece", "binned", "ks", "cox", "spiegelhalter", "scan", "atb", "mean_gap"]))
    found = calibration_test(said.labels, said.probs, statistic, counts=said.weights, n_draws=19)
    assert 1 / 20 <= found.p_value <= found.parts["p_counting_ties"] <= 1
    assert np.isfinite(found.statistic)


def test_whole_weights_are_rows(rng):
    p, times = rng.random(40).round(1), rng.integers(0, 4, 40)
    y = rng.random(40) < p
    for statistic in ("binned", "sweep"):
        weighted = calibration_test(y, p, statistic, counts=times, n_draws=99)
        repeated = calibration_test(np.repeat(y, times), np.repeat(p, times), statistic, n_draws=99)
        assert weighted.p_value == repeated.p_value


def test_the_number_of_cores_does_not_matter(rng, monkeypatch):
    from calibrant.kernels.rows import blocks

    p = rng.random(3000)
    y = rng.random(3000) < p
    found = calibration_test(y, p, n_draws=200)
    monkeypatch.setattr(blocks, "n_cores", lambda: 1)
    assert calibration_test(y, p, n_draws=200) == found


def test_the_seed_and_the_labels_choose_the_draws(rng):
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    base = calibration_test(y, p, n_draws=199)
    assert calibration_test(y, p, n_draws=199) == base
    assert calibration_test(y, p, n_draws=199, seed=1).parts["null_mean"] != base.parts["null_mean"]


def test_a_view_is_its_event(rng):
    probs = rng.dirichlet(np.ones(3), 60)
    labels = rng.integers(0, 3, 60)
    top = calibration_test(labels, probs, "ks", n_draws=99)
    event = Predictions(labels, probs).event("top")
    alone = calibration_test(event.outcomes, event.probs, "ks", n_draws=99)
    assert (top.p_value, top.statistic) == (alone.p_value, alone.statistic)
    assert top.settings["view"] == "top"
    assert calibration_test(labels, probs, "ks", view="class 1", n_draws=99).settings["view"] == "class 1"


# Weights.


def test_weights_are_held_fixed():
    weights = np.array([0.5, 2.0, 1.5, 1.0, 3.0, 0.25, 1.0, 2.0])
    every, chance = labellings(PROBS)
    values = np.array([cal.ks_error(labels, PROBS, weights=weights).value for labels in every])
    observed = cal.ks_error(LABELS, PROBS, weights=weights).value
    for scale in (1.0, 12.0):
        found = calibration_test(LABELS, PROBS, "ks", weights=scale * weights, n_draws=DRAWS, ties="count")
        assert found.statistic == pytest.approx(observed, abs=ROUNDING)
        close(found.p_value, tail(values, chance, observed))
        assert found.settings["weights"] == "fixed"
        assert "held fixed" in found.cautions[0]


def test_whole_weights_are_not_rows():
    numbers = np.array([4, 4, 4, 4, 4, 4, 4, 5])
    counted = calibration_test(LABELS, PROBS, "mean_gap", counts=numbers, n_draws=999)
    fixed = calibration_test(LABELS, PROBS, "mean_gap", weights=numbers, n_draws=999)
    assert counted.parts["null_mean"] == pytest.approx(fixed.parts["null_mean"] / 2, rel=0.15)  # √4 times the noise


def test_counts_must_be_whole():
    with pytest.raises(InputError, match=r"counts must be whole numbers of rows; counts\[1\] is 0.5"):
        calibration_test([0, 1], [0.2, 0.7], counts=[1, 0.5])


@pytest.mark.slow
def test_weights_are_held_fixed_for_all_classes(rng):
    probs, weights = rng.dirichlet(np.ones(3), 5), np.array([0.5, 2.0, 1.5, 1.0, 3.0])
    labels = rng.integers(0, 3, 5)

    def value(drawn):
        return cal.classwise_error(drawn, probs, weights=weights).value

    every, chance = class_labellings(probs)
    found = calibration_test(labels, probs, "classwise", weights=weights, n_draws=DRAWS, ties="count")
    assert found.statistic == pytest.approx(value(labels), abs=ROUNDING)
    close(found.p_value, tail(np.array([value(each) for each in every]), chance, value(labels)))


# Clusters.


def test_clusters_of_one_row_are_independent_rows():
    said = Predictions(LABELS, PROBS, groups=np.arange(8))
    every, chance = labellings(PROBS)
    values = np.array([cal.ks_error(labels, PROBS).value for labels in every])
    truth = tail(values, chance, cal.ks_error(LABELS, PROBS).value)
    close(calibration_test(said, statistic="ks", cluster="same", n_draws=DRAWS, ties="count").p_value, truth)


@pytest.mark.slow
def test_a_question_asked_several_times_counts_once():
    said = Predictions(np.repeat(LABELS, 5), np.repeat(PROBS, 5), groups=np.repeat(np.arange(8), 5))
    every, chance = labellings(PROBS)
    values = np.array([cal.ece(labels, PROBS).value for labels in every])
    truth = tail(values, chance, cal.ece(LABELS, PROBS).value)
    close(calibration_test(said, statistic="ece", cluster="same", n_draws=DRAWS, ties="count").p_value, truth)
    slow = calibration_test(said, statistic=lambda y, p: cal.ece(y, p).value, cluster="same", n_draws=999, ties="count")
    close(slow.p_value, truth, 999)


def test_sign_flips_are_all_sign_patterns_of_the_clusters():
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 4])
    said = Predictions(LABELS, PROBS, groups=groups)
    sums = np.bincount(groups, PROBS - LABELS)
    signs, chance = labellings(np.full(5, 0.5))
    flipped = tail(np.abs((2 * signs - 1) @ sums) / 8, chance, abs(sums.sum()) / 8)
    alone = calibration_test(LABELS, PROBS, "mean_gap", n_draws=DRAWS, ties="count").p_value
    found = calibration_test(said, statistic="mean_gap", cluster=True, n_draws=DRAWS, ties="count")
    close(found.p_value, max(flipped, alone))
    assert found.settings["cluster"] == "any"
    few = (sums**2).sum() ** 2 / (sums**4).sum()
    assert found.cautions == (f"few clusters err (as many as {few:.1f} equal ones): the p-value is rough",)


def test_what_cannot_be_had_of_clusters_is_refused():
    with pytest.raises(InputError, match="cluster needs groups; the predictions have none"):
        calibration_test(LABELS, PROBS, cluster=True)
    said = Predictions(LABELS, PROBS, groups=np.arange(8))
    with pytest.raises(InputError, match="cluster must be one of 'any', 'same'; it is 'some'"):
        calibration_test(said, cluster="some")
    with pytest.raises(InputError, match="'any' needs a statistic that is computed from errors; sweep is computed"):
        calibration_test(said, statistic="sweep", cluster="any")
    with pytest.raises(InputError, match="binned is computed from labels"):
        calibration_test(said, statistic="binned", debiased=True, cluster="any")
    assert 0 < calibration_test(said, statistic="binned", debiased=True, cluster="same", n_draws=19).p_value <= 1
    several = Predictions([0, 1], [[0.2, 0.8], [0.3, 0.7]], groups=[0, 1])
    with pytest.raises(InputError, match="cluster needs one event; the view is of all classes"):
        calibration_test(several, statistic="classwise", cluster="any")


# Words and refusals.


def test_soft_labels_are_refused():
    for probs, shares in (([0.2, 0.7], [0.1, 0.9]), ([[0.2, 0.8]], [[0.5, 0.5]])):
        soft = Predictions(shares, probs, soft=True)
        for statistic in ("ece", "classwise") if len(np.shape(probs)) == 2 else ("ece",):
            with pytest.raises(InputError, match="labels must be classes for a test of calibration; they are shares"):
                calibration_test(soft, statistic=statistic)


def test_unknown_statistics_and_options_are_refused():
    with pytest.raises(InputError, match=r"statistic must be one of .*'spiegelhalter', .* it is 'nonsense'"):
        calibration_test(LABELS, PROBS, "nonsense")
    with pytest.raises(InputError, match=r"statistic must be a name or a function of \(labels, probs\); it is 3"):
        calibration_test(LABELS, PROBS, 3)
    with pytest.raises(InputError, match="norm must be"):
        calibration_test(LABELS, PROBS, "binned", norm=0.5)
    with pytest.raises(TypeError, match="colour"):
        calibration_test(LABELS, PROBS, "binned", colour=3)
    with pytest.raises(InputError, match="ties must be one of 'random', 'count'"):
        calibration_test(LABELS, PROBS, ties="mid")
    with pytest.raises(InputError, match="n_draws must be a whole number, at least 19"):
        calibration_test(LABELS, PROBS, n_draws=5)
    with pytest.raises(InputError, match="bins must keep ties together"):
        calibration_test(LABELS, PROBS, "binned", bins=EqualMass(3, ties="split"))


def test_labels_of_probability_0_are_warned_of():
    found = calibration_test([1, 0, 1], [0.0, 0.4, 0.7], n_draws=19)
    assert found.cautions == (
        "some labels had predicted probability 0: the predictions are refuted whatever the p-value",
    )


def test_it_is_not_collected_as_a_test():
    assert calibration_test.__test__ is False


def test_a_plan_takes_the_place_of_its_fields():
    plan = Exact(n_draws=99, ties="count", seed=3)
    for statistic in ("kuiper", cal.sweep_error):
        found = calibration_test(LABELS, PROBS, statistic, n_draws=99, ties="count", seed=3)
        assert calibration_test(LABELS, PROBS, statistic, method=plan) == found
    with pytest.raises(InputError, match="method is an Exact, which holds n_draws, ties and seed"):
        calibration_test(LABELS, PROBS, method=plan, seed=1)


def test_registered_statistics_are_known_by_name_and_fast_forms_by_estimator(monkeypatch):
    from calibrant import methods
    from calibrant.resampling import statistics

    monkeypatch.setattr(methods, "_REGISTER", {kind: dict(each) for kind, each in methods._REGISTER.items()})
    methods.method("statistic", name="their_gap")(statistics.mean_gap)
    ours = calibration_test(LABELS, PROBS, "mean_gap", n_draws=99)
    assert calibration_test(LABELS, PROBS, "their_gap", n_draws=99).p_value == ours.p_value

    def theirs(labels, probs):
        raise AssertionError("the fast form is used")

    methods.method("statistic", name="theirs", of=theirs)(statistics.mean_gap)
    assert calibration_test(LABELS, PROBS, theirs, n_draws=99).p_value == ours.p_value
