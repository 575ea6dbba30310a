from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot.power import miss_rates, power_curve
from calibrant.simulate import power_world
from calibrant.simulate.power import detection
from calibrant.verbs.planning.plan import plan

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
figures = pytest.importorskip("matplotlib.figure")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"error": 0.05}, {"n": 300}, {"n": 300, "error": 0.05}, {"width": 0.1}])
def test_the_curve_is_drawn_with_its_answer(options, ax):
    found = plan(**options, mean_variance=0.2, n_data_sets=20)
    assert power_curve(found, ax=ax, label="planned") is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), found.curve.x)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.curve.y)
    assert ax.lines[1].get_ydata() == [found.reached]
    assert (ax.get_xlabel(), ax.get_ylabel()) == found.axes
    ax.figure.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"error": 0.3}, {"n": 100, "statistic": "binned"}])
def test_what_was_simulated_is_drawn_beside(options, ax):
    found = plan(**options, mean_variance=0.2, check=True, n_data_sets=30)
    power_curve(found, ax=ax)
    points = ax.containers[0].lines[0]
    np.testing.assert_array_equal(points.get_ydata(), found.check.simulated)


def test_miss_rates_are_drawn_over_rows_and_over_errors(ax):
    rows = detection(["ece", "sweep"], [power_world(0.05), power_world(0.1)], [50, 100], n_data_sets=20, workers=1)
    miss_rates(rows, ax=ax)
    assert len(ax.containers) == 4
    drawn = ax.containers[0].lines[0]
    mine = [r for r in rows if r.estimator == "ece" and r.world == rows[0].world]
    np.testing.assert_array_equal(drawn.get_xdata(), [50, 100])
    np.testing.assert_array_equal(drawn.get_ydata(), [r.miss_rate for r in mine])
    other = figures.Figure().subplots()
    miss_rates(rows, over="true_rms", ax=other)
    np.testing.assert_allclose(
        np.asarray(other.containers[0].lines[0].get_xdata(), dtype=float), sorted({r.true_rms for r in rows})
    )


def test_what_cannot_be_drawn_is_refused(ax):
    with pytest.raises(cal.InputError, match="result must be a Plan; it is a int"):
        power_curve(3, ax=ax)
    with pytest.raises(cal.InputError, match="rows must hold a Detection"):
        miss_rates([], ax=ax)
    with pytest.raises(cal.InputError, match="over must be one of"):
        miss_rates([], over="m", ax=ax)
