"""Estimators as tests: the threshold is exact, the errors are honest, and what the paper found is found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.simulate import ShapeWorld, calibrated_world, named_world, power, power_world
from calibrant.simulate.power import Detection, alarm_rank, detection, detection_table, missed
from tolerances import STANDARD_ERRORS

PAPER = {
    "equal width": partial(cal.binned_error, bins=cal.EqualWidth(15), norm=2),
    "sweep": partial(cal.sweep_error, norm=2),
}


@given(
    st.lists(st.integers(0, 30), min_size=19, max_size=80),
    st.lists(st.integers(0, 30), min_size=2, max_size=40),
    st.sampled_from([0.05, 0.1, 0.3]),
)
def test_an_alarm_is_a_small_monte_carlo_p_value(null, values, alarms):
    null, values = np.array(null, dtype=float), np.array(values, dtype=float)
    count, rank = alarm_rank(alarms, len(null))
    p_values = [(1 + (null >= value).sum()) / (count + 1) for value in values]
    threshold, miss_rate, error = missed(null, values, rank)
    assert miss_rate == np.mean([p > alarms + 1e-12 for p in p_values])
    assert threshold in null
    assert error > 0


@pytest.mark.slow
@pytest.mark.parametrize("scores", [(1.0, 1.0), (2.7752, 0.0478)])
def test_a_calibrated_world_is_an_alarm_as_often_as_allowed(scores):
    found = detection(cal.sweep_error, calibrated_world(scores), 200, 0.1, 2000)
    assert abs(found.power - 0.1) < STANDARD_ERRORS * found.miss_error
    assert (found.true_error, found.true_rms) == (0, 0)


def test_the_error_of_a_miss_rate_is_honest():
    """A statistic that is normal, one unit up where the world errs: the miss rate scatters as much as it says."""
    rng = np.random.default_rng(1)
    z = 1.6448536269514722
    runs = []
    for _ in range(400):
        null, values = rng.normal(size=300), rng.normal(z, size=300)
        runs.append(missed(null, values, alarm_rank(0.05, 300)[1])[1:])
    rates, errors = np.array(runs).T
    assert rates.std(ddof=1) == pytest.approx(
        np.sqrt((errors**2).mean()), rel=0.2
    )  # the step to the side is a rough slope
    assert rates.std(ddof=1) > 1.3 * np.sqrt(0.25 / 300)  # the threshold's share is not small


def test_several_share_their_draws_and_the_twin(monkeypatch):
    seen = []

    def counted(several, world, n, *rest, **options):
        seen.append((world.describe(), n))
        return power_measured(several, world, n, *rest, **options)

    power_measured = power.measured
    monkeypatch.setattr(power, "measured", counted)
    worlds = [power_world(0.05), power_world(0.1)]
    rows = detection({"mine": cal.ece, "sweep": "sweep"}, worlds, [100, 300], n_data_sets=100, seed=3)
    assert len(seen) == 2 + 4  # a twin for each size, and every world at every size
    monkeypatch.undo()
    assert [(r.estimator, r.n) for r in rows[:4]] == [("mine", 100), ("sweep", 100), ("mine", 300), ("sweep", 300)]
    alone = detection(cal.ece, worlds[1], 300, n_data_sets=100, seed=3)
    same = next(r for r in rows if (r.estimator, r.n, r.world) == ("mine", 300, worlds[1].describe()))
    assert {**alone.to_data(), "estimator": "mine"} == same.to_data()
    assert detection(cal.ece, worlds[1], 300, n_data_sets=100, seed=4) != alone


def test_a_table_has_a_column_for_each_estimator():
    rows = detection(["ece", "sweep"], [power_world(0.05), power_world(0.1)], [100, 300], n_data_sets=60)
    table = detection_table(rows)
    assert table.columns == ("true error", "RMS", "n", "ece", "sweep")
    assert len(table.rows) == 4
    assert detection_table((*rows[:2], *rows[3:])).rows[1][3] == "–"
    assert "5% false alarms" in table.note
    assert Detection.from_json(rows[0].to_json()) == rows[0]
    assert "misses" in repr(rows[0])


@pytest.mark.slow
def test_what_figure_5_says():
    """Roelofs et al., Figure 5: uniform scores, p^d, errors in the ℓ2 norm."""
    worlds = {error: power_world(error, norm=2) for error in (0.02, 0.05, 0.1)}
    rows = detection(PAPER, list(worlds.values()), [200, 500, 1000, 10_000], n_data_sets=1000)
    rate = {(r.estimator, round(r.true_rms, 3), r.n): r.miss_rate for r in rows}
    slack = STANDARD_ERRORS * max(r.miss_error for r in rows)
    assert all(rate["sweep", e, n] <= rate["equal width", e, n] + slack for _, e, n in rate)
    assert rate["equal width", 0.05, 1000] - rate["sweep", 0.05, 1000] > slack
    assert rate["equal width", 0.1, 500] < 0.1  # 10 % is found with 500 rows
    assert rate["equal width", 0.05, 500] > 0.5  # less is not
    assert rate["equal width", 0.02, 10_000] > 0.05  # 2 % takes more than 10 000


@pytest.mark.slow
def test_the_paper_in_brief():
    rows = detection(PAPER, power_world(0.05, norm=2), 1000, n_data_sets=300)
    plain, swept = rows
    assert plain.miss_rate - swept.miss_rate > STANDARD_ERRORS * np.hypot(plain.miss_error, swept.miss_error) / 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: detection(cal.ece, ShapeWorld("square", 0.1), 100), "world must be a world of scores and a curve"),
        (lambda: detection(cal.ece, power_world(0.1), 100, n_data_sets=18), "n_data_sets must be at least 19"),
        (
            lambda: detection(lambda _: np.inf, power_world(0.1), 100, n_data_sets=20),
            "estimator must give a finite number",
        ),
        (lambda: detection([], power_world(0.1), 100), "estimator must name at least one"),
        (lambda: detection(cal.ece, power_world(0.1), 100, alpha=1.5), "alpha must be positive and at most 0.5"),
        (lambda: detection(cal.ece, power_world(0.1), 100, seed=-1), "seed must be a whole number"),
    ],
)
def test_what_makes_no_test_is_refused(call, message):
    with pytest.raises(cal.InputError, match=message):
        call()


def test_a_world_fitted_to_a_network_has_a_twin():
    found = detection("ece", named_world("resnet110_c10"), 100, n_data_sets=50)
    assert "resnet110_c10" in found.world
