from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot import curves, reliability
from calibrant.plot.reliability import DIAGONAL
from calibrant.simulate import DirichletWorld, PowerCurve, named_world, power_world

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

WORLD = power_world(0.05)
ROWS = WORLD.sample(400, seed=0)
FITTED = cal.Beta().fit(ROWS)


def drawn(ax):
    return {line.get_label(): line.get_data() for line in ax.lines if line.get_gid() != DIAGONAL}


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_maps_and_true_curves_share_one_diagram(ax, scale):
    assert curves({"truth": WORLD, "beta": FITTED, "square": PowerCurve(2.0)}, scale=scale, ax=ax) is ax
    lines = drawn(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["truth", "beta", "square"]
    for name, of in {"truth": WORLD.curve, "beta": FITTED.apply, "square": np.square}.items():
        x, y = lines[name]
        np.testing.assert_allclose(y, of(x), rtol=1e-12)
    assert ax.get_ylabel() == "recalibrated or true rate"
    assert ax.get_xscale() == ("logit" if scale == "logit" else "linear")


def test_maps_and_worlds_plot_themselves(ax):
    FITTED.plot(ax=ax)
    assert ax.get_ylabel() == "recalibrated probability"
    WORLD.plot(ax=ax, label="truth", color="tab:red")
    assert list(drawn(ax)) == ["beta", "truth"]
    assert sum(line.get_gid() == DIAGONAL for line in ax.lines) == 1


def test_logit_axes_reach_as_far_as_the_scores_the_data_or_as_before(ax):
    figure = ax.figure
    figure.clear()
    first, second, third = figure.subplots(1, 3)
    named_world("resnet110_c10").plot(ax=first, scale="logit")
    assert first.get_xlim()[1] > 1 - 1e-9
    FITTED.plot(ax=second, scale="logit")
    assert 1e-7 < second.get_xlim()[0] < 1e-6
    FITTED.plot(ax=third, scale="logit", probs=[0.2, 0.7, 1.0])
    x = drawn(third)["beta"][0]
    assert x.min() < 0.2 < 0.7 < x.max() < 0.75


@pytest.mark.slow
def test_a_map_beside_a_reliability_diagram_leaves_its_axes(ax):
    reliability(cal.diagnose(ROWS), scale="logit", ax=ax)
    before = ax.get_xlim()
    curves([WORLD, FITTED], scale="logit", ax=ax)
    low, high = drawn(ax)["beta"][0][[0, -1]]
    assert before[0] < low < high < before[1]
    assert ax.get_ylabel() == "observed frequency"
    np.testing.assert_allclose(ax.get_xlim()[1], max(before[1], ax.get_xlim()[1]))


def test_a_map_of_the_top_class_is_a_curve(ax):
    valid, test = cal.example()
    fitted = cal.TopLabel(cal.Platt()).fit(valid)
    fitted.plot(ax=ax, scale="logit", probs=test)
    x, y = drawn(ax)["top label"]
    np.testing.assert_allclose(y, fitted.top.apply(x), rtol=1e-12)


def test_several_of_one_name_are_numbered(ax):
    curves([FITTED, FITTED], ax=ax)
    assert list(drawn(ax)) == ["beta", "beta (2)"]


def test_what_is_no_curve_is_refused(ax):
    with pytest.raises(cal.InputError, match="what must be a curve; a map of 10 classes is none"):
        cal.Temperature().fit(cal.example()[0]).plot(ax=ax)
    for bad in (cal.Platt(), DirichletWorld([1.0, 1.0]), "platt", 3):
        with pytest.raises(cal.InputError, match="what must be a fitted map"):
            curves(bad, ax=ax)
    for empty in ([], {}):
        with pytest.raises(cal.InputError, match="what must hold a map"):
            curves(empty, ax=ax)
    with pytest.raises(cal.InputError, match="label and color are those of a single curve"):
        curves([FITTED, WORLD], label="both", ax=ax)
    with pytest.raises(cal.InputError, match="scale must be"):
        curves(FITTED, scale="log", ax=ax)
    with pytest.raises(cal.InputError, match="probs"):
        curves(FITTED, scale="logit", probs=[1.2], ax=ax)
