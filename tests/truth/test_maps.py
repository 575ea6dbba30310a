"""What is claimed of recalibration maps, on worlds whose truth is known. Seeds are fixed; standard errors computed here."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import EqualMass
from tolerances import ROUNDING, STANDARD_ERRORS

pytestmark = pytest.mark.slow


def assert_mean(values, truth):
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - truth) <= STANDARD_ERRORS * error, (values.mean(), truth, error)


# Map error = calibration error left + refinement lost (Kängsepp et al. 2023, Theorem 3). The model says one of 40 levels,
# which happen at the rate p^1.5, so that every expectation over the population is a sum.

LEVELS = (np.arange(40) + 0.5) / 40
SHARES = LEVELS / LEVELS.sum()
RATES = LEVELS**1.5

MAPS = {
    "binned": cal.Histogram(EqualMass(5)),
    "average of bins": cal.maps.BayesianBinning(),
    "spline": cal.maps.Spline("cubic", n_knots=5),
    "logistic": cal.Platt(),
}
each = pytest.mark.parametrize("recipe", MAPS.values(), ids=MAPS)


def squared(said, truth):
    return (said - truth) ** 2


def kullback_leibler(said, truth):
    return truth * np.log(truth / said) + (1 - truth) * np.log((1 - truth) / (1 - said))


def sample(rng, n):
    which = rng.choice(40, n, p=SHARES)
    return rng.random(n) < RATES[which], LEVELS[which]


def decomposed(fitted, divergence):
    """Map error, calibration error left and refinement lost, over the population."""
    mended = fitted.apply(LEVELS)
    same = mended[:, None] == mended
    meant = same @ (SHARES * RATES) / (same @ SHARES)  # the rate among all predictions that now say the same
    pairs = ((mended, RATES), (mended, meant), (meant, RATES))
    return tuple(float(SHARES @ divergence(said, truth)) for said, truth in pairs)


@each
def test_outcomes_show_the_map_error_less_the_refinement_lost(rng, recipe):
    fitted = recipe.fit(*sample(rng, 500))
    whole, _, lost = decomposed(fitted, squared)
    mended = np.unique(fitted.apply(LEVELS))
    bins = cal.Edges([0, *(mended[1:] + mended[:-1]) / 2, 1])  # one value a bin: the debiased square is unbiased

    def left():
        labels, probs = sample(rng, 20_000)
        options = {"bins": bins, "norm": 2, "debiased": True, "root": False, "clip": False}
        return cal.binned_error(labels, fitted.apply(probs), **options).value

    assert_mean([left() for _ in range(500)], whole - lost)
    assert (lost < ROUNDING) or not fitted.injective


@each
@pytest.mark.parametrize("divergence", [squared, kullback_leibler])
def test_the_parts_add_up_for_every_bregman_divergence(rng, recipe, divergence):
    fitted = recipe.fit(*sample(rng, 500))
    whole, left, lost = decomposed(fitted, divergence)
    assert whole == pytest.approx(left + lost, abs=ROUNDING)
    assert lost < ROUNDING or not fitted.injective
    assert lost > 1e-4 or not isinstance(recipe, cal.Histogram)


# Venn–Abers: of the pair, the one for what happens is calibrated, however small the sample and wrong the model.


@pytest.mark.parametrize("n", [5, 30])
def test_the_right_one_of_the_pair_is_calibrated(rng, n):
    said, happened = [], []
    for _ in range(6000):
        probs = rng.random(n + 1)
        labels = rng.random(n + 1) < probs**3
        low, high = cal.VennAbers().fit(labels[:-1], probs[:-1]).interval(probs[-1:])
        said.append(float(high[0] if labels[-1] else low[0]))
        happened.append(float(labels[-1]))
    gaps = np.array(happened) - said
    for test in (np.ones(6000), np.array(said), np.array(said) < 0.2, np.array(said) > 0.6):
        assert_mean(gaps * test, 0.0)
