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


@pytest.mark.slow
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


@pytest.mark.slow
def test_histogram_can_be_left_out(diagnosis, ax):
    reliability(diagnosis, ax=ax, histogram=False)
    assert not ax.patches
    assert ax.get_ylim()[0] > STRIP_FLOOR


def test_without_equally_wide_bins_the_histogram_shows_density(diagnosis):
    bare = replace(diagnosis, estimates=())
    assert histogram_of(bare) is diagnosis.bins
    width = diagnosis.bins.high - diagnosis.bins.low
    np.testing.assert_allclose(np.argmax(bar_heights(diagnosis.bins)), np.argmin(width))


@pytest.mark.slow
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


def saturated(n=4000):
    """Confidences like a network's: most of them beyond 1 − 10⁻⁴, some of them exactly 1."""
    rng = np.random.default_rng(5)
    p = (1 / (1 + np.exp(-rng.normal(9, 6, n)))).astype(np.float32)
    return (rng.random(n) < np.clip(p, 0, 1) ** 0.3 * 0.98).astype(int), p


@pytest.mark.parametrize("style", ["points", "curve"])
def test_logit_axes_reach_as_far_as_the_predictions_and_nothing_is_moved(ax, style):
    labels, p = saturated()
    found = cal.binned_error(labels, p, bins=12) if style == "points" else cal.fitted_error(labels, p, method="platt")
    reliability(found, scale="logit", ax=ax)
    x, y = (np.asarray(each, dtype=float) for each in curve_lines(ax)[0].get_data())
    drawn = np.isfinite(x)
    table = found.parts["bins"] if style == "points" else found.parts["curve"]
    known = (table.mean_prob, table.label_rate) if style == "points" else (table.x, table.y)
    inside = (known[0] < 1) & (known[1] < 1)
    np.testing.assert_array_equal(drawn, inside)
    np.testing.assert_array_equal(x[drawn], known[0][inside])
    np.testing.assert_array_equal(y[drawn], known[1][inside])
    assert x[drawn].max() > 1 - 1e-5
    for limits, values in ((ax.get_xlim(), x[drawn]), (ax.get_ylim(), y[drawn])):
        assert limits[0] < values.min() <= values.max() < limits[1]
    assert ax.get_xlim() == ax.get_ylim()
    assert "$1-10^{-6}$" in [text.get_text() for text in ax.get_xticklabels()]


def test_points_without_log_odds_are_counted_in_a_note(ax):
    labels, p = saturated()
    found = cal.binned_error(labels, p, bins=12)
    bins = found.parts["bins"]
    gone = (bins.mean_prob == 1) | (bins.label_rate == 1)
    share = bins.weight[gone].sum() / bins.weight.sum()
    assert gone.any()
    reliability(found, scale="logit", ax=ax)
    reliability(found, scale="logit", ax=ax)
    note = " ".join(ax.get_title(loc="left").replace("\u00a0", " ").split())
    count = f"{gone.sum()} point{'s' * int(gone.sum() > 1)}"
    said = f"{count} with {share:.1%} of the rows at 0 or 1: not on this scale".replace("%", " %")
    assert note.count(said) == 1


def test_a_second_result_widens_logit_axes_and_their_diagonal(ax):
    narrow = cal.binned_error([0, 1] * 40, [0.4, 0.6] * 40, bins=2)
    reliability(cal.binned_error(*bent_rows(), bins=3), scale="logit", ax=ax)
    first = ax.get_xlim()
    reliability(cal.fitted_error(*saturated(), method="platt"), scale="logit", ax=ax)
    second = ax.get_xlim()
    reliability(narrow, scale="logit", ax=ax)
    assert first[1] < second[1] == pytest.approx(ax.get_xlim()[1], abs=1e-12)
    (diagonal,) = [line for line in ax.lines if line.get_gid() == DIAGONAL]
    assert tuple(diagonal.get_xdata()) == pytest.approx(ax.get_xlim())


def test_intervals_that_reach_0_or_1_leave_the_view(ax):
    labels, p = [0] * 6 + [0, 1, 1, 0, 1, 1], [0.01] * 6 + [0.6, 0.7] * 3
    result = cal.diagnose(labels, p)
    reliability(result, scale="logit", ax=ax)
    ax.figure.canvas.draw()
    (drawn,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    ends = np.array([segment[:, 1] for segment in drawn.get_segments() if len(segment)])
    assert len(ends)
    assert ((ends > 0) & (ends < 1)).all()


def test_ticks_follow_the_span():
    from calibrant.plot.logit_axes import tick_text, ticks_of

    assert ticks_of(0.0005, 0.9995) == [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    assert ticks_of(0.15, 0.85) == [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert len(ticks_of(1e-12, 1 - 1e-12)) <= 9
    assert [tick_text(p) for p in (1e-6, 0.001, 0.5, 0.999, 1 - 1e-6)] == [
        "$10^{-6}$", "0.001", "0.5", "0.999", "$1-10^{-6}$",
    ]  # fmt: skip
