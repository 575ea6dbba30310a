"""Every answer can be printed, shown in a notebook, drawn where it has a picture, saved, and put into a report."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant import results
from calibrant.report import page, write
from calibrant.results import Answer, Record, Table
from calibrant.verbs.answers import assess_answers
from made_once import MadeOnce
from report.test_page import Balance

pytest.importorskip("matplotlib.pyplot")  # which warns where it is old: notebooks draw

RNG = np.random.default_rng(3)
P = RNG.random(300)
DATA = cal.Predictions(RNG.random(300) < P**1.5, P)
GAUSSIAN = cal.Predictions.from_gaussian(RNG.normal(size=60), np.zeros(60), np.ones(60))
BETTER = cal.recalibrate(DATA, "platt")
GROUPS = RNG.choice(["a", "<b>"], 300)
ANSWERS = MadeOnce(
    {
        "estimate": lambda: cal.ece(DATA),
        "per class": lambda: cal.static_error(cal.example()[1]),
        "test": lambda: cal.is_calibrated(DATA, n_draws=99),
        "diagnosis": lambda: cal.diagnose(DATA, name="<b>"),
        "forecasts": lambda: cal.diagnose(GAUSSIAN, name="<b>"),
        "comparison": lambda: cal.compare(DATA, BETTER),
        "comparisons": lambda: cal.compare(DATA, {"platt": BETTER, "<b>": cal.maps.Identity().fit(DATA)}),
        "decomposition": lambda: cal.decompose(DATA),
        "trust": lambda: cal.trust(DATA, estimators=[cal.ece], n_data_sets=3),
        "where": lambda: cal.where(DATA, n_draws=99),
        "audit": lambda: cal.audit(DATA, groups=GROUPS),
        "plan": lambda: cal.plan(error=0.03, mean_variance=0.12, statistic="binned"),
        "validation": lambda: cal.plan_validation(0.1, 0.8),
        "answers": lambda: assess_answers(DATA.labels[:40], np.round(P[:40], 1)),
        "examination": lambda: cal.examine(DATA, name="<b>"),
    }
)
each = pytest.mark.parametrize("name", ANSWERS)


@each
def test_every_answer_has_the_common_members(name):
    answer = ANSWERS[name]
    assert isinstance(answer, Answer)
    assert answer.question.endswith("?")
    assert answer.sentence()
    assert all(isinstance(table, Table) for table in answer.tables())
    assert all(isinstance(text, str) for text in answer.cautions)
    text = repr(answer)
    assert str(answer) == text
    for word, texts in answer.notes().items():
        assert all(f"  {word}: {note}" in text for note in texts)


@pytest.mark.slow
@each
def test_the_notebook_and_the_page_draw_the_tables_of_the_answer(name):
    answer = ANSWERS[name]
    for html in (answer._repr_html_(), answer.to_html()):
        parsed = Balance(html)
        assert parsed.open == []
        assert "<b>" not in html.replace("<h1>Calibration of <b>", "")
        assert parsed.tags.count("script") == ("<!DOCTYPE" in html)
        texts = "".join(parsed.words)
        assert all(table.title in texts for table in answer.tables())


@each
def test_what_is_saved_is_read_back(name, tmp_path):
    answer = ANSWERS[name]
    answer.save(tmp_path / "a.json")
    assert type(answer).from_json((tmp_path / "a.json").read_text(encoding="utf-8")) == answer
    answer.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]


@pytest.mark.slow
@each
def test_an_answer_is_drawn_or_refused(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    if name != "test":
        ANSWERS[name].plot()
        plt.close("all")
        return
    with pytest.raises(
        cal.InputError,
        match=r"answer must have a picture; .* has none\. There are pictures of AnswerComparison, AnswerReport, ",
    ):
        ANSWERS[name].plot()


@each
def test_kinds_are_found_by_name(name):
    kind = type(ANSWERS[name])
    assert getattr(results, kind.__name__) is kind


def test_unknown_kinds_are_not_found():
    with pytest.raises(AttributeError, match=r"module 'calibrant\.results' has no attribute 'Spaceship'"):
        results.Spaceship  # noqa: B018


def test_all_answers_fit_on_one_page(tmp_path):
    html = page(*ANSWERS.values())
    parsed = Balance(html)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    for answer in ANSWERS.values():
        assert " ".join(answer.sentence().split()) in " ".join(" ".join(parsed.words).split())
    write(tmp_path / "all.json", *ANSWERS.values())
    content = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert set(content) == {"schema", "answers"}
    assert [Record.from_data(found) for found in content["answers"]] == list(ANSWERS.values())


def test_a_diagnosis_leads_and_the_others_follow(tmp_path):
    write(tmp_path / "r.json", ANSWERS["diagnosis"], ANSWERS["trust"])
    content = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert set(content) == {"schema", "diagnosis", "answers"}
    html = page(ANSWERS["diagnosis"], ANSWERS["trust"])
    assert html.index("Calibration of") < html.index("How far to trust them") < html.rindex(ANSWERS["trust"].question)


def test_what_is_no_answer_is_refused(tmp_path):
    with pytest.raises(cal.InputError, match=r"answers must be at least one answer of a verb, such as diagnose\(…\); "):
        page()
    with pytest.raises(cal.InputError, match="there is a dict"):
        write(tmp_path / "r.html", ANSWERS["trust"], {})
    with pytest.raises(cal.InputError, match="after needs a diagnosis of the same kind before it; it is a Trust"):
        page(ANSWERS["trust"], after=ANSWERS["diagnosis"])


def test_a_report_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(cal.FileError, match=r"cannot write the report .*: No space left on device"):
        ANSWERS["where"].save(path, overwrite=True)
    assert [(each.name, each.read_text(encoding="utf-8")) for each in tmp_path.iterdir()] == [("a.html", "old")]
