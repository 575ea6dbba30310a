"""Bayesian binning into quantiles."""

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant import InputError
from calibrant.maps.bayesian_binning import numbers_of_bins
from naive import bayesian_binning as naive
from naive import data
from naive.rows import counted, written_out
from tolerances import ROUNDING

AT = np.linspace(0, 1, 13)


@pytest.mark.slow
@given(data.events(most=14).map(counted))
def test_it_is_that_of_plain_loops(said):
    labels, probs = written_out(said.labels, said.probs, said.weights)
    fitted = cal.maps.BayesianBinning().fit(said.labels, said.probs, counts=said.weights)
    at = np.concatenate([np.float64(probs), AT])
    expected = [naive.predict([int(y) for y in labels], [float(p) for p in probs], float(s)) for s in at]
    np.testing.assert_allclose(fitted.apply(at), expected, atol=1e-9)  # log-gammas of tiny priors cancel


def test_by_hand():
    # one row, one bin with centre ½ and a prior worth two rows: (1 + 1) / (2 + 1)
    assert cal.maps.BayesianBinning().fit([1], [0.3]).apply([0.0, 1.0]) == pytest.approx([2 / 3] * 2, abs=ROUNDING)
    assert cal.maps.BayesianBinning(prior_rows=1).fit([0], [0.3]).apply([0.5]) == pytest.approx([0.25], abs=ROUNDING)


def test_a_binning_that_the_data_speak_for_is_heard_alone(rng):
    # two levels, far apart in score and rate: two bins say all
    probs = np.repeat([0.2, 0.8], 500)
    labels = np.r_[np.arange(500) % 10 == 0, np.arange(500) % 10 != 0]
    fitted = cal.maps.BayesianBinning().fit(labels, probs)
    assert fitted.apply([0.2, 0.8]) == pytest.approx([0.1, 0.9], abs=2e-3)  # the prior is worth two rows of a thousand


def test_the_number_of_bins_is_bounded_by_reach(rng):
    probs = rng.random(1000)
    fitted = cal.maps.BayesianBinning(reach=1).fit(rng.random(1000) < probs, probs)
    assert len(fitted.heights) == 10  # from 10 to 10 bins


def test_nothing_is_called_impossible_even_at_zero_and_one():
    fitted = cal.maps.BayesianBinning().fit([0] * 50 + [1] * 50, [0.0] * 50 + [1.0] * 50)
    assert 0 < fitted.apply([0.0])[0] < 0.01
    assert 0.99 < fitted.apply([1.0])[0] < 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"reach": 0.5}, r"reach must be at least 1; it is 0\.5"),
        ({"reach": 0}, "reach must be positive and finite"),
        ({"prior_rows": -1}, "prior_rows must be positive and finite; it is -1"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        cal.maps.BayesianBinning(**options)


def test_numbers_of_bins_are_all_those_of_the_definition_up_to_ten_thousand():
    assert numbers_of_bins(1000, 10.0) == list(range(1, 101))
    assert numbers_of_bins(20, 10.0) == list(range(1, 21))
    assert numbers_of_bins(30_000, 2.0) == list(range(15, 64))


@pytest.mark.parametrize("rows", [1e12, 1e15, 1e300])
@pytest.mark.parametrize("reach", [1.0, 10.0, 1e300])
def test_numbers_of_bins_stay_few_whatever_the_counts(rows, reach):
    found = numbers_of_bins(rows, reach)
    assert 1 <= found[0] <= found[-1] <= 100_000
    assert len(found) < 10_300
    assert found == sorted(set(found))
