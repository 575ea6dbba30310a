from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot import cumulative
from results.every_answer import ANSWERS

pytest.importorskip("matplotlib.pyplot")


def test_where_draws_its_curve_stretch_and_core(ax):
    found = ANSWERS["where"]
    assert found.plot(ax) is ax
    line = next(line for line in ax.lines if line.get_label() == "errors added up")
    np.testing.assert_array_equal(line.get_ydata()[1:], found.curve.y)
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert spans == [pytest.approx((found.low, found.high)), pytest.approx(found.core)]
    assert found.direction in ax.get_title(loc="left")


def test_ks_draws_the_running_sum_from_0(ax):
    labels, p = [0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4]
    found = cal.ks_error(labels, p)
    found.plot(ax, label="sum", color="green")
    line = next(line for line in ax.lines if line.get_label() == "sum")
    assert line.get_color() == "green"
    np.testing.assert_allclose(line.get_ydata(), [0, 0.025, 0.125, 0.025, -0.05])


def test_what_has_no_running_sum_is_refused(ax):
    with pytest.raises(cal.InputError, match="result must hold a running sum of errors; it is ECE"):
        cumulative(cal.ece([0, 1], [0.2, 0.7]), ax=ax)
