"""How large can the calibration error be at most?"""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError, upper_bound
from calibrant.results import Estimate
from registered import SCORES
from tolerances import ROUNDING


class Shifted(cal.score.BrierScore):
    """A score whose best is not 0."""

    name, title, infimum = "shifted", "shifted score", -1.0

    def expected(self, probs, truth):
        return super().expected(probs, truth) - 1

    def of_labels(self, probs, labels):
        return super().of_labels(probs, labels) - 1


@pytest.fixture
def predictions(rng):
    probs = rng.dirichlet(np.ones(3), 200)
    return cal.Predictions(rng.integers(0, 3, 200), probs)


@pytest.mark.parametrize("name", SCORES)
def test_the_bound_is_the_score_less_its_infimum(predictions, name):
    found, score = upper_bound(predictions, score=name), SCORES[name].score(predictions)
    assert found.value == score.value - SCORES[name].infimum
    assert (found.interval.low, found.interval.high) == (score.interval.low, score.interval.high)
    assert ("root" in found.parts) == (name == "brier")


def test_the_infimum_is_taken_off(predictions):
    found, plain = upper_bound(predictions, score=Shifted()), upper_bound(predictions)
    assert found.value == pytest.approx(plain.value, abs=ROUNDING)
    assert found.interval.low == pytest.approx(plain.interval.low, abs=1e-8)  # shifted scores lie in other cells
    assert found.settings["infimum"] == -1


@pytest.mark.parametrize("view", ["canonical", "top"])
def test_the_root_is_the_root_brier_score(predictions, view):
    found, expected = upper_bound(predictions, view=view).parts["root"], cal.root_brier(predictions, view=view)
    assert found.value == expected.value
    assert (found.interval.low, found.interval.high) == (expected.interval.low, expected.interval.high)


def test_it_bounds_the_calibration_error(rng):
    q = np.clip(rng.random(2000), 0.01, 0.99)
    p, y = q**3, rng.random(2000) < q
    for score in SCORES.values():
        true = score.divergence(np.stack([1 - p, p], 1), np.stack([1 - q, q], 1)).mean()
        assert upper_bound(y, p, score=score).interval.high > true


def test_it_survives_as_json(predictions):
    found = upper_bound(predictions)
    assert Estimate.from_json(found.to_json()) == found


def test_an_infinite_score_is_no_bound_below_infinity():
    found = upper_bound([1, 0], [0.0, 0.5], score="log")
    assert found.value == np.inf
    assert found.interval is None
    assert "row 0" in found.cautions[0]


def test_a_score_without_infimum_is_refused(predictions):
    class Bottomless(cal.score.BrierScore):
        name, infimum = "bottomless", -np.inf

    with pytest.raises(InputError, match=r"entropy with a finite infimum; that of bottomless is -inf.*use compare"):
        upper_bound(predictions, score=Bottomless())
