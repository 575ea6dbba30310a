"""Histogram binning."""

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from tolerances import ROUNDING


def test_a_histogram_says_the_rate_of_the_bin(rng):
    probs = rng.random(300)
    labels = (rng.random(300) < probs).astype(int)
    fitted = cal.Histogram(cal.EqualMass(7), bounded=False).fit(labels, probs)
    table = cal.binned_error(labels, probs, bins=cal.EqualMass(7)).parts["bins"]
    assert fitted.heights == pytest.approx(table.label_rate, abs=ROUNDING)
    assert cal.binned_error(labels, fitted.apply(probs), bins=cal.EqualWidth(1000)).value == pytest.approx(
        0, abs=ROUNDING
    )


def test_the_certificate_is_that_of_gupta_and_ramdas():
    probs = np.linspace(0.01, 0.99, 100)
    fitted = cal.Histogram(cal.EqualMass(5)).fit(np.arange(100) % 2, probs)
    assert fitted.certificate(0.1) == pytest.approx(np.sqrt(np.log(2 * 5 / 0.1) / (2 * 19)))
    assert cal.Histogram(cal.EqualMass(100)).fit(np.arange(100) % 2, probs).certificate() == 1
    with pytest.raises(InputError, match="risk must lie between 0 and 1; it is 2"):
        fitted.certificate(2)


def test_the_certificate_holds_on_simulated_data(rng):
    held = []
    for _ in range(200):
        probs = rng.integers(0, 10, 1000) / 10 + 0.05
        fitted = cal.Histogram(cal.EqualMass(10), bounded=False).fit(rng.random(1000) < probs**2, probs)
        values = np.unique(probs)
        held.append(np.abs(fitted.apply(values) - values**2).max() <= fitted.certificate(0.1))
    assert np.mean(held) >= 0.9


def test_neither_claims_to_be_injective_or_to_keep_the_ranking(rng):
    for recipe in (cal.Isotonic(), cal.Histogram()):
        fitted = recipe.fit([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
        assert not fitted.injective
        assert not fitted.keeps_ranking


@pytest.mark.parametrize("bins", [cal.EqualWidth(4, closed="left"), cal.EqualMass(4, ties="split")], ids=str)
def test_bins_that_a_step_cannot_hold_are_refused(bins):
    with pytest.raises(InputError, match="bins must be closed on the right and keep ties together; it is Equal"):
        cal.Histogram(bins).fit([0, 1, 0, 1], [0.1, 0.25, 0.5, 0.9])


def test_an_empty_bin_goes_with_the_one_above():
    fitted = cal.Histogram(cal.EqualWidth(4), bounded=False).fit([0, 1], [0.1, 0.9])
    assert fitted.apply([0.2, 0.3, 0.6]).tolist() == [0.0, 1.0, 1.0]
