"""Bands in the reliability diagram."""

from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.infer import band_of_bins, simultaneous_band
from calibrant.plot import reliability

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def diagnosis(rng):
    p = rng.random(400)
    return cal.diagnose(rng.random(400) < p**1.5, p)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def filled(ax, label):
    """Corners of the area with a label."""
    (area,) = [c for c in ax.collections if c.get_label() == label]
    return area.get_paths()[0].vertices


@pytest.mark.slow
@pytest.mark.parametrize("method", ["consistency", "simultaneous"])
def test_a_band_of_bins_is_drawn(diagnosis, method):
    corners = filled(reliability(diagnosis, band=method), f"{method} band, 95 %")
    band = band_of_bins(diagnosis.bins, method).curve()
    for x, low, high in zip(band.x, band.low, band.high, strict=True):
        assert np.isclose(corners, (x, low)).all(axis=1).any()
        assert np.isclose(corners, (x, high)).all(axis=1).any()


@pytest.mark.slow
def test_a_band_of_rows_is_drawn(rng, diagnosis):
    p = rng.random(100)
    band = simultaneous_band(rng.random(100) < p, p, level=0.9)
    assert filled(diagnosis.plot(band=band), "simultaneous band, 90 %")[:, 0].max() == pytest.approx(band.x[-1])


@pytest.mark.slow
def test_intervals_are_drawn_only_when_asked_for(diagnosis):
    from matplotlib.collections import LineCollection

    def bars(band):
        return [c for c in reliability(diagnosis, band=band, ax=plt.figure().add_subplot()).collections if isinstance(c, LineCollection)]  # fmt: skip

    assert len(bars("confidence")) == 1
    assert bars(None) == bars("consistency") == []


def test_an_unknown_band_is_refused(diagnosis):
    with pytest.raises(cal.InputError, match="band"):
        reliability(diagnosis, band="wide")
