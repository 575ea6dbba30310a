"""The interval of the true calibration error, along a path of curves."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import InputError, Predictions
from calibrant.infer import calibration_error_interval, classwise_intervals
from calibrant.infer.error import CLOSE, KEPT, error_between, inverted, paths_of
from calibrant.infer.error_bound import signed_rows
from calibrant.infer.error_path import path_of
from calibrant.kernels.fit.log_odds_process import direction
from tolerances import ROUNDING


def sample(rng, n=500, power=1.5):
    p = rng.random(n)
    return rng.random(n) < p**power, p


@pytest.mark.slow
def test_the_upper_end_is_where_the_tests_change_their_mind(rng):
    y, p = sample(rng)
    event = Predictions(y, p).event()
    for norm in (1, 2):
        found, kept = calibration_error_interval(y, p, norm=norm, level=0.9), []
        for path in paths_of(event):
            grid = np.linspace(0, 8, 1001)
            errors = np.array([path.error(t, norm) for t in grid])
            below = np.array([path.law(t, norm).at_most(path.statistic(norm)) for t in grid])
            kept.append(errors[below > KEPT[norm] * 0.05][-1])
        assert found.high == pytest.approx(max(kept), abs=2 * np.diff(errors).max())
    assert [len(path.bins) for path in paths_of(event)] == [8, 24]  # 500 = 7.94³


def test_the_lower_end_is_that_of_the_signed_rows(rng):
    y, p = sample(rng)
    for norm in (1, 2):
        bound = signed_rows(Predictions(y, p).event()).interval(norm, 0.9)
        assert calibration_error_interval(y, p, norm=norm, level=0.9).low == bound.low > 0


def test_an_error_in_a_tail_has_a_lower_end_below_it():
    """Right up to 0.9, too high by 0.15 above: noise where predictions are right is not counted as error."""
    p = (np.arange(20_000) + 0.5) / 20_000
    y = np.random.default_rng(0).random(20_000) < p - 0.15 * (p > 0.9)
    assert 0.007 < calibration_error_interval(y, p).low < 0.015


def test_the_statistic_is_the_binned_error(rng):
    import calibrant as cal

    y, p = sample(rng)
    path = path_of(Predictions(y, p).event())
    bins = cal.EqualMass(8)  # 500 = 7.94³
    assert path.statistic(1) == pytest.approx(cal.binned_error(y, p, bins=bins).value, abs=ROUNDING)
    assert path.statistic(2) == pytest.approx(cal.binned_error(y, p, bins=bins, norm=2, root=False).value, abs=ROUNDING)


def test_the_path_begins_calibrated_and_the_error_grows(rng):
    path = path_of(Predictions(*sample(rng)).event())
    assert path.error(0.0, 1) == 0
    errors = [path.error(t, 1) for t in np.linspace(0, 10, 50)]
    assert (np.diff(errors) > 0).all()
    law = path.law(0.0, 1)
    assert law.mean > 0  # a calibrated model shows some error
    assert law.at_most(law.mean) == pytest.approx(0.5, abs=0.1)


def test_few_predictions_are_bins_and_err_each_in_its_own_way():
    """Neighbours of opposite error, as in confidences on a grid: bins of neighbours would hide both."""
    p = np.repeat([0.5, 0.55, 0.6, 0.65], 400)
    rates = np.repeat([0.6, 0.45, 0.7, 0.55], 400)
    y = np.arange(1600) % 400 < np.round(400 * rates)
    path = path_of(Predictions(y, p).event())
    assert len(path.bins) == 4
    assert path.rough
    assert path.statistic(1) == pytest.approx(0.1, abs=ROUNDING)
    assert np.sign(path.away).tolist() == [1, -1, 1, -1]
    found = calibration_error_interval(y, p)
    assert 0.05 < found.low < 0.1 < found.high < 0.15


def test_the_level_path_errs_by_as_much_everywhere():
    path = path_of(Predictions([0, 1] * 100, [0.2, 0.4, 0.6, 0.8] * 50).event()).level()
    gaps = path.rate(1e-3) - path.prob
    assert np.abs(gaps) == pytest.approx(np.full(4, np.abs(gaps).mean()), rel=1e-3)  # a small step on a bent curve


def test_one_prediction_is_a_rate():
    """With one distinct prediction the lower end is that of an exact test of a rate, but for signs not quite 1."""
    found = calibration_error_interval([1] * 70 + [0] * 30, [0.5] * 100)
    rate = 0.5 + found.low
    assert binom.sf(69, 100, rate) == pytest.approx(0.025, abs=0.01)
    assert 0.2 in found


def test_it_does_not_depend_on_the_order_of_rows_or_on_repeats(rng):
    y, p = sample(rng, 200)
    order, times = rng.permutation(200), rng.integers(1, 4, 200)
    assert calibration_error_interval(y[order], p[order]) == calibration_error_interval(y, p)
    weighted = calibration_error_interval(y, p, counts=times)
    repeated = calibration_error_interval(np.repeat(y, times), np.repeat(p, times))
    assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high), abs=1e-9)  # sums of fractions


def test_turning_the_question_round_changes_little(rng):
    y, p = sample(rng, 512)  # 8³: the cuts are the same from both sides
    there, back = calibration_error_interval(y, p), calibration_error_interval(~y, 1 - p)
    assert (there.low, there.high) == pytest.approx((back.low, back.high), abs=2e-3)  # cells are cut from one side


@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.3]), ([0, 1], [0.0, 1.0]), ([0, 0, 1], [1.0, 1.0, 0.0]), ([1] * 40, [1.0] * 40)]
)
def test_extremes_give_an_interval(y, p):
    found = calibration_error_interval(y, p)
    assert 0 <= found.low <= found.high <= 1


def test_certain_and_always_wrong():
    found = calibration_error_interval([0] * 60, [1.0] * 60)
    assert found.low > 0.9
    assert found.high > 0.99


def test_a_path_without_a_direction_shifts_all_log_odds():
    assert direction(np.array([0.0]), np.array([10.0]), np.array([5.0])).tolist() == [1.0]


def test_classes_hold_all_at_once(rng):
    probs = rng.dirichlet([1, 2, 3], 300)
    labels = (rng.random(300)[:, None] > (probs**1.5 / (probs**1.5).sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(
        axis=1
    )
    table = classwise_intervals(labels, probs)
    for k in range(3):
        alone = calibration_error_interval(labels == k, probs[:, k], level=1 - 0.05 / 3)
        assert (table.low[k], table.high[k]) == pytest.approx((alone.low, alone.high), abs=1e-9)  # 0.05/3 is rounded
        assert table.low[k] <= table.values[k] <= table.high[k]
    assert table.n.tolist() == np.bincount(labels, minlength=3).tolist()


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_a_class_never_seen_may_be_as_wrong_as_its_mean_gap(n):
    probs = np.tile([0.699, 0.3, 0.001], (n, 1))
    table = classwise_intervals(np.arange(n) % 10 < 3, probs)
    assert table.low[2] == 0
    assert table.high[2] == pytest.approx(1 - (0.05 / 3 / 2) ** (1 / n) - 0.001, rel=0.02)  # Clopper and Pearson's end


@pytest.mark.slow
def test_the_value_between_is_where_the_law_has_its_median(rng):
    path = path_of(Predictions(*sample(rng)).event())
    value = error_between(path, 1)
    grid = np.linspace(0, 8, 4001)
    below = np.array([path.law(t, 1).at_most(path.statistic(1)) for t in grid])
    assert value == pytest.approx(path.error(grid[np.abs(below - 0.5).argmin()], 1), abs=1e-3)  # the grid and CLOSE
    calibrated = path_of(Predictions([0, 1] * 50, [0.5] * 100).event())
    assert error_between(calibrated, 1) == 0


def test_inversion_of_a_known_test():
    def ends(at_most):
        return inverted(lambda t: SimpleNamespace(at_most=lambda x: at_most(t, x)), 1, 2, 0.025)

    assert ends(lambda t, _: 1 - t / 10) == pytest.approx((0.25, 9.75), abs=CLOSE)
    assert ends(lambda t, x: 0.5 - t if x == 1 else 0.5) == (0.0, 2.0**20)  # nothing is refused
    assert ends(lambda t, x: 0.5 - t if x == 1 else 0.0) == (0.0, 0.0)


def test_shares_and_levels_are_refused():
    with pytest.raises(InputError, match="yes or no"):
        calibration_error_interval(Predictions([0.2, 0.4], [0.5, 0.5], soft=True))
    with pytest.raises(InputError, match="level"):
        calibration_error_interval([0, 1], [0.5, 0.5], level=95)
    with pytest.raises(InputError, match="norm"):
        calibration_error_interval([0, 1], [0.5, 0.5], norm="max")


@pytest.mark.parametrize(
    ("labels", "probs"),
    [([1], [0.5]), ([1, 1, 0], [1.0, 1.0, 0.0]), ([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]), ([1, 0], [0.5, 0.5])],
)
@pytest.mark.parametrize("norm", [1, 2])
def test_rows_that_a_calibrated_model_shows_for_certain_leave_0_possible(labels, probs, norm):
    found = calibration_error_interval(labels, probs, norm=norm)
    assert found.low == 0 < found.high


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("p", "rate", "n"), [(0.001, 0.01, 100), (0.002, 0.006, 200), (0.995, 0.97, 50), (0.03, 0.03, 60)]
)
@pytest.mark.parametrize("norm", [1, 2])
def test_equal_predictions_by_enumeration(p, rate, n, norm):
    """All rows say p: every possible number of events, with its probability."""
    held = 0.0
    for hits in range(n + 1):
        if (chance := binom.pmf(hits, n, rate)) > 1e-6:
            interval = calibration_error_interval(np.arange(n) < hits, np.full(n, p), norm=norm)
            held += chance * (interval.low - 1e-12 <= abs(p - rate) <= interval.high + 1e-12)
    assert held >= 0.95
