"""Where the model is wrong: against all intervals, with a p-value that knows of the search."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given

import calibrant as cal
from calibrant import InputError, Predictions
from calibrant.verbs.where import Where, where
from calibrant.verbs.where import _percent as percent
from naive import data
from tolerances import ROUNDING


def every_interval(labels, probs, weights):
    """|Σ w(p − y)| / Σw over every interval of predictions, and the ends of the interval."""
    p, y = np.asarray(probs, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    places = sorted(set(p[w > 0]))
    for low, high in itertools.combinations_with_replacement(places, 2):
        inside = (p >= low) & (p <= high)
        yield abs((w * (p - y))[inside].sum()) / w.sum(), low, high


@given(data.events(most=15))
def test_no_interval_is_worse(said):
    found = where(said.labels, said.probs, counts=said.weights, n_draws=0)
    sums = list(every_interval(said.labels, said.probs, said.weights))
    assert found.value == pytest.approx(max(size for size, *_ in sums), abs=ROUNDING)
    assert found.value == pytest.approx(
        cal.ks_error(said.labels, said.probs, statistic="range", counts=said.weights).value, abs=ROUNDING
    )
    if found.value > 1e-9:
        (own,) = [size for size, low, high in sums if (low, high) == (found.low, found.high)]
        assert own == pytest.approx(found.value, abs=ROUNDING)
        total = said.n if said.weights is None else said.weights.sum()
        assert abs(found.gap) * found.rows / total == pytest.approx(found.value, abs=ROUNDING)
        assert ("high" in found.direction) == (found.gap > 0)
    assert Where.from_json(found.to_json()) == found


@given(data.events(most=12, weighted=False))
def test_no_other_cut_beats_the_one_at_the_cost_by_more(said):
    """Costs t of a false alarm and 1 − t of a miss: deciding at t loses at most Δ against any cut; at ½, 2Δ in mistakes."""
    found = where(said.labels, said.probs, n_draws=0)
    p, y = said.probs.astype(np.float64), said.labels
    for t in (0.1, 0.5, 0.8):

        def gain(cut, t=t):
            return ((y - t) * (p >= cut)).mean()

        best = max(gain(cut) for cut in [*p, 2.0])
        assert best - gain(t) <= found.value + ROUNDING
    mistakes = [((p >= cut) != y).mean() for cut in [*p, 2.0]]
    assert ((p >= 0.5) != y).mean() - min(mistakes) <= found.loss_bound + ROUNDING


def test_the_core_is_the_part_with_the_largest_error_for_its_noise(rng):
    for _ in range(20):
        p = rng.uniform(0.1, 0.9, 25)
        y = (rng.random(25) < p**2).astype(int)
        found = where(y, p, n_draws=0)
        sign = 1 if found.gap > 0 else -1

        def clearness(low, high, p=p, y=y, sign=sign):
            inside = (p >= low) & (p <= high)
            variance = (p * (1 - p))[inside].sum()
            return (
                sign * (p - y)[inside].sum() / np.sqrt(variance) if variance >= 0.02 * (p * (1 - p)).sum() else -np.inf
            )

        part = sorted(p[(p >= found.low) & (p <= found.high)])
        best = max(clearness(low, high) for low, high in itertools.combinations_with_replacement(part, 2))
        assert clearness(*found.core) == pytest.approx(best, rel=1e-9)


def test_the_core_finds_an_error_that_chance_has_stretched(rng):
    p = rng.random(20_000)
    found = where(rng.random(20_000) < np.where((p > 0.6) & (p < 0.8), p - 0.15, p), p, n_draws=0)
    assert found.core == pytest.approx((0.6, 0.8), abs=0.03)
    assert found.core_mean_prob - found.core_label_rate == pytest.approx(0.15, abs=0.04)


def test_three_rows_by_hand():
    found = where([0, 1, 1], [0.2, 0.5, 0.6])
    assert (found.low, found.high, found.rows) == (0.5, 0.6, 2)
    assert found.direction == "predicts too low"
    assert found.value == pytest.approx(0.3, abs=ROUNDING)
    assert found.gap == pytest.approx(0.55 - 1, abs=ROUNDING)
    # of the eight outcomes, those whose range is at least 0.9: counted with their chances by hand of a loop
    assert found.p_value == pytest.approx(exact_p([0.2, 0.5, 0.6], 0.9), abs=5 * np.sqrt(0.25 / 999))


def exact_p(probs, size):
    total = 0.0
    for y in itertools.product([0, 1], repeat=len(probs)):
        steps = np.concatenate([[0], np.cumsum(np.array(probs) - y)])
        total += np.prod([p if one else 1 - p for p, one in zip(probs, y, strict=True)]) * (
            np.ptp(steps) >= size - ROUNDING
        )
    return total


def test_a_calibrated_sum_is_nowhere():
    found = where([0, 1], [0.5, 0.5])
    assert found.value == 0
    assert repr(found).startswith("Nowhere")
    assert found.p_value == 1
    assert found.direction == "is right"


def test_held_out_rows_confirm_what_is_there_and_not_what_is_not(rng):
    p = rng.random(6000)
    bad = where(rng.random(6000) < np.where((p > 0.6) & (p < 0.8), p - 0.15, p), p, n_draws=0)
    assert bad.held_out.interval.low > 0
    assert bad.direction == "predicts too high"
    good = where(rng.random(6000) < p, p, n_draws=0)
    assert 0 in good.held_out.interval


def test_groups_stay_together_when_rows_are_held_out(rng):
    p = np.repeat(rng.random(100), 5)
    y = np.repeat(rng.random(100), 5) < p
    found = where(Predictions(y, p, groups=np.repeat(np.arange(100), 5)))
    assert found.held_out.interval.method == "Student t, clusters"
    assert "gap on held-out groups (100 in all), in the direction found" in [row[0] for row in found.tables()[0].rows]
    assert any("rows of a group" in caution for caution in found.cautions)
    whole = where(Predictions(y, p, groups=np.repeat(np.arange(100), 5)), cluster=True)
    assert whole.p_value > found.p_value
    assert not any("rows of a group" in caution for caution in whole.cautions)


def test_too_few_rows_hold_nothing_out():
    assert where([0, 1, 1], [0.2, 0.5, 0.6]).held_out is None
    assert where([0, 1, 0, 1, 1], [0.0, 1.0, 0.0, 1.0, 1.0]).held_out is None  # nor halves without an error


def test_top_confidence_is_over_or_under(rng):
    probs = rng.dirichlet(np.ones(3) / 3, 400)
    found = where(rng.integers(0, 3, 400), probs)
    assert found.direction == "is over-confident"
    assert re.search(r"is over-confident: confidence [\d.]+ %, accuracy [\d.]+ %", repr(found))
    assert found.tables()[0].rows[-1][0] == "p-value, search included"


def test_a_file_of_confidences_is_told_of_confidence_and_accuracy(rng):
    conf = rng.uniform(0.5, 1, 400)
    rows = Predictions(rng.random(400) < conf - 0.2, conf)
    assert "predicts too high: predicted" in repr(where(rows))
    rows.is_confidence = True
    assert re.search(r"is over-confident: confidence [\d.]+ %, accuracy [\d.]+ %", repr(where(rows)))


def test_what_cannot_be_redrawn_has_no_p_value():
    soft = where(Predictions([0.3, 0.9], [0.2, 0.7], soft=True))
    assert soft.p_value is None
    assert "soft labels cannot be redrawn" in soft.cautions[0]
    odd = where([0, 1], [0.2, 0.7], weights=[0.5, 1.5])
    assert "weights are held fixed" in odd.cautions[0]
    with pytest.raises(InputError, match="n_draws must be a whole number, at least 0"):
        where([0, 1], [0.2, 0.7], n_draws=-1)


def test_the_same_seed_gives_the_same_p_value(rng):
    p = rng.random(50)
    y = rng.random(50) < p
    assert where(y, p, seed=3) == where(y, p, seed=3)
    order = rng.permutation(50)
    assert where(y[order], p[order]).p_value == where(y, p).p_value


def test_chance_is_not_called_an_error(rng):
    p = rng.random(500)
    found = where(rng.random(500) < p, p, n_draws=199)
    assert found.p_value > 0.05
    first, second = found.sentence().splitlines()
    assert first == f"Nowhere more than chance explains, p = {found.p_value:.4f}."
    assert second.startswith(f"The worst stretch lies between {found.low:.4f} and {found.high:.4f}: predicted ")
    clear = where(rng.random(500) < p / 2, p, n_draws=199).sentence()
    assert "the model predicts too high" in clear
    assert "Most clearly between" in clear


def test_groups_said_to_be_independent_need_no_caution(rng):
    p = rng.random(200)
    said = Predictions(rng.random(200) < p, p, groups=np.repeat(np.arange(20), 10))
    assert where(said, n_draws=19, cluster=False).cautions == ()


def test_one_prediction_is_a_place_and_not_a_stretch():
    found = where([1] * 120 + [0] * 80, [0.3] * 200)
    assert found.sentence().startswith(
        "At 0.3000 the model predicts too low: predicted 30.0 %, observed 60.0 % (200 rows, "
    )
    assert "Most clearly" not in found.sentence()


def test_small_rates_keep_two_digits():
    p = np.full(4000, 0.05)
    labels = np.zeros(4000)
    labels[0] = 1
    assert "predicted 5.0 %, observed 0.025 %" in where(labels, p, n_draws=0).sentence()


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.0 %"),
        (1, "100.0 %"),
        (0.5, "50.0 %"),
        (0.9994, "99.9 %"),
        (0.99961, "99.96 %"),
        (0.999996, "99.9996 %"),
        (0.00043, "0.043 %"),
    ],
)
def test_shares_near_the_ends_are_told_from_them(share, text):
    assert percent(share) == text
