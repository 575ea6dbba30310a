"""Plans by simulation: the test that `diagnose` runs has the power that was asked for, intervals the width."""

from __future__ import annotations

import math

import numpy as np
import pytest

import calibrant as cal
from calibrant.simulate import EmpiricalWorld, PowerCurve, bent_world, calibrated_world, power_world
from calibrant.verbs.planning.figures import MOST_SIMULATED, width_round
from calibrant.verbs.planning.plan import Plan, plan
from calibrant.verbs.planning.power_laws import NORMAL
from calibrant.verbs.planning.simulation import Rise, Round, attained, probit_round, represented, simulated_power
from tolerances import STANDARD_ERRORS

NONE = lambda done, of: None  # noqa: E731
FEW = {"n_data_sets": 20, "mean_variance": 0.2}


@pytest.mark.slow
def test_the_test_of_diagnose_is_planned_for_and_named():
    found = plan(error=0.2, **FEW)
    assert (found.statistic, found.goal, found.by_formula) == ("is_calibrated", "error", False)
    assert f"{found.n:,} ± " in found.sentence()
    assert "`is_calibrated`, the test that `diagnose` runs" in found.sentence()
    assert ("test", "is_calibrated") in found.tables()[0].rows
    assert found.reached == pytest.approx(0.8, abs=0.03)
    assert found.errors["n"] > 1
    assert "c = p^" in found.assumptions[-1]
    assert Plan.from_json(found.to_json()) == found
    assert plan(error=0.2, **FEW, statistic="is_calibrated", seed=2).n != found.n


@pytest.mark.slow
def test_what_given_rows_detect():
    found = plan(n=150, error=0.2, **FEW)
    assert 0.05 < found.detectable < 0.3
    assert found.reached > 0.5
    assert f"of {found.detectable:.4f} ± {found.errors['detectable']:.4f} with power" in found.sentence()
    assert "One of 0.2000 is detected with power" in found.sentence()
    assert found.axes == ("true error", "power")
    none = plan(n=2, **FEW)
    assert none.detectable == math.inf
    assert "2 rows detect no RMS calibration error" in none.sentence()


def test_a_width_is_simulated():
    found = plan(width=0.1, n_data_sets=60, mean_variance=0.1)
    assert found.reached == pytest.approx(0.1, rel=0.02)
    assert not found.by_formula
    assert "0.1000 wide on average" in found.sentence()
    assert "promises" not in repr(found)


@pytest.mark.slow
def test_a_check_calls_the_test_itself():
    found = plan(error=0.3, **FEW | {"n_data_sets": 50}, check=True)
    assert found.check.n_data_sets == 10
    assert len(found.check.sizes) == 3
    assert "is_calibrated" in repr(found)
    assert f"checked: power {found.check.at(found.n)}" in repr(found)


@pytest.mark.slow
def test_small_errors_are_scaled_to_fewer_rows():
    found = plan(error=1e-4, n_data_sets=60, mean_variance=0.2)
    assert found.n > 10 * MOST_SIMULATED
    assert "power depends on n·error²" in found.assumptions[-1]
    many = plan(n=found.n, n_data_sets=60, mean_variance=0.2)
    assert many.detectable == pytest.approx(1e-4, rel=0.3)


def test_a_line_attains_its_goal():
    line = lambda x, count, _, report: Round(x, 2 * x - 1, count**-0.5)  # noqa: E731
    seen = []
    rise, count = attained(line, 8.0, -1.0, 3.0, 1000, lambda done, of: seen.append((done, of)))
    assert rise.place(3.0) == pytest.approx(2.0)
    assert rise.place_error(3.0) == pytest.approx(1000**-0.5 / 2, rel=0.2)
    assert 1000 < count < 2000
    below, _ = attained(line, 8.0, -1.0, 3.0, 1000, NONE, most=1.5)
    assert below.place(3.0) == pytest.approx(2.0)


def test_a_line_is_fitted_by_least_squares_where_rounds_tell_its_slope():
    rounds = [Round(x, 1.5 * x - 2, 1e-4) for x in (1.0, 2.0, 3.0)]
    rise = Rise.of(rounds, -2.0, 1.0)
    assert (rise.start, rise.slope) == pytest.approx((-2.0, 1.5), abs=1e-3)
    assert Rise.of([Round(1.0, -3.0, 0.1)], -2.0, 1.0).slope > 0  # by chance below what no error gives


def test_rounds_are_on_the_scales_of_their_lines():
    assert probit_round(1.0, 0.8, 0.02, 1000).height == pytest.approx(NORMAL.inv_cdf(0.8), abs=0.01)
    assert math.isfinite(probit_round(1.0, 1.0, 0.0, 50).height)
    widths = np.array([0.1, 0.2, 0.3])
    assert width_round(1.0, widths).height == pytest.approx(5.0)
    assert width_round(1.0, widths).error == pytest.approx(0.1 / 3**0.5 * 25)


def test_a_world_of_many_rows_is_represented_by_fewer_predictions():
    world = power_world(0.05)
    assert represented(world, 500) is world
    many = represented(world, 10**6)
    assert many.true_error() == pytest.approx(0.05, rel=0.01)
    few = EmpiricalWorld(np.array([0.2, 0.7]), PowerCurve(2.0))
    assert represented(few, 10**6) is few


def test_an_impossible_event_is_always_detected():
    world = EmpiricalWorld(np.array([0.5, 1.0]), cal.simulate.ScaledCurve(0.5))
    assert simulated_power(world, 50, 0.05, 20, 0, NONE)[0] == 1


@pytest.mark.slow
def test_without_an_error_power_is_the_rate_of_false_alarms():
    power, error = simulated_power(calibrated_world((1, 1)), 200, 0.05, 2000, 3, NONE)
    assert abs(power - 0.05) < STANDARD_ERRORS * error


WORLDS = {
    "power": (power_world(0.08), {}),
    "tempered": (bent_world(0.08, (1.0, 1.0), family="tempered"), {}),
    "confident": (calibrated_world((5.0, 0.5)), {"error": 0.1}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("world", "options"), WORLDS.values(), ids=WORLDS)
def test_is_calibrated_has_the_power_that_was_asked_for(world, options):
    """On data sets that took no part, each with null draws of its own."""
    found = plan(world=world, n_data_sets=600, **options)
    truth = bent_world(0.1, world, norm=2) if options else world
    data = [truth.sample(found.n, 5000 + seed) for seed in range(150)]
    power = np.mean([cal.is_calibrated(each, n_draws=199).p_value <= 0.05 for each in data])
    error = math.hypot((0.16 / 150) ** 0.5, found.errors["reached"])
    assert abs(power - 0.8) < STANDARD_ERRORS * error
