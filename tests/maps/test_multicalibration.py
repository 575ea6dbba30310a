"""Shifts in overlapping segments: only on evidence, in order, saved, refused where they must be."""

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant import InputError
from calibrant.maps import Multicalibration
from tolerances import ROUNDING


def rows(seed, n=2000, power=2.0):
    """Predictions that are right but where two overlapping segments meet."""
    rng = np.random.default_rng(seed)
    p, old, south = rng.beta(1.5, 1.5, n), rng.random(n) < 0.5, rng.random(n) < 0.6
    truth = np.where(old & south, p**power, p)
    masks = {"old": old, "south": south, "old and south": old & south, "not old": ~old}
    return (rng.random(n) < truth).astype(int), p, masks, truth


def log_loss(truth, p):
    """Expected, given the true probabilities."""
    return -(truth * np.log(p) + (1 - truth) * np.log1p(-p))


LABELS, P, MASKS, TRUTH = rows(0)
FITTED = Multicalibration("identity").fit(LABELS, P, segments=MASKS)


def test_only_the_wrong_segment_is_shifted():
    wrong = MASKS["old and south"]
    found = FITTED.apply(P, segments=MASKS)
    assert {each.segment for each in FITTED.shifts} == {"old and south"}
    assert np.array_equal(found[~wrong], P[~wrong])
    assert log_loss(TRUTH, found)[wrong].mean() < log_loss(TRUTH, P)[wrong].mean() - 0.05


def test_a_shift_by_hand():
    """One segment, one range: its mean is the rate, as two more rows with outcomes as predicted would have it."""
    p, labels = np.full(400, 0.5), np.repeat([1, 0], [100, 300])
    fitted = Multicalibration("identity", n_bins=1).fit(labels, p, segments={"a": np.ones(400, bool)})
    assert len(fitted.shifts) == 1
    assert fitted.apply([0.5], segments={"a": [True]}) == pytest.approx([(400 * 0.25 + 2 * 0.5) / 402], abs=ROUNDING)
    first = fitted.shifts[0]
    assert (first.low, first.high) == (0.0, 2.0)
    assert first.score == pytest.approx(99.5 / 10, abs=ROUNDING)  # continuity, σ = √(400/4), no skewness


def test_shifts_are_made_in_order():
    found = P.copy()
    for each in FITTED.shifts:
        odds = found / (1 - found) * np.exp(each.size)
        inside = MASKS[each.segment] & (found >= each.low) & (found < each.high)
        found = np.where(inside, odds / (1 + odds), found)
    assert FITTED.apply(P, segments=MASKS) == pytest.approx(found, abs=1e-12)


def test_nothing_is_shifted_without_evidence():
    right = (np.random.default_rng(3).random(len(P)) < P).astype(int)
    assert Multicalibration("identity").fit(right, P, segments=MASKS).shifts == ()
    few = {"few": np.arange(len(P)) < 24}
    assert {s.segment for s in Multicalibration("identity").fit(1 - (P > 0.5), P, segments=few).shifts} == {"all rows"}


def test_classes_keep_summing_to_1():
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), 1500)
    a = rng.random(1500) < 0.5
    truth = np.where(a[:, None], probs * [3.0, 1.0, 1.0], probs)
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    fitted = Multicalibration("identity").fit(labels, probs, segments={"a": a})
    found = fitted.apply(probs, segments={"a": a})
    assert found.sum(axis=1) == pytest.approx(np.ones(1500), abs=1e-12)
    assert np.abs(found - truth)[a].mean() < np.abs(probs - truth)[a].mean() / 2
    assert np.abs(found - truth)[~a].mean() < 0.01


