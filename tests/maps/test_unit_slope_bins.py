"""Unit slope within each bin."""

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import EqualMass, EqualWidth, InputError
from tolerances import ROUNDING

RULES = [EqualMass(15), EqualMass(4), EqualWidth(15), EqualWidth(7), cal.Edges([0, 0.1, 0.5, 1])]


@pytest.mark.some(3)
@pytest.mark.parametrize("bins", RULES, ids=str)
@pytest.mark.parametrize("norm", [1, 2])
@given(said=some.events())
def test_the_size_of_the_shift_is_the_binned_error(bins, norm, said):
    fitted = cal.maps.UnitSlopeBins(bins).fit(said.labels, said.probs, counts=said.weights)
    shift = np.abs(fitted.shift(said.probs))
    found = np.average(shift**norm, weights=said.weights) ** (1 / norm)
    expected = cal.binned_error(said.labels, said.probs, bins=bins, norm=norm, counts=said.weights).value
    # a root loses half the digits of a square that is rounding error alone
    assert found == pytest.approx(expected, abs=ROUNDING if norm == 1 else 1e-8)
    if norm == 2:
        assert found**2 == pytest.approx(expected**2, abs=ROUNDING)


def test_the_mean_prediction_of_a_bin_becomes_its_rate(rng):
    probs = rng.uniform(0.3, 0.7, 400)
    labels = (rng.random(400) < probs).astype(int)
    mended = cal.maps.UnitSlopeBins(EqualMass(6)).fit(labels, probs).apply(probs)
    table = cal.binned_error(labels, probs, bins=EqualMass(6)).parts["bins"]
    where = np.searchsorted(table.high[:-1], probs)
    means = np.bincount(where, mended) / np.bincount(where)
    assert means == pytest.approx(table.label_rate, abs=ROUNDING)


def test_what_would_leave_the_unit_interval_stops_before_its_end():
    labels, probs = [0, 0, 1, 1], [0.1, 0.3, 0.7, 0.9]
    bins = EqualWidth(2)  # the shifts are −0.2 and 0.2
    assert cal.maps.UnitSlopeBins(bins, bounded=False).fit(labels, probs).apply(probs) == pytest.approx(
        [0, 0.1, 0.9, 1]
    )
    assert cal.maps.UnitSlopeBins(bins).fit(labels, probs).apply(probs) == pytest.approx([0.1, 0.1, 0.9, 0.9])


def test_a_bin_without_rows_is_left_as_it_is():
    fitted = cal.maps.UnitSlopeBins(EqualWidth(4)).fit([0, 1], [0.1, 0.9])
    assert fitted.apply([0.3, 0.6]).tolist() == [0.3, 0.6]


def test_scores_of_zero_are_not_put_into_an_empty_bin():
    # the first cut comes before the four zeros: four rows are more than a third
    fitted = cal.maps.UnitSlopeBins(EqualMass(3)).fit([1, 0, 0, 0, 1] + [1] * 5, [0, 0, 0, 0, 0.5] + [0.9] * 5)
    assert fitted.shift([0.0, 0.9]) == pytest.approx([0.3, 0.1])


@pytest.mark.parametrize(
    "bins", [EqualWidth(4, closed="left"), EqualMass(4, ties="split"), cal.Edges([0, 1], ends=False)], ids=str
)
@pytest.mark.parametrize("recipe", [cal.maps.UnitSlopeBins, cal.maps.ScalingBinning])
def test_bins_that_a_step_cannot_hold_are_refused(recipe, bins):
    with pytest.raises(InputError, match=r"bins must (be closed on the right and keep ties together|hold every row)"):
        recipe(bins)


@pytest.mark.parametrize("recipe", [cal.maps.UnitSlopeBins, cal.maps.ScalingBinning, cal.Histogram])
def test_a_number_means_bins_of_equal_mass(recipe):
    rows = [0, 1, 0, 1, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9]
    assert (recipe(3).fit(*rows).apply(rows[1]) == recipe(EqualMass(3)).fit(*rows).apply(rows[1])).all()
    with pytest.raises(InputError, match="bins must be a number of bins, EqualWidth"):
        recipe("mass").fit(*rows)


@pytest.mark.parametrize(("bins", "estimator"), [("sweep", cal.sweep_error), ("cv", cal.crossvalidated_error)])
def test_the_data_choose_as_many_bins_as_for_the_error(rng, bins, estimator):
    probs = rng.random(700).round(2)
    labels = (rng.random(700) < probs**1.5).astype(int)
    expected = estimator(labels, probs)
    fitted = cal.maps.UnitSlopeBins(bins).fit(labels, probs)
    by_number = cal.maps.UnitSlopeBins(expected.settings["n_bins"]).fit(labels, probs)
    assert fitted == by_number
    assert cal.fitted_error(labels, probs, method=cal.maps.UnitSlopeBins(bins)).value == pytest.approx(expected.value)


def test_without_a_tolerance_more_bins_may_be_chosen(rng):
    probs = rng.random(2000)
    labels = (rng.random(2000) < probs**1.1).astype(int)
    few, many = (len(cal.maps.UnitSlopeBins("cv", tolerance=t).fit(labels, probs).shifts) for t in (0.9, 0))
    assert few == 1
    assert many == cal.crossvalidated_error(labels, probs, tolerance=0).settings["n_bins"] > 1
    with pytest.raises(InputError, match="tolerance must lie in"):
        cal.crossvalidated_error(labels, probs, tolerance=-0.1)
