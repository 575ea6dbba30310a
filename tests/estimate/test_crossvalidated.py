"""Cross-validated bins: held-out losses and the choice, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant import EqualMass, EqualWidth, InputError, Predictions
from calibrant.bins import number
from calibrant.kernels.rows.pooling import in_order
from calibrant.kernels.rows.sorted_folds import rows_in_folds
from naive import binned, data, sweep
from naive import crossvalidated as naive
from naive.rows import counted, written_out
from tolerances import ROUNDING

RULES = {"mass": EqualMass, "width": EqualWidth}


def folds_of(event, folds, seed):
    """(p, y, fold) of rows written out and sorted: the assignment is ours, everything else the twin's."""
    p, y, w, fold = rows_in_folds(*in_order(event.probs, event.outcomes, event.weights), folds, seed)
    return tuple(np.repeat(each, w.astype(int)) for each in (p, y, fold))


def test_two_folds_by_hand():
    # folds in turn: p 0.1, 0.5 | 0.3, 0.7. One bin: shifts (0+1−0.6)/2 = 0.2 and (1+1−1.0)/2 = 0.5, each used on the other
    labels, probs = [0, 1, 1, 1], [0.1, 0.3, 0.5, 0.7]
    event = Predictions(labels, probs).event()
    first = (0.3 + 0.2 - 1) ** 2 + (0.7 + 0.2 - 1) ** 2
    second = (0.1 + 0.5 - 0) ** 2 + (0.5 + 0.5 - 1) ** 2
    found = number.held_out_losses(event, "mass", 2, 1, 0)
    assert found[0] == pytest.approx((first + second) / 4, abs=ROUNDING)


@given(data.events(most=12).map(counted), st.sampled_from([2, 3, 10]), st.integers(0, 3), st.sampled_from([*RULES]))
def test_held_out_losses_are_those_of_plain_loops(said, folds, seed, rule):
    event = Predictions(said.labels, said.probs, counts=said.weights).event()
    p, y, fold = folds_of(event, folds, seed)
    expected = naive.losses(p, y, fold, rule, 12)
    found = number.held_out_losses(event, rule, folds, 12, seed)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING)
    made = number.best_bins(event, rule, n_folds=folds, most=12, seed=seed)
    if min(expected) > 1e-9:  # below, 0.1 % of the loss is less than rounding
        assert made == naive.n_bins(expected)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ties", [False, True])
def test_forty_bins_of_ten_folds_are_those_of_plain_loops(rng, rule, ties):
    p = rng.beta(2, 1, 60)
    p = p.round(1) if ties else p
    y = (rng.random(60) < p**3).astype(int)
    found = cal.crossvalidated_error(y, p, bins=RULES[rule])
    sorted_p, sorted_y, fold = folds_of(Predictions(y, p).event(), 10, 0)
    n_bins = naive.n_bins(naive.losses(sorted_p, sorted_y, fold, rule, 40))
    assert found.settings["n_bins"] == n_bins
    bins = sweep.RULES[rule](p.tolist(), n_bins)
    assert found.value == pytest.approx(binned.power(bins, p, y), abs=ROUNDING)


def test_fewer_bins_win_within_a_thousandth():
    assert naive.n_bins([1.0009, 1.0, 1.2]) == 1
    assert naive.n_bins([1.0011, 1.0, 1.2]) == 2


@pytest.mark.parametrize(("losses", "chosen"), [([1.0009, 1.0, 1.2], 1), ([1.0011, 1.0, 1.2], 2), ([0, 0, 0], 1)])
def test_the_choice_among_losses(monkeypatch, losses, chosen):
    monkeypatch.setattr(number, "held_out_losses", lambda *a: np.array(losses, dtype=float))
    assert number.best_bins(None, "mass", n_folds=10, most=3, seed=0) == chosen


@given(data.events().map(counted), st.sampled_from([2, 10]))
def test_every_fold_gets_its_share_and_every_row_a_fold(said, folds):
    event = Predictions(said.labels, said.probs, counts=said.weights).event()
    p, y, fold = folds_of(event, folds, 1)
    written = written_out(said.labels, said.probs, said.weights)
    rows = sorted(zip(map(float, written[1]), written[0], strict=True))
    assert [(a + 0, b) for a, b in zip(p, y, strict=True)] == rows
    sizes = np.bincount(fold, minlength=folds)
    assert sizes.max() - sizes.min() <= 1


def test_ties_are_shuffled_by_the_seed():
    p = np.full(20, 0.5)
    hands = [rows_in_folds(p, np.zeros(20), None, 10, seed)[-1].tolist() for seed in (0, 0, 1)]
    assert hands[0] == hands[1]
    assert hands[0] != hands[2]


@given(data.events().map(counted), st.sampled_from([*RULES]), st.sampled_from([1, 2]), st.booleans())
def test_the_value_is_the_binned_error_with_as_many_bins(said, rule, norm, debiased):
    made = Predictions(said.labels, said.probs, counts=said.weights)
    found = cal.crossvalidated_error(made, bins=RULES[rule], norm=norm, debiased=debiased, max_bins=8)
    again = cal.binned_error(made, bins=RULES[rule](found.settings["n_bins"]), norm=norm, debiased=debiased)
    # under the root of norm 2, rounding of 1e-16 shows as 1e-8
    assert found.value**norm == pytest.approx(again.value**norm, abs=ROUNDING)


def test_a_step_needs_two_bins(rng):
    p = rng.random(1000)
    y = rng.random(1000) < np.where(p < 0.5, 0.05, 0.95)
    assert cal.crossvalidated_error(y, p).settings["n_bins"] > 1


def test_up_to_forty_bins_are_tried(monkeypatch):
    monkeypatch.setattr(number, "held_out_losses", lambda event, bins, folds, most, seed: np.linspace(2, 1, most))
    found = cal.crossvalidated_error([0, 1], [0.2, 0.7])
    assert found.settings["n_bins"] == 40
    assert "10-fold" in found.settings["bins"]


def test_weights_too_large_to_write_out_stay_with_their_row():
    found = cal.crossvalidated_error([0, 1], [0.2, 0.7], counts=[10**10, 1])
    assert found.value == pytest.approx(
        cal.binned_error([0], [0.2]).value, abs=1e-9
    )  # the other row has 1e-10 of the weight


def test_wrong_options_are_refused():
    with pytest.raises(InputError, match="n_folds must be a whole number, at least 2; it is 1"):
        cal.crossvalidated_error([0, 1], [0.2, 0.7], n_folds=1)
    with pytest.raises(InputError, match="max_bins must be a whole number, at least 1; it is 0"):
        cal.crossvalidated_error([0, 1], [0.2, 0.7], max_bins=0)
    with pytest.raises(InputError, match="bins must be EqualMass or EqualWidth, without a number; it is 'kernel'"):
        cal.crossvalidated_error([0, 1], [0.2, 0.7], bins="kernel")
