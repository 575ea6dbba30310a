"""Binned errors: by hand, against plain loops, and what must hold for any data."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import calibrant as cal
import strategies as some
from calibrant import Edges, EqualMass, EqualWidth, InputError, Predictions
from calibrant.kernels.sums.folded_normal import folded_normal_mean
from naive import binned as naive
from naive import binning
from tolerances import ROUNDING

NORMS = st.sampled_from([1, 2, "max"])
RULES = st.one_of(
    st.builds(EqualWidth, st.integers(1, 20), st.sampled_from(["right", "left"])),
    st.builds(EqualMass, st.integers(1, 20)),
    st.just(EqualMass(4, ties="split")),
    st.builds(Edges, st.sampled_from([(0, 1), (0, 0.2, 0.5, 1)]), st.sampled_from(["right", "left"]), st.booleans()),
)


def naive_bins(rule, probs, counts=None):
    if isinstance(rule, EqualWidth):
        return binning.equal_width(probs, rule.n_bins, rule.closed)
    if isinstance(rule, Edges):
        return binning.by_edges(probs, rule.edges, rule.closed, rule.ends)
    if rule.ties == "split":
        return binning.equal_mass_split(probs, rule.n_bins)
    return binning.equal_mass(probs, rule.n_bins, counts)


def weights_for(rule, said):
    return None if getattr(rule, "ties", "") == "split" else said.weights


# By hand.


def test_four_rows_in_two_bins():
    labels, probs = [0, 1, 1, 1], [0.1, 0.4, 0.6, 0.7]  # gaps: 0.25 − 0.5 and 0.65 − 1
    rule = EqualWidth(2)
    assert cal.binned_error(labels, probs, bins=rule).value == pytest.approx(0.5 * 0.25 + 0.5 * 0.35, abs=ROUNDING)
    assert cal.binned_error(labels, probs, bins=rule, norm="max").value == pytest.approx(0.35, abs=ROUNDING)
    squared = 0.5 * 0.0625 + 0.5 * 0.1225
    assert cal.binned_error(labels, probs, bins=rule, norm=2, root=False).value == pytest.approx(squared, abs=ROUNDING)
    assert cal.binned_error(labels, probs, bins=rule, norm=2).value == pytest.approx(math.sqrt(squared), abs=ROUNDING)


@pytest.mark.parametrize("kind", ["counts", "weights"])
def test_counts_and_weights_by_hand(kind):
    found = cal.binned_error([0, 1], [0.2, 0.4], bins=EqualWidth(1), **{kind: [3, 1]})
    assert found.value == pytest.approx(abs((0.6 + 0.4) / 4 - 1 / 4), abs=ROUNDING)


def test_debiased_square_by_hand():
    labels, probs = [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]  # gap 1/4, ȳ(1−ȳ)/(n−1) = (3/16)/3 = 1/16
    options = {"bins": EqualWidth(1), "norm": 2, "debiased": True}
    assert cal.binned_error(labels, probs, **options, root=False).value == pytest.approx(0, abs=ROUNDING)
    signed = cal.binned_error([0, 1, 0, 1], probs, **options, root=False, clip=False)
    assert signed.value == pytest.approx(-1 / 12, abs=ROUNDING)
    assert cal.binned_error([0, 1, 0, 1], probs, **options).value == 0


def test_debiased_absolute_error_by_hand():
    # gap 0, sd = √(1/4 / 4) = 1/4: E|N(0, 1/16)| = ¼√(2/π), so 0 − ¼√(2/π)
    found = cal.binned_error([0, 1, 0, 1], [0.5] * 4, bins=EqualWidth(1), debiased=True, clip=False)
    assert found.value == pytest.approx(-0.25 * math.sqrt(2 / math.pi), abs=ROUNDING)


def test_bins_of_one_row_are_not_corrected():
    found = cal.binned_error([0, 1], [0.3, 0.6], bins=EqualWidth(2), norm=2, root=False, debiased=True)
    assert found.value == pytest.approx((0.09 + 0.16) / 2, abs=ROUNDING)
    assert found.cautions == ("2 bins hold fewer than two rows and are not corrected for noise",)


def test_the_noise_floor_by_hand():
    found = cal.binned_error([0, 1, 0, 1], [0.5] * 4, bins=EqualWidth(1))
    assert found.noise_floor == pytest.approx(math.sqrt(2 / math.pi * 0.25 / 4), abs=ROUNDING)
    squared = cal.binned_error([0, 1, 0, 1], [0.5] * 4, bins=EqualWidth(1), norm=2, root=False)
    assert squared.noise_floor == pytest.approx(0.25 / 4, abs=ROUNDING)
    assert cal.binned_error([0, 1], [0.5] * 2, norm="max").noise_floor is None
    assert cal.binned_error([0, 1], [0.5] * 2, debiased=True).noise_floor is None


def test_classwise_means_and_sums():
    labels, probs = [0, 1, 2, 0], [[0.5, 0.25, 0.25]] * 4  # gaps 0, 0, 0 over one bin; then shift the labels
    assert cal.binned_error(labels, probs, bins=EqualWidth(1), view="classwise").value == 0
    found = cal.binned_error([0] * 4, probs, bins=EqualWidth(1), view="classwise")
    assert found.value == pytest.approx((0.5 + 0.25 + 0.25) / 3, abs=ROUNDING)
    total = cal.binned_error([0] * 4, probs, bins=EqualWidth(1), view="classwise", average="sum", norm=2)
    assert total.value == pytest.approx(math.sqrt(0.25 + 0.0625 + 0.0625), abs=ROUNDING)
    assert found.parts["classes"].values.tolist() == [0.5, 0.25, 0.25]
    assert "class by class (mean)" in found.title


def test_the_table_shows_filled_bins():
    table = cal.ece([0, 1, 1], [0.1, 0.15, 0.9], bins=5).parts["bins"]
    assert len(table) == 2
    assert table.low.tolist() == [0, 0.8]
    assert table.weight.tolist() == [2, 1]
    np.testing.assert_allclose(table.gap, [0.125 - 0.5, -0.1], atol=ROUNDING)


def test_titles_say_what_was_measured():
    titles = [cal.binned_error([0, 1], [0.2, 0.7], norm=n, debiased=d).title for n, d in [(1, False), (2, False), ("max", False), (1, True), (2, True)]]  # fmt: skip
    assert titles == ["ECE", "RMS calibration error", "MCE", "debiased ECE", "debiased RMS calibration error"]
    assert cal.binned_error([0, 1], [0.2, 0.7], norm=2, root=False).title == "squared calibration error"


# Against plain loops.


@given(some.events(most=25), RULES, NORMS)
def test_binned_error_is_that_of_plain_loops(said, rule, norm):
    weights = weights_for(rule, said)
    found = cal.binned_error(said.labels, said.probs, bins=rule, norm=norm, root=False, counts=weights)
    expected = naive.power(naive_bins(rule, said.probs, weights), said.probs, said.labels, weights, norm)
    assert found.value == pytest.approx(expected, abs=ROUNDING)
    rooted = cal.binned_error(said.labels, said.probs, bins=rule, norm=norm, counts=weights).value
    assert rooted ** (2 if norm == 2 else 1) == pytest.approx(expected, abs=ROUNDING)


@given(some.events(most=25), RULES, st.sampled_from([1, 2]))
def test_debiased_error_is_that_of_plain_loops(said, rule, norm):
    weights = weights_for(rule, said)
    bins = naive_bins(rule, said.probs, weights)
    if sum(map(len, bins)) < said.n:
        return  # rows in no bin: the definition does not say
    options = {"bins": rule, "norm": norm, "debiased": True, "root": False, "clip": False, "counts": weights}
    found = cal.binned_error(said.labels, said.probs, **options)
    expected = naive.debiased_power(bins, said.probs, said.labels, weights, norm)
    assert found.value == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)


@given(some.events(most=25), RULES, st.sampled_from([1, 2]))
def test_the_noise_floor_is_that_of_plain_loops(said, rule, norm):
    weights = weights_for(rule, said)
    found = cal.binned_error(said.labels, said.probs, bins=rule, norm=norm, root=False, counts=weights)
    expected = naive.noise_power(naive_bins(rule, said.probs, weights), said.probs, weights, norm)
    # p̄ − mean p² cancels near p = 1, by one rounding unit of float64; under the root of norm 1 that is 1e-8
    assert found.noise_floor == pytest.approx(expected, rel=1e-9, abs=1e-7 if norm == 1 else ROUNDING)


@given(some.matrices(most=15), st.integers(1, 12), NORMS)
def test_top_and_class_views_are_those_of_plain_loops(said, n_bins, norm):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    views = {"top": naive.top(said.labels, said.probs)}
    views |= {f"class {k}": naive.one_class(said.labels, said.probs, k) for k in range(said.probs.shape[1])}
    each = []
    for view, (p, y) in views.items():
        found = cal.binned_error(made, bins=EqualWidth(n_bins), norm=norm, root=False, view=view)
        expected = naive.power(binning.equal_width(p, n_bins), p, y, said.weights, norm)
        assert found.value == pytest.approx(expected, abs=ROUNDING)
        each.append(expected)
    for average, expected in (("mean", np.mean(each[1:])), ("sum", np.sum(each[1:]))):
        options = {"norm": norm, "root": False, "view": "classwise", "average": average}
        found = cal.binned_error(made, bins=EqualWidth(n_bins), **options)
        assert found.value == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("mean", [-2.0, -0.3, 0.0, 1e-9, 0.2, 5.0])
@pytest.mark.parametrize("sd", [0.0, 0.05, 1.0, 3.0])
def test_the_folded_normal_mean_is_its_integral(mean, sd):
    def density(x):
        return abs(x) * math.exp(-(((x - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))

    expected = abs(mean) if sd == 0 else quad(density, mean - 40 * sd, mean + 40 * sd, points=[0, mean], limit=200)[0]
    assert float(folded_normal_mean(np.array(mean), np.array(sd))) == pytest.approx(
        expected, rel=1e-9
    )  # quad's accuracy


# For any data.


@given(some.events(), RULES, st.sampled_from([1, 2]))
def test_debiasing_never_raises_the_error(said, rule, norm):
    options = {"bins": rule, "norm": norm, "root": False, "counts": weights_for(rule, said)}
    plain = cal.binned_error(said.labels, said.probs, **options).value
    signed = cal.binned_error(said.labels, said.probs, **options, debiased=True, clip=False).value
    clipped = cal.binned_error(said.labels, said.probs, **options, debiased=True).value
    assert signed <= plain + ROUNDING
    assert clipped == max(signed, 0)


@given(some.events(), RULES)
def test_norms_are_in_order_and_within_one(said, rule):
    values = [
        cal.binned_error(said.labels, said.probs, bins=rule, norm=norm, counts=weights_for(rule, said)).value
        for norm in (1, 2, "max")
    ]
    assert values[0] <= values[1] + ROUNDING
    assert values[1] <= values[2] + ROUNDING
    assert 0 <= values[2] <= 1 + ROUNDING


@given(some.events(weighted=False), RULES)
def test_perfect_certainty_has_no_error(said, rule):
    probs = said.labels.astype(float)
    for norm in (1, 2, "max"):
        assert cal.binned_error(said.labels, probs, bins=rule, norm=norm).value == 0


@given(some.events(), st.integers(1, 30))
def test_one_bin_holds_the_mean_gap(said, n_bins):
    one = cal.binned_error(said.labels, said.probs, bins=EqualMass(1), counts=said.weights).value
    many = cal.binned_error(said.labels, said.probs, bins=EqualMass(n_bins), counts=said.weights).value
    gap = cal.mean_gap(said.labels, said.probs, counts=said.weights).value
    assert one == pytest.approx(abs(gap), abs=ROUNDING)
    assert many >= one - ROUNDING


@given(some.events(weighted=False))
def test_more_bins_than_distinct_predictions_is_no_error(said):
    found = cal.binned_error(said.labels, said.probs, bins=EqualMass(500))
    groups = {
        p: [y for q, y in zip(said.probs.tolist(), said.labels, strict=True) if q == p] for p in said.probs.tolist()
    }
    expected = sum(len(ys) / said.n * abs(p - np.mean(ys)) for p, ys in groups.items())
    assert found.value == pytest.approx(expected, abs=ROUNDING)


def test_ties_that_leave_bins_empty_are_reported():
    found = cal.binned_error([0, 1, 1], [0.5] * 3, bins=EqualMass(10))
    assert found.cautions == ("tied predictions leave 1 of 10 bins",)


def test_rows_outside_every_bin_are_reported():
    found = cal.binned_error([0, 1, 1], [0.0, 0.5, 0.5], bins=Edges([0, 1], ends=False))
    assert found.cautions == ("rows of weight 1 fall into no bin",)
    assert found.value == pytest.approx(2 / 3 * 0.5)


@given(some.events(most=25), st.integers(1, 12), NORMS, st.data())
def test_weighted_errors_are_those_of_plain_loops(said, n_bins, norm, data):
    weights = data.draw(some.importances(said.n))
    bins = binning.equal_width(said.probs, n_bins)
    found = cal.binned_error(
        said.labels, said.probs, bins=EqualWidth(n_bins), norm=norm, root=False, weights=weights
    ).value
    w = weights / weights.max()
    assert found == pytest.approx(naive.power(bins, said.probs, said.labels, w, norm), abs=ROUNDING)


def test_noise_is_that_of_the_effective_rows():
    """One bin of weights 1, 0.5, 2: (Σw)² / Σw² = 12.25 / 5.25 = 7/3 rows, mean p = 0.4, rate 5/7."""
    data, options = ([0, 1, 1], [0.2, 0.5, 0.5]), {"bins": EqualWidth(1), "norm": 2, "root": False, "clip": False}
    for scale in (1, 1e-3, 40):
        weights = scale * np.array([1, 0.5, 2])
        plain = cal.binned_error(*data, **options, weights=weights)
        rate, mean, rows = 2.5 / 3.5, (0.2 + 0.25 + 1) / 3.5, 7 / 3
        assert plain.value == pytest.approx((mean - rate) ** 2, abs=ROUNDING)
        assert plain.noise_floor == pytest.approx((0.16 + 0.25 * 0.25 + 4 * 0.25) / 3.5**2, abs=ROUNDING)
        found = cal.binned_error(*data, **options, debiased=True, weights=weights)
        assert found.value == pytest.approx((mean - rate) ** 2 - rate * (1 - rate) / (rows - 1), abs=ROUNDING)
        assert found.cautions == ()


WRONG = {
    "norm": ({"norm": 0.5}, r"norm must be a number from 1 to 100, or 'max'; it is 0.5"),
    "norm by text": ({"norm": "l2"}, r"norm must be a number from 1 to 100, or 'max'; it is 'l2'"),
    "norm by array": ({"norm": np.array([1, 2])}, r"norm must be a number from 1 to 100, or 'max'"),
    "norm by truth": ({"norm": True}, r"norm must be a number from 1 to 100, or 'max'; it is True"),
    "average": ({"average": "median"}, r"average must be one of 'mean', 'sum'; it is 'median'"),
    "debiased maximum": ({"norm": "max", "debiased": True}, r"debiased is defined for norms 1 and 2; norm is 'max'"),
    "root of a negative": ({"norm": 2, "clip": False}, r"clip can be False only with root=False.*Pass root=False"),
    "no bins": ({"bins": 0}, r"bins must be a whole number, at least 1; it is 0"),
    "bins by class": ({"bins": EqualWidth}, r"bins must be a number of bins, EqualWidth\(m\), EqualMass\(m\) or Edges"),
    "view": ({"view": "bottom"}, r"view must be one of"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused(case):
    with pytest.raises(InputError, match=case[1]):
        cal.binned_error([0, 1], [0.2, 0.7], **case[0])


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="n_bins"):
        cal.binned_error([0, 1], [0.2, 0.7], n_bins=10)


NUMBERS = {
    cal.ece: EqualWidth,
    cal.static_error: EqualWidth,
    cal.classwise_error: EqualWidth,
    cal.expected_ece: EqualWidth,
    cal.binned_error: EqualMass,
    cal.label_binned_error: EqualMass,
    cal.detect.hosmer_lemeshow_test: EqualMass,
    cal.squared_error_interval: EqualMass,
    cal.confidence_band: EqualMass,
    cal.consistency_band: EqualMass,
}
"""The rule of which a number of bins is meant."""


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_a_number_means_bins_of_the_usual_rule(function):
    test = cal.example()[1]
    said, number = function(test, bins=7), function(test, bins=NUMBERS[function](7))
    assert said.to_data() == number.to_data()
    with pytest.raises(InputError, match="bins must be a whole number, at least 1; it is 0"):
        function(test, bins=0)
    for wrong in ("mass", EqualMass, True, 2.0):
        with pytest.raises(
            InputError, match=r"bins must be a number of bins, EqualWidth\(m\), EqualMass\(m\) or Edges"
        ):
            function(test, bins=wrong)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("labels", ["bool", "uint8", "int64"])
def test_few_rows_have_the_value_of_all_their_sums(rng, dtype, labels):
    probs = np.append(rng.integers(0, 16, 50) / 15, rng.random(150)).astype(dtype)
    outcomes = (rng.random(200) < probs).astype(labels)
    found, doubled = cal.ece(outcomes, probs), cal.ece(outcomes, probs, counts=np.full(200, 2))
    assert found.value == pytest.approx(doubled.value, abs=ROUNDING)
    assert found.parts["bins"].mean_prob == pytest.approx(doubled.parts["bins"].mean_prob, abs=ROUNDING)
    table = found.parts["bins"]
    gaps = np.abs(table.mean_prob - table.label_rate)
    assert found.value == pytest.approx(float(table.weight @ gaps) / 200, abs=ROUNDING)


def test_bins_that_are_read_late_hold_the_rows_of_the_call(rng):
    probs, outcomes = rng.random(300), rng.integers(0, 2, 300).astype(np.uint8)
    expected, found = cal.ece(outcomes, probs).to_data(), cal.ece(outcomes, probs)
    probs[:], outcomes[:] = 0.5, 1
    assert found.to_data() == expected
