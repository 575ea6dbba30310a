"""Did it help? The paired difference, its interval, and what it says about calibration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.stats import t, ttest_rel

import calibrant as cal
import strategies as some
from calibrant import InputError, Predictions, compare
from calibrant.interval import holm
from calibrant.maps import Fit, IdentityMap, TemperatureMap
from calibrant.results import number
from calibrant.verbs.same_rows import row_ids
from tolerances import ROUNDING


@pytest.fixture
def pair(rng):
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    return Predictions(y, p), Predictions(y, 0.2 + 0.6 * p)


@pytest.fixture
def many_rows(rng):
    """So many that nothing but Student's interval is needed."""
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    return Predictions(y, p), Predictions(y, 0.2 + 0.6 * p)


def test_by_hand():
    before, after = Predictions([1, 0], [0.5, 0.5]), Predictions([1, 0], [0.75, 0.5])
    found = compare(before, after)  # Brier counts both classes: 2·0.25, 2·0.25 against 2·0.0625, 2·0.25
    assert found.before.value == pytest.approx(0.5)
    assert found.after.value == pytest.approx(0.3125)
    assert found.difference.value == pytest.approx(-0.1875)
    # if the first row had been 0, it would have cost 2·0.5625 − 0.5 more: the limits are −0.375 and 0.625
    assert -0.375 < found.difference.interval.low < -0.36
    assert 0.4 < found.difference.interval.high < 0.625
    assert found.verdict == "no detectable change"


def test_the_interval_of_many_rows_is_that_of_a_paired_t_test(many_rows):
    before, after = many_rows
    found = compare(before, after, level=0.9)
    each = [cal.score.BrierScore().rows(predictions) for predictions in (after, before)]
    expected = ttest_rel(*each)
    ends = found.difference.interval
    assert (ends.low, ends.high) == pytest.approx(tuple(expected.confidence_interval(0.9)), abs=ROUNDING)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)  # SciPy's tail


def test_the_interval_of_few_rows_is_wider(pair):
    before, after = pair
    found = compare(before, after, level=0.9)
    each = [cal.score.BrierScore().rows(predictions) for predictions in (after, before)]
    low, high = ttest_rel(*each).confidence_interval(0.9)
    assert 1.01 < (found.difference.interval.high - found.difference.interval.low) / (high - low) < 1.5


def test_the_p_value_and_the_interval_agree(rng):
    for n in (5, 20, 100):
        p = rng.random(n)
        y = (rng.random(n) < p).astype(int)
        before, after = Predictions(y, p), Predictions(y, p**2)
        p_value = compare(before, after).p_value
        for level in (1 - 1.01 * p_value, 1 - 0.99 * p_value):
            if 0 < level < 1:
                found = compare(before, after, level=level)
                assert (0 in found.difference.interval) == (level > 1 - p_value)
                assert found.p_value == p_value


def test_the_interval_of_roots_of_many_rows_is_that_of_the_straightened_rows(many_rows):
    before, after = many_rows
    new, old = (cal.score.BrierScore().rows(predictions) for predictions in (after, before))
    straight = new / (2 * new.mean() ** 0.5) - old / (2 * old.mean() ** 0.5)
    error = straight.std(ddof=1) / len(straight) ** 0.5
    found = compare(before, after).root
    assert found.interval.high - found.value == pytest.approx(t.ppf(0.975, len(new) - 1) * error, abs=ROUNDING)


def test_weights_are_repeated_rows(rng):
    p, y, times = rng.random(30), rng.integers(0, 2, 30), rng.integers(1, 4, 30)
    weighted = compare(Predictions(y, p, counts=times), Predictions(y, p**2, counts=times)).difference
    y, p = np.repeat(y, times), np.repeat(p, times)
    repeated = compare(Predictions(y, p), Predictions(y, p**2)).difference
    assert weighted.value == pytest.approx(repeated.value, abs=ROUNDING)
    assert weighted.interval.low == pytest.approx(repeated.interval.low, abs=ROUNDING)


def test_verdicts(rng):
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    good, bad = Predictions(y, p), Predictions(y, p**4)
    better, worse, same = compare(bad, good), compare(good, bad), compare(good, good)
    assert (better.verdict, worse.verdict, same.verdict) == ("better", "worse", "no detectable change")
    assert better.sentence().startswith("Better after than before: Brier score 0.")
    assert worse.sentence().startswith("Worse after than before: Brier score 0.")
    assert same.sentence().startswith("No detectable change: Brier score 0.")
    assert same.difference.value == 0


