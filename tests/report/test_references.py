"""Whatever the register or the methods text names can be looked up in the list of references."""

from __future__ import annotations

import re

import pytest

from calibrant.methods import methods
from calibrant.report import closing
from calibrant.report.references import REFERENCES

NAMED = re.compile(r"[A-ZÀ-ÿĀ-ž](?:[\w’'-]|, (?=[A-Z])| (?=et al|al\.|&|[A-Z])|& |et al\. |\. (?=\d))* ?(?:19|20)\d\d")
"""Authors and a year: “Guo et al. 2017”, “Hu & Wu 2024”, “Popordanoska, Sayer, Blaschko 2022”."""


def named(text: str) -> list[str]:
    return NAMED.findall(" ".join(text.split()))


def missing(text: str) -> list[str]:
    return [each for each in named(text) if not any(key in each for key in REFERENCES)]


def test_names_are_found():
    text = "Guo et al. 2017; class-wise: Hu & Wu 2024 (Wilson 1927), Błasiok & Nakkiran 2024; Van Calster et al. 2019."
    assert named(text) == [
        "Guo et al. 2017",
        "Hu & Wu 2024",
        "Wilson 1927",
        "Błasiok & Nakkiran 2024",
        "Van Calster et al. 2019",
    ]
    assert missing("Nobody et al. 2001") == ["Nobody et al. 2001"]


@pytest.mark.parametrize("kind", closing.ESTIMATORS)
def test_sources_of_estimators_are_listed(kind):
    sources = {name: method.note("Source") for name, method in methods(kind).items()}
    assert {name: missing(text) for name, text in sources.items() if missing(text)} == {}


def test_sources_of_the_methods_text_are_listed():
    text = " ".join([closing.TESTED, closing.OF_CLASSES, closing.OF_FORECASTS, *closing.OF_ANSWERS.values()])
    assert len(named(text)) > 10
    assert missing(text) == []


@pytest.mark.parametrize("key", REFERENCES)
def test_a_reference_has_its_first_author_and_year(key):
    full, year = REFERENCES[key], key[-4:]
    first = re.split(r"[ ,](?=et al|&|\d|[A-Z])", key.replace("Van Calster", "Van_Calster"))[0].rstrip(",")
    assert full.startswith(first.replace("_", " ") + " ")
    assert f"({year}). " in full
    assert full.endswith(".")
