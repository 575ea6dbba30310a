from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot import reliability
from calibrant.plot.content import bar_heights, histogram_of
from calibrant.plot.reliability import DIAGONAL, STRIP_FLOOR

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(scope="module")
def diagnosis() -> cal.results.Diagnosis:
    return cal.diagnose(cal.example()[1], name="digits")


def curve_lines(ax):
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def test_the_curve_is_drawn_where_it_lies(diagnosis, ax):
    assert reliability(diagnosis, ax=ax) is ax
    (line,) = curve_lines(ax)
    np.testing.assert_array_equal(line.get_xdata(), diagnosis.curve.x)
    np.testing.assert_array_equal(line.get_ydata(), diagnosis.curve.y)
    assert line.get_label() == "digits"


def test_intervals_are_drawn_from_low_to_high(diagnosis, ax):
    reliability(diagnosis, ax=ax)
    (drawn,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    ends = np.array(drawn.get_segments())[:, :, 1]
    np.testing.assert_array_equal(ends, np.stack([diagnosis.curve.low, diagnosis.curve.high], axis=1))


def test_point_area_grows_with_support(ax):
    estimate = cal.binned_error([0, 1, 1, 1], [0.1, 0.9, 0.9, 0.9], bins=cal.EqualWidth(2))
    reliability(estimate, ax=ax)
    sizes = ax.collections[-1].get_sizes()
    assert sizes[1] / sizes[0] == pytest.approx(3)


def test_histogram_bars_cover_equally_wide_bins(diagnosis, ax):
    reliability(diagnosis, ax=ax)
    bins = diagnosis["ECE"].parts["bins"]
    assert [bar.get_x() for bar in ax.patches] == pytest.approx(bins.low.tolist())
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.max(), bins.weight / bins.weight.max())
    assert ax.get_ylim()[0] == STRIP_FLOOR


def test_histogram_can_be_left_out(diagnosis, ax):
    reliability(diagnosis, ax=ax, histogram=False)
    assert not ax.patches
    assert ax.get_ylim()[0] > STRIP_FLOOR


def test_without_equally_wide_bins_the_histogram_shows_density(diagnosis):
    bare = replace(diagnosis, estimates=())
    assert histogram_of(bare) is diagnosis.bins
    width = diagnosis.bins.high - diagnosis.bins.low
    np.testing.assert_allclose(np.argmax(bar_heights(diagnosis.bins)), np.argmin(width))


def test_two_results_share_one_diagonal_and_one_histogram_strip(diagnosis, ax):
    reliability(diagnosis, ax=ax, label="before", color="tab:red")
    reliability(diagnosis, ax=ax, label="after", color="tab:blue", histogram=False)
    assert sum(line.get_gid() == DIAGONAL for line in ax.lines) == 1
    assert [line.get_color() for line in curve_lines(ax)] == ["tab:red", "tab:blue"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
    assert ax.get_ylim()[0] == STRIP_FLOOR


def test_an_estimate_with_bins_is_drawn_without_intervals(ax):
    estimate = cal.ece([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    reliability(estimate, ax=ax)
    np.testing.assert_array_equal(curve_lines(ax)[0].get_xdata(), estimate.parts["bins"].mean_prob)
    ax.figure.canvas.draw()


def test_a_result_without_bins_is_refused(ax):
    with pytest.raises(
        cal.InputError, match="result must be a Diagnosis or an Estimate with bins; Brier score has no bins"
    ):
        reliability(cal.brier_score([0, 1], [0.2, 0.7]), ax=ax)
    with pytest.raises(cal.InputError, match="it is a int"):
        reliability(3, ax=ax)


def test_a_missing_matplotlib_says_how_to_get_it(diagnosis, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        cal.MissingExtra, match=r"plotting needs matplotlib. Install it with: pip install 'calibrant\[plot\]'"
    ):
        diagnosis.plot()


def test_drawing_leaves_the_settings_of_matplotlib_alone(diagnosis):
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    figure = diagnosis.plot().figure
    figure.canvas.draw()
    plt.close(figure)
    assert dict(matplotlib.rcParams) == before


def bent_rows(n=600):
    rng = np.random.default_rng(3)
    p = rng.beta(1.2, 0.6, n)
    return (rng.random(n) < p**1.6).astype(int), p


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("style", ["auto", "points", "curve", "bars", "tilted"])
def test_every_style_can_be_drawn_on_both_scales(ax, style, scale):
    drawn = reliability(cal.binned_error(*bent_rows(), bins=cal.EqualWidth(8)), style=style, scale=scale, ax=ax)
    drawn.figure.canvas.draw()
    assert drawn.get_xscale() == ("logit" if scale == "logit" else "linear")


def test_a_tilted_roof_has_slope_one_through_the_mean_of_its_bin(ax):
    found = cal.binned_error(*bent_rows(), bins=cal.EqualWidth(4))
    reliability(found, style="tilted", ax=ax)
    bins = found.parts["bins"]
    roofs = [line for line in ax.lines if line.get_linewidth() == 1.6]
    assert len(roofs) == len(bins)
    for roof, p, y in zip(roofs, bins.mean_prob, bins.label_rate, strict=True):
        x, height = roof.get_data()
        inside = (height > 0) & (height < 1)
        np.testing.assert_allclose(height[inside] - x[inside], y - p, atol=1e-12)


def test_a_fitted_curve_is_drawn_with_its_band(ax):
    found = cal.fitted_error(*bent_rows(), method=cal.maps.GaussianProcessMap())
    reliability(found, ax=ax)
    curve = found.parts["curve"]
    drawn = next(line for line in ax.lines if line.get_label().startswith("calibration error by fitting"))
    np.testing.assert_allclose(drawn.get_ydata(), curve.y)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(curve.low.min())
    assert band.max() == pytest.approx(curve.high.max())


@pytest.mark.parametrize("options", [{"style": "pie"}, {"scale": "log"}])
def test_unknown_styles_and_scales_are_refused(ax, options):
    with pytest.raises(cal.InputError, match=next(iter(options))):
        reliability(cal.ece(*bent_rows()), ax=ax, **options)