def test_counts_are_rows_repeated_and_only_ratios_of_weights_matter():
    counts = np.arange(len(P)) % 3
    counted = Multicalibration("identity").fit(LABELS, P, segments=MASKS, counts=counts)
    again = {name: np.repeat(mask, counts) for name, mask in MASKS.items()}
    repeated = Multicalibration("identity").fit(np.repeat(LABELS, counts), np.repeat(P, counts), segments=again)
    assert counted.apply(P, segments=MASKS) == pytest.approx(repeated.apply(P, segments=MASKS), abs=1e-9)
    weights = np.linspace(1, 2, len(P))
    some, more = (
        Multicalibration("identity").fit(LABELS, P, segments=MASKS, weights=scale * weights) for scale in (1, 7)
    )
    assert some.apply(P, segments=MASKS) == pytest.approx(more.apply(P, segments=MASKS), abs=1e-9)


def test_saved_and_read_back(tmp_path):
    FITTED.save(tmp_path / "map.json")
    again = cal.load_map(tmp_path / "map.json")
    assert again == FITTED
    assert np.array_equal(again.apply(P, segments=MASKS), FITTED.apply(P, segments=MASKS))
    assert len(FITTED.table.rows) == len(FITTED.shifts)


def test_the_most_steps_and_progress():
    seen = []
    fitted = Multicalibration("identity", max_steps=1, progress=lambda *at: seen.append(at)).fit(
        LABELS, P, segments=MASKS
    )
    assert seen == [(1, 1)]
    assert not fitted.fit.converged
    assert "stopped after 1 shifts" in fitted.fit.cautions[-1]


def test_segments_that_cannot_be_used_are_refused():
    lacking = {name: mask for name, mask in MASKS.items() if name != "old"}
    with pytest.raises(InputError, match=r"must have a mask for each segment of the fit; 'old' is not among them"):
        FITTED.apply(P, segments=lacking)
    with pytest.raises(InputError, match=r"segments\['old'\] must hold one value per row, 3 in all"):
        FITTED.apply(P[:3], segments=MASKS)
    with pytest.raises(InputError, match="segments must be a dict of names and masks; it is a list"):
        Multicalibration("identity").fit(LABELS, P, segments=[True] * len(P))
    with pytest.raises(InputError, match=r"segments\['a'\] must be a mask, true for its rows; its dtype is int64"):
        Multicalibration("identity").fit(LABELS, P, segments={"a": LABELS})
    with pytest.raises(InputError, match="two of them are called '1'"):
        Multicalibration("identity").fit(LABELS, P, segments={1: P > 0.5, "1": P < 0.5})
    with pytest.raises(InputError, match="must have other names than that of all rows"):
        Multicalibration("identity").fit(LABELS, P, segments={"all rows": P > 0.5})
    moved = {"a": pd.Series(P > 0.5, index=range(1, len(P) + 1))}
    with pytest.raises(InputError, match="must have the index of"):
        Multicalibration("identity").fit(pd.Series(LABELS), P, segments=moved)


@pytest.mark.slow
def test_the_circle_closes_and_a_right_model_is_left_alone():
    """On fresh rows the audit finds no segment that was wrong before; where nothing is wrong, next to nothing is shifted."""
    shifted, found_before, found_after, change = 0, 0, 0, []
    for seed in range(200, 220):
        labels, p, masks, _ = rows(seed, power=1.0)
        shifted += bool(Multicalibration("identity").fit(labels, p, segments=masks).shifts)
        labels, p, masks, _ = rows(seed, 4000)
        new_labels, new, new_masks, truth = rows(seed + 1000, 1500)
        fitted = cal.recalibrate(labels, p, "identity", segments=masks)
        after = fitted.apply(new, segments=new_masks)
        change.append([np.mean((log_loss(truth, after) - log_loss(truth, new))[mask]) for mask in new_masks.values()])
        found_before += len(cal.audit(new_labels, new, segments=new_masks, n_draws=199).found) > 0
        found_after += len(cal.audit(new_labels, after, segments=new_masks, n_draws=199).found) > 0
    assert shifted <= 4  # at most 5 % of 20 are expected
    assert found_before == 20
    assert found_after <= 5
    assert max(np.mean(change, axis=0)) < 0.002
