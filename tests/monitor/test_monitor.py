"""The monitor: against its definition, exactly fair bets, and states that split, merge and travel."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies as some
from calibrant import InputError, MapError, Predictions
from calibrant.kernels.draws.betting import CAP
from calibrant.monitor import Change, Monitor, MonitorState, state
from calibrant.monitor.alternatives import EDGES, GRID, N_BETS, N_OVERALL, OVERALL, WEIGHTS, in_words
from naive import monitor as naive
from tolerances import ROUNDING

RELATIVE = 1e-9
"""Products of up to forty ratios, each rounded, some of them far from 1."""


def watched(labels, probs, **options):
    return Monitor(**options).update(labels, probs)


# The definition.


@given(some.events(most=12, weighted=False))
def test_it_is_the_mixture_over_bets_and_beginnings(data):
    values, detector = naive.path(data.probs, data.labels)
    assume(max(*values, *detector) < CAP * WEIGHTS.min())  # no bet is cut off: what comes beyond is tested below
    found = watched(data.labels, data.probs)
    assert found.e_value == pytest.approx(values[-1], rel=RELATIVE)
    assert found.state.peak == pytest.approx(max([1.0, *values]), rel=RELATIVE)
    assert found.run_length == pytest.approx(max(detector), rel=RELATIVE)
    assert found.p_value == pytest.approx(min(1.0, 1 / max(values)), rel=RELATIVE)


def test_soft_labels_bet_on_the_share(rng):
    p, shares = rng.random(8), rng.choice([0.0, 0.25, 0.7, 1.0], 8)
    found = Monitor().update(Predictions(shares, p, soft=True))
    assert found.e_value == pytest.approx(naive.path(p, shares)[0][-1], rel=RELATIVE)


def expected_e(probs, made):
    """E of what `made` finds over all outcomes, if every probability is right."""
    total = 0.0
    for outcomes in itertools.product([0, 1], repeat=len(probs)):
        chance = np.prod(np.where(outcomes, probs, 1 - probs))
        total += chance * made(np.array(outcomes), probs) if chance else 0.0
    return total


PROBS = np.array([0.01, 0.5, 0.93, 0.3, 0.999, 0.05])


def test_the_bets_are_exactly_fair():
    assert expected_e(PROBS, lambda y, p: watched(y, p).e_value) == pytest.approx(1.0, abs=ROUNDING)


def test_certain_predictions_that_come_true_are_no_evidence():
    certain = np.array([0.0, 1.0, 1.0])
    assert expected_e(certain, lambda y, p: watched(y, p).e_value) < 1
    assert watched([0, 1, 1], certain).state.sums.tolist() == [0.0] * N_BETS


def test_merged_evidence_is_fair_or_less():
    def after(y, p):
        return watched(y[:3], p[:3]).merge(watched(y[3:], p[3:])).e_value

    def beside(y, p):
        return watched(y[:3], p[:3]).merge(watched(y[3:], p[3:]), beside=True).e_value

    assert 0.9 < expected_e(PROBS, after) <= 1 + ROUNDING
    assert 0.5 < expected_e(PROBS, beside) <= 1 + ROUNDING


def test_stopping_at_the_first_high_value_is_fair_too():
    """Optional stopping: the value at the first row where it exceeds 1.5, else at the end, is 1 on average."""

    def stopped(y, p):
        monitor = Monitor()
        for label, prob in zip(y, p, strict=True):
            monitor.update([label], [prob])
            if monitor.e_value > 1.5:
                break
        return monitor.e_value

    assert expected_e(PROBS, stopped) == pytest.approx(1.0, abs=ROUNDING)


def test_the_stake_is_one():
    assert WEIGHTS.sum() == pytest.approx(1.0, abs=ROUNDING)
    assert len(set(OVERALL)) == len(OVERALL)
    assert (0.0, 1.0) not in OVERALL


# Parts.


def stream(rng, n=700, late=400):
    p = rng.random(n)
    truth = np.where(np.arange(n) < late, p, p**2)
    return (rng.random(n) < truth).astype(int), p


def test_the_size_of_updates_does_not_matter(rng):
    y, p = stream(rng)
    whole, parts = watched(y, p), Monitor()
    for start, stop in itertools.pairwise([0, 1, 2, 130, 131, 500, 700]):
        parts.update(y[start:stop], p[start:stop])
    assert parts.state.peak == pytest.approx(whole.state.peak, rel=RELATIVE)
    assert parts.state.peak_row == whole.state.peak_row
    np.testing.assert_allclose(parts.state.wealth, whole.state.wealth, rtol=RELATIVE)
    np.testing.assert_allclose(parts.state.restarted, whole.state.restarted, rtol=RELATIVE)
    np.testing.assert_allclose(parts.state.block_sums, whole.state.block_sums, rtol=0, atol=1e-9)
    assert parts.state.block_rows.tolist() == whole.state.block_rows.tolist()


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 1000))
def test_merging_later_rows_is_one_stream_or_a_little_less(n_first, n_then, seed):
    rng = np.random.default_rng(seed)
    y, p = stream(rng, n_first + n_then, n_first)
    whole = watched(y, p)
    merged = watched(y[:n_first], p[:n_first]).merge(watched(y[n_first:], p[n_first:]))
    assert merged.n == whole.n
    np.testing.assert_allclose(merged.state.sums, whole.state.sums, rtol=0, atol=1e-9)
    np.testing.assert_allclose(merged.state.restarted, whole.state.restarted, rtol=RELATIVE)
    assert merged.e_value <= whole.e_value * (1 + RELATIVE)
    assert merged.state.peak <= whole.state.peak * (1 + RELATIVE)
    assert merged.run_length <= whole.run_length * (1 + RELATIVE)


def test_merging_loses_little(rng):
    y, p = stream(rng, 3000, 1500)
    merged = Monitor()
    for start in range(0, 3000, 300):
        merged = merged.merge(watched(y[start : start + 300], p[start : start + 300]))
    whole = watched(y, p)
    assert np.log(merged.e_value) > np.log(whole.e_value) - 2
    assert abs(merged.since().row - whole.since().row) < 200


def test_side_by_side_the_order_does_not_matter(rng):
    y, p = stream(rng)
    a, b = watched(y[:300], p[:300]), watched(y[300:], p[300:])
    one, other = a.merge(b, beside=True), b.merge(a, beside=True)
    assert one.e_value == pytest.approx(other.e_value, rel=RELATIVE)
    assert one.state.peak == max(one.e_value, 1.0)
    assert len(one.state.block_rows) == 1
    one.update(y[:50], p[:50])
    assert one.n == 750


def test_nothing_merged_with_something_is_that(rng):
    y, p = stream(rng)
    some_rows = watched(y, p)
    assert Monitor().merge(some_rows).state == some_rows.state
    assert some_rows.merge(Monitor()).state == some_rows.state


@pytest.mark.slow
def test_the_state_stays_small_and_survives_as_json(rng):
    p = rng.random(8_000)
    monitor = watched(rng.random(8_000) < p, p)
    assert len(monitor.state.block_rows) <= state.MOST_BLOCKS
    assert monitor.state.block_rows.sum() == 8_000
    again = Monitor.from_json(monitor.to_json())
    assert again.state == monitor.state
    assert again.update([1], [0.5]).e_value == monitor.update([1], [0.5]).e_value


def test_plain_and_compiled_agree(rng, monkeypatch):
    y, p = stream(rng)
    plain = watched(y, p)
    monkeypatch.setattr(state, "COMPILE_FROM", 1)
    monkeypatch.setattr(state, "CHUNK", 64)
    fast = watched(y, p)
    np.testing.assert_allclose(fast.state.wealth, plain.state.wealth, rtol=RELATIVE)
    assert fast.state.peak == pytest.approx(plain.state.peak, rel=RELATIVE)
    assert fast.run_length == pytest.approx(plain.run_length, rel=RELATIVE)


def test_overwhelming_evidence_stays_finite():
    monitor = watched(np.zeros(5000, int), np.full(5000, 0.999))
    assert 1e299 < monitor.e_value < np.inf
    assert np.isfinite(monitor.run_length)
    again = monitor.merge(monitor)
    assert np.isfinite(again.e_value)
    assert monitor.alarm(1e-6)


# What it reports.


def test_it_reports_the_direction_and_the_change(rng):
    p = rng.uniform(0.2, 0.8, 4000)
    truth = np.where(np.arange(4000) < 2000, p, p - 0.15)
    monitor = Monitor()
    for day in range(40):
        rows = slice(100 * day, 100 * day + 100)
        monitor.update(rng.random(100) < truth[rows], p[rows], mark=day)
    found = monitor.since()
    assert isinstance(found, Change)
    assert found.earliest <= found.row <= found.latest
    assert abs(found.row - 2000) < 150
    assert found.mark in (18, 19, 20, 21)
    assert "too high" in found.direction
    assert "too high" in monitor.direction()
    assert "alarm, since about row" in repr(monitor)
    assert Change.from_json(found.to_json()) == found


def test_a_region_that_goes_wrong_is_named(rng):
    p = rng.random(30_000)
    truth = np.where((p > 0.5) & (p <= 0.75), p - 0.12, p)
    monitor = watched(rng.random(30_000) < truth, p)
    assert monitor.direction() == "predictions between 0.5 and 0.75 are too high"


def test_too_extreme_predictions_are_called_so(rng):
    z = rng.normal(0, 2.5, 8000)
    p, truth = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-z / 1.7))
    assert watched(rng.random(8000) < truth, p).direction() == "predictions are too near 0 and 1"


def test_every_bet_has_words():
    words = {in_words(bet, view) for bet in range(N_BETS) for view in ("binary", "top")}
    assert all(text.startswith("predictions ") for text in words)
    assert in_words(0, "top") == "predictions are over-confident"
    assert in_words(1, "binary") == "predictions are too low"
    assert in_words(N_OVERALL, "binary") == f"predictions between 0 and {EDGES[0]:g} are too high"


def test_without_an_alarm_there_is_no_since(rng):
    p = rng.random(200)
    monitor = watched(rng.random(200) < p, p)
    assert monitor.since() is None
    assert not monitor.alarm()
    assert "no alarm" in repr(monitor)
    assert repr(monitor.state) == "MonitorState(200 rows in 100 blocks)"
    assert Monitor().direction() == "nothing seen yet"
    assert (Monitor().e_value, Monitor().p_value) == (1.0, 1.0)


def test_certain_predictions_that_fail_are_counted_and_count():
    monitor = watched([0, 1] * 10, [0.5, 0.5] * 9 + [1.0, 0.0])
    assert monitor.state.contradicted == 2
    assert monitor.alarm()
    assert "2 predictions of 0 or 1 did not come true" in repr(monitor)


def test_several_classes_are_watched_by_their_top(rng):
    probs = rng.dirichlet(np.ones(4), 300)
    labels = np.array([rng.choice(4, p=row) for row in probs])
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    assert watched(labels, probs).e_value == pytest.approx(watched(right, top).e_value, rel=RELATIVE)
    assert watched(labels, probs, view="class 2").state.view == "class 2"


def test_counts_are_rows_repeated(rng):
    counts = np.array([1, 3, 0, 2])
    labels, probs = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.4, 0.6])
    assert (
        Monitor().update(labels, probs, counts=counts).state
        == watched(np.repeat(labels, counts), np.repeat(probs, counts)).state
    )


# Refusals.


def test_what_it_refuses(rng):
    monitor = watched([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="weights must all be equal in a monitor"):
        monitor.update(Predictions([0, 1], [0.2, 0.7], weights=[1, 2]))
    top = MonitorState("top", n=1, block_rows=[1], block_sums=np.zeros((1, N_BETS)), block_values=[1.0])
    with pytest.raises(InputError, match="'top' needs one column per class"):
        Monitor(state=top).update([0], [0.3])
    third = watched([0, 1, 2], np.eye(3) * 0.7 + 0.1, view="class 1")
    with pytest.raises(InputError, match="labels must answer the view 'class 1'; these are 'class dog'"):
        third.update(Predictions(["cat"], [[0.5, 0.3, 0.2]], classes=["cat", "dog", "eel"]))
    with pytest.raises(InputError, match="mark must be a string or a number; it is a list"):
        monitor.update([0], [0.3], mark=[1])
    with pytest.raises(InputError, match="other must be a Monitor; it is a int"):
        monitor.merge(3)
    with pytest.raises(InputError, match="other must watch the same question; 'top' is not 'binary'"):
        monitor.merge(watched([0, 1], [[0.2, 0.8], [0.6, 0.4]]))
    with pytest.raises(InputError, match="other must bet on the same alternatives"):
        monitor.merge(Monitor(state=MonitorState("binary", GRID + 1, 1)))
    with pytest.raises(
        InputError,
        match=r"alpha must be positive and at most 0\.5; it is 0\. alpha is the rate of false alarms: 1 − level",
    ):
        monitor.alarm(0)
    with pytest.raises(MapError, match="is missing"):
        Monitor.from_json('{"schema": 1, "kind": "MonitorState", "view": "binary"}')


def test_much_evidence_is_printed_short():
    assert "e = 6.9e+298, p < 0.001" in repr(watched(np.zeros(500), np.full(500, 0.99)))


def test_certain_predictions_that_fail_again_and_again_stay_finite():
    monitor = watched(np.zeros(300), np.ones(300))  # a warning would be an error
    assert 1e298 < monitor.e_value < 1e300
    assert monitor.p_value > 0


def test_groups_of_several_rows_give_a_warning(rng):
    groups, q = np.repeat(np.arange(40), 25), rng.random(40)
    data = Predictions((rng.random(40) < q)[groups], q[groups], groups=groups)
    monitor = Monitor().update(data)
    (caution,) = monitor.cautions
    assert caution == "rows of a group are taken as independent: monitor one row per group if they depend on each other"
    assert caution in repr(monitor)
    plain = watched(data.labels, data.probs)
    assert plain.cautions == ()
    assert plain.merge(monitor).cautions == plain.merge(monitor, beside=True).cautions == (caution,)
    assert Monitor.from_json(monitor.to_json()).cautions == (caution,)
    once = Predictions(data.labels[::25], data.probs[::25], groups=groups[::25])
    assert Monitor().update(once).cautions == ()


@pytest.mark.parametrize(
    ("lost", "message"), [("grouped", "grouped is missing"), ("block_values", "block_values is missing")]
)
def test_a_state_that_lacks_something_is_refused(rng, lost, message):
    p = rng.random(50)
    saved = json.loads(watched(rng.random(50) < p, p).to_json())
    del saved[lost]
    with pytest.raises(MapError, match=message):
        Monitor.from_json(json.dumps(saved))
