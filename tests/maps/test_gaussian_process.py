"""The Gaussian-process map: its posterior against slow twins, its band against known truths, and data that say little."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.kernels.fit.log_odds_process import MAP_PRIORS, dealt, posteriors, prior_features
from calibrant.kernels.logits import log_odds, sigmoid
from calibrant.maps.gaussian_process import OPEN

LINES, BENDS, LENGTHS_IN_P, LENGTHS_IN_Z, _ = MAP_PRIORS

TRAPS = {
    "all equal": ([0, 1, 1, 0, 1], [0.3] * 5),
    "one class": ([1] * 500, np.linspace(0.01, 0.99, 500)),
    "one row": ([1], [0.4]),
    "two rows": ([0, 1], [0.4, 0.6]),
    "exact 0 and 1": ([0, 1, 0, 1] * 150, [0.0, 1.0, 1.0, 0.0] * 150),
    "heavy ties": ([0, 1, 1] * 400, np.repeat([0.1, 0.5, 0.9], 400)),
    "near ties": ([0, 1] * 500, 0.5 + np.arange(1000) * 1e-16),
    "narrow band": ([0, 1, 0, 0] * 250, 0.7 + np.linspace(0, 1e-6, 1000)),
    "separable": ([0] * 500 + [1] * 500, np.linspace(0.01, 0.99, 1000)),
    "turned round": ([1] * 500 + [0] * 500, np.linspace(0.01, 0.99, 1000)),
    "saturated": ([1] * 990 + [0] * 10, 1 - np.geomspace(1e-300, 1e-3, 1000)),
}


def covariances(z):
    """Every prior of the grid, as it is defined."""
    lines = [a**2 * (1 + np.outer(z, z)) for a in LINES]
    found = [*lines]
    for place, lengths in ((sigmoid(z), LENGTHS_IN_P), (z, LENGTHS_IN_Z)):
        for length in lengths:
            bend = np.exp(-0.5 * (np.subtract.outer(place, place) / length) ** 2)
            found += [line + q**2 * bend for line in lines for q in BENDS]
    return found


def cells(rng, m=12):
    z = np.sort(rng.normal(0, 2, m))
    w = rng.integers(0, 40, m).astype(float)
    return z, w, rng.binomial(w.astype(int), sigmoid(0.5 * z + np.sin(z))).astype(float)


def before(straight):
    """What each prior weighs before the data: the straight lines `straight` together, the bends the rest."""
    bends = len(LINES) * len(BENDS) * (len(LENGTHS_IN_P) + len(LENGTHS_IN_Z))
    return np.append(np.full(len(LINES), straight / len(LINES)), np.full(bends, (1 - straight) / bends))


def test_features_are_roots_of_the_priors(rng):
    z, _, _ = cells(rng)
    features = [phi for stacked in prior_features(z) for phi in stacked]
    for phi, covariance in zip(features, covariances(z), strict=True):
        assert phi @ phi.T == pytest.approx(covariance, abs=1e-8)


def test_the_posterior_is_laplaces_approximation(rng):
    """With full covariance matrices K: at the mode f = K·slope, the variance is that of (K⁻¹ + W)⁻¹, the evidence |I + KW|."""
    z, w, s = cells(rng)
    found = posteriors(z, w, s)
    evidence = []
    for mean, variance, prior in zip(found.mean, found.variance(), covariances(z), strict=True):
        f, slope, curvature = mean - z, s - w * sigmoid(mean), w * sigmoid(mean) * sigmoid(-mean)
        assert f == pytest.approx(prior @ slope, abs=1e-5)
        gain = np.linalg.solve(np.eye(len(z)) + prior * curvature, prior)
        assert variance == pytest.approx(np.diag(gain), abs=1e-6)
        fitted = (s * mean - w * np.logaddexp(0, mean)).sum()
        logdet = np.linalg.slogdet(np.eye(len(z)) + prior * curvature)[1]
        evidence.append(fitted - 0.5 * f @ slope - 0.5 * logdet)
    share = before(0.7) * np.exp(evidence - np.max(evidence))
    assert found.share(0.7) == pytest.approx(share / share.sum(), abs=1e-6)


def test_draws_have_the_moments_of_the_mixture(rng):
    z, w, s = cells(rng)
    found = posteriors(z, w, s)
    share = found.share(0.5)
    rng = np.random.default_rng(1)
    drawn = found.drawn(dealt(share, 20_000, rng), rng)
    mean = share @ found.mean
    variance = share @ (found.variance() + (found.mean - mean) ** 2)
    assert len(drawn) == 20_000
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * np.sqrt(variance / 20_000)).all()
    assert drawn.var(axis=0) == pytest.approx(variance, rel=0.1)  # ten standard errors of a normal variance


def world(rng, n, bent=True):
    truth = rng.random(n)
    said = truth + 0.06 * np.sin(3 * np.pi * truth) if bent else truth
    return (rng.random(n) < truth).astype(int), said


def test_it_is_closer_to_a_bent_truth_than_a_sigmoid(rng):
    labels, said = world(rng, 10_000)
    truth = np.linspace(0.01, 0.99, 99)
    at = truth + 0.06 * np.sin(3 * np.pi * truth)
    error = {
        recipe: np.abs(recipe.fit(labels, said).apply(at) - truth).mean()
        for recipe in (cal.maps.GaussianProcessMap(), cal.Platt(), cal.Beta())
    }
    ours, *others = error.values()
    assert ours < 0.5 * min(others)
    assert ours < 0.015


def test_calibrated_data_are_left_nearly_alone(rng):
    labels, said = world(rng, 10_000, bent=False)
    grid = np.linspace(0.01, 0.99, 99)
    assert np.abs(cal.maps.GaussianProcessMap().fit(labels, said).apply(grid) - grid).mean() < 0.01


@pytest.mark.slow
def test_over_maps_drawn_from_the_priors_the_band_holds_as_often_as_it_says(rng):
    """What a posterior promises, whatever the approximation of Laplace and the cells take away."""
    held = []
    for _ in range(200):
        probs = np.sort(rng.random(1500))
        z = log_odds(probs)
        grid = np.linspace(z[0], z[-1], 150)
        features = [phi for stacked in prior_features(grid) for phi in stacked][rng.choice(100, p=before(OPEN))]
        drawn = features @ rng.normal(size=features.shape[1])
        labels = (rng.random(1500) < sigmoid(z + np.interp(z, grid, drawn))).astype(int)
        band = cal.maps.GaussianProcessMap().fit(labels, probs).band(0.9)
        at = log_odds(band.x)
        truth = sigmoid(at + np.interp(at, grid, drawn))
        held.append(
            np.mean((band.low <= truth + 1e-12) & (truth <= band.high + 1e-12))
        )  # the identity may be all there is
    assert np.mean(held) == pytest.approx(0.9, abs=3 * np.std(held) / np.sqrt(len(held)))


def test_a_higher_level_makes_a_wider_band(rng):
    fitted = cal.maps.GaussianProcessMap().fit(*world(rng, 1000))
    narrow, wide = fitted.band(0.5), fitted.band(0.99)
    assert (wide.low < narrow.low).all()
    assert (narrow.high < wide.high).all()
    assert wide.support.sum() == pytest.approx(1)
    assert wide.y == pytest.approx(fitted.apply(wide.x), abs=1e-9)


@pytest.mark.parametrize("level", [0, 1, 1.5, True, "0.9"])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError, match="level must lie between 0 and 1; it is"):
        cal.maps.GaussianProcessMap().fit([0, 1], [0.2, 0.7]).band(level)


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_give_probabilities(trap):
    labels, probs = TRAPS[trap]
    fitted = cal.maps.GaussianProcessMap().fit(labels, probs)
    mended = fitted.apply(np.concatenate([probs, np.linspace(0, 1, 101), [1e-300, 1e-9, 1 - 1e-9]]))
    band = fitted.band()
    assert np.isfinite(mended).all()
    assert ((mended > 0) & (mended < 1)).all()
    assert (np.isfinite(band.low) & np.isfinite(band.high) & (band.low <= band.high)).all()
    assert (np.diff(fitted.knots) >= 0).all()


def test_beyond_the_data_the_slope_is_one(rng):
    fitted = cal.maps.GaussianProcessMap().fit([0, 1, 1, 0] * 50, np.linspace(0.3, 0.7, 200))
    assert np.diff(log_odds(fitted.apply(sigmoid(np.array([3.0, 4.0]))))) == pytest.approx([1.0])


def test_the_ends_of_the_data_are_in_the_table(rng):
    probs = rng.random(5000)
    fitted = cal.maps.GaussianProcessMap().fit((rng.random(5000) < probs).astype(int), probs)
    assert len(fitted.knots) == 102
    assert sigmoid(fitted.knots[[0, -1]]) == pytest.approx([probs.min(), probs.max()])
    assert fitted.support[[0, -1]].tolist() == [0, 0]


@pytest.mark.parametrize(("labels", "words"), [([0, 0], "never occurred"), ([1, 1], "always occurred")])
def test_data_that_say_little_are_named(labels, words):
    fitted = cal.maps.GaussianProcessMap().fit(labels, [0.0, 0.0])
    told = " ".join(fitted.fit.cautions)
    assert words in told
    assert "all predictions are equal" in told
    assert "of 0 or 1 are read as so far away" in told


def test_float32_ones_stay_in_order():
    """The last float32 below 1 must not come after 1 itself."""
    probs = np.array([0.5, 1 - 2**-24, 1.0] * 100, dtype=np.float32)
    fitted = cal.maps.GaussianProcessMap().fit([0, 1, 1] * 100, probs)
    assert (np.diff(fitted.knots) >= 0).all()