def test_one_row_shows_no_change():
    found = compare(Predictions([1], [0.2]), Predictions([1], [0.9]))
    assert found.verdict == "no detectable change"
    assert found.difference.interval is None
    assert "interval" not in found.sentence()


def test_swapping_the_two_turns_the_sign(pair):
    there, back = compare(*pair).difference, compare(*pair[::-1]).difference
    assert there.value == pytest.approx(-back.value, abs=ROUNDING)
    assert there.interval.low == pytest.approx(-back.interval.high, abs=ROUNDING)


@pytest.mark.parametrize("score", ["brier", "log"])
@pytest.mark.parametrize("make", [IdentityMap, TemperatureMap], ids=["identity", "T = 1"])
def test_a_map_that_changes_nothing_is_never_said_to_help(score, make):
    sure = np.tile(np.float32([20, 0]), (100, 1))  # softmax is 1 in float32, though the log score of the logits is 2e-9
    predictions = Predictions.from_logits(np.zeros(100, dtype=int), sure)
    found = compare(predictions, make((0, 1), False, Fit(1)), score=score)
    assert found.verdict == "no detectable change"
    assert found.difference.value == pytest.approx(0, abs=ROUNDING)


def test_the_log_score_of_a_repair_does_not_lose_what_logits_hold():
    z = np.array([[0, 200], [3, 0], [0, 3]], dtype=np.float32)  # e^(−100) is 0 in float32
    predictions = Predictions.from_logits([0, 0, 1], z)
    found = compare(predictions, TemperatureMap((0, 1), False, temperature=1.5), score="log")
    assert found.after.value == pytest.approx((200 / 1.5 + 2 * np.log1p(np.exp(-2))) / 3, rel=1e-6)


# Does the change keep different predictions different?


def test_injective_by_construction():
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    for after in (fitted, fitted.apply(test)):
        found = compare(test, after)
        assert found.injective is True
        assert found.grounds == "temperature does by construction"
        assert found.calibration is found.difference
        assert found.sentence().startswith("The repair helped: ")
        assert "so all of it is calibration" in found.sentence()


def test_rows_alone_do_not_tell_a_map_from_another_model(rng):
    """Two calibrated models whose scores are all different: nothing of the change is calibration."""
    rate = rng.random(3000)
    y, sharp, blunt = rng.random(3000) < rate, rate, 0.5 + (rate - 0.5) * 1e-3
    for after in (sharp, np.clip(rng.normal(0.5, 1e-3, 3000), 0, 1)):
        found = compare(y, blunt, after)
        assert found.injective is None
        assert "calibration, sharpness or both" in found.sentence()
        assert found.split is not None
        assert found.calibration is None


def test_the_user_may_know_that_a_map_is_injective():
    found = compare([0, 1, 1], [0.2, 0.2, 0.7], [0.3, 0.3, 0.6], injective=True)
    assert (found.injective, found.grounds) == (True, "as stated")
    assert "so any change is one of calibration" in found.sentence()
    assert compare([0, 1, 1], [0.2, 0.2, 0.7], [0.3, 0.3, 0.6], injective=False).injective is False
    assert compare([0, 1, 1], [0.2, 0.2, 0.7], [0.2, 0.2, 0.7]).grounds == "none has changed"
    with pytest.raises(InputError, match="injective cannot be True; equal predictions before differ after"):
        compare([0, 1, 1], [0.2, 0.2, 0.7], [0.3, 0.4, 0.6], injective=True)


def test_merged_predictions_are_found():
    found = compare(Predictions([0, 1, 1], [0.2, 0.3, 0.7]), Predictions([0, 1, 1], [0.25, 0.25, 0.6]))
    assert found.injective is False
    assert found.grounds == "3 distinct predictions before, 2 after"
    assert found.calibration is None
    assert "holds calibration and sharpness: some different predictions get the same value" in found.sentence()


def test_another_model_is_no_map_of_the_predictions():
    found = compare(Predictions([0, 1, 1], [0.2, 0.2, 0.7]), Predictions([0, 1, 1], [0.3, 0.4, 0.6]))
    assert found.injective is None
    assert found.grounds == "equal predictions before differ after, so this is not a map of the predictions alone"
    assert (
        "The change may be calibration, sharpness or both: equal predictions before differ after, so this is not a map of the predictions alone."
        in found.sentence()
    )


