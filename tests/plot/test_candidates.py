from __future__ import annotations

import numpy as np
import pytest

import calibrant as cal
from calibrant import plot
from calibrant.plot.candidates import BETTER, OPEN, WORSE
from results.every_answer import ANSWERS

pytest.importorskip("matplotlib.pyplot")
mpl = pytest.importorskip("matplotlib")


def tried(name, change, weight=None):
    around = cal.results.Interval(change - 0.01, change + 0.01, 0.95, "t")
    return cal.maps.Candidate(name, 2, 0.5 + change, None, change, around, weight)


CHOICE = cal.maps.Choice(
    "mixture", "by weight", "log score", (tried("platt", -0.03, 0.9), tried("identity", 0.0, 0.1)), tried("auto", -0.02)
)


def points(ax):
    return [c.get_offsets()[0].tolist() for c in ax.collections if not hasattr(c, "get_segments")]


def colors(ax):
    return [mpl.colors.to_hex(c.get_facecolor()[0]) for c in ax.collections if not hasattr(c, "get_segments")]


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 1500)
    rows = cal.Predictions(rng.random(1500) < 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-2 * z)))
    fits = {"platt": cal.Platt().fit(rows), "same": cal.maps.Identity().fit(rows)}
    worse = cal.Platt().fit(rng.random(1500) < rows.probs**8, rows.probs)
    return cal.compare(rows, {**fits, "worse": worse})


def test_candidates_are_drawn_where_their_changes_lie_best_first(several, ax):
    assert several.plot(ax) is ax
    found = several.ranked()
    np.testing.assert_allclose(points(ax), [[each.difference.value, k] for k, each in enumerate(found.values())])
    assert [text.get_text().split("  ")[0] for text in ax.texts] == ["platt", "same", "worse"]
    assert colors(ax) == [BETTER, OPEN, WORSE]
    assert "1 of 3 candidates help, n = 1,500" in ax.get_title(loc="left").replace("\u00a0", " ").replace("\n", " ")


def test_intervals_of_candidates_are_drawn_from_end_to_end(several, ax):
    several.plot(ax)
    drawn = [c.get_segments()[0] for c in ax.collections if hasattr(c, "get_segments")][1:]
    ends = [each.difference.interval for each in several.ranked().values()]
    np.testing.assert_allclose([line[:, 0] for line in drawn], [[i.low, i.high] for i in ends])


@pytest.mark.slow
def test_the_choice_of_auto_is_drawn(ax):
    CHOICE.plot(ax)
    assert [text.get_text().split("  ")[0] for text in ax.texts] == ["platt", "identity", "auto"]
    assert "weight 0.90" in ax.texts[0].get_text()
    np.testing.assert_allclose([x for x, _ in points(ax)], [-0.03, 0.0, -0.02])


def test_a_choice_without_candidates_is_refused(ax):
    choice = cal.maps.Choice("identity", "too few rows", "log score", ())
    with pytest.raises(cal.InputError, match="result must hold candidates; none was tried: too few rows"):
        choice.plot(ax)
    assert "<svg" not in choice._repr_html_()


def test_classes_are_bars_worst_first(ax):
    found = ANSWERS["per class"]
    plot.classes(found, most=4, ax=ax)
    worst = found.parts["classes"].worst(4)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [value for _, value in worst])
    assert [text.get_text().split("  ")[0] for text in ax.texts] == [f"class {name}" for name, _ in worst]
    assert "the 4 worst of 10 classes" in ax.get_title(loc="left").replace("\n", " ")


@pytest.mark.slow
def test_classes_of_a_diagnosis_are_those_most_clearly_wrong(ax):
    found = cal.diagnose(cal.example()[1])
    plot.classes(found, ax=ax)
    gaps = found.classes.mean_prob - found.classes.label_rate
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], gaps)


def test_what_has_no_classes_is_refused(ax):
    with pytest.raises(cal.InputError, match="result must be an estimate per class; it is ECE"):
        plot.classes(cal.ece([0, 1], [0.2, 0.7]), ax=ax)
    with pytest.raises(cal.InputError, match="it is a diagnosis of one event"):
        plot.classes(cal.diagnose([0, 1] * 20, [0.2, 0.7] * 20), ax=ax)
    with pytest.raises(cal.InputError, match="result must hold a Bias"):
        plot.estimator_plot([], ax=ax)


def test_bias_and_trust_lie_around_the_truth(ax):
    found = ANSWERS["bias"]
    found.plot(ax)
    assert points(ax)[0][0] == pytest.approx(found.bias)
    ax.clear()
    trusted = ANSWERS["trust"]
    trusted.plot(ax)
    np.testing.assert_allclose([x for x, _ in points(ax)], [row.bias for row in trusted.rows])


def test_criteria_of_a_validation_are_bars_of_rows(ax):
    found = ANSWERS["validation"]
    found.plot(ax)
    assert [bar.get_width() for bar in ax.patches] == sorted((each.n for each in found.criteria), reverse=True)


def test_more_lines_than_there_is_space_for_are_counted():
    rng = np.random.default_rng(0)
    p, team = rng.random(3000), rng.choice([f"team {k}" for k in range(30)], 3000)
    found = cal.audit(cal.Predictions(rng.random(3000) < p, p), groups=team, n_draws=19, min_size=10)
    ax = mpl.figure.Figure((4, 3)).subplots()
    plot.segments(found, most=30, ax=ax)
    assert 3 < len(ax.texts) < 20
    assert f"the first {len(ax.texts)} of 30" in ax.get_title(loc="left").replace("\n", " ")
