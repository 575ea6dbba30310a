"""The families of curves behind the error: which one wins, and what it draws."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.kernels.fit.error_curves import (
    CURVE_WEIGHTS,
    ERROR_WEIGHTS,
    _before,
    _families,
    error_curves,
)
from calibrant.kernels.logits import log_odds, sigmoid

P = np.linspace(0.005, 0.995, 100)
NONE = np.zeros(100, dtype=bool)


def shares(curve, rows, of="share"):
    """Posterior probability of each family, if the hits are what the curve expects."""
    w = np.full(100, rows / 100)
    z = log_odds(P)
    found = error_curves(z, w, w * curve, NONE)
    sizes = [len(features) for _, features in _families(z, w, NONE)]
    share = getattr(found, of)
    assert share.sum() == pytest.approx(1)
    each = np.split(share, np.cumsum(sizes))
    named = {"right": 0, "line": 1, "wave": -4, "tail": -3, "hill": -2, "stretch": -1}
    return {name: each[at].sum() for name, at in named.items()}


@pytest.mark.parametrize(
    ("family", "curve"),
    [
        ("right", P),
        ("line", sigmoid(0.7 * log_odds(P) + 0.2)),
        ("wave", P + 0.08 * np.sin(2 * np.pi * 5 * P) * np.minimum(1, 20 * np.minimum(P, 1 - P))),
        ("tail", np.where(P > 0.9, P - 0.1, P)),
        ("stretch", P - 0.3 * ((P > 0.7) & (P < 0.75))),
    ],
)
def test_the_family_that_made_the_rates_wins(family, curve):
    found = shares(curve, 40_000)
    assert max(found, key=found.get) == family


def test_a_hill_wins_where_the_question_is_the_error():
    found = shares(P - 0.15 * np.clip(1 - np.abs(P - 0.65) / 0.1, 0, 1), 40_000, "error_share")
    assert found["hill"] > 0.9


@pytest.mark.parametrize("weights", [CURVE_WEIGHTS, ERROR_WEIGHTS])
def test_the_weights_are_a_prior(weights):
    stacks = [(name, len(features)) for name, features in _families(log_odds(P), np.ones(100), NONE)]
    before = _before(weights, [*stacks, ("stretch", 3), ("place", 1)])
    assert before.sum() == pytest.approx(1)
    names = np.repeat([name for name, _ in stacks], [n for _, n in stacks])
    bends = before[: len(names)][names == "bend"].reshape(-1, len(weights["bend"]))
    assert bends.sum(axis=0) == pytest.approx(weights["bend"])  # small to large


def test_one_short_stretch_is_looked_for_alone():
    """In few rows."""
    curve = P - 0.35 * ((P > 0.7) & (P < 0.75))
    w = np.full(100, 20.0)
    found = error_curves(log_odds(P), w, w * curve, NONE)
    assert found.share[-1] > 0.5
    assert found.error_share[-1] < found.square_share[-1]
    for share in (found.share, found.error_share, found.square_share):
        drawn = sigmoid(found.drawn(500, np.random.default_rng(0), share)) - P
        assert drawn[:, 72].mean() < -0.15


def test_draws_lie_around_the_curve_that_many_rows_show():
    z, w = log_odds(P), np.full(100, 2000.0)
    curve = P - 0.3 * ((P > 0.7) & (P < 0.75))
    drawn = sigmoid(error_curves(z, w, w * curve, NONE).drawn(1000, np.random.default_rng(0)))
    assert drawn.shape == (1000, 100)
    assert np.abs(drawn.mean(axis=0) - curve).max() < 0.02


def test_certain_cells_have_rates_of_their_own():
    """Wrong zeros and ones leave the calibrated cells between them where they are."""
    p = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    z, w = np.clip(log_odds(p), -10, 10), np.full(6, 200.0)
    drawn = sigmoid(error_curves(z, w, w * np.clip(p, 0.1, 0.9), np.abs(z) == 10).drawn(1000, np.random.default_rng(0)))
    assert np.abs(drawn.mean(axis=0) - np.clip(p, 0.1, 0.9)).max() < 0.025