def test_a_map_of_other_predictions_is_judged_by_the_rows():
    valid, test = cal.example()
    fitted = cal.recalibrate(valid, "temperature")
    copy = Predictions.from_logits(test.labels, test.logits)
    assert compare(copy, fitted.apply(test)).grounds.startswith("these rows cannot distinguish")


def test_a_map_that_is_not_injective_says_so():
    class Flat(IdentityMap):
        method = "flat"
        injective = property(lambda self: False)

        def from_probs(self, probs):
            return np.full_like(probs, 0.5)

    found = compare(Predictions([0, 1], [0.2, 0.7]), Flat((0, 1), True))
    assert (found.injective, found.grounds) == (False, "2 distinct predictions before flat, 1 after")
    assert "get the same value (2 distinct predictions before flat, 1 after)" in found.sentence()


def test_a_map_that_may_merge_predictions_but_has_not_is_not_said_to(rng):
    """A map that falls somewhere: no two of these rows get the same value, so nothing is said to be merged."""

    class Tent(IdentityMap):
        method = "tent"
        injective = property(lambda self: False)

        def from_probs(self, probs):
            return np.where(probs < 0.8, probs, 1.57 - probs)

    p = rng.random(200)
    found = compare(Predictions(rng.random(200) < p, p), Tent((0, 1), True))
    assert found.injective is None
    assert "The change may be calibration, sharpness or both: tent need not keep" in found.sentence()
    assert "same value" not in found.sentence()


