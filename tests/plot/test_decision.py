from __future__ import annotations

import sys

import numpy as np
import pytest

import calibrant as cal
from calibrant.estimate.regret import decision_regret
from calibrant.estimate.selective import selective_risk
from calibrant.plot.decision import decision, risk_coverage

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(scope="module")
def regret():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return decision_regret(rng.random(300) < p**2, p, method="platt")


def named(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_regret_is_drawn_with_its_interval(regret, ax):
    assert decision(regret, ax=ax) is ax
    line = named(ax)["largest decision regret"]
    np.testing.assert_array_equal(line.get_ydata(), regret.parts["curve"].y)
    assert len(ax.collections) == 1


def test_a_curve_without_interval_has_no_band(ax):
    fitted = decision_regret([0, 1, 1, 0], [0.1, 0.7, 0.6, 0.4], method="platt", cross_fitted=False)
    decision(fitted, ax=ax, label="fitted")
    assert list(named(ax)) == ["fitted"]
    assert not ax.collections


def test_net_benefit_is_drawn_for_all_ways_to_act(regret, ax):
    decision(regret, ax=ax, show="net benefit")
    for name, line in named(ax).items():
        np.testing.assert_array_equal(line.get_ydata(), regret.parts["net_benefit"][name].y)
    assert set(named(ax)) == {"model", "repaired", "always"}
    ax.figure.canvas.draw()


def test_risk_is_drawn_against_coverage(ax):
    found = selective_risk([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.5])
    risk_coverage(found, ax=ax, label="answers")
    np.testing.assert_array_equal(named(ax)["answers"].get_ydata(), found.parts["curve"].y)
    assert ax.get_ylabel() == "share wrong among them"


def test_what_has_no_such_curve_is_refused(ax):
    with pytest.raises(cal.InputError, match="result must hold the curve to draw; it is Brier score"):
        decision(cal.brier_score([0, 1], [0.2, 0.7]), ax=ax)
    with pytest.raises(cal.InputError, match="it is a int"):
        risk_coverage(3, ax=ax)


def test_a_missing_matplotlib_says_how_to_get_it(regret, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(cal.MissingExtra, match="plotting needs matplotlib"):
        decision(regret)
