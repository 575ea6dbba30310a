from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import calibrant as cal
from calibrant.report import page
from calibrant.results import Table

VOID = {"meta", "br", "input"}
NASTY = "<script>alert(1)</script>\"'&"


@pytest.fixture(scope="module")
def html(results) -> str:
    first, *_ = results.values()
    return page(first, **{name: each for name, each in results.items() if name != "diagnosis"})


class Balance(HTMLParser):
    """Fails where an element is closed that was not the last one opened; keeps tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.ids, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def drawings(text: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)]


def test_every_element_is_closed_and_ids_are_unique(html):
    parsed = Balance(html)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids)) > 0


def test_page_names_nothing_outside_itself(html):
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)|\bsrc=|\bhref=(?!\"#)", html)
    assert "default-src 'none'" in html


def test_only_our_own_script_may_run(html):
    (script,) = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    known = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{known}';" in html.replace("&#x27;", "'")
    assert script == files("calibrant.report").joinpath("script.js").read_text(encoding="utf-8")


def test_page_is_small(html):
    assert len(html.encode()) < 300_000


def test_hostile_texts_are_shown_and_not_run(results):
    diagnosis, comparison = results["diagnosis"], results["comparison"]
    hostile = replace(diagnosis, name=NASTY, verdict=NASTY, view=f"class {NASTY}", advice=(NASTY,), cautions=(NASTY,))
    text = page(hostile, after=hostile, comparison=replace(comparison, grounds=NASTY, cautions=(NASTY,)))
    parsed = Balance(text)
    assert parsed.open == []
    assert parsed.tags.count("script") == 1
    assert NASTY in "".join(parsed.words)
    assert len(drawings(text)) == len(drawings(page(diagnosis, after=diagnosis)))


def test_drawings_are_well_formed_and_described(html):
    named = [svg for svg in drawings(html) if svg.get("role") == "img"]
    assert len(named) == 8  # classical, row by row, log-odds and running sum, before and after
    for svg in named:
        assert svg.get("aria-labelledby").split() == [svg.find("title").get("id"), svg.find("desc").get("id")]


def test_sections_come_in_order(html, results):
    texts = ["Calibration of ", "Not calibrated", "What to do", "899 rows", "<svg", "The repair helped", "keeps the ranking", "How far to trust", "<h2>Methods, to quote", "Written by calibrant"]  # fmt: skip
    body = html[html.index("<body>") :]
    places = [body.index(text) for text in texts]
    assert places == sorted(places)
    assert f"calibrant {cal.__version__}" in html


def test_repaired_report_advises_on_the_repaired(html, results):
    assert results["after"].advice[0] in html
    assert results["diagnosis"].advice[0] not in html


def test_cautions_say_what_they_speak_of(results):
    fitted = replace(results["fitted"], fit=replace(results["fitted"].fit, cautions=("far out",)))
    assert "<li>Repair: far out</li>" in page(results["diagnosis"], fitted=fitted)
    assert "<h3>Warnings</h3>" not in page(replace(results["diagnosis"], cautions=()))


def test_a_table_added_to_the_diagnosis_appears_by_itself(results, monkeypatch):
    extra = Table("By <group>", ("group", "gap"), (("north", 0.25), ("south", -0.5)), note="two groups")
    monkeypatch.setattr(cal.results.Diagnosis, "tables", lambda self: (extra,))
    text = page(results["diagnosis"])
    assert "By &lt;group&gt;" in text
    assert '<td>north</td><td class="number">0.2500</td>' in text
    assert "two groups" in text


def test_a_table_without_rows_is_drawn(results, monkeypatch):
    monkeypatch.setattr(cal.results.Diagnosis, "tables", lambda self: (Table("Empty", ("a", "b"), ()),))
    assert "Empty" in page(results["diagnosis"])


def test_constant_predictions_make_a_page(rng):
    text = page(cal.diagnose(rng.integers(0, 2, 50), np.full(50, 0.5), name="constant"))
    assert Balance(text).open == []
    assert not re.search(r"\bnan\b", text)


def test_parameters_are_written_out_when_few(results):
    text = page(results["diagnosis"], fitted=results["fitted"])
    assert f"<td>temperature</td><td>{results['fitted'].temperature:.4f}</td>" in text


def test_a_result_read_back_from_json_makes_the_same_page(results):
    diagnosis = results["diagnosis"]
    again = page(cal.results.Diagnosis.from_json(diagnosis.to_json()))
    assert again.split("<footer>")[0] == page(diagnosis).split("<footer>")[0]  # the footer has the time


def test_many_parameters_are_counted(results, monkeypatch):
    monkeypatch.setattr(
        type(results["fitted"]), "parameters", {"weights": np.ones((4, 5)), "knots": np.array([0.5, 1])}
    )
    text = page(results["diagnosis"], fitted=results["fitted"])
    assert "<td>weights</td><td>20 numbers</td></tr><tr><td>knots</td><td>0.5000, 1.0000</td>" in text


def test_the_same_warning_of_several_estimates_is_given_once(results):
    found = next(each for each in results.values() if isinstance(each, cal.results.Diagnosis))
    first, second = (each.title for each in found.estimates[:2])
    html = page(replace(found, cautions=(f"{first}: long tail", "few rows", f"{second}: long tail")))
    assert f"<li>{first}, {second}: long tail</li><li>few rows</li>" in html


def test_confidences_of_answers_are_called_so(rng):
    answers = cal.Predictions(rng.random(300) < 0.6, rng.uniform(0.5, 1, 300))
    answers.is_confidence = True
    html = page(cal.diagnose(answers))
    assert "300 answers, each with the model&#x27;s confidence in it" in html
    assert "probability of the event" not in html


def test_a_percent_sign_stays_with_its_number(html):
    assert "\u00a0%" in html
    assert not re.search(r"\d %<", html)
