from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot import clinical_plot

pytest.importorskip("matplotlib.pyplot")
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def answers():
    stated = RNG.choice([0.5, 0.8, 1.0], 600)
    return cal.assess_answers(RNG.random(600) < np.where(stated == 1.0, 0.6, stated), stated, name="assistant")


def test_levels_are_drawn_where_they_lie_and_wrong_ones_are_marked(answers, ax):
    answers.plot(ax)
    fine, wrong = [c for c in ax.collections if not hasattr(c, "get_segments")]
    np.testing.assert_allclose(wrong.get_offsets(), [[1.0, answers.levels.label_rate[-1]]])
    np.testing.assert_allclose(fine.get_offsets()[:, 1], answers.levels.label_rate[:-1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no error seen", "wrong, all levels tested"]


def test_risk_is_drawn_on_request(answers, ax):
    answers.plot(ax, show="risk")
    assert ax.get_xlabel() == "share answered"
    with pytest.raises(cal.InputError, match="show"):
        answers.plot(ax, show="pie")


@pytest.mark.slow
def test_a_clinical_report_draws_its_curve_and_its_numbers(ax):
    p = RNG.random(500)
    found = cal.clinical(RNG.random(500) < p, p, name="score")
    found.plot(ax)
    title = ax.get_title(loc="left").replace("\n", " ")
    for words in ("score: ICI", "O/E ", "slope ", "c-statistic "):
        assert words in title
    curve = found["ici"].parts["curve"]
    line = next(line for line in ax.lines if line.get_label() == "score")
    np.testing.assert_array_equal(line.get_ydata(), curve.y)
    bare = replace(found, estimates=tuple(each for each in found.estimates if "curve" not in each.parts))
    with pytest.raises(cal.InputError, match="result must hold the calibration curve"):
        clinical_plot(bare, ax=ax)
