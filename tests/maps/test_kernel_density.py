"""The kernel estimate of the rate, as a map."""

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
import strategies as some
from calibrant import InputError
from calibrant.kernels.fit.smooth_rate import smooth_rate
from calibrant.maps import kernel_density
from tolerances import ROUNDING


def triweight_rate(labels, probs, weights, at, width):
    """By the definition, with the images of all rows at −p and 2 − p."""
    points = np.concatenate([-probs, probs, 2 - probs])
    u = (at[:, None] - points) / width
    kernel = np.where(np.abs(u) < 1, (1 - u**2) ** 3, 0) * np.tile(weights, 3)
    return kernel @ np.tile(labels, 3) / kernel.sum(axis=1)


@pytest.mark.parametrize("width", [0.05, 0.4, 1.0])
def test_it_is_the_ratio_of_kernel_sums(rng, width):
    probs, weights = rng.random(200), rng.integers(1, 4, 200)
    labels = (rng.random(200) < probs).astype(int)
    fitted = cal.maps.KernelDensity(width, bounded=False).fit(labels, probs, counts=weights)
    np.testing.assert_allclose(fitted.apply(probs), triweight_rate(labels, probs, weights, probs, width), atol=1e-10)


@given(said=some.events())
def test_its_distance_from_the_predictions_is_the_kde_error(said):
    fitted = cal.maps.KernelDensity(bounded=False).fit(said.labels, said.probs, counts=said.weights)
    gaps = np.abs(fitted.at(said.probs.astype(np.float64)) - said.probs)
    expected = cal.density_error(said.labels, said.probs, counts=said.weights).value
    assert np.average(gaps, weights=said.weights) == pytest.approx(expected, abs=ROUNDING)


def test_far_from_every_score_the_nearest_one_decides():
    fitted = cal.maps.KernelDensity(0.05, bounded=False).fit([0, 1], [0.2, 0.8])
    assert fitted.apply([0.0, 0.4, 0.6, 1.0]) == pytest.approx([0, 0, 1, 1], abs=1e-9)


def test_many_scores_are_pooled_with_little_loss(rng):
    probs = rng.beta(2, 0.5, 50_000)
    labels = (rng.random(50_000) < probs**1.5).astype(int)
    said = cal.Predictions(labels, probs)
    fitted = cal.maps.KernelDensity(bounded=False).fit(said)
    assert len(fitted.values) < kernel_density.MOST_POINTS
    exact, _ = smooth_rate(probs, said.event("binary").pooled, fitted.bandwidth)
    assert np.abs(fitted.apply(probs) - exact).max() < 1e-5  # as its docstring says


def test_equal_scores_are_not_smoothed():
    fitted = cal.maps.KernelDensity().fit([0, 1, 1, 1], [0.3] * 4)
    assert fitted.apply([0.0, 0.3, 1.0]) == pytest.approx([0.75] * 3)
    assert "a bandwidth of 0 smooths nothing" in fitted.fit.cautions[-1]
    assert cal.maps.CalibrationMap.from_json(fitted.to_json()) == fitted


@pytest.mark.parametrize("bandwidth", [0, -1, 2, True, "wide"])
def test_a_wrong_bandwidth_is_refused(bandwidth):
    with pytest.raises(InputError, match=r"bandwidth must lie in \(0, 1\]; it is"):
        cal.maps.KernelDensity(bandwidth)
