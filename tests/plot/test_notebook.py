"""What a notebook shows: the picture, the words and the tables of every object."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import calibrant as cal
from calibrant.plot.kinds import plot_of
from plot.test_candidates import CHOICE
from report.test_page import Balance
from results.every_answer import ANSWERS

pytest.importorskip("matplotlib.pyplot")
mpl = pytest.importorskip("matplotlib")
HOSTILE = "<script>alert(1)</script>$\\frac"


def objects():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    rows = cal.Predictions(rng.random(300) < p**1.5, p)
    names = [HOSTILE, "b", "c"]
    three = cal.Predictions(
        np.array(names)[rng.integers(0, 3, 200)],
        rng.dirichlet(np.ones(3), 200),
        classes=names,
        groups=rng.choice([HOSTILE, "x"], 200),
        weights=rng.random(200),
    )
    forecasts = cal.Predictions.from_gaussian(rng.normal(size=40), np.zeros(40), np.ones(40))
    return {
        "predictions": rows,
        "classes": three,
        "labels": cal.Predictions.from_multilabel(rng.integers(0, 2, (30, 3)), rng.random((30, 3)), classes=names),
        "forecasts": forecasts,
        "state": cal.collect(rows, part=HOSTILE),
        "monitor": cal.Monitor().update(rows, mark=HOSTILE),
        "new monitor": cal.Monitor(),
        "map": cal.Beta().fit(rows),
        "top": cal.TopLabel(cal.Platt()).fit(three),
        "temperature": cal.Temperature().fit(three),
        "of forecasts": cal.recalibrate(forecasts, "variance_platt"),
        "choice": CHOICE,
        "named": cal.diagnose(rows, name=HOSTILE),
        "per class": cal.static_error(three),
        "audit": cal.audit(rows, groups=rng.choice([HOSTILE, "x"], 300), n_draws=19),
    }


@pytest.fixture(scope="module")
def shown():
    return {**objects(), **{f"answer: {name}": each for name, each in ANSWERS.items()}}


DRAWN = ("monitor", "map", "top", "choice", "named", "per class", "audit")


@pytest.mark.slow
def test_every_object_is_well_formed_small_and_free_of_scripts(shown):
    before = dict(mpl.rcParams)
    for name, each in shown.items():
        html = each._repr_html_()
        assert Balance(html).open == [], name
        assert "<script" not in html, name
        assert len(html) < 100_000, name
        drawn = name in DRAWN or (name.startswith("answer") and plot_of(each) is not None)
        assert html.count("<svg") == drawn, name
    assert dict(mpl.rcParams) == before
    assert not mpl.pyplot.get_fignums()


def test_pictures_take_the_colour_of_the_text_and_keep_their_numbers(shown):
    html = shown["named"]._repr_html_()
    svg = html[html.index("<svg") : html.index("</svg>")]
    assert "currentColor" in svg
    assert "#000000" not in svg
    assert "<style" not in svg
    error = shown["named"]["calibration_error"]
    words = " ".join(re.sub("<[^>]*>", " ", svg).replace("\u00a0", " ").split())
    assert f"calibration error {error.value:.3f}" in words


def test_without_matplotlib_there_are_words_and_tables(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = shown["named"]._repr_html_()
    assert "<svg" not in html
    assert "<table" in html


@pytest.mark.slow
def test_facts_of_predictions_states_and_maps(shown):
    assert "observed rate" in shown["predictions"]._repr_html_()
    assert "sum of weights" in shown["classes"]._repr_html_()
    assert "distinct predictions" in shown["state"]._repr_html_()
    assert "rows fitted on" in shown["temperature"]._repr_html_()
    assert "0 rows" in shown["new monitor"]._repr_html_()


def test_rows_become_frames(shown):
    rows = shown["predictions"]
    frame = rows.to_frame()
    assert list(frame.columns) == ["label", "prob"]
    again = cal.Predictions(frame["label"], frame["prob"], classes=rows.classes)
    np.testing.assert_array_equal(again.labels, rows.labels)
    np.testing.assert_array_equal(again.probs, rows.probs)
    classes = shown["classes"].to_frame()
    assert list(classes.columns) == ["label", *(f"prob_{name}" for name in (HOSTILE, "b", "c")), "weight", "group"]
    assert set(classes["label"]) == {HOSTILE, "b", "c"}
    assert list(shown["labels"].to_frame().columns)[:2] == [f"label_{HOSTILE}", "label_b"]
    assert list(shown["forecasts"].to_frame("polars").columns) == ["label", "mean", "variance"]
    assert shown["state"].to_frame()["weight"].sum() == 300
    assert shown["monitor"].to_frame()["e_value"].iloc[-1] == pytest.approx(shown["monitor"].e_value)
    assert list(shown["choice"].to_frame()["name"]) == [each.name for each in shown["choice"].candidates]


LOGGED = re.compile(r"[/\w.\- ]+")
"""Names that MLflow takes."""


def test_numbers_for_loggers_are_flat_floats_under_names_that_they_take(shown):
    found = [each.to_dict() for each in shown.values() if hasattr(each, "to_dict")]
    assert len(found) > 15
    for numbers in found:
        assert numbers
        assert all(type(value) is float for value in numbers.values())
        assert all(LOGGED.fullmatch(name) for name in numbers), list(numbers)
