from __future__ import annotations

import json
from pathlib import Path

import pytest

import calibrant as cal
from calibrant.report import write
from calibrant.results import checked_schema


def test_json_gives_the_same_results_back(results, tmp_path):
    diagnosis, *_ = results.values()
    write(tmp_path / "report.json", diagnosis, **{name: each for name, each in results.items() if name != "diagnosis"})
    content = checked_schema((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert set(content) == {"schema", *results}
    for name, record in results.items():
        assert type(record).from_data(content[name]) == record


def test_json_leaves_out_what_was_not_given(results, tmp_path):
    write(tmp_path / "report.JSON", results["diagnosis"])
    assert set(json.loads((tmp_path / "report.JSON").read_text(encoding="utf-8"))) == {"schema", "diagnosis"}


def test_save_writes_a_page(results, tmp_path):
    results["diagnosis"].save(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_other_endings_are_refused_with_the_two_that_work(results):
    with pytest.raises(
        cal.FileError, match=r"must end in \.html or \.json; 'report\.pdf' does not: it ends in '\.pdf'"
    ):
        write("report.pdf", results["diagnosis"])
    with pytest.raises(cal.FileError, match="it has no ending"):
        write("report", results["diagnosis"])


def test_a_path_that_cannot_be_written_is_named(results, tmp_path: Path):
    with pytest.raises(cal.FileError, match=r"cannot write the report '.*report\.html': there is no such folder"):
        write(tmp_path / "missing" / "report.html", results["diagnosis"])
