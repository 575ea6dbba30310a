"""Isotonic regression and its centered form."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.isotonic import IsotonicRegression

import calibrant as cal
import strategies as some
from calibrant.maps import CenteredIsotonic
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


def centered(labels, probs):
    """Centered isotonic regression from its definition: a block of the isotonic fit becomes one point at its mean."""
    fit = IsotonicRegression(y_min=0, y_max=1).fit_transform(probs, labels)
    order = np.argsort(probs, kind="stable")
    points = []
    for rate in np.unique(fit):
        x = np.sort(probs[fit == rate])
        points += [(x[0], rate), (x[-1], rate)] if rate in (0, 1) else [(x.mean(), rate)]
    assert (np.diff(fit[order]) >= 0).all()
    x, y = np.array(sorted(set(points))).T
    return lambda p: np.interp(p, x, y)


@pytest.mark.parametrize("n", [1, 5, 40, 300])
def test_centered_is_its_definition(rng, n):
    probs = rng.random(n).round(2 if n < 100 else 3)
    labels = (rng.random(n) < probs).astype(int)
    at = np.linspace(0, 1, 101)
    fitted = CenteredIsotonic(bounded=False).fit(labels, probs)
    assert fitted.apply(at) == pytest.approx(centered(labels, probs)(at), abs=ROUNDING)
    assert fitted.method == "centered_isotonic"
    bounded = CenteredIsotonic().fit(labels, probs).apply(at)
    assert bounded == pytest.approx((fitted.apply(at) * n + 0.5) / (n + 1), abs=ROUNDING)


def test_counts_are_rows_repeated(rng):
    probs, counts = rng.random(50), rng.integers(0, 4, 50)
    labels = (rng.random(50) < probs).astype(int)
    counted = CenteredIsotonic().fit(labels, probs, counts=counts).apply(probs)
    repeated = CenteredIsotonic().fit(np.repeat(labels, counts), np.repeat(probs, counts)).apply(probs)
    assert counted == pytest.approx(repeated, abs=ROUNDING)


@pytest.mark.slow
def test_centered_follows_a_rising_truth_more_closely(rng):
    at = np.linspace(0.02, 0.98, 49)
    gaps = {CenteredIsotonic: [], cal.Isotonic: []}
    for _ in range(200):
        probs = rng.random(200)
        labels = (rng.random(200) < probs**1.5).astype(int)
        for recipe, each in gaps.items():
            each.append(np.mean((recipe().fit(labels, probs).apply(at) - at**1.5) ** 2))
    better = np.array(gaps[cal.Isotonic]) - gaps[CenteredIsotonic]
    assert better.mean() > 4 * better.std() / np.sqrt(200)


def test_centered_steps_rise_strictly(rng):
    probs = rng.random(500)
    fitted = cal.maps.CenteredIsotonic().fit((rng.random(500) < probs).astype(int), probs)
    assert (np.diff(fitted.y)[1:-1] > 0).all()  # the first and the last step may be level, at 0 and 1
    assert (np.diff(fitted.x) > 0).all()
