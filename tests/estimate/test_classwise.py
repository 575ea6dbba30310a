"""SCE, ACE, TACE and CWCE: by hand and against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from naive import classwise as naive
from naive import data
from tolerances import ROUNDING

THREE = ([0, 1, 2, 0], [[0.5, 0.25, 0.25]] * 4)  # rates ½, ¼, ¼: no error
ONE = ([0] * 4, [[0.5, 0.25, 0.25]] * 4)  # gaps ½, ¼, ¼


def test_four_rows_by_hand():
    for error in (cal.static_error, cal.adaptive_error, cal.thresholded_error, cal.classwise_error):
        assert error(*THREE).value == pytest.approx(0, abs=ROUNDING)
    assert cal.static_error(*ONE).value == pytest.approx(1 / 3, abs=ROUNDING)
    assert cal.adaptive_error(*ONE).value == pytest.approx(1 / 3, abs=ROUNDING)
    assert cal.thresholded_error(*ONE, threshold=0.3).value == pytest.approx(1 / 6, abs=ROUNDING)
    assert cal.classwise_error(*ONE).value == pytest.approx(math.sqrt(0.25 + 0.0625 + 0.0625), abs=ROUNDING)
    assert cal.classwise_error(*ONE, norm=1).value == pytest.approx(1, abs=ROUNDING)
    assert cal.classwise_error(*ONE, average="mean").value == pytest.approx(math.sqrt(0.125), abs=ROUNDING)


def test_every_range_counts_the_same():
    # class 1 has the ranges {0.2}, rate 0, and {0.6, 0.6, 0.6}, rate 1; class 0 has only one, as 0.4 is more than half
    p = np.array([0.2, 0.6, 0.6, 0.6])
    found = cal.adaptive_error([0, 1, 1, 1], np.stack([1 - p, p], axis=1), bins=2)
    assert found.value == pytest.approx(((0.2 + 0.4) / 2 + 0.25) / 2, abs=ROUNDING)
    assert found.parts["classes"].n.tolist() == [1, 3]


@given(data.matrices(most=15), st.integers(1, 20))
def test_sce_is_that_of_plain_loops(said, n_bins):
    found = cal.static_error(said.labels, said.probs, bins=n_bins, counts=said.weights)
    assert found.value == pytest.approx(naive.static(said.labels, said.probs, n_bins, said.weights), abs=ROUNDING)


@given(data.matrices(most=15), st.integers(1, 20))
def test_ace_is_that_of_plain_loops(said, n_bins):
    found = cal.adaptive_error(said.labels, said.probs, bins=n_bins, counts=said.weights)
    assert found.value == pytest.approx(naive.adaptive(said.labels, said.probs, n_bins, said.weights), abs=ROUNDING)


@given(data.matrices(most=15), st.integers(1, 8), st.sampled_from([2.0**-7, 0.25, 0.5, 0.75]))
def test_tace_is_that_of_plain_loops(said, n_bins, threshold):
    found = cal.thresholded_error(said.labels, said.probs, bins=n_bins, threshold=threshold, counts=said.weights)
    expected = naive.adaptive(said.labels, said.probs, n_bins, said.weights, threshold)
    assert found.value == pytest.approx(expected, abs=ROUNDING)


@given(
    data.matrices(most=15),
    st.integers(1, 12),
    st.sampled_from(["width", "mass"]),
    st.sampled_from([1, 2]),
    st.sampled_from(["mean", "sum"]),
    st.booleans(),
)
def test_cwce_is_that_of_plain_loops(said, n_bins, rule, norm, average, debiased):
    bins = EqualWidth(n_bins) if rule == "width" else EqualMass(n_bins)
    options = {"bins": bins, "norm": norm, "average": average, "debiased": debiased, "counts": said.weights}
    total = naive.total_power(said.labels, said.probs, rule, n_bins, norm, said.weights, debiased)
    expected = total / (said.probs.shape[1] if average == "mean" else 1)
    found = cal.classwise_error(said.labels, said.probs, **options, root=False, clip=False)
    # the correction ȳ(1−ȳ)/(n−1) can exceed 1, so also relative
    assert found.value == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
    rooted = cal.classwise_error(said.labels, said.probs, **options).value
    assert rooted**norm == pytest.approx(max(expected, 0), rel=ROUNDING, abs=ROUNDING)


@given(data.matrices(most=12))
def test_the_root_comes_after_the_sum(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    found = cal.classwise_error(made, norm=2)
    each = found.parts["classes"].values
    assert found.value**2 == pytest.approx((each**2).sum(), abs=ROUNDING)
    assert cal.classwise_error(made, norm=2, average="mean").value ** 2 == pytest.approx((each**2).mean(), abs=ROUNDING)


@given(data.matrices(most=12))
def test_the_table_of_classes_averages_to_the_value(said):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    for error in (cal.static_error, cal.adaptive_error, cal.thresholded_error):
        found = error(made)
        assert found.value == pytest.approx(found.parts["classes"].values.mean(), abs=ROUNDING)
        total = len(said.labels) if said.weights is None else said.weights.sum()
        assert found.parts["classes"].n.sum() == pytest.approx(total)


def test_a_class_without_probability_above_the_threshold_is_reported():
    found = cal.thresholded_error([0, 0], [[0.999, 0.001]] * 2)
    assert found.cautions == ("no probability above the threshold for 1 classes, first 1",)
    assert found.value == pytest.approx(0.0005, abs=ROUNDING)


def test_a_probability_of_zero_is_not_above_a_threshold_of_zero():
    probs, labels = [[0.0, 1.0], [0.5, 0.5]], [0, 0]
    # class 0 without its zero: gap ½; class 1: gaps 1 and ½
    expected = (0.5 + 0.75) / 2
    assert cal.thresholded_error(labels, probs, threshold=0.0).value == pytest.approx(expected, abs=ROUNDING)
    assert cal.thresholded_error(labels, probs, threshold=1e-300).value == pytest.approx(expected, abs=ROUNDING)


def test_float32_probabilities_are_compared_with_the_threshold_as_the_numbers_they_are():
    probs = np.array([[0.1, 0.9]] * 2, dtype=np.float32)  # float32(0.1) is 0.1000000015
    narrow = cal.thresholded_error([0, 1], probs, threshold=0.1).value
    wide = cal.thresholded_error([0, 1], probs.astype(np.float64), threshold=0.1).value
    assert narrow == pytest.approx(wide, abs=ROUNDING)


def test_wrong_options_are_refused():
    for threshold in (-0.1, 1, float("nan")):
        with pytest.raises(InputError, match=r"threshold must lie in \[0, 1\); it is"):
            cal.thresholded_error(*ONE, threshold=threshold)
    with pytest.raises(InputError, match="bins must be a whole number, at least 1; it is 0"):
        cal.adaptive_error(*ONE, bins=0)
    for error in (cal.static_error, cal.adaptive_error, cal.thresholded_error, cal.classwise_error):
        with pytest.raises(
            InputError, match=r"probs must have one column per class; it has a single column\. Use binned"
        ):
            error([0, 1], [0.2, 0.7])


@given(
    data.matrices(most=15, weighted=False),
    st.integers(1, 20),
    st.sampled_from([None, 0.25]),
    st.sampled_from(["keep", "split", "caltrain", "array_split"]),
    st.booleans(),
)
def test_ties_and_the_divisor_are_those_of_plain_loops(said, n_bins, threshold, ties, by_all):
    options = {"bins": n_bins, "ties": ties, "divide_by": "all" if by_all else "filled"}
    if threshold is None:
        found = cal.adaptive_error(said.labels, said.probs, **options)
    else:
        found = cal.thresholded_error(said.labels, said.probs, threshold=threshold, **options)
    limit = -1.0 if threshold is None else threshold
    expected = naive.adaptive(said.labels, said.probs, n_bins, None, limit, ties, by_all)
    assert found.value == pytest.approx(expected, abs=ROUNDING)


def test_the_ranges_that_were_chosen_are_in_the_result():
    p = np.array([0.05, 0.2, 0.3, 0.6, 0.7, 0.9])
    found = cal.thresholded_error([0, 0, 1, 0, 1, 1], np.stack([1 - p, p], axis=1), bins=2, threshold=0.1)
    ranges = found.parts["ranges"]
    np.testing.assert_allclose(ranges.low, [[0.3, 0.7], [0.2, 0.6]])  # class 0: 0.3 0.4 | 0.7 0.8 0.95
    assert ranges.weight.sum(axis=1).tolist() == [5, 5]
    assert ranges.high[1].tolist() == [0.3, 0.9]
    assert cal.results.Estimate.from_json(found.to_json()).parts["ranges"] == ranges
    assert len(ranges.to_frame()) == 4
    assert repr(ranges) == "ClassRanges(2 ranges of 2 classes)"


def test_the_share_that_ece_leaves_out():
    probs = [[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [1.0, 0.0, 0.0]]
    assert cal.adaptive_error([0, 1, 0], probs).parts["left_out_by_ece"] == pytest.approx(2 / 3)
    above = {0.15: 3 / 6, 0.3: 1 / 4, 0.5: 0.0}  # above 0.15: 0.7 0.2 | 0.4 0.35 0.25 | 1
    for threshold, share in above.items():
        found = cal.thresholded_error([0, 1, 0], probs, threshold=threshold)
        assert found.parts["left_out_by_ece"] == pytest.approx(share)
    twice = cal.thresholded_error([0, 1, 0], probs, threshold=0.15, counts=[2, 1, 1])
    assert twice.parts["left_out_by_ece"] == pytest.approx(4 / 8)


@pytest.mark.parametrize("norm", [1.5, 3])
def test_any_norm_is_that_of_plain_loops(rng, norm):
    probs = rng.dirichlet([1, 1, 2], 40).round(2)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = rng.integers(0, 3, 40)
    power = naive.total_power(labels, probs, "width", 5, norm)
    found = cal.classwise_error(labels, probs, bins=5, norm=norm)
    assert found.value == pytest.approx(power ** (1 / norm), abs=ROUNDING)
    mean = cal.classwise_error(labels, probs, bins=5, norm=norm, average="mean", root=False)
    assert mean.value == pytest.approx(power / 3, abs=ROUNDING)
