"""Worlds that data leave possible, and biases over several worlds."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import BetaWorld, ScaledCurve, bias, power_world
from calibrant.simulate.curves import CellCurve
from calibrant.simulate.measuring import named_all
from calibrant.simulate.possible import PossibleWorlds, bias_over

ECE = named_all({"ECE": cal.ece})[0]


@pytest.mark.slow
@pytest.mark.parametrize("smooth", [False, True])
def test_worlds_have_the_scores_of_the_data_and_curves_near_the_truth(smooth):
    data = power_world(0.15).sample(3000, seed=0)
    found = PossibleWorlds.of(data, 10, smooth)
    assert len(found.worlds) == 10
    np.testing.assert_array_equal(np.unique(data.probs), found.worlds[0].values)
    p = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(found.mean.curve(p), power_world(0.15).curve(p), atol=0.06)
    errors = [each.true_error() for each in found.worlds]
    assert min(errors) < max(errors)
    assert np.mean(errors) == pytest.approx(0.15, abs=0.03)
    assert "10 curves that the data leave possible" in found.describe()
    assert PossibleWorlds.from_json(found.to_json()) == found


def test_weights_are_those_of_the_scores(rng):
    p = rng.random(300)
    data = cal.Predictions(rng.random(300) < p, p, counts=rng.integers(1, 4, 300))
    found = PossibleWorlds.of(data, 2)
    assert found.weights.sum() == data.event("binary").pooled.total


def test_a_curve_of_cells_is_straight_between_them():
    curve = CellCurve(np.array([0.2, 0.6]), np.array([0.1, -0.1]))
    p = np.array([0.0, 0.2, 0.4, 0.6, 1.0, 0.95])
    np.testing.assert_allclose(curve.rates(p, 1 - p), [0.1, 0.3, 0.4, 0.5, 0.9, 0.85])
    steep = CellCurve(np.array([0.2, 0.6]), np.array([-0.5, 0.9]))
    assert steep.rates(p, 1 - p).tolist()[:2] == [0.0, 0.0]


def test_one_world_is_the_bias_in_it():
    world = power_world(0.1)
    (found,), each = bias_over(ECE, [world], 200, 40, 0, "one")
    again = bias(cal.ece, world, 200, 40)
    assert (found.mean, found.sd, found.truth, found.rmse) == (again.mean, again.sd, again.truth, again.rmse)
    assert each[0, 0] == pytest.approx(again.bias)


def test_what_takes_long_is_shared_after_two_parts_and_stays_the_same(monkeypatch):
    worlds, shared = [BetaWorld(2.0, 1.0, ScaledCurve(k)) for k in (0.5, 0.6, 0.7, 0.9)], []
    alone = bias_over(ECE, worlds, 200, 40, 0, "four", workers=1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(
        "joblib.Parallel", lambda **how: lambda tasks: shared.append(how) or (f(*a, **k) for f, a, k in tasks)
    )
    for seconds, n_jobs in ((1e9, []), (0.0, [2])):
        shared.clear()
        monkeypatch.setattr("calibrant.simulate.measuring.WORTH_SECONDS", seconds)
        found = bias_over(ECE, worlds, 200, 40, 0, "four")
        np.testing.assert_array_equal(found[1], alone[1])
        assert [how["n_jobs"] for how in shared] == n_jobs
    with pytest.raises(cal.InputError, match="workers"):
        bias_over(ECE, worlds, 200, 40, 0, "four", workers=0)


def test_several_worlds_count_against_their_own_truths():
    worlds = [BetaWorld(2.0, 1.0, ScaledCurve(k)) for k in (0.5, 0.9)]
    seen = []
    (found,), each = bias_over(ECE, worlds, 2000, 40, 0, "two", progress=lambda *step: seen.append(step))
    assert found.n_data_sets == 40
    assert found.truth == pytest.approx(np.mean([w.true_error() for w in worlds]))
    assert found.bias == pytest.approx(each.mean())
    assert found.sd < 0.02  # not the distance between the two errors, 0.27
    assert seen[-1] == (40, 40)
    assert seen == sorted(seen)