def test_rows_are_told_apart_by_every_column():
    probs = np.array([[0.2, 0.3, 0.5], [0.2, 0.5, 0.3], [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [-0.0, 0.5, 0.5]])
    ids = row_ids(probs)
    assert ids[0] == ids[2]
    assert ids[3] == ids[4]
    assert len(set(ids.tolist())) == 3


@given(some.predictions(weighted=False))
def test_equal_rows_and_only_they_share_a_number(predictions):
    ids = row_ids(predictions.probs).tolist()
    rows = (predictions.probs + 0.0).tolist()
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert (ids[i] == ids[j]) == (a == b)


# The size of what was not found.


def test_no_detectable_change_is_bounded(rng):
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    found = compare(Predictions(y, p), Predictions(y, np.clip(p + 0.001 * rng.normal(size=400), 0, 1)))
    interval = found.difference.interval
    assert found.verdict == "no detectable change"
    assert found.bound == max(-interval.low, interval.high) > 0
    assert f"any change is smaller than {number(found.bound)}" in found.sentence()
    assert found.equivalent is None


def test_a_margin_decides_on_equivalence(pair):
    loose, tight = (compare(*pair, margin=margin) for margin in (1.0, 1e-6))
    assert (loose.equivalent, tight.equivalent) == (True, False)
    assert "any change is smaller than the margin 1.0000" in loose.sentence()
    assert "a change as large as the margin" in tight.sentence()
    assert compare(Predictions([1], [0.2]), Predictions([1], [0.9]), margin=1).equivalent is None


def test_a_detected_change_is_said_to_be_no_smaller(rng):
    p = rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    assert "smaller" not in compare(Predictions(y, p**4), Predictions(y, p)).sentence()


# As root.


def test_roots_by_hand():
    found = compare(Predictions([1, 0], [0.5, 0.5]), Predictions([1, 0], [0.75, 0.5])).root
    assert found.value == pytest.approx(0.3125**0.5 - 0.5**0.5, abs=ROUNDING)


def over_confident(seed, n):
    """Scores 2(p − y)² of both sides, and those that each row could have had."""
    rng = np.random.default_rng(seed)
    probs = rng.beta(8, 0.5, n)
    labels = (rng.random(n) < 0.9 * probs).astype(int)
    sides = Predictions(labels, probs), Predictions(labels, 0.8 * probs)
    rows, possible = (
        np.array([[2 * (side.probs - y) ** 2 for side in sides] for y in outcomes]) for outcomes in ([labels], (0, 1))
    )
    return sides, rows[0], possible.transpose(1, 0, 2).reshape(2, -1)


@pytest.mark.parametrize("n", [30, 120])
def test_the_ends_of_few_roots_are_those_of_randomly_weighted_rows(n):
    (before, after), rows, possible = over_confident(4, n)
    found = compare(before, after).root
    weights = np.random.default_rng(0).exponential(size=(20_000, n + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    slopes = np.array([-1, 1]) / np.sqrt(rows.mean(axis=1))
    for end, at, share in ((found.interval.low, np.argmin, 0.025), (found.interval.high, np.argmax, 0.975)):
        missed = possible[:, at(slopes @ possible)]  # one more row, at the limit
        means = weights @ np.append(rows, missed[:, None], axis=1).T
        expected = np.quantile(np.diff(np.sqrt(means), axis=1), share)
        assert end == pytest.approx(expected, abs=0.06 * (found.interval.high - found.interval.low))


def test_the_interval_of_roots_becomes_that_of_the_straight_line():
    (before, after), rows, _ = over_confident(5, 1000)
    found = compare(before, after).root
    assert found.interval.method == "roots linearised at each end"
    line = np.array([-0.5, 0.5]) / np.sqrt(rows.mean(axis=1)) @ rows
    half = 1.96 * line.std() / 1000**0.5
    assert found.interval.high - found.value == pytest.approx(half, rel=0.1)
    assert found.value - found.interval.low == pytest.approx(half, rel=0.1)


def test_only_scores_with_a_root_have_one(pair):
    assert compare(*pair, score="log").root is None
    assert compare(Predictions([1, 0], [1.0, 0.0]), Predictions([1, 0], [1.0, 0.0])).root.interval is None


# Clusters.


def test_one_row_a_cluster_changes_nothing(many_rows):
    before, after = many_rows
    grouped = Predictions(before.labels, before.probs, groups=np.arange(before.n))
    found, plain = compare(grouped, after, cluster=True), compare(before, after)
    assert found.difference.interval.low == pytest.approx(plain.difference.interval.low, abs=ROUNDING)
    assert found.root.interval.low == pytest.approx(plain.root.interval.low, abs=ROUNDING)
    assert found.difference.interval.method == "Student t, clusters"
    assert found.difference.settings["cluster"] is True


def test_repeated_rows_in_a_cluster_add_nothing(many_rows):
    before, after = (
        Predictions(np.repeat(s.labels, 5), np.repeat(s.probs, 5), groups=np.repeat(np.arange(s.n), 5))
        for s in many_rows
    )
    found, plain = compare(before, after, cluster=True), compare(*many_rows)
    for name in ("difference", "before", "after"):
        ours, theirs = getattr(found, name).interval, getattr(plain, name).interval
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=ROUNDING)
    assert compare(before, after).difference.interval.low > found.difference.interval.low


def test_clusters_need_groups(pair):
    with pytest.raises(InputError, match="cluster needs groups; the predictions have none"):
        compare(*pair, cluster=True)


# Calibration and sharpness.


def test_a_change_that_merges_is_split(rng):
    p = rng.random(500)
    y = (rng.random(500) < p**2).astype(int)
    before, after = Predictions(y, p), Predictions(y, (p**2).round(1))
    found = compare(before, after)
    assert found.injective is False
    assert found.split.calibration + found.split.refinement == pytest.approx(found.difference.value, abs=ROUNDING)
    old, new = cal.decompose(before), cal.decompose(after)
    assert found.split.calibration == pytest.approx(new.miscalibration - old.miscalibration, abs=ROUNDING)
    assert found.split.calibration < 0 < found.split.refinement
    assert found.split.sentence() in found.sentence()
    assert [row[0] for row in found.tables()[0].rows][3:] == ["  of it calibration", "  of it refinement"]
    assert cal.results.Comparison.from_json(found.to_json()) == found
    assert "by isotonic on the same rows" in repr(found.split)


def test_a_split_can_be_had_and_refused(pair):
    assert compare(*pair, injective=True).split is None
    assert compare(*pair).split is not None
    asked = compare(*pair, method=cal.EqualMass(5)).split
    assert asked.how == "by 5 equal-mass bins on the same rows"
    merged = [Predictions([0, 1, 1], [0.2, 0.3, 0.7]), Predictions([0, 1, 1], [0.25, 0.25, 0.6])]
    assert compare(*merged).split is not None
    assert compare(*merged, method=None).split is None


def test_a_huge_change_is_split_only_if_asked(monkeypatch):
    monkeypatch.setattr("calibrant.verbs.compare.MOST_SPLIT", 2)
    merged = [Predictions([0, 1, 1], [0.2, 0.3, 0.7]), Predictions([0, 1, 1], [0.25, 0.25, 0.6])]
    assert compare(*merged).split is None
    assert compare(*merged, method="isotonic").split is not None


# Several candidates.


@pytest.fixture
def many(rng):
    p = rng.random(800)
    y = (rng.random(800) < p).astype(int)
    powers = {"truth": 1.0, "near": 1.8, "same": 2.0, "far": 4.0}
    return Predictions(y, p**2), {name: Predictions(y, p**power) for name, power in powers.items()}


def test_several_candidates_hold_simultaneously(many):
    before, after = many
    found = compare(before, after)
    for name, each in after.items():
        alone = compare(before, each, level=1 - 0.05 / 4).difference
        assert found[name].difference == alone
        assert found[name].after == compare(before, each).after
    assert found.best == "truth"
    assert found.better[0] == "truth"
    assert (found["same"].verdict, found["far"].verdict) == ("no detectable change", "worse")


def test_verdicts_of_several_are_holms(many):
    before, after = many
    found = compare(before, after, level=0.9)
    alone = [compare(before, each).p_value for each in after.values()]
    assert tuple(found[name].p_value for name in after) == pytest.approx(holm(alone))
    assert {name: found[name].verdict != "no detectable change" for name in after} == {
        name: found[name].p_value <= 0.1 for name in after
    }


def test_one_candidate_of_a_family_is_a_comparison(many):
    before, after = many
    single, alone = compare(before, {"truth": after["truth"]})["truth"], compare(before, after["truth"])
    assert single.difference == alone.difference
    assert single.verdict == alone.verdict


def test_candidates_may_be_maps():
    valid, test = cal.example()
    found = compare(test, {name: cal.recalibrate(valid, name) for name in ("temperature", "identity")}, score="log")
    assert found.better == ("temperature",)
    assert found["temperature"].injective
    assert found["identity"].difference.value == pytest.approx(0, abs=1e-6)  # logits in float32


def test_several_show_themselves_and_survive_as_json(many):
    found = compare(*many)
    assert cal.results.Comparisons.from_json(found.to_json()) == found
    (table,) = found.tables()
    assert table.rows[0][0] == "truth"
    assert "Bonferroni" in repr(found)
    assert "Holm" in repr(found)
    assert "<table>" in found._repr_html_()
    assert compare(many[0], {"far": many[1]["far"]}).sentence() == "far did not help detectably."
    assert found.sentence().endswith(f"; the lowest score is that of {found.best}.")
    assert found.sentence().startswith(
        f"{len(found.better)} of 4 candidates helped detectably ({', '.join(found.better)})"
    )


def test_wrong_candidates_are_refused_by_name(many):
    before, after = many
    with pytest.raises(InputError, match="after must hold at least one candidate"):
        compare(before, {})
    with pytest.raises(InputError, match=r"after\['b'\] must be a Predictions or a map; it is a ndarray"):
        compare(before, {"a": after["truth"], "b": before.probs})
    with pytest.raises(InputError, match="margin must be positive"):
        compare(before, after, margin=-1)
    impossible = Predictions(before.labels, np.where(before.labels == 1, 0.0, 0.5))
    with pytest.raises(InputError, match=r"after\['b'\] must have a finite log score"):
        compare(before, {"b": impossible}, score="log")


# Refused.


def test_a_zero_given_to_what_happened_is_refused_for_the_log_score():
    good, bad = Predictions([0, 1], [0.2, 0.7]), Predictions([0, 1], [0.2, 0.0])
    with pytest.raises(
        InputError,
        match=r"after must have a finite log score; row 1 gives probability 0 to its label.*brier.*logits",
    ):
        compare(good, bad, score="log")
    with pytest.raises(InputError, match=r"before must have a finite log score; row 1"):
        compare(bad, good, score="log")
    assert compare(bad, good).verdict == "no detectable change"


def test_a_zero_in_a_row_of_no_weight_does_not_matter():
    weights = [1, 1, 0]
    before = Predictions([0, 1, 1], [0.2, 0.7, 0.0], counts=weights)
    after = Predictions([0, 1, 1], [0.1, 0.8, 0.0], counts=weights)
    found = compare(before, after, score="log")
    assert found.difference.value == pytest.approx((np.log(0.8 / 0.9) + np.log(0.7 / 0.8)) / 2)


BASE = Predictions(list("abc"), np.eye(3) * 0.7 + 0.1, classes=list("abc"))

WRONG = {
    "labels": (Predictions(list("acc"), BASE.probs, classes=list("abc")), r"after must have the labels of before; row 1 differs: 1 and 2.*same rows in the same order"),
    "classes": (Predictions(list("abc"), BASE.probs, classes=list("acb")), r"after must have the classes of before, in the same order; \('a', 'c', 'b'\) is not"),
    "weights": (Predictions(list("abc"), BASE.probs, classes=list("abc"), counts=[1, 2, 1]), r"after must have the weights of before"),
    "rows": (Predictions(list("ab"), BASE.probs[:2], classes=list("abc")), r"after must have the shape of before; \(2, 3\) is not \(3, 3\)"),
    "columns": (Predictions([0, 1, 1], [0.1, 0.2, 0.3]), r"after must have the shape of before; \(3,\) is not \(3, 3\)"),
    "soft labels": (Predictions(np.eye(3)[[0, 1, 1]], BASE.probs, classes=list("abc"), soft=True), r"after must have the labels of before"),
    "an array": (BASE.probs, r"after must be a Predictions.*; it is a ndarray"),
    "a recipe": (cal.Temperature(), r"after must be a Predictions.*; it is a Temperature"),
    "None": (None, r"after must be a Predictions.*; it is a NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_only_the_same_rows_are_compared(case):
    with pytest.raises(InputError, match=case[1]):
        compare(BASE, case[0])


def test_soft_and_hard_labels_are_not_the_same_rows():
    probs = np.full((2, 3), 1 / 3)
    with pytest.raises(InputError, match="after must have the labels of before"):
        compare(Predictions([0, 1], probs), Predictions(np.eye(3)[[0, 1]], probs, soft=True))


def test_other_weights_are_refused():
    a, b = (Predictions([0, 1], [0.2, 0.7], counts=w) for w in ([1, 2], [2, 1]))
    with pytest.raises(InputError, match="after must have the weights of before"):
        compare(a, b)


def test_other_arguments_are_refused():
    with pytest.raises(InputError, match="probs is a Predictions, which carries its own labels"):
        compare(cal.recalibrate(cal.example()[0], "temperature"), BASE)
    with pytest.raises(InputError, match=r"score must be one of 'brier', 'log'"):
        compare(BASE, BASE, score="ece")
    with pytest.raises(InputError, match=r"score must be one of 'brier', 'log'"):
        compare(BASE, BASE, score=["brier"])
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        compare(BASE, BASE, level=95)
    with pytest.raises(InputError, match=r"predictions must have 2 columns.*it has 3"):
        compare(BASE, TemperatureMap((0, 1), False))


# Handed back.


def test_a_comparison_survives_as_json(pair):
    found = compare(*pair)
    assert cal.results.Comparison.from_json(found.to_json()) == found


def test_a_comparison_shows_itself(pair):
    found = compare(*pair)
    assert repr(found).count("\n") <= 3
    (table,) = found.tables()
    rows = ["before", "after", "after − before"]
    assert [row[0] for row in table.rows] == [*rows, "  of it calibration", "  of it refinement"]
    assert [row[0] for row in compare(*pair, injective=True).tables()[0].rows] == rows
    assert "<table>" in found._repr_html_()


def test_few_clusters_are_reported():
    before = Predictions([0, 1], [0.2, 0.7], groups=[0, 1])
    found = compare(before, Predictions([0, 1], [0.3, 0.8]), cluster=True)
    assert "2 clusters are few" in repr(found)


def test_labels_and_probs_are_taken_as_predictions_are():
    y, p, w = np.tile([0, 1, 1], 20), np.linspace(0.1, 0.9, 60), np.arange(60) % 3 + 1
    before, after = Predictions(y, p, weights=w), Predictions(y, p**2, weights=w)
    fitted = cal.recalibrate(before, "platt")
    assert compare(y, p, p**2, weights=w) == compare(before, after)
    assert compare(y, p, fitted, weights=w) == compare(before, fitted)
    both = compare(y, p, {"squared": p**2, "platt": fitted}, weights=w)
    assert both == compare(before, {"squared": after, "platt": fitted})
    with pytest.raises(InputError, match="labels is a Predictions and carries its own probs, counts and weights"):
        compare(before, p, fitted)
    with pytest.raises(InputError, match="after must be a Predictions or a map; it is a NoneType"):
        compare(y, p)


def test_columns_of_another_order_are_other_classes():
    table = pd.DataFrame({"a": [0.8, 0.3], "b": [0.2, 0.7]})
    with pytest.raises(InputError, match="classes"):
        compare(["a", "b"], table, table[["b", "a"]])
