"""Plots of forecasts of a real number: the numbers handed to matplotlib."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibrant as cal
from calibrant import InputError


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(2)
    return cal.diagnose(cal.Predictions.from_gaussian(rng.normal(size=150), np.zeros(150), rng.uniform(0.5, 2, 150)))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.slow
def test_all_panels_are_drawn(found):
    axes = found.plot()
    assert [ax.get_xlabel() for ax in axes] == ["F(y)", "quantile level", "predicted standard deviation", "x"]


def test_panels_show_their_curves(found):
    bars = found.plot(panel="pit").patches
    np.testing.assert_allclose([bar.get_height() for bar in bars[:10]], found.pit.y)
    for panel in ("coverage", "spread", "marginal"):
        ax = found.plot(panel=panel, label="m", color="green")
        line = next(line for line in ax.lines if line.get_label() == "m")
        np.testing.assert_allclose(
            line.get_xydata(), np.stack([getattr(found, panel).x, getattr(found, panel).y], axis=1)
        )
        assert line.get_color() == "green"


def test_axes_of_ones_own(found):
    _, axes = plt.subplots(2, 2)
    assert list(found.plot(ax=axes)) == list(axes.ravel())
    assert found.plot(panel="pit", ax=axes[0, 0]) is axes[0, 0]
    with pytest.raises(InputError, match="ax must be 4 Axes; there are 1"):
        found.plot(ax=axes[0, 0])


def test_wrong_panels_are_refused(found):
    with pytest.raises(InputError, match="panel must be one of 'all', 'pit', 'coverage', 'spread', 'marginal'"):
        found.plot(panel="roc")
    quantiles = cal.diagnose(cal.Predictions.from_quantiles([0.0, 1.0], [0.5], [[0.0], [0.0]]))
    assert len(quantiles.plot()) == 3
    with pytest.raises(InputError, match="quantile forecasts have no spread"):
        quantiles.plot(panel="spread")
