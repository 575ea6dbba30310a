"""Isotonic regression and histogram binning."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.isotonic import IsotonicRegression

import calibrant as cal
import strategies as some
from calibrant import InputError
from tolerances import ROUNDING


@given(said=some.events())
def test_isotonic_is_scikit_learns(said):
    probs = said.probs.astype(np.float64).round(3)  # scikit-learn takes predictions closer than rounding for one
    weights = np.ones(said.n) if said.weights is None else said.weights
    peer = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    peer.fit(probs[weights > 0], said.labels[weights > 0], sample_weight=weights[weights > 0])
    fitted = cal.Isotonic(bounded=False).fit(said.labels, probs, counts=said.weights)
    at = np.concatenate([probs, np.linspace(0, 1, 50)])
    assert fitted.apply(at) == pytest.approx(peer.predict(at), abs=1e-9)


def test_bounded_heights_keep_the_log_score_finite():
    labels, probs = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
    fitted = cal.Isotonic().fit(labels, probs)
    assert fitted.apply([0.0, 1.0]) == pytest.approx([0.1, 0.9])  # 1/(n+1) of the way to one half
    assert np.isfinite(cal.log_score([1, 0], fitted.apply([0.0, 1.0])).value)


def test_centred_steps_rise_strictly(rng):
    probs = rng.random(500)
    fitted = cal.Isotonic(centred=True).fit((rng.random(500) < probs).astype(int), probs)
    assert (np.diff(fitted.y) > 0).all()
    assert (np.diff(fitted.x) > 0).all()


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
