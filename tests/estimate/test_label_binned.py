"""Label-binned error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
import strategies as some
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from naive import binned as naive
from naive import binning
from tolerances import ROUNDING


def test_by_hand():
    labels, probs = [0, 1, 1, 1], [0.1, 0.4, 0.6, 0.7]  # rates 0.5 and 1
    distances = [0.4, 0.1, 0.4, 0.3]
    for norm, expected in ((1, np.mean(distances)), (2, np.sqrt(np.mean(np.square(distances)))), ("max", 0.4)):
        assert cal.label_binned_error(labels, probs, bins=EqualWidth(2), norm=norm).value == pytest.approx(expected)


@given(some.events(most=25), st.integers(1, 15), st.booleans(), st.sampled_from([1, 2, "max"]))
def test_it_is_that_of_plain_loops(said, n_bins, mass, norm):
    rule = EqualMass(n_bins) if mass else EqualWidth(n_bins)
    bins = binning.equal_mass(said.probs, n_bins, said.weights) if mass else binning.equal_width(said.probs, n_bins)
    found = cal.label_binned_error(said.labels, said.probs, bins=rule, norm=norm, root=False, counts=said.weights)
    expected = naive.label_power(bins, said.probs, said.labels, said.weights, norm)
    assert found.value == pytest.approx(expected, abs=ROUNDING)


@given(
    some.events(),
    st.sampled_from([EqualWidth(5), EqualMass(4), EqualWidth(3, "left"), cal.Edges([0, 0.5, 1], ends=False)]),
    st.sampled_from([1, 2, "max"]),
)
def test_it_is_never_below_the_binned_error(said, rule, norm):
    options = {"bins": rule, "norm": norm, "root": False, "counts": said.weights}
    lower = cal.binned_error(said.labels, said.probs, **options).value
    assert cal.label_binned_error(said.labels, said.probs, **options).value >= lower - ROUNDING


@given(some.events(weighted=False))
def test_with_a_bin_for_each_value_it_is_the_binned_error(said):
    rule = EqualMass(said.n)
    both = [f(said.labels, said.probs, bins=rule).value for f in (cal.binned_error, cal.label_binned_error)]
    assert both[0] == pytest.approx(both[1], abs=ROUNDING)


@given(some.matrices(most=12), st.sampled_from([EqualWidth(6), EqualMass(3)]), st.sampled_from([1, 2, "max"]))
def test_class_by_class_is_each_class_alone(said, rule, norm):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    options = {"bins": rule, "norm": norm, "root": False}
    each = [cal.label_binned_error(made, view=k, **options).value for k in range(said.probs.shape[1])]
    mean = cal.label_binned_error(made, view="classwise", **options)
    assert mean.value == pytest.approx(np.mean(each), abs=ROUNDING)
    assert mean.parts["classes"].values.tolist() == pytest.approx(each, abs=ROUNDING)
    total = cal.label_binned_error(made, view="classwise", average="sum", **options)
    assert total.value == pytest.approx(np.sum(each), abs=ROUNDING)


def test_float32_data_are_read_as_the_numbers_they_are():
    probs = np.float32([0.1, 0.1, 0.1])
    found = cal.label_binned_error([0, 0, 1], probs, bins=EqualWidth(1)).value
    assert found == pytest.approx(abs(float(probs[0]) - 1 / 3), abs=ROUNDING)


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="norm must be a number from 1 to 100, or 'max'; it is 0"):
        cal.label_binned_error([0, 1], [0.2, 0.7], norm=0)
    with pytest.raises(InputError, match="average must be one of 'mean', 'sum'"):
        cal.label_binned_error([0, 1], [0.2, 0.7], average="max")
    with pytest.raises(InputError, match="bins must be a number of bins, EqualWidth"):
        cal.label_binned_error([0, 1], [0.2, 0.7], bins=[0, 1])
