"""Decision regret: the formula, what decisions gain, and net benefit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.estimate.regret import THRESHOLDS, _curve, _plug_in, decision_regret
from calibrant.interval import Limits, mean_with_interval
from calibrant.results import Estimate
from naive import data
from tolerances import ROUNDING


def naive_regret(p, c, t, w):
    between = (np.minimum(p, c) < t) & (t <= np.maximum(p, c))
    return np.average(np.abs(c - t) * between, weights=w)


@pytest.mark.slow
@given(data.events(most=20))
def test_the_formula_and_the_gain_at_every_threshold(said):
    rng = np.random.default_rng(said.n)
    rows = Predictions(said.labels, said.probs, counts=said.weights)
    p, y, w = said.probs.astype(np.float64), np.asarray(said.labels), said.weights
    c = np.where(rng.random(said.n) < 0.3, p, rng.choice(np.arange(11) / 10, said.n))
    curve = _curve(rows, c, THRESHOLDS, 0.95)
    for i in range(0, 99, 7):
        t = THRESHOLDS[i]
        assert _plug_in(rows, c, THRESHOLDS)[i] == pytest.approx(naive_regret(p, c, t, w), abs=ROUNDING)
        gains = (y - t) * ((c >= t).astype(float) - (p >= t))
        assert curve.y[i] == pytest.approx(np.average(gains, weights=w), abs=ROUNDING)
        limit = max(t, 1 - t)
        _, interval, _ = mean_with_interval(gains, w, 0.95, Limits(-limit, limit))
        expected = (-limit, limit) if interval is None else (interval.low, interval.high)
        assert (curve.low[i], curve.high[i]) == pytest.approx(expected, abs=1e-6)


def test_in_sample_it_is_the_formula_of_the_fitted_map(rng):
    p = rng.random(300)
    y = rng.random(300) < p**2
    found = decision_regret(y, p, method="beta", cross_fitted=False)
    c = np.clip(p + cal.Beta().fit(y, p).moves(p), 0, 1)
    expected = [naive_regret(p, c, t, None) for t in THRESHOLDS]
    np.testing.assert_allclose(found.parts["curve"].y, expected, rtol=0, atol=ROUNDING)
    assert found.value == pytest.approx(max(expected), abs=ROUNDING)
    assert found.parts["threshold"] == THRESHOLDS[int(np.argmax(expected))]
    assert found.interval is None


def test_net_benefit_is_that_of_decision_curves(rng):
    p = rng.random(200)
    y = rng.random(200) < p
    curves = decision_regret(y, p, method="isotonic").parts["net_benefit"]
    for i in (4, 30, 77):
        t = THRESHOLDS[i]
        acts = p >= t
        expected = (acts & y).mean() - (acts & ~y).mean() * t / (1 - t)
        assert curves["model"].y[i] == pytest.approx(expected, abs=ROUNDING)
        assert curves["always"].y[i] == pytest.approx(y.mean() - (1 - y.mean()) * t / (1 - t), abs=ROUNDING)
    gained = (curves["repaired"].y - curves["model"].y) * (1 - THRESHOLDS)
    np.testing.assert_allclose(gained, decision_regret(y, p, method="isotonic").parts["curve"].y, rtol=0, atol=ROUNDING)


@pytest.mark.slow
def test_a_bad_model_has_regret_and_redraws_tell_it_from_noise(rng):
    p = rng.random(1500)
    bad = decision_regret(rng.random(1500) < p**2, p, method="beta", n_draws=19)
    good = decision_regret(rng.random(1500) < p, p, method="beta", n_draws=19)
    assert bad.interval.low > 0
    assert bad.parts["p_value"] == 1 / 20
    assert good.parts["p_value"] > 1 / 20
    assert abs(bad.noise_floor) < 0.003
    assert good.noise_floor is not None


def test_identity_regrets_nothing(rng):
    p = rng.random(100)
    found = decision_regret(rng.random(100) < 0.5, p, method="identity")
    assert found.value == 0


@pytest.mark.slow
def test_whole_weights_are_rows(rng):
    p, w = rng.random(80), rng.integers(0, 4, 80)
    y = rng.random(80) < p
    weighted = decision_regret(y, p, counts=w, method="isotonic", n_draws=3)
    written = decision_regret(np.repeat(y, w), np.repeat(p, w), method="isotonic")
    assert weighted.value == pytest.approx(written.value, abs=ROUNDING)


def test_groups_stay_together(rng):
    p = np.repeat(rng.random(60), 5)
    y = np.repeat(rng.random(60), 5) < p**2
    alone = decision_regret(y, p, method="beta")
    together = decision_regret(Predictions(y, p, groups=np.repeat(np.arange(60), 5)), method="beta")
    assert together.interval.method == "Student t, clusters"
    assert together.interval.high - together.interval.low > 1.3 * (alone.interval.high - alone.interval.low)


def test_thresholds_of_ones_own():
    found = decision_regret([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4], method="platt", thresholds=[0.5, 0.2])
    assert found.parts["curve"].x.tolist() == [0.2, 0.5]
    assert Estimate.from_json(found.to_json()) == found


def test_what_it_refuses():
    with pytest.raises(InputError, match=r"thresholds must lie between 0 and 1; they run from 0 to 0\.5"):
        decision_regret([0, 1], [0.2, 0.7], thresholds=[0.0, 0.5])
    with pytest.raises(InputError, match="n_draws must be 0; soft labels cannot be redrawn"):
        decision_regret(Predictions([0.2, 0.8], [0.2, 0.7], soft=True), method="platt", n_draws=9)
    with pytest.raises(InputError, match="n_draws must be 0; rows in groups"):
        decision_regret(Predictions([0, 1] * 20, [0.2, 0.7] * 20, groups=np.arange(40) // 2), method="platt", n_draws=9)
