"""Every answer that has a picture draws it: with labels, a note and nothing cut off, at three inches, on light and on dark."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import calibrant as cal
from calibrant import plot, simulate
from calibrant.plot.axes import COLORS, offscreen, tone
from calibrant.plot.kinds import PLOTS, plot_of
from calibrant.results import Answer
from calibrant.verbs.answer_models import compare_answers
from calibrant.verbs.classes import classes_of
from plot.test_candidates import CHOICE
from results.every_answer import ANSWERS

pytest.importorskip("matplotlib.pyplot")
mpl = pytest.importorskip("matplotlib")
mpl.use("agg")

SHRUNK = cal.results.Estimate(
    "calibration_slope",
    "calibration slope",
    0.8,
    99,
    cal.results.Interval(0.6, 1.0, 0.95, "shifted"),
    parts={"apparent": 1.0},
)
WITHOUT = ("test", "detection", "bias test")
"""answers that have no picture"""
HOSTILE = "$\\frac{ <b>_x</b>"


@pytest.fixture(scope="module")
def shown():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    rows = cal.Predictions(rng.random(400) < p**1.5, p)
    three = rng.dirichlet(np.ones(3), 200)
    names = [HOSTILE, "b", "c"]
    classes = cal.Predictions(np.array(names)[rng.integers(0, 3, 200)], three, classes=names)
    return {
        **{name: each for name, each in ANSWERS.items() if name not in WITHOUT},
        "clinical": cal.clinical(rows, name=HOSTILE),
        "all classes": classes_of(classes, cal.static_error(classes).parts["classes"], None),
        "models": compare_answers(rows.labels, np.round(p, 1), np.where(np.arange(400) % 2, "a", HOSTILE)),
        "watched": cal.Monitor().update(rows).answer(),
        "optimism": cal.results.OptimismReport("m", 99, 40, 5, 0.95, (SHRUNK, replace(SHRUNK, interval=None))),
        "regret": cal.decision_regret(rows, method="platt"),
        "risk": cal.selective_risk(rows),
        "ks": cal.ks_error(rows),
        "density": cal.density_error(rows),
        "posterior": cal.posterior_error(rows),
        "classes": cal.static_error(classes),
        "choice": CHOICE,
        "monitor": cal.Monitor().update(rows),
        "map": cal.Beta().fit(rows),
        "world": simulate.power_world(0.05),
        "named": cal.diagnose(rows, name=HOSTILE),
    }


NAMES = [
    *(name for name in ANSWERS if name not in WITHOUT),
    "clinical", "all classes", "models", "watched", "optimism", "regret", "risk", "ks", "density", "posterior", "classes", "choice", "monitor", "map", "world", "named",
]  # fmt: skip


def texts_of(ax):
    """Every text on the axes that is seen."""
    found = [ax.xaxis.label, ax.yaxis.label, ax._left_title, *ax.texts]
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        found += [tick.label1 for tick in axis.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9]
    found += [] if ax.get_legend() is None else ax.get_legend().get_texts()
    return [text for text in found if text.get_text().strip() and text.get_visible()]


def check(figure, room=1.0):
    """No text leaves the figure and none lies on another."""
    figure.draw_without_rendering()
    limits = figure.bbox
    boxes = [(text.get_text(), text.get_window_extent()) for ax in figure.axes for text in texts_of(ax)]
    for text, box in boxes:
        inside = box.x0 >= -room and box.y0 >= -room and box.x1 <= limits.x1 + room and box.y1 <= limits.y1 + room
        assert inside, f"{text!r} is cut off: {box.extents} on {limits.extents}"
    for (first, one), (second, other) in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        along = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across <= room or along <= room, f"{first!r} lies on {second!r}"


@pytest.mark.some(9)
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_labels_and_nothing_is_cut_off_at_three_inches(shown, name):
    before = dict(mpl.rcParams)
    with offscreen(3.0):
        axes = np.ravel(shown[name].plot())
    for ax in axes:
        assert ax.get_xlabel() or ax.get_ylabel()
        if name != "world":
            assert ax.get_title(loc="left")
    check(axes[0].figure)
    assert dict(mpl.rcParams) == before
    assert not mpl.pyplot.get_fignums()


@pytest.mark.parametrize("name", ["estimate", "comparisons", "decomposition", "where", "plan", "audit"])
def test_axes_of_three_inches_that_are_given(shown, name):
    figure = mpl.figure.Figure((3, 3), layout="constrained")
    ax = figure.subplots()
    assert shown[name].plot(ax=ax) is ax
    check(figure)


def test_every_kind_of_answer_with_a_picture_is_tried(shown):
    kinds = {type(each).__name__ for each in shown.values()}
    assert set(PLOTS) <= kinds
    assert [name for name, each in ANSWERS.items() if plot_of(each) is None] == sorted(WITHOUT, key=[*ANSWERS].index)


@pytest.mark.some(3)
@pytest.mark.parametrize("face", ["white", "black"])
@pytest.mark.parametrize("name", ["diagnosis", "comparisons", "forecasts"])
def test_all_ink_can_be_read_on_light_and_dark(shown, name, face):
    with mpl.rc_context({"axes.facecolor": face, "figure.facecolor": face}), offscreen():
        axes = np.ravel(shown[name].plot())
    axes[0].figure.draw_without_rendering()
    for ax in axes:
        for text in texts_of(ax):
            assert contrast(text.get_color(), face) > 10, text
        for line in ax.lines:
            assert contrast(line.get_color(), face) > 2.5


def contrast(color, face):
    """The ratio of luminances, as in WCAG, of a colour that may be transparent, before a background."""
    *ink, alpha = mpl.colors.to_rgba(color)
    back = np.array(mpl.colors.to_rgb(face))

    def light(rgb):
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    one, other = light(alpha * np.array(ink) + (1 - alpha) * back), light(back)
    return max(one, other) / min(one, other)


def test_the_palette_reads_on_white_and_black_and_by_the_colour_blind():
    assert all(contrast(color, face) >= 3 for color in COLORS for face in ("white", "black"))
    assert tone(mpl.figure.Figure(facecolor="black").subplots(), inside=False)[:3] == (1, 1, 1)
    rgb = np.array([mpl.colors.to_rgb(color) for color in COLORS]) ** 2.2
    deutan = np.array([[0.625, 0.375, 0], [0.7, 0.3, 0], [0, 0.3, 0.7]])
    seen = (rgb @ deutan.T) ** (1 / 2.2)
    apart = [np.linalg.norm(a - b) for a, b in combinations(seen, 2)]
    assert min(apart) > 0.1


def test_lines_differ_without_colour(ax):
    rows = simulate.power_world(0.05).sample(200, seed=0)
    plot.curves({name: cal.recalibrate(rows, name) for name in ("platt", "beta", "isotonic", "temperature")}, ax=ax)
    dashes = [str(line._dash_pattern) for line in ax.lines if line.get_gid() == "calibrant-series"]
    assert len(set(dashes)) == 4


def test_an_answer_without_a_picture_says_which_have_one():
    with pytest.raises(
        cal.InputError, match=r"answer must have a picture; Brier score has none\. There are pictures of A"
    ):
        cal.brier_score([0, 1], [0.2, 0.7]).plot()
    found = cal.is_calibrated([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], n_draws=19)
    assert isinstance(found, Answer)
    with pytest.raises(cal.InputError, match="a TestResult has none"):
        found.plot()


@pytest.mark.slow
@pytest.mark.parametrize("width", [2.6, 3.4, 4.2])
def test_notes_of_many_lines_leave_square_axes_in_the_figure(shown, width):
    with offscreen(width):
        ax = shown["clinical"].plot()
    plot.reliability({"before": shown["diagnosis"], "after it": shown["named"]}, ax=ax)
    check(ax.figure)
